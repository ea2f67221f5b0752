package perftest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// The forms of a key in an exchange over an rdma_cm connection, where perftest sends its struct
// pingpong_dest instead of a line: the layout is that of 64-bit Linux, the numbers are big-endian.
// perftest 6.29 has one more field, the address of the tail markers.
const (
	KeyStruct     KeyForm = 2
	KeyStructTail KeyForm = 3
)

const (
	keyStructLen     = 56
	keyStructTailLen = 64
)

// versionTail is the first released version with [KeyStructTail]; 6.28 had it before its end.
const versionTail Version = 629

// isStruct reports whether the form is that of an rdma_cm connection.
func (f KeyForm) isStruct() bool { return f == KeyStruct || f == KeyStructTail }

// appendStruct appends the struct of d to b.
func (f KeyForm) appendStruct(b []byte, d *Destination) []byte {
	for _, v := range []uint32{
		uint32(d.LID), uint32(d.OutReads), uint32(d.QPN), uint32(d.PSN), d.RKey, 0, // padding
	} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	b = binary.BigEndian.AppendUint64(b, d.VAddr)
	if f == KeyStructTail {
		b = binary.BigEndian.AppendUint64(b, 0) // this end has no tail markers
	}
	b = append(b, d.GID[:]...)
	b = binary.BigEndian.AppendUint32(b, d.SRQN)
	return binary.BigEndian.AppendUint32(b, 0) // the GID index, which perftest ignores
}

// decodeStruct reads a struct from the start of b.
func (f KeyForm) decodeStruct(b []byte, d *Destination) (n int, err error) {
	if len(b) < f.Len() {
		return 0, fmt.Errorf("decode key: %w", ErrShort)
	}
	u32 := func(at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }
	const most24 = 1<<24 - 1
	lid, reads, qpn, psn := u32(0), u32(4), u32(8), u32(12)
	if lid > math.MaxUint16 || qpn > most24 || psn > most24 {
		return 0, fmt.Errorf("LID %#x, QPN %#x, PSN %#x: %w", lid, qpn, psn, ErrKeyLine)
	}
	tail := f.Len() - keyStructLen
	*d = Destination{
		LID: ib.LID(lid), OutReads: uint16(min(reads, math.MaxUint16)), QPN: ib.QPN(qpn), PSN: ib.PSN(psn),
		RKey: u32(16), VAddr: binary.BigEndian.Uint64(b[24:]), GID: ib.GID(b[32+tail : 48+tail]), SRQN: u32(48 + tail),
	}
	return f.Len(), nil
}

// restOf returns how many bytes of the current message of the connection have not been read, 0 if
// the connection is a stream.
func (s *Session) restOf() int {
	rest := len(s.ahead)
	if m, ok := s.conn.(interface{ Rest() int }); ok {
		rest += m.Rest()
	}
	return rest
}

// swapStruct is a step with structs. The length of the peer's message, rather than its version,
// decides the form from then on.
func (s *Session) swapStruct(ctx context.Context, name string, own *Destination, wait bool) ([]byte, error) {
	var message []byte
	if s.cfg.Role == RoleClient {
		message = s.cfg.Form.Append(nil, own)
	}
	got, err := s.exchange(ctx, message, keyStructLen, wait)
	if err != nil {
		return nil, s.failed(name, err)
	}
	got = append([]byte(nil), got...)
	s.cfg.Form = KeyStruct
	if rest := s.restOf(); rest > 0 {
		tail, err := s.receive(ctx, rest)
		if err != nil {
			return nil, s.failed(name, err)
		}
		got = append(got, tail...)
		s.cfg.Form = KeyStructTail
	}
	if len(got) != s.cfg.Form.Len() {
		return nil, s.failed(name, fmt.Errorf("%d bytes: %w", len(got), ErrKeyLine))
	}
	if s.cfg.Role == RoleServer {
		if _, err := s.exchange(ctx, s.cfg.Form.Append(nil, own), 0, false); err != nil {
			return nil, s.failed(name, err)
		}
	}
	return got, nil
}

// receive reads n bytes that have arrived.
func (s *Session) receive(ctx context.Context, n int) ([]byte, error) {
	role := s.cfg.Role
	s.cfg.Role = RoleServer // which reads first, and writes nothing here
	defer func() { s.cfg.Role = role }()
	return s.exchange(ctx, nil, n, false)
}

// SyncQPN is [Session.Sync], and returns the number of a queue pair that the peer has sent: 0 from
// a perftest that has none yet.
func (s *Session) SyncQPN(ctx context.Context, name string, own Destination) (ib.QPN, error) {
	var theirs Destination
	err := s.key(ctx, name, &own, &theirs, false)
	if errors.Is(err, ErrKeyLine) {
		return 0, nil
	}
	return theirs.QPN, err
}

// noticeCM is sent instead of a version to a client that doesn't use rdma_cm, unlike this end.
// perftest takes it for an old version, and ends.
const noticeCM = "rdma_cm: use -R"

// AppendNoticeCM appends the message that tells the client of a TCP connection that the server
// waits for one over rdma_cm.
func AppendNoticeCM(b []byte) []byte { return append(append(b, noticeCM...), 0) }
