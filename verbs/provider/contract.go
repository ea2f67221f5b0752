package provider

import (
	"context"
	"errors"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Sentinel errors that callers branch on. The errors that wrap them name operation, object
// and cause.
var (
	// ErrQueueFull is back-pressure: the queue accepts no more requests until completions
	// are polled, or until requests without completions complete. A request occupies its
	// queue until its completion has been polled, so a completion queue as deep as its work
	// queues together never overruns. The request that failed was not posted.
	ErrQueueFull = errors.New("queue is full")
	// ErrNotSupported is returned for features that a provider doesn't support.
	ErrNotSupported = errors.ErrUnsupported
	// ErrClosed is returned by methods of objects that have been closed.
	ErrClosed = errors.New("closed")
	// ErrBusy is returned by Close while other objects use the object (C twin: EBUSY).
	ErrBusy = errors.New("in use")
	// ErrOverrun is returned by a completion queue that had no room for a completion.
	ErrOverrun = errors.New("completion queue overrun")
)

// Provider opens RDMA devices: hardware through libibverbs, or an engine in user
// space.
type Provider interface {
	// Name is short and lower case: "ibverbs", "roce".
	Name() string
	// Open opens a device by its name, whose form the provider defines. The error matches
	// fs.ErrNotExist if the name doesn't have this form or there is no such device.
	Open(ctx context.Context, name string) (Device, error)
}

// Device is an open device.
type Device interface {
	// Name returns the name that the device was opened with (C twin: ibv_get_device_name).
	Name() string
	// Attributes returns the device's capabilities and limits (C twin: ibv_query_device).
	Attributes() DeviceAttributes
	// Port returns the state of a port, counted from 1 (C twin: ibv_query_port). A software
	// device has one port.
	Port(ctx context.Context, number int) (PortAttributes, error)
	// GIDs returns the non-empty entries of a port's GID table in ascending order of their
	// index (C twin: ibv_query_gid_table).
	GIDs(ctx context.Context, port int) ([]GIDEntry, error)
	// AllocatePD allocates a protection domain (C twin: ibv_alloc_pd).
	AllocatePD() (ProtectionDomain, error)
	// CreateCQ creates a completion queue; a depth greater than MaxCQE is an error (C twin:
	// ibv_create_cq).
	CreateCQ(CQConfig) (CompletionQueue, error)
	// Close closes the device. It returns ErrBusy while objects of the device are open.
	Close() error
}

// CounterReader is implemented by a [Device] that has packet counters.
type CounterReader interface {
	// Counters returns the counters since the device was opened, by name.
	Counters() map[string]uint64
}

// Adviser is implemented by a [Device] that knows a setting of the machine that limits it.
type Adviser interface {
	// Advice returns what to set and why, one sentence each.
	Advice() []string
}

// ProtectionDomain groups memory regions and queue pairs: a queue pair can access only
// regions of its own domain.
type ProtectionDomain interface {
	// RegisterMemory registers buf, of at least one byte, for use by local requests and, as
	// far as the access flags permit, by peers. The region owns buf until its Close returns
	// (C twin: ibv_reg_mr).
	RegisterMemory(buf []byte, access Access) (MemoryRegion, error)
	// CreateQP creates a queue pair in state RESET (C twin: ibv_create_qp).
	CreateQP(QPConfig) (QueuePair, error)
	// Close frees the domain. It returns ErrBusy while regions and queue pairs of the domain
	// are open (C twin: ibv_dealloc_pd).
	Close() error
}

// MemoryRegion is registered memory (C twin: struct ibv_mr).
type MemoryRegion interface {
	// LKey returns the key for local requests.
	LKey() uint32
	// RKey returns the key that peers use together with Addr.
	RKey() uint32
	// Addr returns the virtual address of the first byte, as used by peers.
	Addr() uint64
	// Bytes returns the memory.
	Bytes() []byte
	// Close deregisters the memory: after it requests that use the region fail, and nothing
	// accesses the memory (C twin: ibv_dereg_mr).
	Close() error
}

// MemoryWatcher is implemented by regions of software engines. They run on the same CPU as
// the program: a program that polled the memory in a loop would prevent the engine from
// writing to it.
type MemoryWatcher interface {
	// WaitByte returns when the byte at offset is want, or when ctx ends.
	WaitByte(ctx context.Context, offset int, want byte) error
}

// CompletionQueue holds the completions of requests.
type CompletionQueue interface {
	// Poll removes up to len(wcs) completions from the queue. It never waits and allocates
	// nothing (C twin: ibv_poll_cq).
	Poll(wcs []WorkCompletion) (n int, err error)
	// Wait returns when there is a completion to poll, or when ctx ends (C twins:
	// ibv_req_notify_cq, ibv_get_cq_event).
	Wait(ctx context.Context) error
	// Close frees the queue. It returns ErrBusy while queue pairs use it (C twin:
	// ibv_destroy_cq).
	Close() error
}

// QueuePair is one end of a connection, or a datagram endpoint.
type QueuePair interface {
	// QPN returns the queue pair number, of 24 bits, which the peer sends to.
	QPN() ib.QPN
	State() QPState
	// Modify sets attributes (C twin: ibv_modify_qp). It checks the transition as
	// [CheckTransition] does, and values out of range are errors.
	Modify(QPAttributes) error
	// PostSend queues requests in order. It returns how many were queued; err is the error
	// of the next one (C twin: ibv_post_send).
	PostSend(wrs []SendRequest) (n int, err error)
	// PostReceive queues buffers in order, with results as for PostSend (C twin:
	// ibv_post_recv).
	PostReceive(wrs []ReceiveRequest) (n int, err error)
	// Close frees the queue pair; queued requests never complete (C twin: ibv_destroy_qp).
	Close() error
}

// CQConfig configures a completion queue.
type CQConfig struct {
	// Depth is the maximum number of completions in the queue; 0 is 1024. The queue never
	// overruns if its depth is the sum of the depths of all work queues that use it.
	Depth int
	// Wait is the mode of CompletionQueue.Wait.
	Wait WaitMode
}

// WaitMode selects between CPU time and latency.
type WaitMode uint8

// The modes.
const (
	WaitHybrid WaitMode = iota // poll for a while, then sleep
	WaitEvent                  // sleep until the device reports a completion
	// WaitBusy polls continuously. It needs a dedicated CPU: if as many goroutines poll as
	// there are CPUs, the rest of the program runs only after milliseconds.
	WaitBusy
)

// QPConfig configures a queue pair.
type QPConfig struct {
	Type           QPType          // transport service
	SendCQ, RecvCQ CompletionQueue // completion queues of the two work queues; may be the same
	// MaxSendWR and MaxRecvWR are the depths of the queues (0 is 128), MaxSegments is the
	// maximum number of segments of a request (0 is 1).
	MaxSendWR, MaxRecvWR, MaxSegments int
	MaxInline                         int // maximum bytes of a request with SendInline
	// SignalAll makes every send request add an entry to the completion queue.
	SignalAll bool
}
