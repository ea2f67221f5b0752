package ibverbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"syscall"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// connection implements [provider.Connection]. A goroutine waits for its end.
type connection struct {
	addresses
	x       *identifier
	qp      *queuePair
	stopped chan struct{} // closed when the goroutine has ended

	ends     sync.Once
	done     chan struct{} // closed when the queue pair is in ERR
	err      error         // set before done is closed
	answered chan struct{} // closed when the kernel has reported the end, or the identifier is closed
	closes   sync.Once
}

// addresses are what a connection knows of its ends.
type addresses struct {
	local, remote netip.AddrPort
	options       provider.ConnectOptions // of the peer
}

// Local implements [provider.Connection] and [provider.ConnectionRequest].
func (a *addresses) Local() netip.AddrPort { return a.local }

// Remote implements [provider.Connection] and [provider.ConnectionRequest].
func (a *addresses) Remote() netip.AddrPort { return a.remote }

// Options implements [provider.Connection] and [provider.ConnectionRequest].
func (a *addresses) Options() provider.ConnectOptions { return a.options }

// peerOptions returns what the peer has sent. The event has limits of this end, those of the peer
// reversed.
func peerOptions(ev *cmEvent) provider.ConnectOptions {
	return provider.ConnectOptions{
		PrivateData: ev.privateData,
		ReadAtomic:  int(ev.conn.ResponderResources), DestReadAtomic: int(ev.conn.InitiatorDepth),
		RetryCount: ev.conn.RetryCount, RNRRetry: ev.conn.RNRRetryCount,
	}
}

// newConnection returns an established connection.
func newConnection(x *identifier, qp *queuePair, options provider.ConnectOptions) *connection {
	c := &connection{
		addresses: addresses{x.local(), x.remote(), options}, x: x, qp: qp,
		stopped: make(chan struct{}), done: make(chan struct{}), answered: make(chan struct{}),
	}
	go c.watch() // until Close
	return c
}

// watch waits for the end of the connection.
func (c *connection) watch() {
	defer close(c.stopped)
	reported := false
	for {
		ev, err := c.x.next(context.Background(), "the end of the connection", nil)
		if err != nil {
			if !c.x.file.closed() {
				c.end(err, func() {}) // no more events
			}
			break
		}
		var reason error
		switch ev.kind {
		case cmDisconnected:
			reason = io.EOF
		case cmDeviceRemoval:
			err := c.x.d.failed("wait for events", int(syscall.ENODEV), 0)
			reason = fmt.Errorf("connection to %v: %w", c.remote, err)
		case cmConnectError, cmUnreachable, cmRejected:
			reason = fmt.Errorf("connection to %v: %w", c.remote, eventError(c.x, ev))
		default:
			continue
		}
		c.end(reason, c.disconnect) // which answers the peer
		if !reported {
			reported = true
			close(c.answered)
		}
	}
	if !reported {
		close(c.answered)
	}
}

// end ends the connection with a reason; only the first one counts. tell is called when no more
// requests complete.
func (c *connection) end(reason error, tell func()) {
	c.ends.Do(func() {
		c.err = reason
		// iWARP closes the connection gracefully if the peer is notified while the queue pair is in
		// RTS.
		if c.x.d.transport == provider.TransportTypeIWARP {
			tell()
			c.qp.fail()
		} else {
			c.qp.fail()
			tell()
		}
		close(c.done)
	})
}

// disconnect tells the peer, or answers it.
func (c *connection) disconnect() {
	_ = c.x.quick(func() (uintptr, syscall.Errno) { // fails if the connection has ended already
		return c.x.d.cm.disconnect.CallErrno(c.x.addr)
	})
}

// Datagram implements [provider.Connection].
func (c *connection) Datagram() (provider.DatagramPeer, bool) { return provider.DatagramPeer{}, false }

// Done implements [provider.Connection].
func (c *connection) Done() <-chan struct{} { return c.done }

// Err implements [provider.Connection].
func (c *connection) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Disconnect implements [provider.Connection].
func (c *connection) Disconnect(ctx context.Context) error {
	c.end(provider.ErrClosed, c.disconnect)
	select {
	case <-c.answered:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("disconnect from %v: %w", c.remote, context.Cause(ctx))
	}
}

// Close implements [provider.Connection].
func (c *connection) Close() error {
	c.closes.Do(func() {
		c.end(provider.ErrClosed, c.disconnect)
		c.x.file.close()
		<-c.stopped
		c.x.closeWait()
	})
	return nil
}

// lookup implements [provider.Connection] for queue pairs of type UD, which aren't connected: it
// only remembers an answer.
type lookup struct {
	addresses
	peer   *provider.DatagramPeer // nil at the accepting end
	closes sync.Once
	done   chan struct{}
}

func newLookup(
	local, remote netip.AddrPort, options provider.ConnectOptions, peer *provider.DatagramPeer,
) *lookup {
	return &lookup{addresses: addresses{local, remote, options}, peer: peer, done: make(chan struct{})}
}

// Datagram implements [provider.Connection].
func (l *lookup) Datagram() (provider.DatagramPeer, bool) {
	if l.peer == nil {
		return provider.DatagramPeer{}, false
	}
	return *l.peer, true
}

// Done implements [provider.Connection].
func (l *lookup) Done() <-chan struct{} { return l.done }

// Err implements [provider.Connection].
func (l *lookup) Err() error {
	select {
	case <-l.done:
		return provider.ErrClosed
	default:
		return nil
	}
}

// Disconnect implements [provider.Connection]: it is Close, since there is no connection. The queue
// pair, which may serve many peers, keeps its state.
func (l *lookup) Disconnect(context.Context) error { return l.Close() }

// Close implements [provider.Connection].
func (l *lookup) Close() error {
	l.closes.Do(func() { close(l.done) })
	return nil
}

// failed returns the error of an attempt that ended with an event.
func (a *attempt) failed(ev *cmEvent) error {
	e := &Error{Op: a.op, Device: a.x.d.name, Err: eventError(a.x, ev)}
	switch {
	case errors.Is(e.Err, syscall.ETIMEDOUT), errors.Is(e.Err, syscall.EHOSTUNREACH),
		errors.Is(e.Err, syscall.ENETUNREACH):
		e.Remedy = "check that the peer has an RDMA device on this network: ping shows only its network interface"
	}
	return e
}
