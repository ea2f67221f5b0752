package perftest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"
)

// ErrParameters is matched by the error for an invalid list of parameters.
var ErrParameters = errors.New("not a list of parameters")

// ErrStruct is matched by the error for a server whose struct of parameters has another size than a
// client can know.
var ErrStruct = errors.New("the server's build of perftest exchanges 312 bytes of parameters instead of 320; " +
	"run it as the client, and this end as the server")

// Negotiation is how the ends exchanged their parameters.
type Negotiation uint8

// The kinds of negotiation.
const (
	NegotiationNone    Negotiation = iota // the peer doesn't exchange parameters
	NegotiationStruct                     // a C struct: 6.28 and 6.29
	NegotiationList                       // a list of names and values: 6.30 and later
	NegotiationUnknown                    // a later kind; perftest doesn't compare anything then
)

// negotiationVersion is the version of the list (C twin: NEGOTIATION_VERSION).
const negotiationVersion = 0

// The struct of perftest 6.28 and 6.29 has an eight-byte mask of capabilities at its end if it was
// built with the header of the mlx5 driver, as distributions do. It contains a struct
// ibv_device_attr in the byte order of the peer's machine, of which only max_qp_rd_atom is used.
const (
	structLen      = 312
	structMLX5Len  = 320
	structMaxReads = 224
)

// structTail is how long the mask at the end of a struct may take: both parts of it are written by
// one system call.
const structTail = time.Second

// maxList is the largest list of parameters accepted, in bytes; that of perftest 6.30 has 448.
const maxList = 64 << 10

// exchangeParameters is the name of the step in errors.
const exchangeParameters = "exchange parameters"

// Negotiate exchanges the parameters of the test, if the version of the peer demands it, and
// compares them; see [Parameters.Compare] for the error. It follows [Session.Hello], which returns
// the peer's version.
func (s *Session) Negotiate(ctx context.Context, peer Version, own Parameters) (Negotiation, error) {
	kind := NegotiationList
	switch {
	case peer < VersionStruct || s.cfg.Version < VersionStruct:
		return NegotiationNone, nil
	case peer < VersionList || s.cfg.Version < VersionList:
		kind = NegotiationStruct
	}
	var theirs Parameters
	var err error
	if kind == NegotiationStruct {
		theirs, err = s.swapStructs(ctx, peer, &own)
	} else {
		theirs, kind, err = s.swapLists(ctx, &own)
	}
	if err == nil {
		err = own.Compare(&theirs, s.cfg.Role.other())
	}
	if err != nil {
		return kind, s.failed(exchangeParameters, err)
	}
	return kind, nil
}

// swapLists exchanges the version of the lists, their lengths, and the lists.
func (s *Session) swapLists(ctx context.Context, own *Parameters) (theirs Parameters, kind Negotiation, err error) {
	got, err := s.exchange(ctx, binary.BigEndian.AppendUint32(nil, negotiationVersion), 4, false)
	if err != nil {
		return theirs, NegotiationUnknown, err
	}
	if binary.BigEndian.Uint32(got) != negotiationVersion {
		return theirs, NegotiationUnknown, nil
	}
	list := own.AppendList(nil)
	got, err = s.exchange(ctx, binary.BigEndian.AppendUint32(nil, uint32(len(list))), 4, false)
	if err != nil {
		return theirs, NegotiationList, err
	}
	n := binary.BigEndian.Uint32(got)
	if n > maxList {
		return theirs, NegotiationList, fmt.Errorf("list of %d bytes, more than %d: %w", n, maxList, ErrParameters)
	}
	if got, err = s.exchange(ctx, list, int(n), false); err == nil {
		err = theirs.DecodeList(got)
	}
	return theirs, NegotiationList, err
}

// AppendList appends the parameters that have a value and are not loose to b, in the order of
// [Parameter]:
//
//	test_method=00000000;connection_type=00000000;…size=0000000000010000;…
func (p *Parameters) AppendList(b []byte) []byte {
	for name, info := range parameterTable {
		if p.known[name] && !p.loose[name] {
			b = fmt.Appendf(b, "%s=%0*x;", info.key, 2*info.width, p.values[name])
		}
	}
	return b
}

// DecodeList reads a whole list. Unknown names are ignored; of a name that occurs twice, the last
// value is valid. The error matches [ErrParameters].
func (p *Parameters) DecodeList(b []byte) error {
	var out Parameters
	for pair := range bytes.SplitSeq(b, []byte{';'}) {
		if len(pair) == 0 { // after the last semicolon
			continue
		}
		key, digits, ok := bytes.Cut(pair, []byte{'='})
		if !ok {
			return fmt.Errorf("%s has no value: %w", excerpt(pair), ErrParameters)
		}
		for name, info := range parameterTable {
			if info.key != string(key) {
				continue
			}
			v, err := parseValue(digits, info.width)
			if err != nil {
				return fmt.Errorf("%s: %w: %w", info.key, err, ErrParameters)
			}
			out.Set(Parameter(name), v)
		}
	}
	*p = out
	return nil
}

// parseValue reads a big-endian number of width bytes in hexadecimal digits.
func parseValue(digits []byte, width int) (uint64, error) {
	var buf [8]byte
	if len(digits) != 2*width {
		return 0, fmt.Errorf("%s has not %d hexadecimal digits", excerpt(digits), 2*width)
	}
	if _, err := hex.Decode(buf[8-width:], digits); err != nil {
		return 0, fmt.Errorf("%s has not %d hexadecimal digits", excerpt(digits), 2*width)
	}
	return binary.BigEndian.Uint64(buf[:]), nil
}

// excerpt quotes the start of b.
func excerpt(b []byte) string {
	const most = 40
	if len(b) > most {
		return fmt.Sprintf("%q…", b[:most])
	}
	return fmt.Sprintf("%q", b)
}

// swapStructs exchanges structs.
func (s *Session) swapStructs(ctx context.Context, peer Version, own *Parameters) (theirs Parameters, err error) {
	if s.cfg.Role == RoleClient {
		return s.writeStruct(ctx, peer, own)
	}
	got, err := s.exchange(ctx, nil, structLen, false)
	if err != nil {
		return theirs, err
	}
	theirs.decodeStruct(got, peer)
	size, err := s.readTail(ctx)
	if err != nil {
		return theirs, err
	}
	for name, loose := range own.loose {
		if loose && theirs.known[name] {
			own.values[name] = theirs.values[name]
		}
	}
	_, err = s.exchange(ctx, own.structOf(size), 0, false)
	return theirs, err
}

// writeStruct is the client's part. The client writes first and can't know the size of the server's
// struct: it sends the larger one. A server with the smaller one takes the rest for its next
// message, and ends.
func (s *Session) writeStruct(ctx context.Context, peer Version, own *Parameters) (theirs Parameters, err error) {
	own.loose = [parameters]bool{} // the server compares all
	got, err := s.exchange(ctx, own.structOf(structMLX5Len), structLen, false)
	if err != nil {
		return theirs, err
	}
	theirs.decodeStruct(got, peer)
	size, err := s.readTail(ctx)
	if different := own.Compare(&theirs, RoleServer); different != nil {
		return theirs, different
	}
	if err == nil && size != structMLX5Len || errors.Is(err, ErrClosed) {
		err = ErrStruct
	}
	return theirs, err
}

// readTail reads the mask at the end of a struct, and returns the size of the struct.
func (s *Session) readTail(ctx context.Context) (int, error) {
	if err := s.conn.SetDeadline(time.Now().Add(structTail)); err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var tail [structMLX5Len - structLen]byte
	n, err := io.ReadFull(s.conn, tail[:])
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case n == 0 && errors.Is(err, os.ErrDeadlineExceeded):
		return structLen, nil
	}
	return structMLX5Len, gone(err)
}

// structOf returns a struct of size bytes, with zeros for parameters without a value.
func (p *Parameters) structOf(size int) []byte {
	out := make([]byte, size)
	for name, info := range parameterTable {
		switch {
		case info.offset < 0:
		case info.width == 4:
			binary.BigEndian.PutUint32(out[info.offset:], uint32(p.values[name]))
		default:
			binary.BigEndian.PutUint64(out[info.offset:], p.values[name])
		}
	}
	// perftest sends it in the byte order of its machine; the peer's is taken for little-endian.
	binary.LittleEndian.PutUint32(out[structMaxReads:], uint32(min(p.values[ParamMaxReads], math.MaxInt32)))
	return out
}

// decodeStruct reads the first 312 bytes of a struct.
func (p *Parameters) decodeStruct(b []byte, peer Version) {
	for name, info := range parameterTable {
		switch {
		case info.offset < 0, Parameter(name) == ParamDataValidation && peer == VersionStruct: // padding in 6.28
		case info.width == 4:
			p.Set(Parameter(name), uint64(binary.BigEndian.Uint32(b[info.offset:])))
		default:
			p.Set(Parameter(name), binary.BigEndian.Uint64(b[info.offset:]))
		}
	}
}
