package ibverbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// resolveTimeout is how long the kernel may take to resolve an address, and a route, in
// milliseconds: a neighbour that doesn't answer is given up after three seconds.
const resolveTimeout = 5000

// Dial implements [provider.Connector].
func (d *openDevice) Dial(
	ctx context.Context, qp provider.QueuePair, addr netip.AddrPort, options provider.ConnectOptions,
) (provider.Connection, error) {
	op := fmt.Sprintf("connect to %v", addr)
	if err := d.noConnector(op); err != nil {
		return nil, err
	}
	q, err := d.connectable(op, qp, &options)
	if err != nil {
		return nil, err
	}
	to, err := sockaddrOf(addr)
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", op, d.name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s on %s: %w", op, d.name, context.Cause(ctx))
	}
	x, err := d.newIdentifier(op, options.PortSpace, 0)
	if err != nil {
		return nil, err
	}
	a := &attempt{x, q, op, &options}
	conn, err := a.dial(ctx, to)
	if err != nil {
		x.abandon()
		return nil, err
	}
	return conn, nil
}

// connectable checks whether a queue pair of the device can be connected, and the options; it sets
// their port space.
func (d *openDevice) connectable(
	op string, qp provider.QueuePair, options *provider.ConnectOptions,
) (*queuePair, error) {
	fail := func(err error) (*queuePair, error) { return nil, fmt.Errorf("%s on %s: %w", op, d.name, err) }
	q, ok := qp.(*queuePair)
	if !ok || q.d != d {
		return fail(fmt.Errorf("queue pair: %w", errOther))
	}
	datagrams := q.kind == provider.QPTypeUD
	usual := provider.PortSpaceTCP
	if datagrams {
		usual = provider.PortSpaceUDP
	}
	options.PortSpace = cmp.Or(options.PortSpace, usual)
	switch state := q.State(); {
	case q.closed.Load():
		return fail(fmt.Errorf("%s: %w", q.what, provider.ErrClosed))
	case q.kind == provider.QPTypeUC:
		return fail(fmt.Errorf("a queue pair of type UC: %w", provider.ErrNotSupported))
	case datagrams != (options.PortSpace == provider.PortSpaceUDP):
		return fail(fmt.Errorf("port space %v of a queue pair of type %v: %w",
			options.PortSpace, q.kind, provider.ErrTransition))
	case datagrams && state == provider.QPStateError,
		!datagrams && state != provider.QPStateReset && state != provider.QPStateInit:
		return fail(fmt.Errorf("%s is in state %v: %w", q.what, state, provider.ErrTransition))
	}
	if err := check(
		limit{"outstanding reads and atomics", options.ReadAtomic, most(d.attr.MaxQPInitReadAtomic)},
		limit{"outstanding reads and atomics of the peer", options.DestReadAtomic, most(d.attr.MaxQPReadAtomic)},
	); err != nil && options.ReadAtomic >= 0 && options.DestReadAtomic >= 0 {
		options.ReadAtomic = min(options.ReadAtomic, most(d.attr.MaxQPInitReadAtomic))
		options.DestReadAtomic = min(options.DestReadAtomic, most(d.attr.MaxQPReadAtomic))
	} else if err != nil {
		return fail(err)
	}
	if err := check(
		limit{"retry count", int(options.RetryCount), 7}, limit{"RNR retry count", int(options.RNRRetry), 7},
		limit{"timeout code", int(options.Timeout), 31},
	); err != nil {
		return fail(err)
	}
	return q, nil
}

// message is a message of the communication manager with private data.
type message int

const (
	messageRequest message = iota
	messageReply
	messageReject
)

// privateRoom returns how many bytes of private data a message has room for (kernel:
// include/rdma/ib_cm.h, where a request also holds the addresses; iWARP: RFC 5044 has 512, of which
// the library passes 255).
func (x *identifier) privateRoom(m message) int {
	switch {
	case x.d.transport == provider.TransportTypeIWARP:
		return maxPrivateData
	case x.datagrams():
		return [...]int{messageRequest: 180, messageReply: 136, messageReject: 136}[m]
	}
	return [...]int{messageRequest: 56, messageReply: 196, messageReject: 148}[m]
}

// param checks private data and returns the options for C.
func (a *attempt) param(m message) (*connParam, error) {
	o := a.options
	if room := a.x.privateRoom(m); len(o.PrivateData) > room {
		return nil, fmt.Errorf("%s on %s: private data of %d bytes: at most %d fit",
			a.op, a.x.d.name, len(o.PrivateData), room)
	}
	p := &connParam{c: cConnParam{
		PrivateDataLen: uint8(len(o.PrivateData)), ResponderResources: uint8(o.DestReadAtomic),
		InitiatorDepth: uint8(o.ReadAtomic), RetryCount: o.RetryCount, RNRRetryCount: o.RNRRetry,
		QPNum: uint32(a.qp.qpn),
	}}
	copy(p.data[:], o.PrivateData)
	if a.qp.srq != nil {
		p.c.SRQ = 1
	}
	return p, nil
}

// attempt is an attempt to connect a queue pair.
type attempt struct {
	x       *identifier
	qp      *queuePair
	op      string
	options *provider.ConnectOptions
}

// dial runs the steps of Dial.
func (a *attempt) dial(ctx context.Context, to *sockaddr) (provider.Connection, error) {
	x, cm := a.x, a.x.d.cm
	param, err := a.param(messageRequest)
	if err != nil {
		return nil, err
	}
	if err := x.useQP(a.op, a.qp); err != nil {
		return nil, err
	}
	if err := a.resolve(ctx, to); err != nil {
		return nil, err
	}
	if err := a.prepare(provider.QPStateInit); err != nil {
		return nil, err
	}
	err = x.do(ctx, a.op, func() int { return callParam(cm.connect, x.addr, param) })
	if err != nil {
		return nil, a.refused(err)
	}
	ev, err := a.expect(ctx, "the answer of the peer", cmConnectResponse, cmEstablished)
	if err != nil {
		return nil, err
	}
	switch {
	case x.datagrams():
		return a.found(ev), nil
	case ev.kind == cmConnectResponse: // else the device has changed the queue pair's state
		if err := a.ready(ctx); err != nil {
			a.qp.fail() // it may already be in RTS
			return nil, err
		}
	default:
		a.qp.become(provider.QPStateRTS)
	}
	return newConnection(a.x, a.qp, peerOptions(ev)), nil
}

// resolve finds device and route.
func (a *attempt) resolve(ctx context.Context, to *sockaddr) error {
	x, cm := a.x, a.x.d.cm
	var from *sockaddr
	if a.options.Local.IsValid() {
		var err error
		if from, err = sockaddrOf(netip.AddrPortFrom(a.options.Local, 0)); err != nil {
			return fmt.Errorf("%s on %s: %w", a.op, x.d.name, err)
		}
	}
	a.setTOS() // routes depend on it
	err := x.do(ctx, a.op+": resolve address", func() int {
		return callResolveAddr(cm.resolveAddr, x.addr, from, to, resolveTimeout)
	})
	if err != nil {
		return err
	}
	if _, err := a.expect(ctx, "the address to be resolved", cmAddrResolved); err != nil {
		return err
	}
	if err := x.checkDevice(a.op, false); err != nil {
		return err
	}
	err = x.do(ctx, a.op+": resolve route", func() int {
		ret, errno := cm.resolveRoute.CallErrno(x.addr, resolveTimeout)
		return errnoOf(ret, int(errno))
	})
	if err != nil {
		return err
	}
	_, err = a.expect(ctx, "the route to be resolved", cmRouteResolved)
	return err
}

// setTOS sets the traffic class, as far as kernel and device know one.
func (a *attempt) setTOS() {
	if a.options.TrafficClass != 0 {
		_ = callSetOption(a.x.d.cm.setOption, a.x.addr, cmOptionID, cmOptionIDTOS, a.options.TrafficClass)
	}
}

// expect waits for one of some events; others are errors.
func (a *attempt) expect(ctx context.Context, what string, kinds ...cmEventType) (*cmEvent, error) {
	for {
		ev, err := a.x.next(ctx, what, nil)
		if err != nil {
			return nil, fmt.Errorf("%s on %s: %w", a.op, a.x.d.name, err)
		}
		if slices.Contains(kinds, ev.kind) {
			return ev, nil
		}
		if ev.kind == cmAddrChange || ev.kind == cmTimewaitExit {
			continue // don't concern the attempt
		}
		return nil, a.failed(ev)
	}
}

// ready takes a queue pair of InfiniBand or RoCE from INIT to RTS, and tells the peer.
func (a *attempt) ready(ctx context.Context) error {
	for _, state := range []provider.QPState{provider.QPStateInit, provider.QPStateRTR, provider.QPStateRTS} {
		if err := a.advance(state); err != nil {
			return err
		}
	}
	return a.x.do(ctx, a.op, func() int {
		ret, errno := a.x.d.cm.establish.CallErrno(a.x.addr)
		return errnoOf(ret, int(errno))
	})
}

// found returns the result of a lookup.
func (a *attempt) found(ev *cmEvent) provider.Connection {
	peer := provider.DatagramPeer{
		QPN: ib.QPN(ev.ud.QPNum), QKey: ev.ud.QKey, Path: path(&ev.ud.AHAttr),
	}
	c := newLookup(a.x.local(), a.x.remote(), peerOptions(ev), &peer)
	a.x.abandon() // nothing more happens to it
	return c
}

// refused turns the errno of rdma_connect into a [provider.RejectedError] if nobody listens: iWARP
// connects a TCP socket, and some drivers wait for it.
func (a *attempt) refused(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && errors.Is(e.Err, syscall.ECONNREFUSED) {
		e.Err = &provider.RejectedError{Reason: "nobody listens on the port", NobodyListens: true}
		e.Remedy = ""
	}
	return err
}
