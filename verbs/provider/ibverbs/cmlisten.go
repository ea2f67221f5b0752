package ibverbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"syscall"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

const defaultBacklog = 128

// listener implements [provider.Listener].
type listener struct {
	x    *identifier
	addr netip.AddrPort
	what string // "192.0.2.1:7174"
	once sync.Once
}

// Listen implements [provider.Connector]. With an unspecified address, or none, it listens on all
// devices, as the communication manager does, and rejects what arrives at others.
func (d *openDevice) Listen(
	ctx context.Context, addr netip.AddrPort, options provider.ListenOptions,
) (provider.Listener, error) {
	op := fmt.Sprintf("listen on %v", addr)
	if err := d.noConnector(op); err != nil {
		return nil, err
	}
	at, err := sockaddrOf(d.wildcard(addr))
	if err == nil && options.Backlog < 0 {
		err = fmt.Errorf("backlog %d", options.Backlog)
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", op, d.name, err)
	}
	x, err := d.newIdentifier(op, cmp.Or(options.PortSpace, provider.PortSpaceTCP), 0)
	if err != nil {
		return nil, err
	}
	if err := x.listenAt(ctx, op, at, cmp.Or(options.Backlog, defaultBacklog)); err != nil {
		x.abandon()
		return nil, err
	}
	l := &listener{x: x, addr: x.local()}
	l.what = fmt.Sprintf("a connection to %v", l.addr)
	return l, nil
}

// wildcard replaces the zero Addr by the unspecified address: that of IPv6, which the kernel takes
// for IPv4, too. On iWARP a listener is a socket of TCP of one family.
func (d *openDevice) wildcard(addr netip.AddrPort) netip.AddrPort {
	switch {
	case addr.Addr().IsValid():
		return addr
	case d.transport == provider.TransportTypeIWARP:
		return netip.AddrPortFrom(netip.IPv4Unspecified(), addr.Port())
	}
	return netip.AddrPortFrom(netip.IPv6Unspecified(), addr.Port())
}

// listenAt binds an identifier and listens.
func (x *identifier) listenAt(ctx context.Context, op string, at *sockaddr, backlog int) error {
	cm := x.d.cm
	err := x.do(ctx, op, func() int {
		ret, errno := callWith(cm.bindAddr, x.addr, at, 0)
		return errnoOf(ret, errno)
	})
	if err != nil {
		return err
	}
	if !at.address().Addr().IsUnspecified() {
		if err := x.checkDevice(op, true); err != nil {
			return err
		}
	}
	return x.do(ctx, op, func() int {
		ret, errno := cm.listen.CallErrno(x.addr, uintptr(backlog))
		return errnoOf(ret, int(errno))
	})
}

// Addr implements [provider.Listener].
func (l *listener) Addr() netip.AddrPort { return l.addr }

// Next implements [provider.Listener].
func (l *listener) Next(ctx context.Context) (provider.ConnectionRequest, error) {
	for {
		var r *request
		ev, err := l.x.next(ctx, l.what, func(ev *cmEvent) (err error) {
			if ev.kind == cmConnectRequest {
				r, err = l.request(ev)
			}
			return err
		})
		switch {
		case errors.Is(err, provider.ErrClosed):
			return nil, fmt.Errorf("wait for %s: %w", l.what, provider.ErrClosed)
		case err != nil:
			return nil, err
		case ev.kind == cmDeviceRemoval:
			return nil, l.x.d.failed("wait for "+l.what, int(syscall.ENODEV), 0)
		case r == nil:
			continue
		case r.x.device() != l.x.d.name: // only if the address is unspecified
			_ = r.Reject(nil)
			continue
		}
		return r, nil
	}
}

// request moves the identifier of a request to an event channel of its own.
func (l *listener) request(ev *cmEvent) (*request, error) {
	x, err := l.x.d.newIdentifier("take "+l.what, l.x.ps, ev.id)
	if err != nil {
		return nil, err
	}
	options := peerOptions(ev)
	options.PortSpace = x.ps
	return &request{addresses: addresses{x.local(), x.remote(), options}, x: x}, nil
}

// Close implements [provider.Listener].
func (l *listener) Close() error {
	l.once.Do(l.x.closeWait)
	return nil
}

// request implements [provider.ConnectionRequest].
type request struct {
	addresses
	x *identifier

	mu       sync.Mutex
	answered bool
}

// Accept implements [provider.ConnectionRequest].
func (r *request) Accept(
	ctx context.Context, qp provider.QueuePair, options provider.ConnectOptions,
) (provider.Connection, error) {
	d := r.x.d
	op := fmt.Sprintf("accept the connection from %v", r.remote)
	options.PortSpace = r.x.ps
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s on %s: %w", op, d.name, context.Cause(ctx))
	}
	q, err := d.connectable(op, qp, &options)
	if err != nil {
		return nil, err
	}
	if !r.x.datagrams() {
		options.ReadAtomic = min(options.ReadAtomic, r.options.DestReadAtomic)
		options.DestReadAtomic = min(options.DestReadAtomic, r.options.ReadAtomic)
	}
	a := &attempt{r.x, q, op, &options}
	param, err := a.param(messageReply)
	if err != nil {
		return nil, err
	}
	if err := r.answer(op); err != nil {
		return nil, err
	}
	conn, err := a.accept(ctx, param)
	if err != nil {
		r.x.abandon() // which rejects the peer
		return nil, err
	}
	return conn, nil
}

// answer makes sure that a request is answered once.
func (r *request) answer(op string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered {
		return fmt.Errorf("%s on %s: already answered: %w", op, r.x.d.name, provider.ErrClosed)
	}
	r.answered = true
	return nil
}

// accept runs the steps of Accept.
func (a *attempt) accept(ctx context.Context, param *connParam) (provider.Connection, error) {
	x := a.x
	if err := x.useQP(a.op, a.qp); err != nil {
		return nil, err
	}
	if err := a.prepare(provider.QPStateRTR); err != nil {
		return nil, err
	}
	if !x.datagrams() {
		a.setTOS()
		if err := a.advance(provider.QPStateRTS); err != nil {
			return nil, err
		}
	}
	err := x.do(ctx, a.op, func() int { return callParam(x.d.cm.accept, x.addr, param) })
	if err == nil && x.datagrams() {
		c := newLookup(x.local(), x.remote(), provider.ConnectOptions{}, nil)
		x.abandon() // nothing more happens to it
		return c, nil
	}
	if err == nil {
		_, err = a.expect(ctx, "the peer to confirm the connection", cmEstablished)
	}
	if err != nil {
		if !x.datagrams() { // else it may serve other peers
			a.qp.fail()
		}
		return nil, err
	}
	a.qp.become(provider.QPStateRTS)
	return newConnection(x, a.qp, provider.ConnectOptions{}), nil
}

// Reject implements [provider.ConnectionRequest].
func (r *request) Reject(privateData []byte) error {
	x, op := r.x, fmt.Sprintf("reject the connection from %v", r.remote)
	if room := x.privateRoom(messageReject); len(privateData) > room {
		return fmt.Errorf("%s on %s: private data of %d bytes: at most %d fit", op, x.d.name, len(privateData), room)
	}
	if err := r.answer(op); err != nil {
		return err
	}
	p := &connParam{}
	copy(p.data[:], privateData)
	errno := callReject(x.d.cm.reject, x.addr, p, len(privateData))
	x.closeWait()
	// ECONNRESET and ENOTCONN: the peer has given up, which is as good.
	if errno != 0 && syscall.Errno(max(0, errno)) != syscall.ECONNRESET {
		return x.d.failedCM(op, errno)
	}
	return nil
}
