package rping

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/rdmakit/rdmakit/verbs"
)

// backlog is how many clients wait, as in the C program.
const backlog = 3

// Server accepts clients. Create one with [Listen].
type Server struct {
	device   *verbs.Device
	listener *verbs.Listener
	o        Options
}

// Listen listens at an address of the device, which must have verbs.CapConnector; the zero Addr is
// any, and port 0 DefaultPort.
func Listen(ctx context.Context, d *verbs.Device, addr netip.AddrPort, o Options) (*Server, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	if addr.Port() == 0 {
		addr = netip.AddrPortFrom(addr.Addr(), DefaultPort)
	}
	l, err := d.Listen(ctx, addr, verbs.ListenOptions{Backlog: backlog})
	if err != nil {
		return nil, err
	}
	return &Server{device: d, listener: l, o: o}, nil
}

// Addr returns the address with the port.
func (s *Server) Addr() netip.AddrPort { return s.listener.Addr() }

// Close ends listening. Sessions go on.
func (s *Server) Close() error { return s.listener.Close() }

// AcceptError is the error of a client that could not be accepted; the server can accept others.
type AcceptError struct {
	Remote netip.AddrPort // of the client
	Err    error
}

// Error implements error.
func (e *AcceptError) Error() string { return fmt.Sprintf("accept %v: %v", e.Remote, e.Err) }

// Unwrap returns the cause.
func (e *AcceptError) Unwrap() error { return e.Err }

// Accept waits for a client and accepts it. The error is an [AcceptError], or one of the server.
func (s *Server) Accept(ctx context.Context) (*Session, error) {
	request, err := s.listener.Next(ctx)
	if err != nil {
		return nil, err
	}
	if s.o.Observer != nil {
		s.o.Observer(Event{Step: StepRequest})
	}
	r, err := newRig(s.device, s.o, MaxSize+1, false)
	if err != nil {
		_ = request.Reject(nil)
		return nil, &AcceptError{request.Remote(), err}
	}
	r.observe(Event{Step: StepAccept})
	if r.conn, err = request.Accept(ctx, r.qp, r.connectOptions()); err != nil {
		_ = request.Reject(nil) // unless it is answered already
		_ = r.close()           // the other error is more useful
		return nil, &AcceptError{request.Remote(), err}
	}
	r.beat(s.device)
	r.observe(Event{Step: StepConnected})
	return &Session{rig: r}, nil
}

// Session is a client that a [Server] has accepted.
type Session struct {
	rig  *rig
	size int
}

// Remote returns the address of the client.
func (s *Session) Remote() netip.AddrPort { return s.rig.conn.Remote() }

// Observe replaces the observer of the server's options for this session.
func (s *Session) Observe(observer func(Event)) { s.rig.o.Observer = observer }

// Data returns what the last ping had in its source.
func (s *Session) Data() []byte { return s.rig.data.memory[:s.size] }

// LengthError is the error of a peer that names a buffer of a length that can't be.
type LengthError struct {
	What   string // source or sink
	Got    uint32 // bytes that the peer names
	Reason string
}

// Error implements error.
func (e *LengthError) Error() string {
	return fmt.Sprintf("the client names a %s of %d bytes: %s", e.What, e.Got, e.Reason)
}

// Next answers one ping. After an error the session can only be closed; the error is io.EOF if the
// client has disconnected.
func (s *Session) Next(ctx context.Context) error {
	if err := s.Read(ctx); err != nil {
		return err
	}
	return s.Write(ctx)
}

// Read answers the first half of a ping: Data then has its source.
func (s *Session) Read(ctx context.Context) error {
	r := s.rig
	source, err := r.receive(ctx)
	if err != nil {
		return err
	}
	r.observe(Event{Step: StepSource})
	if source.Len == 0 || int64(source.Len) > int64(len(r.data.memory)) {
		return &LengthError{"source", source.Len, fmt.Sprintf("pings have 1 to %d", len(r.data.memory))}
	}
	s.size = int(source.Len)
	if _, err := r.qp.PostSend(verbs.SendRequest{
		Op: verbs.SendOpRead, Flags: verbs.SendSignaled, Segments: []verbs.Segment{r.data.mr.Segment(0, s.size)},
		RemoteAddr: source.Addr, RKey: source.RKey,
	}); err != nil {
		return err
	}
	r.observe(Event{Step: StepReadPosted})
	if err := r.complete(ctx, verbs.WCRead); err != nil {
		return err
	}
	r.observe(Event{Step: StepReadDone})
	return nil
}

// Write answers the second half of a ping: it has the client go on, and writes Data to its sink.
func (s *Session) Write(ctx context.Context) error {
	r := s.rig
	if err := r.send(Buffer{}); err != nil {
		return err
	}
	r.observe(Event{Step: StepGoAhead})
	sink, err := r.receive(ctx)
	if err != nil {
		return err
	}
	r.observe(Event{Step: StepSink})
	n := min(len(Text(s.Data()))+1, s.size)
	if int64(sink.Len) < int64(n) {
		return &LengthError{"sink", sink.Len, fmt.Sprintf("the text of the ping has %d", n)}
	}
	b := r.data.buffer()
	b.RKey, b.Len = r.data.mr.LKey(), uint32(n) //nolint:gosec // at most MaxSize+1
	r.observe(Event{Step: StepWrite, Buffer: b})
	if _, err := r.qp.PostSend(verbs.SendRequest{
		Op: verbs.SendOpWrite, Flags: verbs.SendSignaled, Segments: []verbs.Segment{r.data.mr.Segment(0, n)},
		RemoteAddr: sink.Addr, RKey: sink.RKey,
	}); err != nil {
		return err
	}
	if err := r.complete(ctx, verbs.WCWrite); err != nil {
		return err
	}
	r.observe(Event{Step: StepWriteDone})
	if err := r.send(Buffer{}); err != nil {
		return err
	}
	r.observe(Event{Step: StepGoAhead})
	return nil
}

// Disconnect ends the connection and waits until the client has noticed, or ctx ends. Close frees
// the session.
func (s *Session) Disconnect(ctx context.Context) error { return s.rig.conn.Disconnect(ctx) }

// Close disconnects without waiting and frees everything.
func (s *Session) Close() error { return s.rig.close() }
