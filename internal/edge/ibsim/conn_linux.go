package ibsim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// controlTimeout bounds the wait for an answer to a control message, and farewell that for what is
// of no use any more.
const (
	controlTimeout = 5 * time.Second
	farewell       = time.Second
)

// Conn is one client's place in a simulated subnet.
type Conn struct {
	config  Config
	node    string
	slot    uint32
	control net.Conn
	data    *descriptor
	close   func() error
	joining bool // the simulator was asked for a place and hasn't answered

	send transfer // of the goroutine that sends
	recv transfer // of the goroutine that receives
}

// unixSocket is what *net.UnixConn and *net.UDPConn share.
type unixSocket interface {
	syscall.Conn
	Close() error
}

// transfer is the state of one batch; the function is bound once, since a closure for each call
// would be garbage for each call.
type transfer struct {
	packets []Packet
	n       int
	err     error
	try     func(fd int) bool
	buffer  [packetLen + 1]byte // one more, to notice a longer datagram
}

// Dial joins the simulator, and has left it again when it returns an error. The context bounds the
// handshake, but for up to a second: ibsim ends with a panic when a client is gone before its
// request for a place is answered.
func Dial(ctx context.Context, config Config) (*Conn, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	c := &Conn{config: config}
	if err := c.join(ctx); err != nil {
		c.abandon()
		return nil, fmt.Errorf("join %s: %w", config, err)
	}
	c.close = sync.OnceValue(c.leave)
	c.recv.try = c.tryReceive
	return c, nil
}

// abandon ends a join that failed.
func (c *Conn) abandon() {
	if c.joining {
		c.takeAnswer()
	}
	if c.control != nil {
		c.control.Close() //nolint:errcheck // the join's error is what counts
	}
	if c.data != nil {
		c.data.close() //nolint:errcheck // as above
	}
}

// takeAnswer keeps the sockets until the simulator has served the request for a place, and gives
// that back.
func (c *Conn) takeAnswer() {
	bound, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	var hello control
	if err := c.receive(bound, &hello); err != nil || hello.kind != controlConnect {
		return
	}
	slot, _ := hello.connected()
	bye := control{kind: controlDisconnect, clientID: slot}
	c.call(bound, &bye) //nolint:errcheck // it notices by itself that a client is gone
}

func (c *Conn) join(ctx context.Context) error {
	open := c.openUnix
	if c.config.Server != "" {
		open = c.openUDP
	}
	id, data, err := open(ctx)
	if err != nil {
		return err
	}
	c.data, err = newDescriptor(data)
	if err := errors.Join(err, data.Close()); err != nil {
		return err
	}
	hello := connectMessage(id, c.config.Node, c.config.IsSM)
	err = c.call(ctx, &hello)
	_, c.joining = errors.AsType[*unansweredError](err)
	if err != nil {
		if errors.Is(err, errRefused) && c.config.Node != "" {
			return fmt.Errorf("as %q: %w: no such node in its net file, or its %d places are taken",
				c.config.Node, err, maxClients)
		}
		return err
	}
	c.slot, c.node = hello.connected()
	if c.slot >= maxClients {
		return fmt.Errorf("got place %d of %d", c.slot, maxClients)
	}
	return c.connectData()
}

// Node returns the identifier, in the simulator's net file, of the node that the client sits at.
func (c *Conn) Node() string { return c.node }

// IsSM reports whether the client joined with [Config.IsSM], and so gets requests too.
func (c *Conn) IsSM() bool { return c.config.IsSM }

// errRefused is the server's error answer, which carries no reason.
var errRefused = errors.New("the simulator refused")

// unansweredError is the error of a control message that was sent, and whose answer did not come
// in time.
type unansweredError struct{ why error }

func (e *unansweredError) Error() string { return e.why.Error() }
func (e *unansweredError) Unwrap() error { return e.why }

// silenceError is the error of a simulator that is there and neither takes nor answers a
// control message.
type silenceError struct{}

func (silenceError) Error() string {
	return fmt.Sprintf("the simulator didn't answer within %v", controlTimeout)
}

// Is makes it match what it is: a deadline that is over.
func (silenceError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// call sends a control message and puts the answer in its place.
func (c *Conn) call(ctx context.Context, m *control) error {
	kind := m.kind
	err := c.timed(ctx, func() error {
		_, err := c.control.Write(m.append(make([]byte, 0, controlLen)))
		return err
	})
	if err == nil {
		if err = c.receive(ctx, m); err == nil && m.kind == controlError {
			err = errRefused
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return nil
}

// receive takes the answer to a control message. An error that is an *unansweredError says that it
// may still come.
func (c *Conn) receive(ctx context.Context, m *control) error {
	answer := make([]byte, controlLen+1)
	n := 0
	err := c.timed(ctx, func() (err error) {
		n, err = c.control.Read(answer)
		return err
	})
	if err != nil {
		return &unansweredError{err}
	}
	return m.decode(answer[:n])
}

// timed reads from the control socket or writes to it, until the context ends or controlTimeout
// is over.
func (c *Conn) timed(ctx context.Context, transfer func() error) error {
	if err := c.control.SetDeadline(time.Now().Add(controlTimeout)); err != nil {
		return err
	}
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cut)
		c.control.SetDeadline(time.Unix(1, 0)) //nolint:errcheck // the socket was closed
	})
	err := transfer()
	if !stop() {
		<-cut // or it would cut what comes next
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return silenceError{}
	}
	return err
}

func (c *Conn) leave() error {
	bye := control{kind: controlDisconnect, clientID: c.slot}
	// The simulator may be gone already; it notices by itself that a client is.
	bound, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	c.call(bound, &bye) //nolint:errcheck // see above
	return errors.Join(c.control.Close(), c.data.close())
}

// Close leaves the simulator; a Receive that waits returns [net.ErrClosed]. Later calls return the
// same.
func (c *Conn) Close() error { return c.close() }

// Send hands packets to the simulator without waiting. It returns how many it took: fewer than
// all when the simulator's queue is full, which is no error.
func (c *Conn) Send(packets []Packet) (int, error) {
	t := &c.send
	t.packets, t.n, t.err = packets, 0, nil
	c.data.mu.RLock()
	defer c.data.mu.RUnlock()
	if c.data.closed.Load() {
		return 0, fmt.Errorf("send to %s: %w", c.config, net.ErrClosed)
	}
	c.trySend(c.data.fd)
	t.packets = nil
	if t.err != nil {
		return t.n, fmt.Errorf("send to %s: %w", c.config, t.err)
	}
	return t.n, nil
}

// trySend sends until the simulator's queue is full.
func (c *Conn) trySend(fd int) {
	t := &c.send
	for t.n < len(t.packets) {
		err := unix.Send(fd, t.packets[t.n].appendTo(t.buffer[:0]), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		switch {
		case err == nil:
			t.n++
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS):
			return
		default:
			t.err = os.NewSyscallError("send", err)
			return
		}
	}
}

// Receive waits for the first packet until the deadline, takes what else is there, and returns the
// count. At the deadline it returns 0 and no error; a zero deadline waits forever. Datagrams of
// another size than a packet's are dropped.
func (c *Conn) Receive(ctx context.Context, packets []Packet, deadline time.Time) (int, error) {
	t := &c.recv
	t.packets, t.n, t.err = packets, 0, nil
	err := c.data.wait(ctx, deadline, t.try)
	t.packets = nil
	switch {
	case err != nil && ctx.Err() != nil:
		return t.n, context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return t.n, nil
	case err == nil:
		err = t.err
	}
	if err != nil {
		return t.n, fmt.Errorf("receive from %s: %w", c.config, err)
	}
	return t.n, nil
}

// tryReceive reports whether it has something: packets, or an error.
func (c *Conn) tryReceive(fd int) bool {
	t := &c.recv
	for t.n < len(t.packets) {
		n, err := unix.Read(fd, t.buffer[:])
		switch {
		case err == nil:
			if t.packets[t.n].decode(t.buffer[:n]) == nil {
				t.n++
			}
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return t.n > 0
		default:
			t.err = os.NewSyscallError("read", err)
			return true
		}
	}
	return true
}
