package provider

import "context"

// Access is a set of access rights to a region, and of properties of its memory. Local reads are
// always allowed (C twin: enum ibv_access_flags, with the same bits).
type Access uint32

// The flags. Remote writes, atomics and the binding of windows require AccessLocalWrite as well.
const (
	AccessLocalWrite       Access = 1 << 0
	AccessRemoteWrite      Access = 1 << 1
	AccessRemoteRead       Access = 1 << 2
	AccessRemoteAtomic     Access = 1 << 3
	AccessWindowBind       Access = 1 << 4  // memory windows may be bound to it
	AccessZeroBased        Access = 1 << 5  // peers address the first byte as 0
	AccessOnDemand         Access = 1 << 6  // not pinned: the card handles page faults
	AccessHugePages        Access = 1 << 7  // with AccessOnDemand: the memory is huge pages
	AccessFlushGlobal      Access = 1 << 8  // peers may FLUSH to global visibility
	AccessFlushPersistent  Access = 1 << 9  // peers may FLUSH to persistence
	AccessRelaxedOrdering  Access = 1 << 20 // writes of a message may become visible in any order
	accessOptional         Access = 0x3ff << 20
	accessRemoteWriteFlags        = AccessRemoteWrite | AccessRemoteAtomic | AccessWindowBind
)

// Required returns the flags without those that a device that doesn't know them ignores, such as
// AccessRelaxedOrdering (C twin: IBV_ACCESS_OPTIONAL_RANGE).
func (a Access) Required() Access { return a &^ accessOptional }

// NeedsLocalWrite reports whether the flags require AccessLocalWrite and don't contain it
// (specification volume 1, section 11.2.8.2).
func (a Access) NeedsLocalWrite() bool {
	return a&accessRemoteWriteFlags != 0 && a&AccessLocalWrite == 0
}

// MemoryOptions configure the registration of memory.
type MemoryOptions struct {
	Access Access // what local requests and peers may do
	// Address is the virtual address of the first byte for peers, if [CapMemoryAddress] is set. 0
	// leaves the choice to the provider; AccessZeroBased gives the address 0.
	Address uint64
}

// MemoryRegion is registered memory (C twin: struct ibv_mr).
//
// A device pins the pages of the memory in RAM unless it was registered with AccessOnDemand: they
// count against RLIMIT_MEMLOCK, and the memory isn't swapped or moved. An engine in user space pins
// nothing. The region keeps Go memory reachable; memory that Go doesn't know must stay mapped.
type MemoryRegion interface {
	// LKey returns the key for local requests.
	LKey() uint32
	// RKey returns the key that peers use together with Addr.
	RKey() uint32
	// Addr returns the virtual address of the first byte, as used by peers.
	Addr() uint64
	// Length returns the size in bytes.
	Length() uint64
	// Bytes returns the memory, or nil if the program can't access it or the region is closed.
	Bytes() []byte
	// Close deregisters the memory: after it requests that use the region fail, and nothing
	// accesses the memory (C twin: ibv_dereg_mr). It returns ErrBusy while windows are bound to
	// the region.
	Close() error
}

// MemoryWatcher is implemented by regions of software engines. They run on the same CPU as
// the program: a program that polled the memory in a loop would prevent the engine from
// writing to it.
type MemoryWatcher interface {
	// WaitByte returns when the byte at offset is want, or when ctx ends.
	WaitByte(ctx context.Context, offset int, want byte) error
}

// AddressRegistrar is implemented by a [ProtectionDomain] with [CapRegisterAddress].
type AddressRegistrar interface {
	// RegisterAddress registers memory that Go doesn't manage, by its virtual address: the memory
	// of a C library, or of a GPU whose driver has a peer-memory module. Bytes of the region
	// returns nil (C twin: ibv_reg_mr).
	RegisterAddress(addr uintptr, length uint64, options MemoryOptions) (MemoryRegion, error)
}

// DMABufRegistrar is implemented by a [ProtectionDomain] with [CapDMABuf].
type DMABufRegistrar interface {
	// RegisterDMABuf registers length bytes, from offset, of the memory of a dma-buf, such as a
	// GPU's, which is not mapped into the program. The descriptor may be closed after the call
	// (C twin: ibv_reg_dmabuf_mr, whose iova is options.Address).
	RegisterDMABuf(fd int, offset, length uint64, options MemoryOptions) (MemoryRegion, error)
}

// WindowType is the type of a memory window (C twin: enum ibv_mw_type, with the same numbers).
type WindowType uint8

// The types.
const (
	WindowType1 WindowType = 1 // the device chooses the key of a binding, of the domain
	WindowType2 WindowType = 2 // the program chooses it, see [NextKey]; of the queue pair
)

// WindowAllocator is implemented by a [ProtectionDomain] with [CapWindow1] or [CapWindow2].
type WindowAllocator interface {
	// AllocateWindow allocates a window, which gives access to nothing until it is bound
	// (C twin: ibv_alloc_mw).
	AllocateWindow(WindowType) (MemoryWindow, error)
}

// MemoryWindow gives peers access to a part of a region, until it is invalidated or bound
// elsewhere (C twin: struct ibv_mw). A [SendRequest] with [SendOpBindWindow] binds it.
type MemoryWindow interface {
	// RKey returns the key as it was allocated, or for type 1 that of the last binding that was
	// posted.
	RKey() uint32
	Type() WindowType
	// Close frees the window (C twin: ibv_dealloc_mw).
	Close() error
}

// NextKey returns the key that follows a key of a window of type 2: its low eight bits are the
// program's (C twin: ibv_inc_rkey).
func NextKey(key uint32) uint32 { return key&^0xff | (key+1)&0xff }

// WindowBind is what [SendOpBindWindow] binds (C twin: struct ibv_mw_bind_info).
type WindowBind struct {
	Window MemoryWindow
	// RKey is the key that the binding gives to a window of type 2, so that a request posted with
	// the binding can tell the peer; see [NextKey].
	RKey uint32
	// Region has AccessWindowBind. A Length of 0 unbinds a window of type 1; one of type 2 is
	// invalidated, by SendOpLocalInvalidate or the peer's SEND.
	Region         MemoryRegion
	Offset, Length uint64 // bytes in the region
	Access         Access // what peers may do
}
