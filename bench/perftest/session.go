package perftest

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Role is the role of one end of the connection.
type Role uint8

// The client sends first.
const (
	RoleServer Role = iota
	RoleClient
)

// String returns server or client.
func (r Role) String() string {
	if r == RoleClient {
		return "client"
	}
	return "server"
}

// other returns the role of the peer.
func (r Role) other() Role {
	if r == RoleClient {
		return RoleServer
	}
	return RoleClient
}

// Conn is the part of a TCP connection that a session uses.
type Conn interface {
	io.ReadWriter
	// SetDeadline sets the deadline for reads and writes, including pending ones; the zero time
	// removes it.
	SetDeadline(t time.Time) error
}

// Config configures a session.
type Config struct {
	Role Role    // role of this end
	Form KeyForm // format of key lines
	// StepTimeout is the timeout of every step except those that wait for the end of a measurement;
	// 0 is DefaultStepTimeout. perftest sleeps for a second before the first step.
	StepTimeout time.Duration
	// Version is the version that the session announces; 0 is VersionAnnounced, or VersionCM.
	Version Version
	// CM is set if the connection was established by rdma_cm, where each message is a SEND and keys
	// are structs: see [KeyStruct]. Form is ignored then.
	CM bool
}

// DefaultStepTimeout is the default of [Config.StepTimeout].
const DefaultStepTimeout = 30 * time.Second

// Session is the exchange over one connection. Each method is one or more steps of it; after an
// error the session is no longer usable.
type Session struct {
	conn Conn
	cfg  Config
	buf  []byte
	// ahead holds the bytes that a Watcher has read.
	ahead []byte
	heard time.Time // see Heard
}

// NewSession begins an exchange. The caller closes conn.
func NewSession(conn Conn, cfg Config) *Session {
	cfg.StepTimeout = cmp.Or(cfg.StepTimeout, DefaultStepTimeout)
	announced := VersionAnnounced
	if cfg.CM {
		announced, cfg.Form = VersionCM, KeyStruct
	}
	cfg.Version = cmp.Or(cfg.Version, announced)
	return &Session{conn: conn, cfg: cfg}
}

// Heard returns when the peer's message of the last step was there. A server sends its own message
// after that, so that a client which waits for it can't have gone on before.
func (s *Session) Heard() time.Time { return s.heard }

// Role returns the role of this end.
func (s *Session) Role() Role { return s.cfg.Role }

// step exchanges messages of equal length. With wait it is limited by ctx only. The result is valid
// until the next step.
func (s *Session) step(ctx context.Context, name string, message []byte, wait bool) ([]byte, error) {
	got, err := s.exchange(ctx, message, len(message), wait)
	if err != nil {
		return nil, s.failed(name, err)
	}
	return got, nil
}

func (s *Session) failed(name string, err error) error {
	return &StepError{Step: name, Peer: s.cfg.Role.other(), Err: err}
}

// exchange writes a message, which may be empty, and reads one of n bytes.
func (s *Session) exchange(ctx context.Context, message []byte, n int, wait bool) (got []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	limit := time.Time{}
	if !wait {
		limit = time.Now().Add(s.cfg.StepTimeout)
	}
	if err := s.conn.SetDeadline(limit); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if cap(s.buf) < n {
		s.buf = make([]byte, max(n, keyGIDLen))
	}
	got = s.buf[:n]
	arrived := 0
	write := func() error {
		if len(message) == 0 {
			return nil
		}
		_, err := s.conn.Write(message)
		return gone(err)
	}
	read := func() error {
		arrived = copy(got, s.ahead)
		s.ahead = s.ahead[arrived:]
		var err error
		if arrived < len(got) {
			var n int
			n, err = io.ReadFull(s.conn, got[arrived:])
			arrived += n
		}
		s.heard = time.Now()
		return gone(err)
	}
	first, second := read, write
	if s.cfg.Role == RoleClient {
		first, second = write, read
	}
	if err = first(); err == nil {
		err = second()
	}
	switch {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = &SilentError{Limit: s.cfg.StepTimeout, got: arrived}
	}
	return got, err
}

// Hello holds the parameters that both ends exchange first.
type Hello struct {
	// CycleBuffer is the size in bytes of the buffer that small messages cycle through, 1 to 1 GiB;
	// the larger value of both ends is used. Usually the size of a page.
	CycleBuffer int
	// CacheLine is the stride of that cycle in bytes, 1 to 4096; the larger value is used.
	CacheLine int
	MTU       ib.MTU // the smaller value is used
}

// Agreed is the result of the exchange of [Hello].
type Agreed struct {
	Hello
	Peer Version // version that the peer announced
}

// Limits of the values that a peer may request, because buffers are sized by them.
const (
	maxCycleBuffer = 1 << 30
	maxCacheLine   = 1 << 12
)

// Hello exchanges versions, system data and MTU.
func (s *Session) Hello(ctx context.Context, own Hello) (Agreed, error) {
	agreed := Agreed{Hello: own}
	if own.MTU.Code() == 0 || !within(own.CycleBuffer, maxCycleBuffer) || !within(own.CacheLine, maxCacheLine) {
		return agreed, fmt.Errorf("begin exchange: cycle buffer %d, cache line %d, MTU %d: out of bounds",
			own.CycleBuffer, own.CacheLine, own.MTU)
	}
	const (
		cycle = "exchange cycle buffer sizes"
		cache = "exchange cache line sizes"
		mtu   = "exchange MTUs"
	)
	got, err := s.step(ctx, stepVersions, s.cfg.Version.Append(nil), false)
	if err != nil {
		return agreed, err
	}
	if _, err := agreed.Peer.Decode(got); errors.Is(err, ErrNeedsCM) {
		return agreed, s.failed(stepVersions, err)
	} else if err != nil {
		return agreed, s.failed(stepVersions, fmt.Errorf("%w: it sent %q", ErrForeign, got))
	}
	if s.cfg.CM && agreed.Peer >= versionTail {
		s.cfg.Form = KeyStructTail
	}
	if err := agreed.Peer.Check(); err != nil {
		return agreed, s.failed(stepVersions, err)
	}
	if agreed.CycleBuffer, err = s.larger(ctx, cycle, own.CycleBuffer, maxCycleBuffer); err != nil {
		return agreed, err
	}
	if agreed.CacheLine, err = s.larger(ctx, cache, own.CacheLine, maxCacheLine); err != nil {
		return agreed, err
	}
	got, err = s.step(ctx, mtu, []byte{byte('0' + own.MTU.Code()), 0}, false)
	if err != nil {
		return agreed, err
	}
	theirs := mtuFromDigit(got[0])
	if theirs == 0 || got[1] != 0 {
		return agreed, s.failed(mtu, fmt.Errorf("%q is not 1 to 5", got))
	}
	agreed.MTU = min(own.MTU, theirs)
	return agreed, nil
}

// mtuFromDigit returns the MTU that a digit stands for, 0 if it is invalid.
func mtuFromDigit(c byte) ib.MTU {
	if c < '1' || c > '5' {
		return 0
	}
	return ib.MTU256 << (c - '1')
}

func within(n, most int) bool { return n >= 1 && n <= most }

// larger exchanges a number of four bytes.
func (s *Session) larger(ctx context.Context, name string, own, most int) (int, error) {
	got, err := s.step(ctx, name, binary.BigEndian.AppendUint32(nil, uint32(own)), false)
	if err != nil {
		return 0, err
	}
	theirs := binary.BigEndian.Uint32(got)
	if theirs == 0 || theirs > uint32(most) {
		return 0, s.failed(name, fmt.Errorf("%d is not 1 to %d", theirs, most))
	}
	return max(own, int(theirs)), nil
}

// ExchangeKeys sends the addresses of our queue pairs to the peer, one step each, and returns the
// peer's.
func (s *Session) ExchangeKeys(ctx context.Context, own []Destination) ([]Destination, error) {
	theirs := make([]Destination, len(own))
	for i := range own {
		name := fmt.Sprintf("exchange keys of queue pair %d of %d", i+1, len(own))
		if err := s.key(ctx, name, &own[i], &theirs[i], false); err != nil {
			return nil, err
		}
	}
	return theirs, nil
}

// Sync waits until the peer reaches the same point: one step with a key line. name is the name of
// that point in errors.
func (s *Session) Sync(ctx context.Context, name string, own Destination) error {
	return s.key(ctx, name, &own, s.ignored(), false)
}

// ignored is where to decode the key of a step that only waits: nil over rdma_cm, where there is no
// form to check, and perftest may send what its memory has.
func (s *Session) ignored() *Destination {
	if s.cfg.CM {
		return nil
	}
	return &Destination{}
}

// Await is [Session.Sync] with a peer that may still be measuring: it is limited by ctx only.
func (s *Session) Await(ctx context.Context, name string, own Destination) error {
	return s.key(ctx, name, &own, s.ignored(), true)
}

func (s *Session) key(ctx context.Context, name string, own, theirs *Destination, wait bool) error {
	swap := func() ([]byte, error) { return s.step(ctx, name, s.cfg.Form.Append(nil, own), wait) }
	if s.cfg.CM {
		swap = func() ([]byte, error) { return s.swapStruct(ctx, name, own, wait) }
	}
	got, err := swap()
	if err != nil || theirs == nil {
		return err
	}
	if _, err := s.cfg.Form.Decode(got, theirs); err != nil {
		return s.failed(name, err)
	}
	return nil
}

// ExchangeReports sends our result to the peer and returns the peer's.
func (s *Session) ExchangeReports(ctx context.Context, own Report) (theirs Report, err error) {
	names := [reportFields]string{"size", "iterations", "peak bandwidth", "average bandwidth", "message rate"}
	var fields [reportFields]uint64
	for i, v := range own.fields() {
		got, err := s.step(ctx, "exchange results ("+names[i]+")", appendField(nil, v), false)
		if err != nil {
			return theirs, err
		}
		fields[i] = binary.BigEndian.Uint64(got)
	}
	theirs.set(fields)
	return theirs, nil
}

// done is the last message, which both ends send before they close the connection.
const done = "done\x00"

// Finish runs the closing handshake: [Session.Sync], then [Session.Bye].
func (s *Session) Finish(ctx context.Context, own Destination) error {
	if err := s.Sync(ctx, "finish", own); err != nil {
		return err
	}
	return s.Bye(ctx)
}

// Bye exchanges the last message, which an exchange over rdma_cm doesn't have. A peer that closes
// the connection without reading ours has finished too.
func (s *Session) Bye(ctx context.Context) error {
	if s.cfg.CM {
		return nil
	}
	if err := s.conn.SetDeadline(time.Now().Add(s.cfg.StepTimeout)); err != nil {
		return s.failed("finish", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := s.conn.Write([]byte(done)); err != nil {
		return context.Cause(ctx) // nil if the peer has ended: see above
	}
	var got [len(done)]byte
	read := copy(got[:], s.ahead)
	s.ahead = s.ahead[read:]
	// Closing before the peer's last message arrives could discard ours: TCP answers later data
	// with a reset.
	if n, err := io.ReadFull(s.conn, got[read:]); err == nil && string(got[:]) != done {
		return s.failed("finish", fmt.Errorf("%q instead of %q", got[:read+n], done))
	}
	return nil
}

// lingerLimit limits Linger: the peer only waits for the acknowledgement of its last message.
const lingerLimit = 2 * time.Second

// Linger tells the peer that this end has finished, by closing its half of the connection, and
// waits until the peer closes its own, at most two seconds. It is for tests without a closing
// handshake: an end that destroys its queue pair at once can't repeat the acknowledgement of the
// peer's last message if the first was lost.
func (s *Session) Linger(ctx context.Context) {
	if len(s.ahead) > 0 || s.conn.SetDeadline(time.Now().Add(lingerLimit)) != nil {
		return
	}
	if half, ok := s.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the end of Close tells it too
	}
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var one [1]byte
	_, _ = s.conn.Read(one[:]) // any result ends the wait
}
