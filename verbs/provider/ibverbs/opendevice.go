package ibverbs

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/edge/dl"
	"github.com/rdmakit/rdmakit/verbs/provider"
)

// openDevice implements [provider.Device].
type openDevice struct {
	name      string
	transport provider.TransportType
	c         *Context
	calls     *calls
	inline    inlineCalls
	attr      provider.DeviceAttributes
	caps      provider.Capabilities
	links     []provider.LinkLayer // of each port
	memlock   func() int64         // RLIMIT_MEMLOCK; see memlockLimit
	async     *eventFile
	queues    queueTable
	done      chan struct{} // closed by Close
	cm        *cmLibrary    // nil with cmError
	cmError   error         // why there is no communication manager

	// gate is held exclusively while an asynchronous event is read and acknowledged, since the
	// library then uses the event's object, and shared while an object is destroyed.
	gate sync.RWMutex

	mu      sync.Mutex
	root    object          // what must be closed before the device
	objects map[uintptr]any // open objects by address
}

// object is a C object and the number of objects and calls that use it.
type object struct {
	what  string // "completion queue"
	addr  uintptr
	users int // guarded by openDevice.mu
	// closed is set with openDevice.mu locked. A call that uses the object reads it with a lock
	// that the object's Close takes before it destroys the object.
	closed atomic.Bool
}

// use adds a user to each of the objects: they can't be closed until release. It fails if one of
// them is closed.
func (d *openDevice) use(op string, objects ...*object) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range objects {
		if o.closed.Load() {
			return fmt.Errorf("%s on %s: %s: %w", op, d.name, o.what, provider.ErrClosed)
		}
	}
	for _, o := range objects {
		o.users++
	}
	return nil
}

func (d *openDevice) release(objects ...*object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range objects {
		o.users--
	}
}

// create makes the C object o with the function call, which returns its address or 0, and an errno.
// On success the object uses its parents until destroy. Events may be about self before create
// returns: call must set all that they read.
func (d *openDevice) create(
	op string, o *object, self any, pinned uint64, parents []*object, call func() (uintptr, int),
) error {
	if err := d.use(op, parents...); err != nil {
		return err
	}
	addr, errno := call()
	if addr == 0 {
		d.release(parents...)
		return d.failed(op, errno, pinned)
	}
	o.addr = addr
	d.mu.Lock()
	defer d.mu.Unlock()
	d.objects[addr] = self
	return nil
}

// shut begins to close an object, after which no call uses it anew. first is false if the object is
// already closed.
func (d *openDevice) shut(o *object) (first bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case o.closed.Load():
		return false, nil
	case o.users > 0:
		return false, fmt.Errorf("close %s of %s: %d objects or calls use it: %w",
			o.what, d.name, o.users, provider.ErrBusy)
	}
	o.closed.Store(true)
	return true, nil
}

// destroy destroys the C object of an object that shut has closed. If the driver returns an error,
// the object stays open, since C hasn't freed it: EBUSY becomes ErrBusy.
func (d *openDevice) destroy(o *object, self any, f dl.Func, parents ...*object) error {
	d.mu.Lock()
	delete(d.objects, o.addr) // before another object can get this address
	d.mu.Unlock()
	d.gate.RLock()
	ret, e := f.CallErrno(o.addr)
	d.gate.RUnlock()
	errno := errnoOf(ret, int(e))
	d.mu.Lock()
	defer d.mu.Unlock()
	if errno != 0 {
		o.closed.Store(false)
		d.objects[o.addr] = self
		if errno == int(syscall.EBUSY) {
			return fmt.Errorf("close %s of %s: %w", o.what, d.name, provider.ErrBusy)
		}
		return d.failed("close "+o.what, errno, 0)
	}
	for _, p := range parents {
		p.users--
	}
	return nil
}

// keep keeps the device and its objects reachable until the device is closed: a program may drop a
// region, but the card still writes to its memory.
func (d *openDevice) keep() {
	<-d.done
	runtime.KeepAlive(d)
}

// Name implements [provider.Device].
func (d *openDevice) Name() string { return d.name }

// Capabilities implements [provider.Device].
func (d *openDevice) Capabilities() provider.Capabilities { return d.caps }

// Attributes implements [provider.Device].
func (d *openDevice) Attributes() provider.DeviceAttributes { return d.attr }

// Port implements [provider.Device].
func (d *openDevice) Port(ctx context.Context, number int) (provider.PortAttributes, error) {
	if err := d.use("query port", &d.root); err != nil {
		return provider.PortAttributes{}, err
	}
	defer d.release(&d.root)
	if err := d.checkPort("query port", number); err != nil {
		return provider.PortAttributes{}, err
	}
	return d.c.QueryPort(ctx, number)
}

// checkPort rejects the number of a port that the device doesn't have: the kernel's error would be
// EINVAL. The error matches fs.ErrNotExist.
func (d *openDevice) checkPort(op string, number int) error {
	if number >= 1 && number <= len(d.links) {
		return nil
	}
	ports := fmt.Sprintf("ports 1 to %d", len(d.links))
	if len(d.links) == 1 {
		ports = "port 1 only"
	}
	return &Error{Op: op, Device: d.name, Err: noDeviceError(fmt.Sprintf("no port %d: it has %s", number, ports))}
}

// GIDs implements [provider.Device].
func (d *openDevice) GIDs(ctx context.Context, port int) ([]provider.GIDEntry, error) {
	if err := d.use("query GIDs", &d.root); err != nil {
		return nil, err
	}
	defer d.release(&d.root)
	if err := d.checkPort("query GIDs", port); err != nil {
		return nil, err
	}
	attr, err := d.c.QueryPort(ctx, port)
	if err != nil {
		return nil, err
	}
	var out []provider.GIDEntry
	for i := range int(attr.GIDTableLength) {
		gid, err := d.c.QueryGID(ctx, port, i)
		if err != nil {
			return out, err
		}
		if gid.IsZero() {
			continue
		}
		entry := provider.GIDEntry{Index: i, GID: gid, Type: provider.GIDTypeUnknown}
		if kind, ifindex, err := d.c.gidType(ctx, port, i, attr.LinkLayer); err == nil {
			entry.Type, entry.Ifindex = kind, ifindex
		}
		out = append(out, entry)
	}
	return out, nil
}

// Close implements [provider.Device].
func (d *openDevice) Close() error {
	first, err := d.shut(&d.root)
	if err != nil || !first {
		return err
	}
	close(d.done)
	d.async.close()
	d.gate.Lock() // wait for the call that reads events
	defer d.gate.Unlock()
	err = d.c.Close()
	if d.cm != nil {
		err = errors.Join(err, d.cm.dl.Close())
	}
	return err
}
