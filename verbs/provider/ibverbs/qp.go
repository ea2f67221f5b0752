package ibverbs

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

const defaultRequests = 128

// queuePair implements [provider.QueuePair].
type queuePair struct {
	object
	d              *openDevice
	pd             *domain
	kind           provider.QPType
	id             uint64 // of the program
	signalAll      bool
	qpn            ib.QPN
	capacity       provider.QPCapacity
	sendCQ, recvCQ *completionQueue
	srq            *sharedQueue // may be nil
	state          atomic.Uint32
	arena          *arena

	mu   sync.Mutex // held while C modifies or queries the queue pair
	attr provider.QPAttributes

	send sender
	recv receiver
}

// qpTypeCode returns the number of enum ibv_qp_type.
func qpTypeCode(t provider.QPType) uint32 { return uint32(t) + 2 }

// CreateQP implements [provider.ProtectionDomain].
func (pd *domain) CreateQP(cfg provider.QPConfig) (provider.QueuePair, error) {
	qp, err := pd.newQP(cfg)
	if err != nil {
		return nil, err
	}
	return qp, nil
}

const opCreateQP = "create qp"

func (pd *domain) newQP(cfg provider.QPConfig) (*queuePair, error) {
	qp := &queuePair{d: pd.d, pd: pd, kind: cfg.Type, id: cfg.ID, signalAll: cfg.SignalAll, object: object{what: "qp"}}
	attr, err := qp.configure(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", opCreateQP, pd.d.name, err)
	}
	err = pd.d.create(opCreateQP, &qp.object, qp, 0, qp.parents(), func() (uintptr, int) {
		addr, errno := callWith(pd.d.calls.createQP, pd.addr, &attr, 0)
		if addr != 0 { // now, because an event may be about the queue pair before create returns
			qp.qpn = ib.QPN(peek[cQP](addr).QPNum)
			qp.what = fmt.Sprintf("qp %v", qp.qpn)
		}
		return addr, errno
	})
	if err != nil {
		return nil, err
	}
	qp.capacity = granted(attr.Cap, qp.srq != nil)
	if err := qp.prepare(); err != nil {
		qp.closed.Store(true)
		err = errors.Join(err, pd.d.destroy(&qp.object, qp, pd.d.calls.destroyQP, qp.parents()...))
		return nil, fmt.Errorf("%s on %s: %w", opCreateQP, pd.d.name, err)
	}
	return qp, nil
}

// configure checks a configuration and returns it for C.
func (qp *queuePair) configure(cfg provider.QPConfig) (cQPInitAttr, error) {
	need := map[provider.QPType]provider.Capabilities{
		provider.QPTypeRC: provider.CapRC, provider.QPTypeUC: provider.CapUC, provider.QPTypeUD: provider.CapUD,
	}[cfg.Type]
	if need == 0 || !qp.d.caps.Has(need) {
		return cQPInitAttr{}, fmt.Errorf("type %v: %w", cfg.Type, provider.ErrNotSupported)
	}
	var ok1, ok2 bool
	qp.sendCQ, ok1 = cfg.SendCQ.(*completionQueue)
	qp.recvCQ, ok2 = cfg.RecvCQ.(*completionQueue)
	if !ok1 || !ok2 || qp.sendCQ.d != qp.d || qp.recvCQ.d != qp.d {
		return cQPInitAttr{}, fmt.Errorf("send or receive completion queue: %w", errOther)
	}
	attr := cQPInitAttr{SendCQ: qp.sendCQ.addr, RecvCQ: qp.recvCQ.addr, QPType: qpTypeCode(cfg.Type)}
	if cfg.SignalAll {
		attr.SQSigAll = 1
	}
	if cfg.SRQ != nil {
		var ok bool
		if qp.srq, ok = cfg.SRQ.(*sharedQueue); !ok || qp.srq.pd.d != qp.d {
			return cQPInitAttr{}, fmt.Errorf("shared receive queue: %w", errOther)
		}
		attr.SRQ = qp.srq.addr
	}
	var err error
	attr.Cap, err = qp.wanted(cfg.Capacity)
	return attr, err
}

// wanted checks a wanted capacity and returns it for C, with defaults for 0.
func (qp *queuePair) wanted(c provider.QPCapacity) (out cQPCap, err error) {
	a := &qp.d.attr
	if qp.srq != nil {
		c.MaxRecvWR, c.MaxRecvSegments = 0, 0
	}
	for _, l := range []struct {
		name       string
		value      int
		byDefault  int
		most       int
		to         *uint32
		notWithSRQ bool
	}{
		{"depth of the send queue", c.MaxSendWR, defaultRequests, int(a.MaxQPWR), &out.MaxSendWR, false},
		{"depth of the receive queue", c.MaxRecvWR, defaultRequests, int(a.MaxQPWR), &out.MaxRecvWR, true},
		{"segments of a send request", c.MaxSendSegments, 1, int(a.MaxSGE), &out.MaxSendSGE, false},
		{"segments of a receive request", c.MaxRecvSegments, 1, int(a.MaxSGE), &out.MaxRecvSGE, true},
		{"inline bytes", c.MaxInline, 0, maxInline, &out.MaxInlineData, false},
	} {
		if l.value < 0 || l.value > l.most {
			return out, fmt.Errorf("%s %d is not in 0 to %d", l.name, l.value, l.most)
		}
		if l.notWithSRQ && qp.srq != nil {
			continue
		}
		*l.to = uint32(cmp.Or(l.value, min(l.byDefault, l.most)))
	}
	return out, nil
}

// maxInline limits inline data where only the driver knows the limit.
const maxInline = 1 << 16

// granted returns the capacity that C has granted.
func granted(c cQPCap, shared bool) provider.QPCapacity {
	out := provider.QPCapacity{
		MaxSendWR: int(c.MaxSendWR), MaxRecvWR: int(c.MaxRecvWR),
		MaxSendSegments: int(c.MaxSendSGE), MaxRecvSegments: int(c.MaxRecvSGE), MaxInline: int(c.MaxInlineData),
	}
	if shared {
		out.MaxRecvWR, out.MaxRecvSegments = 0, 0
	}
	return out
}

// prepare allocates the memory of requests and registers the work queues.
func (qp *queuePair) prepare() (err error) {
	c := qp.capacity
	sends, receives := min(c.MaxSendWR, maxPost), min(c.MaxRecvWR, maxPost)
	size := room[cSendWR](sends) + room[cRecvWR](receives) + 2*room[uintptr](1) +
		room[cSGE](sends*c.MaxSendSegments+receives*c.MaxRecvSegments) + room[byte](sends*c.MaxInline)
	if qp.arena, err = newArena(size + room[cSGE](0)); err != nil {
		return err
	}
	qp.send.init(qp.arena, c)
	qp.recv.init(qp.arena, c.MaxRecvWR, c.MaxRecvSegments)
	if qp.d.transport == provider.TransportTypeIWARP {
		qp.send.allowLate()
	}
	if qp.send.id, err = qp.d.queues.add(&qp.send.ring); err != nil {
		qp.arena.free()
		return err
	}
	if qp.recv.id, err = qp.d.queues.add(&qp.recv.ring); err != nil {
		qp.d.queues.remove(qp.send.id)
		qp.arena.free()
		return err
	}
	return nil
}

// parents are the objects that the queue pair uses.
func (qp *queuePair) parents() []*object {
	list := []*object{&qp.pd.object, &qp.sendCQ.object, &qp.recvCQ.object}
	if qp.srq != nil {
		list = append(list, &qp.srq.object)
	}
	return list
}

// QPN implements [provider.QueuePair].
func (qp *queuePair) QPN() ib.QPN { return qp.qpn }

// Type implements [provider.QueuePair].
func (qp *queuePair) Type() provider.QPType { return qp.kind }

// Capacity implements [provider.QueuePair].
func (qp *queuePair) Capacity() provider.QPCapacity { return qp.capacity }

// State implements [provider.QueuePair].
func (qp *queuePair) State() provider.QPState { return provider.QPState(qp.state.Load()) }

// Modify implements [provider.QueuePair].
func (qp *queuePair) Modify(attr provider.QPAttributes) error {
	qp.mu.Lock()
	defer qp.mu.Unlock()
	if qp.closed.Load() {
		return fmt.Errorf("modify %s: %w", qp.what, provider.ErrClosed)
	}
	if old := qp.State(); old != provider.QPStateReset && old != provider.QPStateInit {
		if _, err := qp.query(); err != nil { // the device may have moved it to ERR
			return err
		}
	}
	from := qp.State()
	fail := func(err error) error { return fmt.Errorf("modify %s %v→%v: %w", qp.what, from, attr.State, err) }
	if err := provider.CheckTransition(qp.kind, from, attr); err != nil {
		return fail(err)
	}
	if attr.State == provider.QPStateSQD && !qp.d.caps.Has(provider.CapDrain) {
		return fail(provider.ErrNotSupported) // on iWARP this state closes the connection
	}
	c, mask, err := qp.d.qpAttr(&attr, &qp.attr)
	if err != nil {
		return fail(err)
	}
	if attr.State == provider.QPStateSQD && from != provider.QPStateSQD {
		c.EnSQDAsyncNotify, mask = 1, mask|maskSQDAsyncNotify
	}
	ret, errno := callWith(qp.d.calls.modifyQP, qp.addr, &c, mask)
	if errno = errnoOf(ret, errno); errno != 0 {
		return fail(qp.d.failed("modify qp", errno, 0))
	}
	qp.state.Store(uint32(attr.State))
	qp.attr.Merge(attr)
	if attr.State == provider.QPStateReset {
		qp.attr = provider.QPAttributes{}
		qp.clear()
	}
	return nil
}

// clear frees the entries of requests that the reset has discarded.
func (qp *queuePair) clear() {
	qp.send.mu.Lock()
	qp.send.clear()
	qp.send.mu.Unlock()
	qp.recv.mu.Lock()
	qp.recv.clear()
	qp.recv.mu.Unlock()
}

// Query implements [provider.QueuePair].
func (qp *queuePair) Query() (provider.QPAttributes, error) {
	qp.mu.Lock()
	defer qp.mu.Unlock()
	if qp.closed.Load() {
		return provider.QPAttributes{}, fmt.Errorf("query %s: %w", qp.what, provider.ErrClosed)
	}
	return qp.query()
}

// query asks the device. qp.mu is held.
func (qp *queuePair) query() (provider.QPAttributes, error) {
	attr, init := new(cQPAttr), new(cQPInitAttr)
	if errno := callQueryQP(qp.d.calls.queryQP, qp.addr, attr, queryMask, init); errno != 0 {
		return provider.QPAttributes{}, qp.d.failed("query "+qp.what, errno, 0)
	}
	// siw of Linux 6.1 reports no state (siw_query_qp).
	if attr.QPState != uint32(provider.QPStateReset) || qp.d.transport != provider.TransportTypeIWARP {
		qp.state.Store(attr.QPState)
	}
	out := queried(attr, qp.attr.Mask)
	out.State = qp.State()
	return out, nil
}

// Close implements [provider.QueuePair].
func (qp *queuePair) Close() error {
	first, err := qp.d.shut(&qp.object)
	if err != nil || !first {
		return err
	}
	qp.mu.Lock()
	defer qp.mu.Unlock()
	qp.send.mu.Lock()
	defer qp.send.mu.Unlock()
	qp.recv.mu.Lock()
	defer qp.recv.mu.Unlock()
	if err := qp.d.destroy(&qp.object, qp, qp.d.calls.destroyQP, qp.parents()...); err != nil {
		return err
	}
	qp.d.queues.remove(qp.send.id)
	qp.d.queues.remove(qp.recv.id)
	qp.arena.free()
	return nil
}
