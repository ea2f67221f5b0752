package cm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// maxSIDRPrivate is the length of a program's private data in a SIDR_REQ.
const maxSIDRPrivate = mad.SIDRREQPrivateLen - mad.CMAHeaderLen

// lookup asks for the queue pair of a datagram service. Its fields from repeat on are guarded by
// the agent's mu.
type lookup struct {
	a       *Agent
	id      uint32
	remote  netip.AddrPort
	message []byte
	done    chan struct{} // closed with the answer

	repeat repeat
	answer *mad.SIDRREP
	err    error
}

// lookup implements Dial for queue pairs of type UD.
func (a *Agent) lookup(
	ctx context.Context, qp provider.QueuePair, addr netip.AddrPort, o provider.ConnectOptions,
) (provider.Connection, error) {
	if err := establishDatagram(qp); err != nil {
		return nil, err
	}
	l, local, err := a.sendSIDRREQ(addr, o)
	if err != nil {
		return nil, err
	}
	select {
	case <-l.done:
	case <-ctx.Done():
		a.mu.Lock()
		l.end(nil, context.Cause(ctx))
		a.mu.Unlock()
	}
	if l.err != nil {
		return nil, l.err
	}
	if m := l.answer; m.Status != mad.SIDRStatusSuccess {
		r := &provider.RejectedError{Reason: m.Status.String(), PrivateData: m.PrivateData[:]}
		if m.Status == mad.SIDRStatusUnsupported {
			r.NobodyListens, r.Reason = true, nobodyListens(m.ServiceID, addr.Addr(), m.Status)
		}
		return nil, r
	}
	d := newDatagram(local, addr)
	d.options = provider.ConnectOptions{PrivateData: l.answer.PrivateData[:]}
	d.peer = &provider.DatagramPeer{QPN: l.answer.QPN, QKey: l.answer.QKey, Path: provider.Path{
		DGID: ib.GIDFromAddr(addr.Addr()), HopLimit: hopLimit, TrafficClass: o.TrafficClass, Global: true,
	}}
	return d, nil
}

// establishDatagram brings a queue pair of type UD to RTS, if it isn't.
func establishDatagram(qp provider.QueuePair) error {
	if qp.State() == provider.QPStateRTS {
		return nil
	}
	return provider.Establish(qp, provider.QPAttributes{Port: 1, QKey: provider.QKeyDatagrams})
}

func (a *Agent) sendSIDRREQ(addr netip.AddrPort, o provider.ConnectOptions) (*lookup, netip.AddrPort, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	local := netip.AddrPortFrom(a.addr, a.port())
	if a.closed {
		return nil, local, provider.ErrClosed
	}
	l := &lookup{a: a, remote: addr, done: make(chan struct{})}
	for l.id == 0 || a.lookups[l.id] != nil {
		var err error
		if l.id, err = a.random(); err != nil {
			return nil, local, err
		}
	}
	m := mad.SIDRREQ{
		Header: mad.NewCM(mad.AttributeSIDRREQ, uint64(l.id)), RequestID: l.id, PartitionKey: ib.PKeyDefault,
		ServiceID: mad.IPService(uint16(o.PortSpace), addr.Port()),
	}
	putPrivate(m.PrivateData[:], local, addr.Addr(), o.PrivateData)
	l.message = m.Append(nil)
	a.lookups[l.id] = l
	a.send(addr.Addr(), l.message)
	l.repeat.start(a.clock, l.expired)
	return l, local, nil
}

// expired repeats the question, or gives up.
func (l *lookup) expired() {
	l.a.mu.Lock()
	defer l.a.mu.Unlock()
	switch {
	case l.a.lookups[l.id] != l:
	case l.repeat.advance():
		l.a.send(l.remote.Addr(), l.message)
	default:
		const waiting = "an answer to the service lookup (SIDR_REQ)"
		l.end(nil, l.repeat.timeout(waiting, l.remote, l.a.clock.Now()))
	}
}

// end ends a lookup. The agent's mu is held.
func (l *lookup) end(answer *mad.SIDRREP, err error) {
	if l.a.lookups[l.id] != l {
		return
	}
	delete(l.a.lookups, l.id)
	l.repeat.stop()
	l.answer, l.err = answer, err
	close(l.done)
}

// handleSIDRREP handles the answer to a lookup.
func (a *Agent) handleSIDRREP(in *arrival) func() {
	m := &mad.SIDRREP{}
	_, _ = m.Decode(in.message) // Receive has checked the length
	if l := a.lookups[m.RequestID]; l != nil && l.remote.Addr() == in.from {
		l.end(m, nil)
	}
	return nil
}

// inquiry is a lookup by a peer. It implements [provider.ConnectionRequest].
type inquiry struct {
	a             *Agent
	key           remoteID
	local, remote netip.AddrPort
	service       mad.ServiceID
	tid           uint64
	private       []byte
	answered      bool // guarded by the agent's mu
}

// handleSIDRREQ handles a lookup.
func (a *Agent) handleSIDRREQ(in *arrival) func() {
	var m mad.SIDRREQ
	_, _ = m.Decode(in.message) // Receive has checked the length
	q := &inquiry{
		a: a, key: remoteID{in.from, m.RequestID, true}, service: m.ServiceID, tid: m.TransactionID,
		private: slices.Clone(m.PrivateData[mad.CMAHeaderLen:]),
	}
	if answer := a.recent.find(q.key, a.clock.Now()); answer != nil {
		a.send(in.from, answer)
		return nil
	}
	var h mad.CMAHeader
	_, _ = h.Decode(m.PrivateData[:]) // it is longer
	from, to, ok := h.Addresses()
	l := a.listeners[m.ServiceID]
	switch {
	case m.ClassVersion != mad.CMClassVersion:
		a.send(in.from, q.reply(mad.SIDRREP{Status: mad.SIDRStatusUnsupportedVersion}, nil))
	case l == nil:
		a.send(in.from, q.reply(mad.SIDRREP{Status: mad.SIDRStatusUnsupported}, nil))
	case !ok || from.Addr().Unmap() != in.from || to.Unmap() != a.addr:
		a.send(in.from, q.reply(mad.SIDRREP{Status: mad.SIDRStatusReject}, nil))
	case !l.full() && !slices.ContainsFunc(l.queue, q.same):
		q.local, q.remote = l.addr, from
		l.add(q)
	}
	return nil
}

// same reports whether a queued request is the same lookup.
func (q *inquiry) same(other queued) bool {
	o, ok := other.(*inquiry)
	return ok && o.key == q.key
}

// reply returns an answer to the lookup.
func (q *inquiry) reply(m mad.SIDRREP, private []byte) []byte {
	m.Header = mad.NewCM(mad.AttributeSIDRREP, q.tid)
	m.RequestID, m.ServiceID = q.key.id, q.service
	copy(m.PrivateData[:], private)
	return m.Append(nil)
}

// respond sends the only answer to the lookup.
func (q *inquiry) respond(m mad.SIDRREP, private []byte) error {
	if len(private) > mad.SIDRREPPrivateLen {
		return fmt.Errorf("%d bytes of private data, and an answer has at most %d", len(private), mad.SIDRREPPrivateLen)
	}
	q.a.mu.Lock()
	defer q.a.mu.Unlock()
	switch {
	case q.a.closed:
		return provider.ErrClosed
	case q.answered:
		return errAnswered
	}
	q.answered = true
	message := q.reply(m, private)
	q.a.recent.add(q.key, message, q.a.clock.Now())
	q.a.send(q.key.addr, message)
	return nil
}

func (q *inquiry) taken() {}

func (q *inquiry) refuse() func() {
	q.a.send(q.key.addr, q.reply(mad.SIDRREP{Status: mad.SIDRStatusUnsupported}, nil))
	return nil
}

// Remote implements provider.ConnectionRequest.
func (q *inquiry) Remote() netip.AddrPort { return q.remote }

// Local implements provider.ConnectionRequest.
func (q *inquiry) Local() netip.AddrPort { return q.local }

// Options implements provider.ConnectionRequest.
func (q *inquiry) Options() provider.ConnectOptions {
	return provider.ConnectOptions{
		Local: q.local.Addr(), PrivateData: q.private, PortSpace: provider.PortSpaceUDP,
	}
}

// Accept implements provider.ConnectionRequest: the answer is qp, which serves any number of peers.
func (q *inquiry) Accept(
	_ context.Context, qp provider.QueuePair, options provider.ConnectOptions,
) (provider.Connection, error) {
	err := q.accept(qp, options)
	if err != nil {
		return nil, fmt.Errorf("answer lookup from %v at %s: %w", q.remote, q.a.name, err)
	}
	return newDatagram(q.local, q.remote), nil
}

func (q *inquiry) accept(qp provider.QueuePair, options provider.ConnectOptions) error {
	if qp.Type() != provider.QPTypeUD {
		return fmt.Errorf("qp %v is of type %v, not UD", qp.QPN(), qp.Type())
	}
	if err := checkState(qp); err != nil {
		return err
	}
	if err := establishDatagram(qp); err != nil {
		return err
	}
	attr, err := qp.Query()
	if err != nil {
		return err
	}
	return q.respond(mad.SIDRREP{QPN: qp.QPN(), QKey: attr.QKey}, options.PrivateData)
}

// Reject implements provider.ConnectionRequest.
func (q *inquiry) Reject(private []byte) error {
	if err := q.respond(mad.SIDRREP{Status: mad.SIDRStatusReject}, private); err != nil {
		return fmt.Errorf("reject lookup from %v: %w", q.remote, err)
	}
	return nil
}

// datagram is what a lookup has found. It implements [provider.Connection].
type datagram struct {
	local, remote netip.AddrPort
	options       provider.ConnectOptions
	peer          *provider.DatagramPeer // nil at the accepting end
	ctx           context.Context        //nolint:containedctx // Done and its cause
	cancel        context.CancelCauseFunc
}

func newDatagram(local, remote netip.AddrPort) *datagram {
	d := &datagram{local: local, remote: remote}
	d.ctx, d.cancel = context.WithCancelCause(context.Background())
	return d
}

// Local implements provider.Connection.
func (d *datagram) Local() netip.AddrPort { return d.local }

// Remote implements provider.Connection.
func (d *datagram) Remote() netip.AddrPort { return d.remote }

// Options implements provider.Connection.
func (d *datagram) Options() provider.ConnectOptions { return d.options }

// Datagram implements provider.Connection.
func (d *datagram) Datagram() (provider.DatagramPeer, bool) {
	if d.peer == nil {
		return provider.DatagramPeer{}, false
	}
	return *d.peer, true
}

// Done implements provider.Connection: only Close ends it.
func (d *datagram) Done() <-chan struct{} { return d.ctx.Done() }

// Err implements provider.Connection.
func (d *datagram) Err() error {
	if cause := context.Cause(d.ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// Disconnect implements provider.Connection.
func (d *datagram) Disconnect(context.Context) error { return d.Close() }

// Close implements provider.Connection. The queue pair stays as it is.
func (d *datagram) Close() error {
	d.cancel(provider.ErrClosed)
	return nil
}
