package verbs

import (
	"cmp"
	"context"
	"net/netip"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// ConnectOptions are what one end of a connection asks for in [Device.Dial] and
// [ConnectionRequest.Accept]. ReadAtomic, DestReadAtomic, RetryCount, RNRRetry and Timeout have the
// defaults of [ConnectConfig], with RetryNone and TimeoutInfinite. Both ends reduce ReadAtomic and
// DestReadAtomic to what the devices and the other end allow.
type ConnectOptions = provider.ConnectOptions

// RejectedError is the error of a connection that the peer has refused.
type RejectedError = provider.RejectedError

// ErrNobodyListens matches a [RejectedError] because nobody listens on the port.
var ErrNobodyListens = provider.ErrNobodyListens

// ListenOptions configure [Device.Listen].
type ListenOptions = provider.ListenOptions

// PortSpace tells services of the same port apart.
type PortSpace = provider.PortSpace

// The port spaces.
const (
	PortSpaceTCP = provider.PortSpaceTCP // connections
	PortSpaceUDP = provider.PortSpaceUDP // datagrams, queue pairs of type UD
	PortSpaceIB  = provider.PortSpaceIB  // native InfiniBand services
)

// DatagramPeer is a queue pair of type UD that [Device.Dial] has found.
type DatagramPeer = provider.DatagramPeer

// withDefaults returns the options for a provider.
func withDefaults(o ConnectOptions) ConnectOptions {
	o.ReadAtomic = cmp.Or(o.ReadAtomic, defaultReads)
	o.DestReadAtomic = cmp.Or(o.DestReadAtomic, o.ReadAtomic)
	o.RetryCount = orDefault(o.RetryCount, defaultRetries)
	o.RNRRetry = orDefault(o.RNRRetry, defaultRetries)
	o.Timeout = orDefault(o.Timeout, defaultTimeout)
	return o
}

// Connection is a connection that [Device.Dial] or [ConnectionRequest.Accept] has established.
// Close it before its queue pair.
type Connection struct {
	impl provider.Connection
}

func connectionOf(c provider.Connection, err error) (*Connection, error) {
	if err != nil {
		return nil, err
	}
	return &Connection{c}, nil
}

// Local returns the address of this end.
func (c *Connection) Local() netip.AddrPort { return c.impl.Local() }

// Remote returns the peer's address.
func (c *Connection) Remote() netip.AddrPort { return c.impl.Remote() }

// Options returns what the peer sent with its answer, such as private data; empty at the accepting
// end.
func (c *Connection) Options() ConnectOptions { return c.impl.Options() }

// Done returns a channel that is closed when the connection has ended, for whatever reason: the
// queue pair is then in ERR.
func (c *Connection) Done() <-chan struct{} { return c.impl.Done() }

// Err returns nil before Done is closed, then the reason: io.EOF if the peer has disconnected,
// [ErrClosed] after Close.
func (c *Connection) Err() error { return c.impl.Err() }

// Datagram returns where requests of a queue pair of type UD go that has looked up its peer; false
// for connections, and at the accepting end.
func (c *Connection) Datagram() (DatagramPeer, bool) { return c.impl.Datagram() }

// Disconnect ends the connection: the queue pair goes to ERR at once, then Disconnect waits until
// the peer has answered, or for as long as ctx and the transport allow (C twin: rdma_disconnect).
func (c *Connection) Disconnect(ctx context.Context) error { return c.impl.Disconnect(ctx) }

// Close disconnects without waiting for the peer.
func (c *Connection) Close() error { return c.impl.Close() }

// Listen waits for connections to an address of the device, where it establishes connections
// itself: iWARP, and the communication manager of InfiniBand and RoCE; port 0 chooses one (C twins:
// rdma_bind_addr, rdma_listen). The error matches [ErrNotSupported] without [CapConnector]; use
// [QueuePair.Connect] there.
func (d *Device) Listen(ctx context.Context, addr netip.AddrPort, options ListenOptions) (*Listener, error) {
	c, ok := d.impl.(provider.Connector)
	if !ok {
		return nil, unsupported("listen", d)
	}
	impl, err := c.Listen(ctx, addr, options)
	if err != nil {
		return nil, err
	}
	return &Listener{impl}, nil
}

// Dial connects qp to the listener at addr. The queue pair is in RESET, or in INIT if the program
// has posted receive requests, as it must on iWARP. When Dial returns, the queue pair is in RTS (C
// twins: rdma_resolve_addr, rdma_resolve_route, rdma_connect). If the peer rejects the connection,
// the error is a [RejectedError]; without [CapConnector] it matches [ErrNotSupported].
func (d *Device) Dial(
	ctx context.Context, qp *QueuePair, addr netip.AddrPort, options ConnectOptions,
) (*Connection, error) {
	c, ok := d.impl.(provider.Connector)
	if !ok {
		return nil, unsupported("dial", d)
	}
	return connectionOf(c.Dial(ctx, qp.impl, addr, withDefaults(options)))
}

// Listener accepts connections. Create one with [Device.Listen].
type Listener struct {
	impl provider.Listener
}

// Addr returns the address with the port that was chosen.
func (l *Listener) Addr() netip.AddrPort { return l.impl.Addr() }

// Next returns the next request of a peer, or an error when ctx ends or the listener is closed
// (C twin: rdma_get_request).
func (l *Listener) Next(ctx context.Context) (*ConnectionRequest, error) {
	r, err := l.impl.Next(ctx)
	if err != nil {
		return nil, err
	}
	return &ConnectionRequest{r}, nil
}

// Close ends listening; requests that Next hasn't returned are rejected.
func (l *Listener) Close() error { return l.impl.Close() }

// ConnectionRequest is a peer that waits for an answer.
type ConnectionRequest struct {
	impl provider.ConnectionRequest
}

// Remote returns the peer's address.
func (r *ConnectionRequest) Remote() netip.AddrPort { return r.impl.Remote() }

// Local returns the address that the peer has connected to.
func (r *ConnectionRequest) Local() netip.AddrPort { return r.impl.Local() }

// Options returns what the peer asks for, such as its private data; its ReadAtomic is the most that
// Accept may choose for DestReadAtomic, and the reverse.
func (r *ConnectionRequest) Options() ConnectOptions { return r.impl.Options() }

// Accept connects qp, in state RESET or INIT, to the peer. When it returns, the queue pair is in
// RTS (C twin: rdma_accept). After an error call Reject: the request may be unanswered, for example
// because the peer has a queue pair of another type.
func (r *ConnectionRequest) Accept(
	ctx context.Context, qp *QueuePair, options ConnectOptions,
) (*Connection, error) {
	return connectionOf(r.impl.Accept(ctx, qp.impl, withDefaults(options)))
}

// Reject refuses the connection, and frees the request (C twin: rdma_reject). For a request that is
// answered already it returns an error and does nothing.
func (r *ConnectionRequest) Reject(privateData []byte) error { return r.impl.Reject(privateData) }
