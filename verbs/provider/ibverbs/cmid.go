package ibverbs

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// identifier is an rdma_cm_id with its own event channel, so that a goroutine that waits for its
// events waits for nothing else, and its backlog is the kernel's. It uses its device until it is
// freed.
type identifier struct {
	handle
	d       *openDevice
	ps      provider.PortSpace
	addr    uintptr // struct rdma_cm_id
	channel uintptr // struct rdma_event_channel
	file    *eventFile
	freed   chan struct{} // closed when C has freed it
	uses    []*object     // the device and, once there is one, the queue pair
}

// newIdentifier makes an identifier; id is that of a connection request, or 0 to create one. An
// error has freed id, too.
func (d *openDevice) newIdentifier(op string, ps provider.PortSpace, id uintptr) (*identifier, error) {
	if err := d.use(op, &d.root); err != nil {
		d.discard(id)
		return nil, err
	}
	x := &identifier{d: d, ps: ps, freed: make(chan struct{}), uses: []*object{&d.root}}
	if errno := x.create(id); errno != 0 {
		d.discard(id)
		d.release(&d.root)
		return nil, d.failedCM(op, errno)
	}
	fd := peek[cEventChannel](x.channel).FD
	var err error
	if x.file, err = newEventFile(fd, d.name+" connection events"); err != nil {
		x.destroy()
		return nil, fmt.Errorf("%s on %s: %w", op, d.name, err)
	}
	x.free = func() error {
		x.file.close()
		x.destroy()
		return nil
	}
	return x, nil
}

// discard frees the identifier of a connection request that has not been moved, which rejects it; 0
// is none.
func (d *openDevice) discard(id uintptr) {
	if id != 0 {
		_, _ = d.cm.destroyID.CallErrno(id) // fails only for an identifier that the kernel doesn't know
	}
}

// create creates the channel, and the identifier or moves it there. It returns an errno.
func (x *identifier) create(id uintptr) int {
	cm := x.d.cm
	channel, errno := cm.createChannel.CallErrno()
	if channel == 0 {
		return max(int(errno), 1)
	}
	var failed int
	if x.channel, x.addr = channel, id; id == 0 {
		x.addr, failed = callCreateID(cm.createID, channel, uint32(x.ps))
	} else {
		ret, errno := cm.migrateID.CallErrno(id, channel)
		failed = errnoOf(ret, int(errno))
	}
	if failed != 0 {
		_, _ = cm.destroyChannel.CallErrno(channel) // returns void
	}
	return failed
}

// destroy frees what create has made. The kernel rejects or ends the connection, if there is one.
func (x *identifier) destroy() {
	_, _ = x.d.cm.destroyID.CallErrno(x.addr) // fails only for an identifier that the kernel doesn't know
	_, _ = x.d.cm.destroyChannel.CallErrno(x.channel)
	x.d.release(x.uses...)
	close(x.freed)
}

// useQP makes the identifier a user of the queue pair until it is freed.
func (x *identifier) useQP(op string, qp *queuePair) error {
	if err := x.d.use(op, &qp.object); err != nil {
		return err
	}
	x.uses = append(x.uses, &qp.object)
	return nil
}

// closeWait frees the identifier and waits until C has. Its event file is closed first, which wakes
// those who wait for events.
func (x *identifier) closeWait() {
	x.file.close()
	_ = x.close() // free returns no error
	<-x.freed
}

// grace is how long abandon waits.
const grace = time.Second

// abandon frees the identifier of an attempt that has failed. It doesn't wait for long: the kernel
// frees that of an iWARP connection only when the peer has answered, or hasn't for some seconds.
func (x *identifier) abandon() {
	x.file.close()
	go func() { _ = x.close() }() // ends when the kernel lets go of it
	select {
	case <-x.freed:
	case <-time.After(grace):
	}
}

// do calls C, which returns an errno, and waits for it until ctx ends; the identifier then stays
// open until C returns.
func (x *identifier) do(ctx context.Context, op string, call func() int) error {
	if err := x.acquireIn(ctx); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else {
			err = provider.ErrClosed
		}
		return fmt.Errorf("%s on %s: %w", op, x.d.name, err)
	}
	errno, err := bounded(ctx, func() int {
		defer x.release()
		return call()
	}, nil)
	switch {
	case err != nil:
		return fmt.Errorf("%s on %s: %w", op, x.d.name, context.Cause(ctx))
	case errno != 0:
		return x.d.failedCM(op, errno)
	}
	return nil
}

// quick calls a function of C with the identifier that doesn't wait for the peer, and returns its
// errno, or EBADF if the identifier is closed.
func (x *identifier) quick(call func() (uintptr, syscall.Errno)) int {
	if x.acquire() != nil {
		return int(syscall.EBADF)
	}
	defer x.release()
	ret, errno := call()
	return errnoOf(ret, int(errno))
}

// cmEvent is a copy of an event.
type cmEvent struct {
	kind        cmEventType
	status      int
	id          uintptr // of the new connection, of a request
	conn        cConnParam
	ud          cUDParam
	privateData []byte
}

// next waits for an event. take, if not nil, is called before the event is acknowledged.
func (x *identifier) next(ctx context.Context, what string, take func(*cmEvent) error) (*cmEvent, error) {
	var ev *cmEvent
	var err error
	waitErr := x.file.wait(ctx, what, func() bool {
		ev, err = x.event(take)
		return ev != nil || err != nil
	})
	switch {
	case err != nil:
		return nil, err
	case ev == nil:
		return nil, waitErr
	}
	return ev, nil
}

// event reads and acknowledges one event; nil if there is none.
func (x *identifier) event(take func(*cmEvent) error) (*cmEvent, error) {
	if x.acquire() != nil {
		return nil, provider.ErrClosed
	}
	defer x.release()
	addr, errno := callGetCMEvent(x.d.cm.getEvent, x.channel)
	switch {
	case errno == int(syscall.EAGAIN), errno == int(syscall.EINTR):
		return nil, nil
	case errno != 0:
		return nil, x.d.failedCM("wait for connection events", errno)
	}
	defer func() { _, _ = x.d.cm.ackEvent.CallErrno(addr) }() // fails only for a null pointer
	c := peek[cCMEvent](addr)
	ev := &cmEvent{kind: cmEventType(c.Event), status: int(c.Status), id: c.ID}
	if x.datagrams() {
		ev.ud = c.UD
		ev.privateData = copied(c.UD.PrivateData, c.UD.PrivateDataLen)
	} else {
		ev.conn = connParamOf(&c)
		ev.privateData = copied(ev.conn.PrivateData, ev.conn.PrivateDataLen)
	}
	if take != nil {
		return ev, take(ev)
	}
	return ev, nil
}

// datagrams reports whether queue pairs of type UD belong to the identifier.
func (x *identifier) datagrams() bool { return x.ps == provider.PortSpaceUDP }

// local and remote return the addresses; the zero AddrPort if the library has none.
func (x *identifier) local() netip.AddrPort {
	s := sockaddr(peek[cCMID](x.addr).Src)
	return s.address()
}

func (x *identifier) remote() netip.AddrPort {
	s := sockaddr(peek[cCMID](x.addr).Dst)
	return s.address()
}

// device returns the name of the RDMA device that the library has found for the identifier, or "".
func (x *identifier) device() string {
	verbs := peek[cCMID](x.addr).Verbs
	if verbs == 0 {
		return ""
	}
	d := peek[cDevice](peek[cContext](verbs).Device)
	return text(d.Name[:])
}

// failedCM returns the error of a function of librdmacm.
func (d *openDevice) failedCM(op string, errno int) error {
	e := &Error{Op: op, Device: d.name, Err: errnoError(errno)}
	if errno > 0 {
		e.Err = syscall.Errno(errno)
	}
	switch syscall.Errno(max(0, errno)) {
	case syscall.EADDRINUSE:
		e.Remedy = "choose another port, or 0: rdma resource show cm_id lists who listens"
	case syscall.EADDRNOTAVAIL, syscall.ENODEV:
		e.Remedy = "use an address of the network interface below the device: rdma link shows it, ip addr its addresses"
	case syscall.EPERM, syscall.EACCES:
		e.Remedy = "give the process access to /dev/infiniband/rdma_cm (group rdma, or the device in the container); " +
			"ports below 1024 need CAP_NET_BIND_SERVICE"
	case syscall.EMFILE, syscall.ENFILE:
		e.Remedy = "raise the limit of open files (ulimit -n): a connection has two"
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH:
		e.Remedy = "check the route and the address: ip route get, ping"
	}
	return e
}

// errNoDevice is the cause if no RDMA device has an address.
var errNoDevice = errors.New("no RDMA device has the address")

// checkDevice returns an error if the address belongs to another device.
func (x *identifier) checkDevice(op string, local bool) error {
	name := x.device()
	if name == x.d.name {
		return nil
	}
	e := &Error{Op: op, Device: x.d.name}
	switch {
	case name == "":
		e.Err = errNoDevice
	case local:
		e.Err = fmt.Errorf("the address belongs to device %s", name)
	default:
		e.Err = fmt.Errorf("the route to it goes through device %s", name)
		e.Remedy = "set the local address to one of " + x.d.name + ", or change the routes"
	}
	return e
}
