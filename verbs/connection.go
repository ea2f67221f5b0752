package verbs

import (
	"context"
	"net/netip"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// ConnectOptions are what one end of a connection asks for in [Device.Dial] and
// [ConnectionRequest.Accept].
type ConnectOptions = provider.ConnectOptions

// RejectedError is the error of a connection that the peer has refused.
type RejectedError = provider.RejectedError

// Connection is a connection that [Device.Dial] or [ConnectionRequest.Accept] has established.
type Connection = provider.Connection

// Listen waits for connections to an address of the device, where it establishes connections
// itself: iWARP, and the communication manager of InfiniBand and RoCE; port 0 chooses one (C twins:
// rdma_bind_addr, rdma_listen). The error matches [ErrNotSupported] without [CapConnector]; use
// [QueuePair.Connect] there.
func (d *Device) Listen(ctx context.Context, addr netip.AddrPort) (*Listener, error) {
	c, ok := d.impl.(provider.Connector)
	if !ok {
		return nil, unsupported("listen", d)
	}
	impl, err := c.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &Listener{impl}, nil
}

// Dial connects qp, in state RESET or INIT, to the listener at addr. When it returns, the queue
// pair is in RTS (C twins: rdma_resolve_addr, rdma_resolve_route, rdma_connect). If the peer
// rejects the connection, the error is a [RejectedError]; without [CapConnector] it matches
// [ErrNotSupported].
func (d *Device) Dial(
	ctx context.Context, qp *QueuePair, addr netip.AddrPort, options ConnectOptions,
) (Connection, error) {
	c, ok := d.impl.(provider.Connector)
	if !ok {
		return nil, unsupported("dial", d)
	}
	return c.Dial(ctx, qp.impl, addr, options)
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

// Close ends listening; requests that nobody has answered are rejected.
func (l *Listener) Close() error { return l.impl.Close() }

// ConnectionRequest is a peer that waits for an answer.
type ConnectionRequest struct {
	impl provider.ConnectionRequest
}

// Remote returns the peer's address.
func (r *ConnectionRequest) Remote() netip.AddrPort { return r.impl.Remote() }

// PrivateData returns what the peer's program has sent.
func (r *ConnectionRequest) PrivateData() []byte { return r.impl.PrivateData() }

// Accept connects qp, in state RESET or INIT, to the peer. When it returns, the queue pair is in
// RTS (C twin: rdma_accept).
func (r *ConnectionRequest) Accept(ctx context.Context, qp *QueuePair, options ConnectOptions) (Connection, error) {
	return r.impl.Accept(ctx, qp.impl, options)
}

// Reject refuses the connection (C twin: rdma_reject).
func (r *ConnectionRequest) Reject(privateData []byte) error { return r.impl.Reject(privateData) }
