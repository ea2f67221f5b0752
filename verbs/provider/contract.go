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
	// are polled. A request occupies its queue until its completion has been polled, so a
	// completion queue as deep as its work queues together (their granted Capacity) never
	// overruns. One without a completion occupies it until it has completed, on a device until
	// the completion of a later one has been polled. The request that failed was not posted.
	ErrQueueFull = errors.New("queue is full")
	// ErrNotSupported is returned for features that a provider doesn't support.
	ErrNotSupported = errors.ErrUnsupported
	// ErrClosed is returned by methods of objects that have been closed.
	ErrClosed = errors.New("closed")
	// ErrBusy is returned by Close while other objects use the object (C twin: EBUSY).
	ErrBusy = errors.New("in use")
	// ErrOverrun is returned by a completion queue that had no room for a completion, once the
	// provider knows; a device reports it as an event.
	ErrOverrun = errors.New("completion queue overrun")
)

// Provider opens RDMA devices: hardware through libibverbs, or an engine in user
// space.
type Provider interface {
	// Name is short and lower case: "ibverbs", "roce".
	Name() string
	// Devices returns the devices that Open may open, in the order of the system (C twin:
	// ibv_get_device_list). Opening one may still fail, for example without a permission.
	Devices(ctx context.Context) ([]DeviceInfo, error)
	// Open opens a device by its name, whose form the provider defines. The error matches
	// fs.ErrNotExist if the name doesn't have this form or there is no such device. If it is
	// fs.ErrNotExist itself, users don't see it: the name is clearly for another provider.
	Open(ctx context.Context, name string) (Device, error)
}

// DeviceInfo describes a device that a provider may open (C twin: struct ibv_device).
type DeviceInfo struct {
	Name      string        // for Open
	Provider  string        // its name
	NodeType  NodeType      // kind of device; the engines are channel adapters
	Transport TransportType // wire protocol; RoCE is InfiniBand here
	Software  bool          // an engine in user space instead of a driver's device
	// Capabilities are those that are known without opening the device; [Device.Capabilities] has
	// all.
	Capabilities Capabilities
}

// Device is an open device.
type Device interface {
	// Name returns the name that the device was opened with (C twin: ibv_get_device_name).
	Name() string
	// Capabilities returns the optional features that this device and its provider have.
	Capabilities() Capabilities
	// Attributes returns the device's limits, as its driver reports them (C twin:
	// ibv_query_device).
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
	// (C twins: ibv_reg_mr, ibv_reg_mr_iova).
	RegisterMemory(buf []byte, options MemoryOptions) (MemoryRegion, error)
	// CreateQP creates a queue pair in state RESET (C twin: ibv_create_qp).
	CreateQP(QPConfig) (QueuePair, error)
	// Close frees the domain. It returns ErrBusy while regions, queue pairs and other objects of
	// the domain are open (C twin: ibv_dealloc_pd).
	Close() error
}

// QueuePair is one end of a connection, or a datagram endpoint.
type QueuePair interface {
	// QPN returns the queue pair number, of 24 bits, which the peer sends to.
	QPN() ib.QPN
	// Type returns the transport service.
	Type() QPType
	// Capacity returns the granted limits: at least those of the configuration (C twin: the cap
	// that ibv_create_qp returns).
	Capacity() QPCapacity
	// State returns the state as far as the provider knows: a device may move a queue pair to ERR
	// by itself, which Query then reports.
	State() QPState
	// Query returns the state and the attributes that were set, which Mask names (C twin:
	// ibv_query_qp).
	Query() (QPAttributes, error)
	// Modify sets attributes (C twin: ibv_modify_qp). It checks the transition as
	// [CheckTransition] does, and values out of range are errors.
	Modify(QPAttributes) error
	// PostSend queues requests in order. It returns how many were queued; err is the error
	// of the next one (C twin: ibv_post_send).
	PostSend(wrs []SendRequest) (n int, err error)
	// PostReceive queues buffers in order, with results as for PostSend (C twin:
	// ibv_post_recv). With a shared receive queue it is an error.
	PostReceive(wrs []ReceiveRequest) (n int, err error)
	// Close frees the queue pair; queued requests never complete (C twin: ibv_destroy_qp).
	Close() error
}

// QPConfig configures a queue pair (C twin: struct ibv_qp_init_attr).
type QPConfig struct {
	Type           QPType          // transport service
	SendCQ, RecvCQ CompletionQueue // completion queues of the two work queues; may be the same
	// SRQ, if not nil, takes the place of the receive queue; MaxRecvWR and MaxRecvSegments then
	// count for nothing.
	SRQ      SharedReceiveQueue
	Capacity QPCapacity // wanted limits
	// SignalAll makes every send request add an entry to the completion queue.
	SignalAll bool
	ID        uint64 // chosen by the program, which finds it in an [Event] of this queue pair
}

// QPCapacity are the limits of a queue pair (C twin: struct ibv_qp_cap).
type QPCapacity struct {
	MaxSendWR, MaxRecvWR             int // depths of the two queues, in requests; 0 is 128
	MaxSendSegments, MaxRecvSegments int // segments of a request; 0 is 1
	MaxInline                        int // bytes of a request with SendInline or Data; 0 is none
}
