package verbs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Aliases of types that package [provider] defines.
type (
	// Access is a set of access rights to a [MemoryRegion].
	Access = provider.Access
	// SendOp is the operation of a send request.
	SendOp = provider.SendOp
	// SendFlags modify a send request.
	SendFlags = provider.SendFlags
	// WCStatus is the status of a completed request.
	WCStatus = provider.WCStatus
	// WCOp is the operation that completed.
	WCOp = provider.WCOp
	// WorkCompletion is an entry of a [CompletionQueue].
	WorkCompletion = provider.WorkCompletion
	// CompletionError is a request that failed: the error of a [WorkCompletion].
	CompletionError = provider.CompletionError
	// QPType is the transport service of a [QueuePair].
	QPType = provider.QPType
	// QPState is the state of a [QueuePair].
	QPState = provider.QPState
	// QPAttributes are what [QueuePair.Modify] sets.
	QPAttributes = provider.QPAttributes
	// Path is the path to the peer, a part of [QPAttributes].
	Path = provider.Path
	// DeviceAttributes are the capabilities and limits of a device: see [Device.Attributes].
	DeviceAttributes = provider.DeviceAttributes
	// PortAttributes is the state of a port: see [Device.Port].
	PortAttributes = provider.PortAttributes
	// PortState is the state of a port's link.
	PortState = provider.PortState
	// LinkLayer is the link layer of a port: InfiniBand or Ethernet.
	LinkLayer = provider.LinkLayer
	// GIDEntry is a non-empty entry of a port's GID table.
	GIDEntry = provider.GIDEntry
	// GIDType is the type of a GID: InfiniBand, RoCE v1 or RoCE v2.
	GIDType = provider.GIDType
	// WaitMode trades processor time for latency in [CompletionQueue.Wait].
	WaitMode = provider.WaitMode
	// CQConfig configures a completion queue for [Device.CreateCQ].
	CQConfig = provider.CQConfig
)

// Errors that callers branch on.
var (
	ErrQueueFull = provider.ErrQueueFull // a request beyond the depth of its queue
	// Not supported by the provider or the device; the same as errors.ErrUnsupported.
	ErrNotSupported = provider.ErrNotSupported
	ErrClosed       = provider.ErrClosed // the object is closed
	ErrBusy         = provider.ErrBusy   // other objects still use it
	// A completion queue was too small, and completions are missing.
	ErrOverrun = provider.ErrOverrun
)

// Device is an open device (C twin: struct ibv_context). Open one with [Open].
type Device struct {
	impl provider.Device
}

// Open opens a device by name with the first provider that has a device of that name
// (C twin: ibv_open_device). If no provider has one, the error matches [fs.ErrNotExist] and
// includes the error of each provider.
func Open(ctx context.Context, name string, providers ...provider.Provider) (*Device, error) {
	errs := []error{}
	for _, p := range providers {
		d, err := p.Open(ctx, name)
		if err == nil {
			return &Device{d}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("open device %s: %w", name, err)
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		errs = append(errs, fmt.Errorf("no providers: %w", fs.ErrNotExist))
	}
	return nil, fmt.Errorf("open device %s: %w", name, errors.Join(errs...))
}

// Name returns the device's name.
func (d *Device) Name() string { return d.impl.Name() }

// Attributes returns the capabilities and limits of the device (C twin: ibv_query_device).
func (d *Device) Attributes() DeviceAttributes { return d.impl.Attributes() }

// Port returns the state of a port, counted from 1 (C twin: ibv_query_port).
func (d *Device) Port(ctx context.Context, number int) (PortAttributes, error) {
	return d.impl.Port(ctx, number)
}

// GIDs returns the non-empty entries of a port's GID table in ascending order of their index
// (C twin: ibv_query_gid_table).
func (d *Device) GIDs(ctx context.Context, port int) ([]GIDEntry, error) {
	return d.impl.GIDs(ctx, port)
}

// GID returns the GID at an index of a port's table (C twin: ibv_query_gid). The error matches
// fs.ErrNotExist if the entry is empty.
func (d *Device) GID(ctx context.Context, port, index int) (ib.GID, error) {
	list, err := d.impl.GIDs(ctx, port)
	if err != nil {
		return ib.GID{}, err
	}
	for _, e := range list {
		if e.Index == index {
			return e.GID, nil
		}
	}
	return ib.GID{}, fmt.Errorf("query GID %d of %s port %d: empty: %w", index, d.Name(), port, fs.ErrNotExist)
}

// Counters returns the device's packet counters by name, counted since it was opened, or nil
// if the device has none. The difference between two calls covers all users of the device in
// between.
func (d *Device) Counters() map[string]uint64 {
	if c, ok := d.impl.(provider.CounterReader); ok {
		return c.Counters()
	}
	return nil
}

// Advice returns what to set on the machine so that the device isn't limited, and why: one sentence
// each, usually none.
func (d *Device) Advice() []string {
	if a, ok := d.impl.(provider.Adviser); ok {
		return a.Advice()
	}
	return nil
}

// Close closes the device. It returns [ErrBusy] while objects of the device are open.
func (d *Device) Close() error { return d.impl.Close() }

// AllocatePD allocates a protection domain (C twin: ibv_alloc_pd).
func (d *Device) AllocatePD() (*ProtectionDomain, error) {
	pd, err := d.impl.AllocatePD()
	if err != nil {
		return nil, err
	}
	return &ProtectionDomain{pd}, nil
}

// CreateCQ creates a completion queue (C twin: ibv_create_cq).
func (d *Device) CreateCQ(cfg CQConfig) (*CompletionQueue, error) {
	cq, err := d.impl.CreateCQ(cfg)
	if err != nil {
		return nil, err
	}
	return &CompletionQueue{cq}, nil
}

// ProtectionDomain groups memory regions and queue pairs: a queue pair can access only regions of
// its own domain (C twin: struct ibv_pd). Allocate one with [Device.AllocatePD].
type ProtectionDomain struct {
	impl provider.ProtectionDomain
}

// RegisterMemory registers buf for use by local requests and, if access permits it, by peers. The
// buffer is not copied (C twin: ibv_reg_mr).
func (pd *ProtectionDomain) RegisterMemory(buf []byte, access Access) (*MemoryRegion, error) {
	mr, err := pd.impl.RegisterMemory(buf, access)
	if err != nil {
		return nil, err
	}
	return &MemoryRegion{mr}, nil
}

// QPConfig configures a queue pair; SendCQ and RecvCQ are required.
type QPConfig struct {
	Type QPType // transport service
	// Completion queues of the send queue and the receive queue; they may be the same.
	SendCQ, RecvCQ *CompletionQueue
	// Depths of the two queues (0 is 128) and maximum number of segments of a request (0 is 1).
	MaxSendWR, MaxRecvWR, MaxSegments int
	MaxInline                         int // maximum bytes of a request with SendInline
	// Every send request makes an entry in the completion queue, as if it had SendSignaled.
	SignalAll bool
}

// CreateQP creates a queue pair in state RESET (C twin: ibv_create_qp).
func (pd *ProtectionDomain) CreateQP(cfg QPConfig) (*QueuePair, error) {
	if cfg.SendCQ == nil || cfg.RecvCQ == nil {
		return nil, errors.New("create qp: SendCQ and RecvCQ are required")
	}
	qp, err := pd.impl.CreateQP(provider.QPConfig{
		Type: cfg.Type, SendCQ: cfg.SendCQ.impl, RecvCQ: cfg.RecvCQ.impl,
		MaxSendWR: cfg.MaxSendWR, MaxRecvWR: cfg.MaxRecvWR, MaxSegments: cfg.MaxSegments,
		MaxInline: cfg.MaxInline, SignalAll: cfg.SignalAll,
	})
	if err != nil {
		return nil, err
	}
	return &QueuePair{impl: qp}, nil
}

// Close frees the domain. It returns [ErrBusy] while regions or queue pairs use it.
func (pd *ProtectionDomain) Close() error { return pd.impl.Close() }

// MemoryRegion is registered memory (C twin: struct ibv_mr). Create one with
// [ProtectionDomain.RegisterMemory].
type MemoryRegion struct {
	impl provider.MemoryRegion
}

// LKey returns the key for local use.
func (mr *MemoryRegion) LKey() uint32 { return mr.impl.LKey() }

// RKey returns the key that a peer needs for [SendRequest].
func (mr *MemoryRegion) RKey() uint32 { return mr.impl.RKey() }

// Addr returns the virtual address of the first byte, which a peer needs.
func (mr *MemoryRegion) Addr() uint64 { return mr.impl.Addr() }

// Bytes returns the memory: the slice that was registered.
func (mr *MemoryRegion) Bytes() []byte { return mr.impl.Bytes() }

// Segment returns a part of the region for a [SendRequest] or [ReceiveRequest]. Offset and length
// are in bytes.
func (mr *MemoryRegion) Segment(offset, length int) provider.Segment {
	return provider.Segment{Region: mr.impl, Offset: offset, Length: length}
}

// WaitByte waits until a peer has written the value want to the byte at offset, or until ctx
// ends. Programs that measure the latency of RDMA WRITE wait this way, since a WRITE makes no
// completion at its target. The error matches [ErrNotSupported] if the provider doesn't
// implement it.
func (mr *MemoryRegion) WaitByte(ctx context.Context, offset int, want byte) error {
	w, ok := mr.impl.(provider.MemoryWatcher)
	if !ok {
		return fmt.Errorf("wait for a byte of memory: %w", ErrNotSupported)
	}
	return w.WaitByte(ctx, offset, want)
}

// Close deregisters the memory (C twin: ibv_dereg_mr). When it returns, neither the provider nor
// peers access the memory any more.
func (mr *MemoryRegion) Close() error { return mr.impl.Close() }

// CompletionQueue holds the completions of requests (C twin: struct ibv_cq). Create one with
// [Device.CreateCQ].
type CompletionQueue struct {
	impl provider.CompletionQueue
}

// Poll removes up to len(wcs) completions from the queue and never waits (C twin: ibv_poll_cq).
func (cq *CompletionQueue) Poll(wcs []WorkCompletion) (int, error) { return cq.impl.Poll(wcs) }

// Wait waits until there are completions to poll, or until ctx ends (C twin:
// ibv_get_cq_event).
func (cq *CompletionQueue) Wait(ctx context.Context) error { return cq.impl.Wait(ctx) }

// Close frees the queue. It returns [ErrBusy] while queue pairs use it.
func (cq *CompletionQueue) Close() error { return cq.impl.Close() }

// Requests.
type (
	// SendRequest is a work request for the send queue: see [QueuePair.PostSend].
	SendRequest = provider.SendRequest
	// ReceiveRequest is a work request for the receive queue: see [QueuePair.PostReceive].
	ReceiveRequest = provider.ReceiveRequest
	// Segment is a part of a registered region, as [MemoryRegion.Segment] returns it.
	Segment = provider.Segment
)

// QueuePair is one end of a connection (C twin: struct ibv_qp). Create one with
// [ProtectionDomain.CreateQP].
type QueuePair struct {
	impl provider.QueuePair

	sends    postBuffer[SendRequest]
	receives postBuffer[ReceiveRequest]
}

// postBuffer holds copies of the requests of one call. A call through an interface moves its
// arguments to the heap; the copies keep a caller's literals on its stack.
type postBuffer[T any] struct {
	mu       sync.Mutex
	requests []T
	segments []Segment
}

// copy adds a copy of a request's segments and returns it.
func (b *postBuffer[T]) copy(segments []Segment) []Segment {
	at := len(b.segments)
	b.segments = append(b.segments, segments...)
	return b.segments[at:len(b.segments):len(b.segments)]
}

// reset forgets the requests, so that they keep no region alive.
func (b *postBuffer[T]) reset() {
	clear(b.requests)
	clear(b.segments)
	b.requests, b.segments = b.requests[:0], b.segments[:0]
}

// QPN returns the queue pair number, which a peer needs in its [Remote].
func (qp *QueuePair) QPN() ib.QPN { return qp.impl.QPN() }

// State returns the state.
func (qp *QueuePair) State() QPState { return qp.impl.State() }

// PostSend queues requests in order. It returns how many were queued; err is the error of the next
// one. The provider owns the memory of the requests until they complete. [ErrQueueFull] means
// that completions must be polled first (C twin: ibv_post_send, ENOMEM).
func (qp *QueuePair) PostSend(wrs ...SendRequest) (n int, err error) {
	b := &qp.sends
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.reset()
	for i := range wrs {
		wr := &wrs[i]
		b.requests = append(b.requests, SendRequest{
			ID: wr.ID, Op: wr.Op, Flags: wr.Flags, Segments: b.copy(wr.Segments), RemoteAddr: wr.RemoteAddr,
			RKey: wr.RKey, Immediate: wr.Immediate, Compare: wr.Compare, Operand: wr.Operand,
		})
	}
	return qp.impl.PostSend(b.requests)
}

// PostReceive queues buffers for messages of the peer. Like [QueuePair.PostSend], it returns
// [ErrQueueFull] when the queue is full (C twin: ibv_post_recv).
func (qp *QueuePair) PostReceive(wrs ...ReceiveRequest) (n int, err error) {
	b := &qp.receives
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.reset()
	for i := range wrs {
		b.requests = append(b.requests, ReceiveRequest{ID: wrs[i].ID, Segments: b.copy(wrs[i].Segments)})
	}
	return qp.impl.PostReceive(b.requests)
}

// Close frees the queue pair (C twin: ibv_destroy_qp). Requests that are still
// queued never complete.
func (qp *QueuePair) Close() error { return qp.impl.Close() }
