package verbs

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// ProtectionDomain groups memory regions and queue pairs: a queue pair can access only regions of
// its own domain (C twin: struct ibv_pd). Allocate one with [Device.AllocatePD].
type ProtectionDomain struct {
	impl   provider.ProtectionDomain
	device *Device
}

// Close frees the domain. It returns [ErrBusy] while regions, queue pairs or other objects use it.
func (pd *ProtectionDomain) Close() error { return pd.impl.Close() }

// RegisterMemory registers buf for use by local requests and, if the access flags permit it, by
// peers. The buffer is not copied. A network card pins its pages, which count against
// RLIMIT_MEMLOCK; an engine in user space doesn't (C twins: ibv_reg_mr, ibv_reg_mr_iova).
func (pd *ProtectionDomain) RegisterMemory(buf []byte, options MemoryOptions) (*MemoryRegion, error) {
	return regionOf(pd.impl.RegisterMemory(buf, options))
}

// RegisterAddress registers memory that Go doesn't manage, such as a C library's or, with the
// GPU driver's peer-memory module, a GPU's. It must stay mapped until the region is closed. The
// error matches [ErrNotSupported] without [CapRegisterAddress].
func (pd *ProtectionDomain) RegisterAddress(
	addr uintptr, length uint64, options MemoryOptions,
) (*MemoryRegion, error) {
	r, ok := pd.impl.(provider.AddressRegistrar)
	if !ok {
		return nil, unsupported("register memory by its address", pd.device)
	}
	return regionOf(r.RegisterAddress(addr, length, options))
}

// RegisterDMABuf registers length bytes, from offset, of a dma-buf, such as the memory of a GPU
// (C twin: ibv_reg_dmabuf_mr, whose iova is options.Address). The error matches [ErrNotSupported]
// without [CapDMABuf].
func (pd *ProtectionDomain) RegisterDMABuf(
	fd int, offset, length uint64, options MemoryOptions,
) (*MemoryRegion, error) {
	r, ok := pd.impl.(provider.DMABufRegistrar)
	if !ok {
		return nil, unsupported("register dma-buf", pd.device)
	}
	return regionOf(r.RegisterDMABuf(fd, offset, length, options))
}

func regionOf(mr provider.MemoryRegion, err error) (*MemoryRegion, error) {
	if err != nil {
		return nil, err
	}
	return &MemoryRegion{mr}, nil
}

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

// Length returns the size in bytes.
func (mr *MemoryRegion) Length() uint64 { return mr.impl.Length() }

// Bytes returns the memory: the slice that was registered, or nil if the program can't access it.
func (mr *MemoryRegion) Bytes() []byte { return mr.impl.Bytes() }

// Segment returns a part of the region for a [SendRequest] or [ReceiveRequest]. Offset and length
// are in bytes.
func (mr *MemoryRegion) Segment(offset, length int) provider.Segment {
	return provider.Segment{Region: mr.impl, Offset: offset, Length: length}
}

// WaitByte waits until a peer has written the value want to the byte at offset, or until ctx
// ends. Programs that measure the latency of RDMA WRITE wait this way, since a WRITE makes no
// completion at its target. Where the provider can't watch memory it polls the byte, which occupies
// a CPU. The error matches [ErrNotSupported] for memory that the program can't access.
//
// Engines in user space write the bytes of a message in ascending order. Most cards do, too, but
// none promises it, and adaptive routing and [AccessRelaxedOrdering] undo it: don't conclude from
// the last byte that the others are there, but from a completion.
func (mr *MemoryRegion) WaitByte(ctx context.Context, offset int, want byte) error {
	if w, ok := mr.impl.(provider.MemoryWatcher); ok {
		return w.WaitByte(ctx, offset, want)
	}
	buf := mr.impl.Bytes()
	switch {
	case mr.impl.Length() > 0 && buf == nil:
		return fmt.Errorf("wait for a byte of memory that the program can't access: %w", ErrNotSupported)
	case offset < 0 || offset >= len(buf):
		return fmt.Errorf("wait for a byte of memory: byte %d is outside a region of %d bytes", offset, len(buf))
	}
	return pollByte(ctx, &buf[offset], want)
}

// pollByte reads a byte until it is want. A device writes to memory without the knowledge of the
// compiler, which must not keep the byte in a register: see load.
func pollByte(ctx context.Context, b *byte, want byte) error {
	const (
		perCheck = 64                    // reads between two checks of the context
		patience = 20 * time.Microsecond // without yielding to other goroutines
	)
	start := time.Now()
	for {
		for range perCheck {
			if load(b) == want {
				barrier.Add(0) // what the caller reads next isn't older
				return nil
			}
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("wait for a byte of memory: %w", context.Cause(ctx))
		}
		if time.Since(start) > patience {
			runtime.Gosched()
		}
	}
}

// barrier orders the reads before and after an operation on it, which plain reads on arm64 are not.
var barrier atomic.Uint32

//go:noinline
func load(b *byte) byte { return *b }

// Close deregisters the memory (C twin: ibv_dereg_mr). When it returns, neither the provider nor
// peers access the memory any more.
func (mr *MemoryRegion) Close() error { return mr.impl.Close() }

// MemoryWindow gives peers access to a part of a region (C twin: struct ibv_mw). Bind it with
// [SendOpBindWindow].
type MemoryWindow struct {
	impl provider.MemoryWindow
}

// AllocateWindow allocates a memory window, which gives access to nothing until it is bound
// (C twin: ibv_alloc_mw). The error matches [ErrNotSupported] without [CapWindow1] or
// [CapWindow2].
func (pd *ProtectionDomain) AllocateWindow(t WindowType) (*MemoryWindow, error) {
	a, ok := pd.impl.(provider.WindowAllocator)
	if !ok {
		return nil, unsupported("allocate memory window", pd.device)
	}
	w, err := a.AllocateWindow(t)
	if err != nil {
		return nil, err
	}
	return &MemoryWindow{w}, nil
}

// RKey returns the key as it was allocated, or for type 1 that of the last binding that was posted.
func (w *MemoryWindow) RKey() uint32 { return w.impl.RKey() }

// Type returns the type of the window.
func (w *MemoryWindow) Type() WindowType { return w.impl.Type() }

// Bind returns the binding to a part of a region for [SendRequest]. For type 2 set its RKey, to
// [NextKey] of the window's last one. A length of 0 unbinds a window of type 1.
func (w *MemoryWindow) Bind(mr *MemoryRegion, offset, length uint64, access Access) *WindowBind {
	return &WindowBind{Window: w.impl, Region: mr.impl, Offset: offset, Length: length, Access: access}
}

// NextKey returns the key that follows a key of a window of type 2: its low eight bits are the
// program's (C twin: ibv_inc_rkey).
func NextKey(key uint32) uint32 { return provider.NextKey(key) }

// Close frees the window (C twin: ibv_dealloc_mw).
func (w *MemoryWindow) Close() error { return w.impl.Close() }
