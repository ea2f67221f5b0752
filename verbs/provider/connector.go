package provider

import (
	"context"
	"net/netip"
)

// Connector is implemented by a [Device] with [CapConnector]: one that finds the peer and brings
// queue pairs to RTS itself, by the protocol of its transport. iWARP devices have no other way;
// InfiniBand and RoCE devices use the communication manager (C twin: librdmacm).
type Connector interface {
	// Listen waits for connections to an address of the device; port 0 chooses one (C twins:
	// rdma_bind_addr, rdma_listen).
	Listen(ctx context.Context, addr netip.AddrPort) (Listener, error)
	// Dial connects qp to the listener at addr: when it returns, the queue pair is in RTS (C twins:
	// rdma_resolve_addr, rdma_resolve_route, rdma_connect). If the peer rejects the connection, the
	// error is a [RejectedError].
	//
	// The queue pair is in RESET, or in INIT if the program has posted receive requests, as it must
	// where a message without one ends the connection (iWARP). The provider chooses port and
	// partition: it sets them again, whatever the program has set for INIT.
	Dial(ctx context.Context, qp QueuePair, addr netip.AddrPort, options ConnectOptions) (Connection, error)
}

// ConnectOptions are what one end of a connection asks for (C twin: struct rdma_conn_param).
// A provider takes retry counts and timeouts as they are; package verbs sets defaults for zeros.
type ConnectOptions struct {
	// Local is the address to connect from, for Dial; the zero Addr lets the routes choose.
	Local       netip.Addr
	PrivateData []byte // for the peer's program; the transport limits its length
	Access      Access // what the peer may do
	// ReadAtomic is the maximum number of outstanding READs and atomics of this end
	// (initiator_depth), DestReadAtomic of the peer (responder_resources).
	ReadAtomic, DestReadAtomic int
	RetryCount                 uint8 // 0 to 7; not on iWARP, where TCP retries
	RNRRetry                   uint8 // 0 to 7; 7 means unlimited
	TrafficClass               uint8 // DSCP and ECN
	// Timeout is the code of ib.AckTimeout for acknowledgements, on InfiniBand and RoCE.
	Timeout uint8
}

// Listener accepts connections.
type Listener interface {
	// Addr returns the address with the port that was chosen.
	Addr() netip.AddrPort
	// Next returns the next request of a peer, or an error when ctx ends or the listener is closed
	// (C twin: rdma_get_request).
	Next(ctx context.Context) (ConnectionRequest, error)
	// Close ends listening; requests that nobody has answered are rejected.
	Close() error
}

// ConnectionRequest is a peer that waits for an answer.
type ConnectionRequest interface {
	// Remote returns the peer's address.
	Remote() netip.AddrPort
	// Local returns the address that the peer has connected to.
	Local() netip.AddrPort
	// Options returns what the peer asks for; its ReadAtomic is the most that Accept may choose for
	// DestReadAtomic, and the reverse.
	Options() ConnectOptions
	// Accept connects qp, in RESET or INIT as for Dial, to the peer. When it returns, the queue
	// pair is in RTS (C twin: rdma_accept).
	Accept(ctx context.Context, qp QueuePair, options ConnectOptions) (Connection, error)
	// Reject refuses the connection (C twin: rdma_reject).
	Reject(privateData []byte) error
}

// Connection is an established connection. It is closed before its queue pair.
type Connection interface {
	Local() netip.AddrPort
	Remote() netip.AddrPort
	// Options returns what the peer sent with its answer; empty at the accepting end.
	Options() ConnectOptions
	// Done is closed when the connection has ended, for whatever reason: the queue pair is then in
	// ERR.
	Done() <-chan struct{}
	// Err returns nil before Done is closed, then the reason: io.EOF if the peer has disconnected,
	// ErrClosed after Close.
	Err() error
	// Close disconnects: the queue pair goes to ERR (C twin: rdma_disconnect).
	Close() error
}

// RejectedError is the error of a connection that the peer's program or its device has refused.
type RejectedError struct {
	Reason      string // of the transport
	PrivateData []byte // from the peer's program
}

// Error implements error.
func (e *RejectedError) Error() string { return "connection rejected by the peer: " + e.Reason }
