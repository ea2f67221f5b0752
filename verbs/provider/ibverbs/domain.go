package ibverbs

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// domain implements [provider.ProtectionDomain].
type domain struct {
	object
	d *openDevice
}

// AllocatePD implements [provider.Device].
func (d *openDevice) AllocatePD() (provider.ProtectionDomain, error) {
	pd := &domain{d: d, object: object{what: "protection domain"}}
	err := d.create("allocate protection domain", &pd.object, pd, 0, []*object{&d.root}, func() (uintptr, int) {
		addr, errno := d.calls.allocPD.CallErrno(d.c.addr)
		return addr, int(errno)
	})
	if err != nil {
		return nil, err
	}
	return pd, nil
}

// Close implements [provider.ProtectionDomain].
func (pd *domain) Close() error {
	first, err := pd.d.shut(&pd.object)
	if err != nil || !first {
		return err
	}
	return pd.d.destroy(&pd.object, pd, pd.d.calls.deallocPD, &pd.d.root)
}

// transient is an object that a post uses only until it returns.
type transient struct {
	object
	calls atomic.Int32
}

// acquire keeps the object open until done.
func (o *transient) acquire() error {
	o.calls.Add(1)
	if o.closed.Load() {
		o.calls.Add(-1)
		return fmt.Errorf("%s: %w", o.what, provider.ErrClosed)
	}
	return nil
}

func (o *transient) done() { o.calls.Add(-1) }

// shutTransient is shut for a transient object.
func (d *openDevice) shutTransient(o *transient) (first bool, err error) {
	if first, err = d.shut(&o.object); !first || err != nil {
		return first, err
	}
	if n := o.calls.Load(); n > 0 {
		o.closed.Store(false)
		return false, fmt.Errorf("close %s of %s: %d calls use it: %w", o.what, d.name, n, provider.ErrBusy)
	}
	return true, nil
}

// addressHandle implements [provider.AddressHandle].
type addressHandle struct {
	transient
	pd *domain
}

// CreateAddressHandle implements [provider.AddressHandleCreator].
func (pd *domain) CreateAddressHandle(port int, path provider.Path) (provider.AddressHandle, error) {
	const op = "create address handle"
	if !pd.d.caps.Has(provider.CapUD) {
		return nil, pd.d.notSupported(op)
	}
	attr, err := pd.d.ahAttr(port, path)
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", op, pd.d.name, err)
	}
	ah := &addressHandle{pd: pd}
	ah.what = "address handle"
	err = pd.d.create(op, &ah.object, ah, 0, []*object{&pd.object}, func() (uintptr, int) {
		return callWith(pd.d.calls.createAH, pd.addr, &attr, 0)
	})
	if err != nil {
		return nil, err
	}
	return ah, nil
}

// Close implements [provider.AddressHandle].
func (ah *addressHandle) Close() error {
	first, err := ah.pd.d.shutTransient(&ah.transient)
	if err != nil || !first {
		return err
	}
	return ah.pd.d.destroy(&ah.object, ah, ah.pd.d.calls.destroyAH, &ah.pd.object)
}

// memoryWindow implements [provider.MemoryWindow], for type 2.
type memoryWindow struct {
	transient
	pd   *domain
	rkey uint32
}

// AllocateWindow implements [provider.WindowAllocator].
func (pd *domain) AllocateWindow(kind provider.WindowType) (provider.MemoryWindow, error) {
	const op = "allocate memory window"
	if kind != provider.WindowType2 || !pd.d.caps.Has(provider.CapWindow2) {
		return nil, pd.d.notSupported(op)
	}
	w := &memoryWindow{pd: pd}
	w.what = "memory window"
	err := pd.d.create(op, &w.object, w, 0, []*object{&pd.object}, func() (uintptr, int) {
		addr, errno := pd.d.inline.allocMW.CallErrno(pd.addr, uintptr(kind))
		return addr, int(errno)
	})
	if err != nil {
		return nil, err
	}
	w.rkey = peek[cMW](w.addr).RKey
	return w, nil
}

// RKey implements [provider.MemoryWindow].
func (w *memoryWindow) RKey() uint32 { return w.rkey }

// Type implements [provider.MemoryWindow].
func (w *memoryWindow) Type() provider.WindowType { return provider.WindowType2 }

// Close implements [provider.MemoryWindow].
func (w *memoryWindow) Close() error {
	first, err := w.pd.d.shutTransient(&w.transient)
	if err != nil || !first {
		return err
	}
	return w.pd.d.destroy(&w.object, w, w.pd.d.inline.deallocMW, &w.pd.object)
}

func (d *openDevice) notSupported(op string) error {
	return &Error{Op: op, Device: d.name, Err: provider.ErrNotSupported}
}

// errOther is the cause when an object belongs to another device or provider.
var errOther = errors.New("belongs to another device")
