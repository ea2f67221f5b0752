package cm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// maxPrivate is the length of a program's private data in a REQ, after the CMAHeader.
const maxPrivate = mad.REQPrivateLen - mad.CMAHeaderLen

// attempts limits how often Dial requests a connection when the peer names a smaller MTU, or still
// has a connection with the queue pair.
const attempts = 4

// stalePause is how long Dial waits before it tries again while the peer has not noticed that an
// earlier connection of the queue pair has ended.
const stalePause = 200 * time.Millisecond

// Dial implements [provider.Connector].
func (a *Agent) Dial(
	ctx context.Context, qp provider.QueuePair, addr netip.AddrPort, options provider.ConnectOptions,
) (provider.Connection, error) {
	c, err := a.dial(ctx, qp, addr, options)
	if err != nil {
		return nil, fmt.Errorf("dial %v from %s: %w", addr, a.name, err)
	}
	return c, nil
}

func (a *Agent) dial(
	ctx context.Context, qp provider.QueuePair, addr netip.AddrPort, options provider.ConnectOptions,
) (provider.Connection, error) {
	addr = netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
	if err := a.checkDial(qp, addr, &options); err != nil {
		return nil, err
	}
	if qp.Type() == provider.QPTypeUD {
		return a.lookup(ctx, qp, addr, options)
	}
	mtu := a.mtu
	for try := 1; ; try++ {
		c, err := a.connect(ctx, qp, addr, mtu, options)
		if err == nil {
			return c, nil
		}
		var rejected *rejection
		if !errors.As(err, &rejected) || try == attempts {
			return nil, err
		}
		switch {
		case rejected.mtu != 0 && rejected.mtu < mtu:
			mtu = rejected.mtu
		case mad.RejectReason(rejected.Code) == mad.RejectStaleConnection:
			if clock.Sleep(ctx, a.clock, stalePause) != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
}

// checkDial checks the arguments of Dial and sets defaults.
func (a *Agent) checkDial(qp provider.QueuePair, addr netip.AddrPort, options *provider.ConnectOptions) error {
	local, err := a.local(options.Local)
	if err != nil {
		return err
	}
	options.Local = local
	limit, space := maxPrivate, provider.PortSpaceTCP
	if qp.Type() == provider.QPTypeUD {
		limit, space = maxSIDRPrivate, provider.PortSpaceUDP
	}
	options.PortSpace = cmp.Or(options.PortSpace, space)
	switch {
	case !addr.Addr().IsValid() || addr.Addr().IsUnspecified():
		return errors.New("the address of the peer is missing")
	case addr.Addr().Is4() != a.addr.Is4():
		return fmt.Errorf("%v and the address of %s, %v, are not of the same family", addr.Addr(), a.name, a.addr)
	case addr.Port() == 0:
		return errors.New("port 0 of the peer")
	case (qp.Type() == provider.QPTypeUD) != (options.PortSpace == provider.PortSpaceUDP):
		return fmt.Errorf("port space %v is not for queue pairs of type %v", options.PortSpace, qp.Type())
	case len(options.PrivateData) > limit:
		return fmt.Errorf("%d bytes of private data, and a request has at most %d", len(options.PrivateData), limit)
	}
	return checkState(qp)
}

// checkState returns an error if a queue pair is not in a state that it can be connected in.
func checkState(qp provider.QueuePair) error {
	s := qp.State()
	if s == provider.QPStateReset || s == provider.QPStateInit ||
		qp.Type() == provider.QPTypeUD && s == provider.QPStateRTS {
		return nil
	}
	return fmt.Errorf("qp %v is in state %v, not RESET or INIT: %w", qp.QPN(), s, provider.ErrTransition)
}

// connect requests a connection once.
func (a *Agent) connect(
	ctx context.Context, qp provider.QueuePair, addr netip.AddrPort, mtu ib.MTU, options provider.ConnectOptions,
) (*conn, error) {
	c, err := a.sendREQ(qp, addr, mtu, options)
	if err != nil {
		return nil, err
	}
	select {
	case <-c.answered:
	case <-ctx.Done():
		return nil, c.abandon(context.Cause(ctx), mad.RejectTimeout)
	}
	a.mu.Lock()
	if c.state != stateREPReceived {
		a.mu.Unlock()
		<-c.done
		return nil, c.err
	}
	attr := c.attributes(options)
	a.mu.Unlock()
	if err := provider.Establish(qp, attr); err != nil {
		return nil, c.abandon(err, mad.RejectNoResources)
	}
	a.mu.Lock()
	if c.state != stateREPReceived { // rejected meanwhile
		a.mu.Unlock()
		<-c.done
		_ = qp.Modify(provider.QPAttributes{State: provider.QPStateError})
		return nil, c.err
	}
	c.state, c.qp = stateEstablished, qp
	c.message = c.rtu()
	a.send(c.peer, c.message)
	a.mu.Unlock()
	return c, nil
}

// abandon ends a connection that the program or this device doesn't want any more, and returns err.
func (c *conn) abandon(err error, reason mad.RejectReason) error {
	var ari []byte
	if reason == mad.RejectTimeout {
		ari = c.a.guid[:]
	}
	c.a.mu.Lock()
	after := c.refuse(err, reason, ari)
	c.a.mu.Unlock()
	if after != nil {
		after()
	}
	return err
}

// attributes are those of the queue pair, after the peer's REQ or REP. Both ends reduce the numbers
// of outstanding READs to what the other one allows.
func (c *conn) attributes(own provider.ConnectOptions) provider.QPAttributes {
	most := c.a.maxReads
	return provider.QPAttributes{
		Port: 1, Access: own.Access,
		Path: provider.Path{
			DGID: ib.GIDFromAddr(c.peer), HopLimit: hopLimit, Global: true,
			TrafficClass: cmp.Or(own.TrafficClass, c.options.TrafficClass), // that of the REQ, as in the kernel
		},
		PathMTU: c.to.mtu, DestQPN: c.to.qpn, ReceivePSN: c.psn, SendPSN: c.to.psn,
		MaxReadAtomic:     min(own.ReadAtomic, c.options.DestReadAtomic, most),
		MaxDestReadAtomic: min(own.DestReadAtomic, c.options.ReadAtomic, most),
		MinRNRTimer:       minRNRTimer, Timeout: own.Timeout, RetryCount: c.to.retryCount, RNRRetry: c.to.rnrRetry,
	}
}

const (
	hopLimit    = 64
	minRNRTimer = 12 // code of ib.RNRDelay: 640 µs
)

// sendREQ registers a connection and sends its request.
func (a *Agent) sendREQ(
	qp provider.QueuePair, addr netip.AddrPort, mtu ib.MTU, o provider.ConnectOptions,
) (*conn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, provider.ErrClosed
	}
	c, err := a.newConn(addr.Addr(), stateREQSent)
	if err != nil {
		return nil, err
	}
	c.local, c.remote = netip.AddrPortFrom(a.addr, a.port()), addr
	c.service = mad.IPService(uint16(o.PortSpace), addr.Port())
	c.tid, c.qpn = uint64(c.id), qp.QPN()
	c.to.mtu, c.to.retryCount = mtu, o.RetryCount
	a.locals[c.qpn] = c
	service := mad.TransportServiceRC
	if qp.Type() == provider.QPTypeUC {
		service = mad.TransportServiceUC
	}
	path := mad.ConnectPath{
		LocalPortLID: permissiveLID, RemotePortLID: permissiveLID, LocalPortGID: ib.GIDFromAddr(a.addr),
		RemotePortGID: ib.GIDFromAddr(addr.Addr()), TrafficClass: o.TrafficClass, HopLimit: hopLimit,
		LocalACKTimeout: o.Timeout,
	}
	m := mad.REQ{
		Header: mad.NewCM(mad.AttributeREQ, c.tid), LocalCommID: c.id, ServiceID: c.service, LocalCAGUID: a.guid,
		LocalQPN: c.qpn, ResponderResources: a.reads(o.DestReadAtomic), InitiatorDepth: a.reads(o.ReadAtomic),
		RemoteCMResponseTimeout: responseTimeout, TransportService: service, StartingPSN: c.psn,
		LocalCMResponseTimeout: responseTimeout, RetryCount: o.RetryCount, PartitionKey: ib.PKeyDefault,
		PathPacketPayloadMTU: uint8(mtu.Code()), RNRRetryCount: o.RNRRetry, MaxCMRetries: maxRetries, Primary: path,
	}
	putPrivate(m.PrivateData[:], c.local, addr.Addr(), o.PrivateData)
	c.message = m.Append(nil)
	c.start()
	return c, nil
}

// permissiveLID stands for the LIDs that RoCE doesn't have.
const permissiveLID = 0xffff

// reads limits a number of outstanding READs to the device's.
func (a *Agent) reads(n int) uint8 { return uint8(max(0, min(n, a.maxReads, 255))) }

// putPrivate writes the addresses of a connection and the program's private data.
func putPrivate(b []byte, from netip.AddrPort, to netip.Addr, private []byte) {
	h := mad.NewCMAHeader(from, to)
	copy(b[len(h.Append(b[:0])):], private)
}

func (c *conn) rtu() []byte {
	m := mad.RTU{Header: mad.NewCM(mad.AttributeRTU, c.tid), LocalCommID: c.id, RemoteCommID: c.remoteID}
	return m.Append(nil)
}

// handleREP handles the answer to a request.
func (a *Agent) handleREP(in *arrival) func() {
	var m mad.REP
	_, _ = m.Decode(in.message) // Receive has checked the length
	c := a.conns[m.RemoteCommID]
	switch {
	case c != nil && c.peer == in.from && c.state == stateREQSent:
	case c != nil && c.peer == in.from && c.remoteID == m.LocalCommID:
		if c.state == stateEstablished { // the peer has not got the RTU
			a.send(c.peer, c.message)
		}
		return nil
	default: // the peer must not take it for a connection
		a.sendREJ(in, mad.REJ{
			LocalCommID: m.RemoteCommID, RemoteCommID: m.LocalCommID, Message: mad.MRAMessageREP,
			Reason: mad.RejectInvalidCommID,
		})
		return nil
	}
	after := a.replaceStale(c, m.LocalQPN)
	c.remoteID = m.LocalCommID
	c.to.qpn, c.to.psn, c.to.rnrRetry = m.LocalQPN, m.StartingPSN, m.RNRRetryCount
	a.remotes[remoteQP{c.peer, c.to.qpn}] = c
	c.options = provider.ConnectOptions{
		PrivateData: m.PrivateData[:], ReadAtomic: int(m.InitiatorDepth), DestReadAtomic: int(m.ResponderResources),
		RNRRetry: m.RNRRetryCount,
	}
	c.repeat.stop()
	c.state = stateREPReceived
	c.answer()
	return after
}

// replaceStale ends a connection with the same queue pair of the peer, which must have forgotten
// it.
func (a *Agent) replaceStale(c *conn, qpn ib.QPN) func() {
	old := a.remotes[remoteQP{c.peer, qpn}]
	if old == nil || old == c {
		return nil
	}
	return old.end(errStale)
}

// errStale is the error of a connection whose peer uses its queue pair for another one.
var errStale = errors.New("the peer uses its queue pair for another connection: it has lost this one")
