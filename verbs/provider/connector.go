package provider

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Connector is implemented by a [Device] with [CapConnector]: one that finds the peer and brings
// queue pairs to RTS itself, by the protocol of its transport. iWARP devices have no other way;
// InfiniBand and RoCE devices use the communication manager (C twin: librdmacm).
type Connector interface {
	// Listen waits for connections to an address of the device, the zero Addr being any; port 0
	// chooses one (C twins: rdma_bind_addr, rdma_listen).
	Listen(ctx context.Context, addr netip.AddrPort, options ListenOptions) (Listener, error)
	// Dial connects qp to the listener at addr: when it returns, the queue pair is in RTS (C twins:
	// rdma_resolve_addr, rdma_resolve_route, rdma_connect). If the peer rejects the connection, the
	// error is a [RejectedError].
	//
	// The queue pair is in RESET, or in INIT if the program has posted receive requests, as it must
	// where a message without one ends the connection (iWARP). The provider chooses port and
	// partition: it sets them again, whatever the program has set for INIT.
	//
	// A queue pair of type UD, in any state but ERR, is not connected: Dial brings it to RTS and
	// asks the listener of PortSpaceUDP at addr for its queue pair, which the connection's Datagram
	// returns.
	Dial(ctx context.Context, qp QueuePair, addr netip.AddrPort, options ConnectOptions) (Connection, error)
}

// PortSpace tells services of the same port apart (C twin: enum rdma_port_space, with the same
// numbers).
type PortSpace uint16

// The port spaces.
const (
	PortSpaceTCP PortSpace = 0x0106 // connections: what programs use unless they say otherwise
	PortSpaceUDP PortSpace = 0x0111 // datagrams, queue pairs of type UD
	PortSpaceIB  PortSpace = 0x013f // native InfiniBand services
)

// String returns TCP, UDP or IB.
func (s PortSpace) String() string {
	switch s {
	case PortSpaceTCP:
		return "TCP"
	case PortSpaceUDP:
		return "UDP"
	case PortSpaceIB:
		return "IB"
	}
	return fmt.Sprintf("port space %#04x", uint16(s))
}

// QKeyDatagrams is the Q_Key of the queue pairs of type UD that Dial and Accept prepare (C twin:
// RDMA_UDP_QKEY).
const QKeyDatagrams = 0x01234567

// ListenOptions configure a listener.
type ListenOptions struct {
	PortSpace PortSpace // 0 is PortSpaceTCP
	// Backlog is how many requests wait for Next; further ones are dropped, and their peers try
	// again. 0 is 128.
	Backlog int
}

// ConnectOptions are what one end of a connection asks for (C twin: struct rdma_conn_param).
// A provider takes retry counts and timeouts as they are; package verbs sets defaults for zeros.
type ConnectOptions struct {
	// Local is the address to connect from, for Dial; the zero Addr lets the routes choose.
	Local netip.Addr
	// PortSpace is that of the listener, for Dial; 0 is PortSpaceTCP, or PortSpaceUDP for a queue
	// pair of type UD.
	PortSpace   PortSpace
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
	// Close ends listening; requests that Next hasn't returned are rejected.
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
	// pair is in RTS (C twin: rdma_accept). After an error the program calls Reject: the request
	// may be unanswered, for example because the peer has a queue pair of another type.
	Accept(ctx context.Context, qp QueuePair, options ConnectOptions) (Connection, error)
	// Reject refuses the connection, and frees the request (C twin: rdma_reject). For a request
	// that is answered already it returns an error and does nothing.
	Reject(privateData []byte) error
}

// Connection is an established connection. It is closed before its queue pair.
type Connection interface {
	Local() netip.AddrPort
	Remote() netip.AddrPort
	// Options returns what the peer sent with its answer; empty at the accepting end.
	Options() ConnectOptions
	// Datagram returns where requests of a queue pair of type UD go that has looked up its peer;
	// false for connections, and at the accepting end.
	Datagram() (DatagramPeer, bool)
	// Done is closed when the connection has ended, for whatever reason: the queue pair is then in
	// ERR.
	Done() <-chan struct{}
	// Err returns nil before Done is closed, then the reason: io.EOF if the peer has disconnected,
	// ErrClosed after Close.
	Err() error
	// Disconnect ends the connection: the queue pair goes to ERR at once, then Disconnect waits
	// until the peer has answered, or for as long as ctx and the transport allow (C twin:
	// rdma_disconnect). The error is that of ctx; a peer that doesn't answer is none.
	Disconnect(ctx context.Context) error
	// Close is Disconnect without waiting for the peer.
	Close() error
}

// DatagramPeer is a queue pair of type UD that Dial has found.
type DatagramPeer struct {
	QPN  ib.QPN
	QKey uint32
	Path Path // for an address handle
}

// ErrNobodyListens matches a [RejectedError] because nobody listens on the port in this port space.
var ErrNobodyListens = errors.New("nobody listens")

// RejectedError is the error of a connection that the peer's program or its device has refused.
type RejectedError struct {
	Code        uint16 // reason of an InfiniBand REJ message; 0 where the transport has none
	Reason      string // in words
	PrivateData []byte // from the peer's program
	// NobodyListens is set if there is no listener: the error matches ErrNobodyListens.
	NobodyListens bool
}

// Error implements error.
func (e *RejectedError) Error() string { return "connection rejected by the peer: " + e.Reason }

// Is reports whether target is ErrNobodyListens, and that is the reason.
func (e *RejectedError) Is(target error) bool {
	return target == ErrNobodyListens && e.NobodyListens
}
