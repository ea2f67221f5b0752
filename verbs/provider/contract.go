package provider

import (
	"context"
	"errors"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Sentinels that callers branch on; whatever wraps them names operation, object
// and cause.
var (
	// ErrQueueFull is back-pressure: the queue takes no more requests until completions
	// are polled, or requests that make none complete. A place is free again when the
	// completion of its request was polled, so a completion queue with room for all places
	// of its queues never overruns. Nothing was posted of the request that it is returned for.
	ErrQueueFull = errors.New("queue is full")
	// ErrNotSupported is the answer to what a provider can't do.
	ErrNotSupported = errors.ErrUnsupported
	// ErrClosed is the answer of whatever was closed.
	ErrClosed = errors.New("closed")
	// ErrBusy is the answer to closing what others still use (C twin: EBUSY).
	ErrBusy = errors.New("in use")
	// ErrOverrun ends a completion queue that had no room for a completion.
	ErrOverrun = errors.New("completion queue overrun")
)

// Provider is a way to RDMA: hardware through libibverbs, or an engine in user
// space.
type Provider interface {
	// Name is short and lower case: "ibverbs", "roce".
	Name() string
	// Open opens a device by its name, in the provider's own form. The error matches
	// fs.ErrNotExist when the name is not one of its own or not there.
	Open(ctx context.Context, name string) (Device, error)
}

// Device is an open device.
type Device interface {
	Name() string
	// Limits tells what the device can do.
	Limits() Limits
	// Port tells the state of its port. A software device has one port, number 1.
	Port(ctx context.Context, number int) (PortInfo, error)
	AllocatePD() (ProtectionDomain, error)
	CreateCQ(CQConfig) (CompletionQueue, error)
	// Close ends the device. It answers ErrBusy while objects of it are open.
	Close() error
}

// CounterReader is what a Device implements that counts what happens to its packets.
type CounterReader interface {
	// Counters returns the counters since the device was opened, by name.
	Counters() map[string]uint64
}

// Limits are what a device can do at most.
type Limits struct {
	MaxQP         int
	MaxSendWR     int // requests a queue
	MaxRecvWR     int
	MaxSegments   int // segments a request
	MaxInline     int // bytes
	MaxCQE        int // completions a queue
	MaxMR         int
	MaxRDAtomic   int   // READs and atomics outstanding
	MaxMessage    int64 // bytes
	AtomicSupport bool
}

// PortInfo is what a program needs of a port to connect.
type PortInfo struct {
	Active    bool
	ActiveMTU ib.MTU
	LID       ib.LID
	LinkLayer string   // "InfiniBand" or "Ethernet"
	GIDs      []ib.GID // by index
}

// ProtectionDomain holds regions and queue pairs together: a queue pair reaches
// the regions of its own domain only.
type ProtectionDomain interface {
	// RegisterMemory lets local requests, and with the access flags those of peers,
	// use buf. It belongs to the region until Close returns.
	RegisterMemory(buf []byte, access Access) (MemoryRegion, error)
	CreateQP(QPConfig) (QueuePair, error)
	Close() error
}

// MemoryRegion is registered memory.
type MemoryRegion interface {
	LKey() uint32
	RKey() uint32
	// Addr is the virtual address of the first byte, as peers name it.
	Addr() uint64
	// Bytes is the memory.
	Bytes() []byte
	Close() error
}

// MemoryWatcher is implemented by regions of engines that share the processor with
// the program: whoever polled their memory in a loop would keep the engine from
// writing it.
type MemoryWatcher interface {
	// WaitByte returns when the byte at offset is want, or when ctx ends.
	WaitByte(ctx context.Context, offset int, want byte) error
}

// CompletionQueue collects the outcome of requests.
type CompletionQueue interface {
	// Poll takes up to len(wcs) completions and never waits. It allocates nothing.
	Poll(wcs []WorkCompletion) (n int, err error)
	// Wait returns when there is a completion to poll, or when ctx ends.
	Wait(ctx context.Context) error
	Close() error
}

// QueuePair is one end of a connection, or a datagram port.
type QueuePair interface {
	QPN() ib.QPN
	State() QPState
	// Modify sets attributes; the caller has checked the transition.
	Modify(QPAttributes) error
	// PostSend queues requests in order. It returns how many were queued; the error
	// belongs to the one after them.
	PostSend(wrs []SendRequest) (n int, err error)
	PostReceive(wrs []ReceiveRequest) (n int, err error)
	Close() error
}

// CQConfig configures a completion queue.
type CQConfig struct {
	// Depth is how many completions it holds; 0 is 1024. With the sum of the depths of
	// all queues that complete into it there is never an overrun.
	Depth int
	// Wait is how Wait waits.
	Wait WaitMode
}

// WaitMode trades processor time for latency.
type WaitMode uint8

// The modes.
const (
	WaitHybrid WaitMode = iota // poll for a while, then sleep
	WaitEvent                  // sleep until the device says that there is something
	// WaitBusy polls all the time. It wants a processor of its own: where as many
	// goroutines poll as there are processors, the rest of the program gets its turn
	// after milliseconds.
	WaitBusy
)

// QPConfig configures a queue pair.
type QPConfig struct {
	Type           QPType
	SendCQ, RecvCQ CompletionQueue
	// MaxSendWR and the others are the depths of its queues; 0 is 128, and 1 segment.
	MaxSendWR, MaxRecvWR, MaxSegments int
	MaxInline                         int
	// SignalAll makes every send request complete with an entry.
	SignalAll bool
}
