package roce

import "github.com/rdmakit/rdmakit/internal/edge/udpio"

// PacketConn sends and receives the datagrams of an engine: internal/edge/udpio on a host, a
// simulated network in tests. [udpio.Conn] documents the methods in detail.
type PacketConn interface {
	// Read waits for datagrams and passes them to the handler; it returns
	// net.ErrClosed once the connection is closed. Only one goroutine calls it.
	Read(udpio.Handler) error
	// Poll passes the datagrams that have arrived to the handler and never waits. Any
	// goroutine may call it; handlers never run concurrently.
	Poll(udpio.Handler) (bool, error)
	// Resume is called when a goroutine stops polling.
	Resume()
	PacketSender
	// ReceiveBuffer returns how many bytes of datagrams wait for a reader before further ones are
	// lost; 0 if that is unknown.
	ReceiveBuffer() int
}

// PacketSender is the sending half of a [PacketConn], or another socket that only sends.
type PacketSender interface {
	// Write sends entries in order and never waits: it returns the entries for which there is no
	// space. Any goroutine may call it; the caller may reuse the data of what was sent.
	Write([]udpio.Outbound) (rest []udpio.Outbound, err error)
	// WaitWritable waits until Write has space, or returns net.ErrClosed once the connection is
	// closed. Other goroutines may write meanwhile.
	WaitWritable() error
	// Offload reports whether the connection supports segmentation offload (gso), so that
	// Write accepts Numbered entries, and receive offload (gro).
	Offload() (gso, gro bool)
	// Close may be called several times, also by a handler. It waits until the address is free
	// unless a handler runs.
	Close() error
}
