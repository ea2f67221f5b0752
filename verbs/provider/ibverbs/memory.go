package ibverbs

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// region implements [provider.MemoryRegion].
type region struct {
	transient
	pd         *domain
	lkey, rkey uint32
	base       uint64 // address of the first byte for requests: the memory's own, or the program's choice
	length     uint64
	access     provider.Access
	pinner     runtime.Pinner

	mu  sync.RWMutex // held for reading while inline data is copied
	buf []byte       // nil if Go can't access the memory, or once closed
}

// check returns an error if memory can't be registered with these options.
func (pd *domain) check(length uint64, options provider.MemoryOptions) error {
	access := options.Access
	switch {
	case length == 0:
		return errors.New("empty buffer")
	case access.NeedsLocalWrite():
		return errors.New("remote write access requires local write access")
	case access&provider.AccessZeroBased != 0 && options.Address != 0:
		return errors.New("an address and zero based access exclude each other")
	case options.Address+(length-1) < options.Address:
		return fmt.Errorf("%d bytes at address %#x exceed the address space", length, options.Address)
	case access&provider.AccessOnDemand != 0 && !pd.d.caps.Has(provider.CapOnDemand):
		return fmt.Errorf("on-demand paging: %w", provider.ErrNotSupported)
	case (access&provider.AccessZeroBased != 0 || options.Address != 0) && !pd.d.caps.Has(provider.CapMemoryAddress):
		return fmt.Errorf("memory address: %w", provider.ErrNotSupported)
	}
	return nil
}

// RegisterMemory implements [provider.ProtectionDomain].
func (pd *domain) RegisterMemory(buf []byte, options provider.MemoryOptions) (provider.MemoryRegion, error) {
	r := &region{pd: pd, length: uint64(len(buf)), buf: buf}
	if len(buf) > 0 {
		r.pinner.Pin(&buf[0])
	}
	if err := r.register(addressOf(buf), options); err != nil {
		r.pinner.Unpin()
		return nil, err
	}
	return r, nil
}

// RegisterAddress implements [provider.AddressRegistrar].
func (pd *domain) RegisterAddress(
	addr uintptr, length uint64, options provider.MemoryOptions,
) (provider.MemoryRegion, error) {
	r := &region{pd: pd, length: length}
	if err := r.register(addr, options); err != nil {
		return nil, err
	}
	return r, nil
}

const opRegister = "register memory"

// register registers the memory at addr. The address for requests is that of the memory, unless the
// options have another one.
func (r *region) register(addr uintptr, options provider.MemoryOptions) error {
	d := r.pd.d
	if err := r.pd.check(r.length, options); err != nil {
		return fmt.Errorf("%s on %s: %w", opRegister, d.name, err)
	}
	r.base = uint64(addr)
	own := true
	switch {
	case options.Access&provider.AccessZeroBased != 0:
		r.base, own = 0, false
	case options.Address != 0:
		r.base, own = options.Address, false
	}
	return r.create(opRegister, options.Access, func(access uintptr) (uintptr, int) {
		f, optional := d.calls.regMRIova2, options.Access.Required() != options.Access
		switch {
		case own && (!optional || !f.OK()):
			mr, errno := d.calls.regMR.CallErrno(r.pd.addr, addr, uintptr(r.length), access)
			return mr, int(errno)
		case !f.OK() || !optional && d.calls.regMRIova.OK():
			f = d.calls.regMRIova
		}
		mr, errno := f.CallErrno(r.pd.addr, addr, uintptr(r.length), uintptr(r.base), access)
		return mr, int(errno)
	})
}

// RegisterDMABuf implements [provider.DMABufRegistrar].
func (pd *domain) RegisterDMABuf(
	fd int, offset, length uint64, options provider.MemoryOptions,
) (provider.MemoryRegion, error) {
	const op = "register dma-buf"
	d := pd.d
	if !d.caps.Has(provider.CapDMABuf) {
		return nil, d.notSupported(op)
	}
	if err := pd.check(length, options); err != nil {
		return nil, fmt.Errorf("%s on %s: %w", op, d.name, err)
	}
	r := &region{pd: pd, length: length, base: options.Address}
	err := r.create(op, options.Access, func(access uintptr) (uintptr, int) {
		mr, errno := d.calls.regDMABufMR.CallErrno(
			pd.addr, uintptr(offset), uintptr(length), uintptr(r.base), uintptr(fd), access)
		return mr, int(errno)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// create makes the C object. Zero-based regions have the address 0 instead of the flag. Flags of
// the optional range are left out if the library doesn't know them.
func (r *region) create(op string, access provider.Access, reg func(access uintptr) (uintptr, int)) error {
	d := r.pd.d
	r.what, r.access = "memory region", access
	if access &^= provider.AccessZeroBased; !d.calls.regMRIova2.OK() {
		access = access.Required()
	}
	err := d.create(op, &r.object, r, r.length, []*object{&r.pd.object}, func() (uintptr, int) {
		return reg(uintptr(access))
	})
	if err != nil {
		return err
	}
	mr := peek[cMR](r.addr)
	r.lkey, r.rkey = mr.LKey, mr.RKey
	return nil
}

// LKey implements [provider.MemoryRegion].
func (r *region) LKey() uint32 { return r.lkey }

// RKey implements [provider.MemoryRegion].
func (r *region) RKey() uint32 { return r.rkey }

// Addr implements [provider.MemoryRegion].
func (r *region) Addr() uint64 { return r.base }

// Length implements [provider.MemoryRegion].
func (r *region) Length() uint64 { return r.length }

// Bytes implements [provider.MemoryRegion].
func (r *region) Bytes() []byte {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.buf
}

// Close implements [provider.MemoryRegion]. If the driver doesn't deregister the memory, it stays
// open and pinned. While windows are bound to it, rxe returns EINVAL (rxe_dereg_mr), not EBUSY.
func (r *region) Close() error {
	first, err := r.pd.d.shutTransient(&r.transient)
	if err != nil || !first {
		return err
	}
	if err := r.pd.d.destroy(&r.object, r, r.pd.d.calls.deregMR, &r.pd.object); err != nil {
		if errors.Is(err, syscall.EINVAL) {
			err = fmt.Errorf("close %s of %s: %w", r.what, r.pd.d.name, provider.ErrBusy)
		}
		return err
	}
	r.mu.Lock()
	r.buf = nil
	r.mu.Unlock()
	r.pinner.Unpin()
	return nil
}
