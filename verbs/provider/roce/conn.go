package roce

import "github.com/rdmakit/rdmakit/internal/edge/udpio"

// PacketConn carries the datagrams of an engine: internal/edge/udpio on a host, a
// simulated network in tests. Its methods are those of [udpio.Conn], which says more.
type PacketConn interface {
	// Read waits for datagrams and hands them to the handler; it returns
	// net.ErrClosed once the connection is closed. One goroutine calls it.
	Read(udpio.Handler) error
	// Poll hands on what is there and never waits. Any goroutine calls it; handlers
	// never run at the same time.
	Poll(udpio.Handler) (bool, error)
	// Resume is called when polling ends for now.
	Resume()
	// Write sends all entries in order. Any goroutine calls it; the data is the
	// caller's again when it returns.
	Write([]udpio.Outbound) error
	// Offload reports whether Write takes Numbered entries.
	Offload() (gso, gro bool)
	Close() error
}
