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
	// Name is the name that it was opened by (C twin: ibv_get_device_name).
	Name() string
	// Attributes tells what the device can do (C twin: ibv_query_device).
	Attributes() DeviceAttributes
	// Port tells the state of a port, counted from 1 (C twin: ibv_query_port). A software
	// device has one.
	Port(ctx context.Context, number int) (PortAttributes, error)
	// GIDs lists the slots of a port's GID table that are filled, by rising index (C twin:
	// ibv_query_gid_table).
	GIDs(ctx context.Context, port int) ([]GIDEntry, error)
	// AllocatePD makes a protection domain (C twin: ibv_alloc_pd).
	AllocatePD() (ProtectionDomain, error)
	// CreateCQ makes a completion queue; a depth beyond MaxCQE is an error (C twin:
	// ibv_create_cq).
	CreateCQ(CQConfig) (CompletionQueue, error)
	// Close ends the device. It answers ErrBusy while objects of it are open.
	Close() error
}

// CounterReader is what a [Device] implements that counts what happens to its packets.
type CounterReader interface {
	// Counters returns the counters since the device was opened, by name.
	Counters() map[string]uint64
}

// ProtectionDomain holds regions and queue pairs together: a queue pair reaches
// the regions of its own domain only.
type ProtectionDomain interface {
	// RegisterMemory lets local requests, and with the access flags those of peers,
	// use buf, of one byte at least. It belongs to the region until Close returns (C
	// twin: ibv_reg_mr).
	RegisterMemory(buf []byte, access Access) (MemoryRegion, error)
	// CreateQP makes a queue pair in state RESET (C twin: ibv_create_qp).
	CreateQP(QPConfig) (QueuePair, error)
	// Close answers ErrBusy while regions and queue pairs of it are open (C twin:
	// ibv_dealloc_pd).
	Close() error
}

// MemoryRegion is registered memory (C twin: struct ibv_mr).
type MemoryRegion interface {
	// LKey is the key of local requests.
	LKey() uint32
	// RKey is the key that peers name with Addr.
	RKey() uint32
	// Addr is the virtual address of the first byte, as peers name it.
	Addr() uint64
	// Bytes is the memory.
	Bytes() []byte
	// Close takes the memory back: from then on requests that name it fail, and nothing
	// touches it (C twin: ibv_dereg_mr).
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
	// C twin: ibv_poll_cq.
	Poll(wcs []WorkCompletion) (n int, err error)
	// Wait returns when there is a completion to poll, or when ctx ends (C twins:
	// ibv_req_notify_cq, ibv_get_cq_event).
	Wait(ctx context.Context) error
	// Close answers ErrBusy while queue pairs use it (C twin: ibv_destroy_cq).
	Close() error
}

// QueuePair is one end of a connection, or a datagram port.
type QueuePair interface {
	// QPN is its number, of 24 bits, which the peer sends to.
	QPN() ib.QPN
	State() QPState
	// Modify sets attributes; the caller has checked the transition. Values out of range
	// are errors (C twin: ibv_modify_qp).
	Modify(QPAttributes) error
	// PostSend queues requests in order. It returns how many were queued; the error
	// belongs to the one after them (C twin: ibv_post_send).
	PostSend(wrs []SendRequest) (n int, err error)
	// PostReceive queues buffers in order, as PostSend does (C twin: ibv_post_recv).
	PostReceive(wrs []ReceiveRequest) (n int, err error)
	// Close ends it; what is queued never completes (C twin: ibv_destroy_qp).
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
	Type           QPType          // transport service
	SendCQ, RecvCQ CompletionQueue // where completions of the two queues go; one may serve both
	// MaxSendWR and the others are the depths of its queues; 0 is 128, and 1 segment.
	MaxSendWR, MaxRecvWR, MaxSegments int
	MaxInline                         int
	// SignalAll makes every send request complete with an entry.
	SignalAll bool
}
