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

// controlTimeout is the time limit for the response to a control message, and leaveTimeout for that
// to a disconnect message.
const (
	controlTimeout = 5 * time.Second
	leaveTimeout   = time.Second
)

// Conn is the connection of one client to a simulated subnet.
type Conn struct {
	config  Config
	node    string
	slot    uint32
	control net.Conn
	data    *descriptor
	close   func() error
	joining bool // the connect message was sent and there was no response

	send transfer // of the goroutine that sends
	recv transfer // of the goroutine that receives
}

// unixSocket is what *net.UnixConn and *net.UDPConn share.
type unixSocket interface {
	syscall.Conn
	Close() error
}

// transfer is the state of one batch. The function is stored, since a closure per call would be
// allocated.
type transfer struct {
	packets []Packet
	n       int
	err     error
	try     func(fd int) bool
	buffer  [packetLen + 1]byte // one byte more, to detect a longer datagram
}

// Dial joins the simulator. If it returns an error, it has left the simulator again. The context
// limits the handshake, which may take up to a second longer: ibsim crashes if a client is gone
// before the response to its connect message.
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
	c.recv.try = c.recv.receive
	return c, nil
}

// abandon cleans up after a failed join.
func (c *Conn) abandon() {
	if c.joining {
		c.releasePlace()
	}
	if c.control != nil {
		c.control.Close() //nolint:errcheck // the error to return is that of the join
	}
	if c.data != nil {
		c.data.close() //nolint:errcheck // as above
	}
}

// releasePlace waits for the response to the connect message, and disconnects from the place that
// the simulator has assigned.
func (c *Conn) releasePlace() {
	bound, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	var hello control
	if err := c.receive(bound, &hello); err != nil || hello.kind != controlConnect {
		return
	}
	slot, _ := hello.connected()
	bye := control{kind: controlDisconnect, clientID: slot}
	c.call(bound, &bye) //nolint:errcheck // the simulator detects that a client is gone
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
	_, c.joining = errors.AsType[*noResponseError](err)
	if err != nil {
		if errors.Is(err, errRefused) && c.config.Node != "" {
			return fmt.Errorf("as %q: %w: no such node in its net file, or all %d places are in use",
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

// Node returns the identifier of the client's node in the simulator's net file.
func (c *Conn) Node() string { return c.node }

// IsSM reports whether the client joined with [Config.IsSM], and so also receives requests.
func (c *Conn) IsSM() bool { return c.config.IsSM }

// PKeys returns the first entries of the partition table of the client's port, in network order, as
// umad2sim reads them.
func (c *Conn) PKeys(ctx context.Context) (table [64]byte, err error) {
	m := control{kind: controlPKeys, clientID: c.slot}
	err = c.call(ctx, &m)
	return m.data, err
}

// errRefused is the server's error response, which has no cause.
var errRefused = errors.New("the simulator refused")

// noResponseError is the error of a control message that was sent and got no response in time.
type noResponseError struct{ why error }

func (e *noResponseError) Error() string { return e.why.Error() }
func (e *noResponseError) Unwrap() error { return e.why }

// timeoutError is the error of a simulator that is running, but doesn't accept or respond to a
// control message.
type timeoutError struct{}

func (timeoutError) Error() string {
	return fmt.Sprintf("the simulator didn't respond within %v", controlTimeout)
}

// Is matches os.ErrDeadlineExceeded.
func (timeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// call sends a control message and replaces it with the response.
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

// receive receives the response to a control message. If the error is a *noResponseError, the
// response may still arrive.
func (c *Conn) receive(ctx context.Context, m *control) error {
	answer := make([]byte, controlLen+1)
	n := 0
	err := c.timed(ctx, func() (err error) {
		n, err = c.control.Read(answer)
		return err
	})
	if err != nil {
		return &noResponseError{err}
	}
	return m.decode(answer[:n])
}

// timed calls transfer, which reads from the control socket or writes to it, until the context ends
// or controlTimeout has passed.
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
		<-cut // otherwise it could end a later transfer
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return timeoutError{}
	}
	return err
}

func (c *Conn) leave() error {
	bye := control{kind: controlDisconnect, clientID: c.slot}
	// Errors don't matter: the simulator may have ended, and it detects that a client is gone.
	bound, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	c.call(bound, &bye) //nolint:errcheck // see above
	return errors.Join(c.control.Close(), c.data.close())
}

// Close leaves the simulator; a waiting Receive returns [net.ErrClosed]. Later calls of Close
// return the same error.
func (c *Conn) Close() error { return c.close() }

// Send sends packets to the simulator without waiting. It returns how many were sent: fewer than
// all if the simulator's queue is full, which is not an error.
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

// Receive waits for the first packet until the deadline, reads the other available packets, and
// returns their number. At the deadline it returns 0 and no error; a zero deadline means no limit.
// Datagrams of a wrong size are dropped.
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

// receive reads the available packets. It reports whether there are packets or an error.
func (t *transfer) receive(fd int) bool {
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
