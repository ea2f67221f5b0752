package roce

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// queuePair is one end of a connection, or a datagram endpoint.
type queuePair struct {
	e              *Engine
	pd             *domain
	qpn            ib.QPN
	kind           provider.QPType
	id             uint64 // of the program
	signalAll      bool
	capacity       provider.QPCapacity
	sendCQ, recvCQ *completionQueue
	removed        bool // guarded by e.mu

	receives *receives
	shared   *sharedReceives // which receives belongs to; nil if it is the queue pair's own

	// Completions of send requests that have not been polled yet: they still occupy the send queue.
	unpolledSends atomic.Int32

	mu         sync.Mutex // guards everything below; the receiver holds it for a burst of packets
	state      provider.QPState
	attr       provider.QPAttributes
	peer       *peer // packets are accepted from it only; nil before RTR
	tx         outbox
	req        requester
	resp       responder
	scheduled  bool // in e.work
	ackPending bool // in e.delayedAcks
	connected  bool // a packet has come in state RTR
	closed     bool

	alarm alarm // in e.timers
}

// CreateQP implements provider.ProtectionDomain.
func (d *domain) CreateQP(cfg provider.QPConfig) (provider.QueuePair, error) {
	qp, err := d.newQP(cfg)
	if err != nil {
		return nil, fmt.Errorf("create qp: %w", err)
	}
	return qp, nil
}

func (d *domain) newQP(cfg provider.QPConfig) (*queuePair, error) {
	sendCQ, ok1 := cfg.SendCQ.(*completionQueue)
	recvCQ, ok2 := cfg.RecvCQ.(*completionQueue)
	shared, ok3 := cfg.SRQ.(*sharedReceives)
	switch {
	case cfg.Type > provider.QPTypeUD:
		return nil, fmt.Errorf("type %v: %w", cfg.Type, provider.ErrNotSupported)
	case cfg.SRQ != nil && (!ok3 || shared.pd.e != d.e):
		return nil, errors.New("the shared receive queue belongs to another device")
	case !ok1 || !ok2 || sendCQ.e != d.e || recvCQ.e != d.e:
		return nil, errors.New("the send or receive completion queue belongs to another device")
	}
	c, err := grant(cfg.Capacity, shared != nil)
	if err != nil {
		return nil, err
	}
	qp := &queuePair{
		e: d.e, pd: d, kind: cfg.Type, id: cfg.ID, signalAll: cfg.SignalAll, capacity: c,
		sendCQ: sendCQ, recvCQ: recvCQ,
	}
	qp.initQueues(shared)
	d.e.mu.Lock()
	defer d.e.mu.Unlock()
	switch {
	case d.closed || d.e.closed:
		return nil, fmt.Errorf("protection domain: %w", provider.ErrClosed)
	case sendCQ.closed || recvCQ.closed:
		return nil, fmt.Errorf("completion queue: %w", provider.ErrClosed)
	case shared != nil && shared.removed:
		return nil, fmt.Errorf("shared receive queue: %w", provider.ErrClosed)
	case len(d.e.qps) >= maxQueuePairs:
		return nil, fmt.Errorf("the device already has %d queue pairs", maxQueuePairs)
	}
	for {
		number, err := d.e.random32()
		if err != nil {
			return nil, err
		}
		qp.qpn = ib.QPN(number & 0xffffff)
		if _, taken := d.e.qps[qp.qpn]; qp.qpn >= firstQPN && qp.qpn != 0xffffff && !taken {
			break
		}
	}
	d.e.qps[qp.qpn] = qp
	d.users++
	qp.use(1)
	return qp, nil
}

// initQueues makes the send and the receive queue, with one slab for their segments.
func (qp *queuePair) initQueues(shared *sharedReceives) {
	c, held := &qp.capacity, qp.capacity.MaxRecvSegments
	if shared != nil {
		held = shared.segments
	}
	slab := make([]provider.Segment, held+c.MaxSendWR*c.MaxSendSegments+c.MaxRecvWR*c.MaxRecvSegments)
	qp.resp.held.segments, slab = slab[:0:held], slab[held:]
	slab = qp.req.init(slab, c.MaxSendWR, c.MaxSendSegments)
	if shared != nil {
		qp.shared, qp.receives = shared, &shared.receives
		return
	}
	qp.receives = &receives{}
	qp.receives.init(qp.pd, slab, c.MaxRecvWR, c.MaxRecvSegments)
}

// grant returns the capacity of a queue pair: what is wanted, with defaults for 0. With a shared
// receive queue it has none of its own.
func grant(c provider.QPCapacity, shared bool) (provider.QPCapacity, error) {
	if shared {
		c.MaxRecvWR, c.MaxRecvSegments = 0, 0
	}
	var errs []error
	for _, l := range []struct {
		name            string
		value           *int
		byDefault, most int
	}{
		{"depth of the send queue", &c.MaxSendWR, defaultDepth, maxDepth},
		{"depth of the receive queue", &c.MaxRecvWR, defaultDepth, maxDepth},
		{"segments of a send request", &c.MaxSendSegments, 1, maxSegments},
		{"segments of a receive request", &c.MaxRecvSegments, 1, maxSegments},
		{"inline bytes", &c.MaxInline, 0, maxInline},
	} {
		if *l.value < 0 || *l.value > l.most {
			errs = append(errs, fmt.Errorf("%s %d is not in 0 to %d", l.name, *l.value, l.most))
		}
		*l.value = cmp.Or(*l.value, l.byDefault)
	}
	if shared {
		c.MaxRecvWR, c.MaxRecvSegments = 0, 0
	}
	return c, errors.Join(errs...)
}

// QPN implements provider.QueuePair.
func (qp *queuePair) QPN() ib.QPN { return qp.qpn }

// Type implements provider.QueuePair.
func (qp *queuePair) Type() provider.QPType { return qp.kind }

// Capacity implements provider.QueuePair.
func (qp *queuePair) Capacity() provider.QPCapacity { return qp.capacity }

// Query implements provider.QueuePair.
func (qp *queuePair) Query() (provider.QPAttributes, error) {
	qp.mu.Lock()
	defer qp.mu.Unlock()
	if qp.closed {
		return provider.QPAttributes{}, fmt.Errorf("query qp %v: %w", qp.qpn, provider.ErrClosed)
	}
	attr := qp.attr
	attr.State = qp.state
	return attr, nil
}

// State implements provider.QueuePair.
func (qp *queuePair) State() provider.QPState {
	qp.mu.Lock()
	defer qp.mu.Unlock()
	return qp.state
}

// Modify implements provider.QueuePair.
func (qp *queuePair) Modify(attr provider.QPAttributes) error {
	qp.mu.Lock()
	defer qp.mu.Unlock()
	if qp.closed {
		return fmt.Errorf("modify qp %v: %w", qp.qpn, provider.ErrClosed)
	}
	if err := qp.checkAttributes(attr); err != nil {
		return fmt.Errorf("modify qp %v %v→%v: %w", qp.qpn, qp.state, attr.State, err)
	}
	qp.attr.Merge(attr)
	switch attr.State {
	case provider.QPStateRTR:
		qp.connect()
	case provider.QPStateRTS:
		if qp.state == provider.QPStateRTR {
			qp.req.start(qp.attr.SendPSN, qp.e.windowLimit(qp.mtu()))
		}
	case provider.QPStateError:
		qp.sendDue()
		qp.fail()
		return nil
	case provider.QPStateReset:
		qp.sendDue()
		qp.reset()
	}
	qp.state = attr.State
	return nil
}

func (qp *queuePair) checkAttributes(attr provider.QPAttributes) error {
	if err := provider.CheckTransition(qp.kind, qp.state, attr); err != nil {
		return err
	}
	if attr.State == provider.QPStateSQD {
		return provider.ErrNotSupported
	}
	if attr.Mask&provider.QPAttrPath != 0 {
		if err := qp.e.checkPath(&attr.Path); err != nil {
			return err
		}
	}
	if attr.Mask&provider.QPAttrPort != 0 {
		if err := qp.e.checkPort(attr.Port); err != nil {
			return err
		}
	}
	if m := attr.PathMTU; attr.Mask&provider.QPAttrPathMTU != 0 && (m.Code() == 0 || m > qp.e.mtu) {
		return fmt.Errorf("path MTU %d is not in 256 to %d", m, qp.e.mtu)
	}
	for _, c := range []struct {
		mask  provider.QPMask
		name  string
		value int
		most  int
	}{
		{provider.QPAttrPKeyIndex, "partition key index", attr.PKeyIndex, 0},
		{provider.QPAttrDestQPN, "destination QP number", int(attr.DestQPN), 1<<24 - 1},
		{
			provider.QPAttrMaxDestReadAtomic, "outstanding reads and atomics of the peer",
			attr.MaxDestReadAtomic, maxReads,
		},
		{provider.QPAttrMaxReadAtomic, "outstanding reads and atomics", attr.MaxReadAtomic, maxReads},
		{provider.QPAttrMinRNRTimer, "RNR timer code", int(attr.MinRNRTimer), 31},
		{provider.QPAttrTimeout, "timeout code", int(attr.Timeout), 31},
		{provider.QPAttrRetryCount, "retry count", int(attr.RetryCount), 7},
		{provider.QPAttrRNRRetry, "RNR retry count", int(attr.RNRRetry), 7},
	} {
		if attr.Mask&c.mask != 0 && (c.value < 0 || c.value > c.most) {
			return fmt.Errorf("%s %d is not in 0 to %d", c.name, c.value, c.most)
		}
	}
	return nil
}

// checkPath checks the path to a peer (specification volume 1, section 11.2.2.1).
func (e *Engine) checkPath(p *provider.Path) error {
	const maxServiceLevel, maxFlowLabel = 15, 1<<20 - 1
	peer := p.DGID.Addr()
	switch {
	case peer.IsUnspecified():
		return errors.New("the path has no destination (DGID)")
	case peer.Is4() != e.addr.Is4():
		return fmt.Errorf("destination %v can't be reached from %v", peer, e.addr)
	case p.SGIDIndex != 0:
		return fmt.Errorf("GID index %d: %s has only index 0", p.SGIDIndex, e.name)
	case p.ServiceLevel > maxServiceLevel:
		return fmt.Errorf("service level %d is not in 0 to %d", p.ServiceLevel, maxServiceLevel)
	case p.FlowLabel > maxFlowLabel:
		return fmt.Errorf("flow label %#x has more than 20 bits", p.FlowLabel)
	}
	return nil
}

// connect prepares the queue pair to receive packets, of a connection from its peer only.
func (qp *queuePair) connect() {
	a := &qp.attr
	qp.tx.init(qp, cmp.Or(a.Path.FlowLabel, rocev2.FlowLabel(qp.qpn, a.DestQPN)))
	qp.resp.start(a.ReceivePSN, a.MaxDestReadAtomic)
	if qp.kind == provider.QPTypeUD {
		return
	}
	qp.tx.setPath(&a.Path)
	old := qp.peer
	qp.peer = qp.e.acquirePeer(a.Path.DGID.Addr())
	qp.e.mu.Lock()
	qp.e.releasePeer(old)
	qp.e.mu.Unlock()
}

// reset clears all state but the queue pair number and the configuration.
func (qp *queuePair) reset() {
	qp.e.timers.remove(qp)
	qp.dropReceives()
	qp.req.clear()
	qp.resp.clear()
	qp.attr, qp.connected = provider.QPAttributes{}, false
}

// fail moves the queue pair to ERR: queued requests complete with status flushed.
func (qp *queuePair) fail() {
	failed := qp.state == provider.QPStateError
	qp.state = provider.QPStateError
	qp.e.timers.remove(qp)
	qp.flushSends()
	qp.flushReceives()
	qp.resp.stop()
	if !failed {
		qp.e.agent.QueuePairFailed(qp.qpn)
	}
	if qp.shared != nil && !failed {
		qp.e.events.add(qp, provider.Event{Type: provider.EventQPLastRequest, QPN: qp.qpn, ID: qp.id})
	}
}

// Close implements provider.QueuePair.
func (qp *queuePair) Close() error {
	qp.e.mu.Lock()
	if qp.removed {
		qp.e.mu.Unlock()
		return nil
	}
	qp.removed = true
	delete(qp.e.qps, qp.qpn)
	qp.e.mu.Unlock()
	qp.e.agent.QueuePairClosed(qp.qpn)

	qp.mu.Lock()
	qp.sendDue()
	qp.closed = true
	qp.state = provider.QPStateReset
	qp.e.timers.remove(qp)
	qp.dropReceives()
	qp.req.clear()
	qp.resp.clear()
	peer := qp.peer
	qp.mu.Unlock()
	qp.e.events.forget(qp)

	qp.e.mu.Lock()
	qp.e.releasePeer(peer)
	qp.pd.users--
	qp.use(-1)
	qp.e.mu.Unlock()
	return nil
}

// use adds n to the user counts of the completion queues, which may be the same one. The
// engine's mu is held.
func (qp *queuePair) use(n int) {
	qp.sendCQ.users += n
	if qp.recvCQ != qp.sendCQ {
		qp.recvCQ.users += n
	}
	if qp.shared != nil {
		qp.shared.users += n
	}
}

// handlePacket handles a packet whose ICRC is valid, from the peer of a connection.
func (qp *queuePair) handlePacket(p *ib.Packet, from *peer, trafficClass uint8) {
	switch qp.state {
	case provider.QPStateRTR, provider.QPStateRTS, provider.QPStateSQE:
	default:
		return
	}
	if qp.closed {
		return
	}
	layout := p.BTH.Opcode.Layout()
	switch {
	case p.BTH.Opcode == ib.OpcodeCongestionNotification:
		qp.slowDown()
	case !qp.supports(p.BTH.Opcode), p.BTH.PKey&0x7fff != 0x7fff, p.BTH.TVer != 0:
		count(&qp.e.stats.Malformed)
	case qp.kind == provider.QPTypeUD:
		qp.handleDatagram(p, from, trafficClass)
	case layout&ib.LayoutResponse != 0:
		if qp.state == provider.QPStateRTS {
			qp.handleResponse(p)
		}
	default:
		if qp.state == provider.QPStateRTR && !qp.connected {
			qp.connected = true
			qp.e.events.add(qp, provider.Event{Type: provider.EventCommEstablished, QPN: qp.qpn, ID: qp.id})
		}
		if qp.kind == provider.QPTypeUC {
			qp.handleUnreliable(p)
		} else {
			qp.handleRequest(p)
		}
	}
}

// mtu returns the most bytes of payload in a packet that is sent.
func (qp *queuePair) mtu() ib.MTU {
	if qp.kind == provider.QPTypeUD {
		return qp.e.mtu
	}
	return qp.attr.PathMTU
}

// supports reports whether an opcode belongs to the queue pair's type.
func (qp *queuePair) supports(op ib.Opcode) bool {
	switch qp.kind {
	case provider.QPTypeUC:
		return op.IsUC()
	case provider.QPTypeUD:
		return op.IsUD()
	case provider.QPTypeRC:
	}
	return op.IsRC()
}

// flushBurst sends the responses to a burst of packets and the requests that the window permits.
// If responses are left, it schedules the queue pair for respondLater. With mayDelayAck an
// acknowledgement may be delayed; see delayedAcks.
func (qp *queuePair) flushBurst(mayDelayAck bool) {
	qp.tx.resume()
	if qp.closed {
		return
	}
	more := qp.respond(mayDelayAck)
	if qp.state == provider.QPStateRTS {
		qp.sendPending()
	}
	qp.tx.flush()
	if more {
		qp.schedule()
	}
}

// schedule gives the queue pair to respondLater.
func (qp *queuePair) schedule() {
	if !qp.scheduled {
		qp.scheduled = true
		qp.e.work <- qp
	}
}
