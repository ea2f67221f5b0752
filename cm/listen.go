package cm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// listener implements [provider.Listener]. Its fields are guarded by the agent's mu.
type listener struct {
	a       *Agent
	addr    netip.AddrPort
	service mad.ServiceID
	backlog int

	queue  []queued
	wake   chan struct{} // has a value while the queue is not empty, or the listener is closed
	closed bool
}

// queued is a request in the backlog of a listener.
type queued interface {
	provider.ConnectionRequest
	// taken is called when Next returns the request, with the agent's mu.
	taken()
	// refuse rejects the request, with the agent's mu, and returns what remains to be done without.
	refuse() func()
}

const defaultBacklog = 128

// Listen implements [provider.Connector].
func (a *Agent) Listen(
	_ context.Context, addr netip.AddrPort, options provider.ListenOptions,
) (provider.Listener, error) {
	l, err := a.listen(addr, options)
	if err != nil {
		return nil, fmt.Errorf("listen on port %d of %s: %w", addr.Port(), a.name, err)
	}
	return l, nil
}

func (a *Agent) listen(addr netip.AddrPort, options provider.ListenOptions) (*listener, error) {
	ip, err := a.local(addr.Addr())
	if err != nil {
		return nil, err
	}
	if options.Backlog < 0 {
		return nil, fmt.Errorf("backlog %d", options.Backlog)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, provider.ErrClosed
	}
	space := uint16(cmp.Or(options.PortSpace, provider.PortSpaceTCP))
	port, err := a.freePort(space, addr.Port())
	if err != nil {
		return nil, err
	}
	l := &listener{
		a: a, addr: netip.AddrPortFrom(ip, port), service: mad.IPService(space, port),
		backlog: cmp.Or(options.Backlog, defaultBacklog), wake: make(chan struct{}, 1),
	}
	a.listeners[l.service] = l
	return l, nil
}

// freePort returns a port that nobody listens on: port, or any one for 0.
func (a *Agent) freePort(space, port uint16) (uint16, error) {
	if port != 0 {
		if a.listeners[mad.IPService(space, port)] != nil {
			return 0, fmt.Errorf("another listener of this process has the port: %w", syscall.EADDRINUSE)
		}
		return port, nil
	}
	for range 1<<16 - firstPort {
		if p := a.port(); a.listeners[mad.IPService(space, p)] == nil {
			return p, nil
		}
	}
	return 0, fmt.Errorf("all ports from %d on are in use: %w", firstPort, syscall.EADDRINUSE)
}

// Addr implements provider.Listener.
func (l *listener) Addr() netip.AddrPort { return l.addr }

// Next implements provider.Listener.
func (l *listener) Next(ctx context.Context) (provider.ConnectionRequest, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-l.wake:
		}
		l.a.mu.Lock()
		var r queued
		if len(l.queue) > 0 {
			r = l.queue[0]
			l.queue = slices.Delete(l.queue, 0, 1)
			r.taken()
		}
		closed := l.closed
		l.signal()
		l.a.mu.Unlock()
		switch {
		case r != nil:
			return r, nil
		case closed:
			return nil, fmt.Errorf("listener on port %d of %s: %w", l.addr.Port(), l.a.name, provider.ErrClosed)
		}
	}
}

// signal wakes a goroutine in Next if there is something for it.
func (l *listener) signal() {
	if len(l.queue) == 0 && !l.closed {
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// full reports whether there is no room in the backlog: the peer asks again.
func (l *listener) full() bool { return len(l.queue) >= l.backlog }

// add adds a request to the backlog, which isn't full.
func (l *listener) add(r queued) {
	l.queue = append(l.queue, r)
	l.signal()
}

// drop removes the request of a connection from the backlog.
func (l *listener) drop(c *conn) {
	l.queue = slices.DeleteFunc(l.queue, func(q queued) bool {
		r, ok := q.(*request)
		return ok && r.c == c
	})
}

// close ends listening. It returns what remains to be done without the agent's mu.
func (l *listener) close() (after []func()) {
	if l.closed {
		return nil
	}
	l.closed = true
	delete(l.a.listeners, l.service)
	for _, r := range slices.Clone(l.queue) {
		if f := r.refuse(); f != nil {
			after = append(after, f)
		}
	}
	l.queue = nil
	l.signal()
	return after
}

// Close implements provider.Listener.
func (l *listener) Close() error {
	l.a.mu.Lock()
	after := l.close()
	l.a.mu.Unlock()
	for _, f := range after {
		f()
	}
	return nil
}

// handleREQ handles a connection request.
func (a *Agent) handleREQ(in *arrival) func() {
	var m mad.REQ
	_, _ = m.Decode(in.message) // Receive has checked the length
	key := remoteID{in.from, m.LocalCommID, false}
	if c := a.incoming[key]; c != nil {
		c.duplicateREQ(in)
		return nil
	}
	if answer := a.recent.find(key, a.clock.Now()); answer != nil {
		a.send(in.from, answer)
		return nil
	}
	l := a.listeners[m.ServiceID]
	rej := mad.REJ{RemoteCommID: m.LocalCommID, Message: mad.MRAMessageREQ}
	old := a.remotes[remoteQP{in.from, m.LocalQPN}]
	from, refused := a.checkREQ(in, &m, l, old)
	if refused != 0 {
		rej.Reason = refused
		if refused == mad.RejectInvalidMTU {
			rej.RejectedInfoLength, rej.ARI[0] = 1, uint8(a.mtu.Code())
		}
		a.sendREJ(in, rej)
		if refused == mad.RejectStaleConnection {
			a.send(old.peer, old.dreq())
			return old.end(errStale)
		}
		return nil
	}
	if l.full() {
		return nil
	}
	a.enqueue(in, &m, l, from)
	return nil
}

// checkREQ returns the address that a request comes from, or why it is rejected.
func (a *Agent) checkREQ(
	in *arrival, m *mad.REQ, l *listener, old *conn,
) (from netip.AddrPort, reason mad.RejectReason) {
	var h mad.CMAHeader
	_, _ = h.Decode(m.PrivateData[:]) // it is longer
	from, to, ok := h.Addresses()
	mtu := ib.MTUFromCode(int(m.PathPacketPayloadMTU))
	switch {
	case m.ClassVersion != mad.CMClassVersion:
		return from, mad.RejectInvalidClassVersion
	case old != nil && old.state >= stateREPSent:
		return from, mad.RejectStaleConnection
	case l == nil:
		return from, mad.RejectInvalidServiceID
	case m.TransportService > mad.TransportServiceUC:
		return from, mad.RejectInvalidTransportType
	case !ok:
		return from, mad.RejectUnsupported
	case m.Primary.LocalPortGID != ib.GIDFromAddr(in.from), m.Primary.RemotePortGID != ib.GIDFromAddr(a.addr),
		from.Addr().Unmap() != in.from, to.Unmap() != a.addr:
		return from, mad.RejectInvalidGID
	case mtu == 0 || mtu > a.mtu:
		return from, mad.RejectInvalidMTU
	}
	return from, 0
}

// enqueue adds a request to the backlog of a listener.
func (a *Agent) enqueue(in *arrival, m *mad.REQ, l *listener, from netip.AddrPort) {
	c, err := a.newConn(in.from, stateREQReceived)
	if err != nil {
		return // no randomness: as if the message were lost
	}
	c.remoteID, c.tid, c.service, c.listener = m.LocalCommID, m.TransactionID, m.ServiceID, l
	c.local, c.remote = l.addr, from
	c.to = target{
		qpn: m.LocalQPN, psn: m.StartingPSN, mtu: ib.MTUFromCode(int(m.PathPacketPayloadMTU)),
		retryCount: m.RetryCount, rnrRetry: m.RNRRetryCount, service: m.TransportService,
	}
	space, _, _ := m.ServiceID.IP()
	c.options = provider.ConnectOptions{
		Local: a.addr, PortSpace: provider.PortSpace(space),
		PrivateData: slices.Clone(m.PrivateData[mad.CMAHeaderLen:]),
		ReadAtomic:  int(m.InitiatorDepth), DestReadAtomic: int(m.ResponderResources), RetryCount: m.RetryCount,
		RNRRetry: m.RNRRetryCount, TrafficClass: m.Primary.TrafficClass, Timeout: m.Primary.LocalACKTimeout,
	}
	a.incoming[remoteID{c.peer, c.remoteID, false}] = c
	a.remotes[remoteQP{c.peer, c.to.qpn}] = c
	// Its sender gives up after so long, unless an MRA asks for more patience.
	patience := ib.AckTimeout(m.RemoteCMResponseTimeout) * time.Duration(m.MaxCMRetries+1)
	c.repeat.timer = a.clock.AfterFunc(min(max(patience, time.Second), ib.AckTimeout(serviceTimeout)), c.expired)
	l.add(&request{c: c})
}

// duplicateREQ answers a request that has come again.
func (c *conn) duplicateREQ(in *arrival) {
	switch c.state {
	case stateREQReceived:
		m := mad.MRA{
			Header: mad.NewCM(mad.AttributeMRA, in.header.TransactionID), LocalCommID: c.id, RemoteCommID: c.remoteID,
			Message: mad.MRAMessageREQ, ServiceTimeout: serviceTimeout,
		}
		c.a.send(c.peer, m.Append(nil))
	case stateREPSent:
		c.a.send(c.peer, c.message)
	}
}

// errGone is the error of a request whose peer has given up.
var errGone = errors.New("the peer has given up")
