package providertest

import (
	"fmt"
	"sync/atomic"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// everything is all that peers may do; atomics only where devices have them.
const everything = provider.AccessLocalWrite | provider.AccessRemoteWrite | provider.AccessRemoteRead

// end is one end of a connection: a queue pair with what it needs.
type end struct {
	c               *check
	at              Endpoint
	pd              provider.ProtectionDomain
	sends, receives provider.CompletionQueue
	qp              provider.QueuePair
	mr              provider.MemoryRegion
	peer            *end        // once it is connected
	written         atomic.Bool // the peer has posted WRITEs since memory was called
}

// shape is what an end is made of. The zero value is an RC queue pair and 4 KiB of memory.
type shape struct {
	typ       provider.QPType
	capacity  provider.QPCapacity
	signalAll bool
	sends     provider.CQConfig
	receives  provider.CQConfig
	id        uint64
	size      int // of the region, bytes
	srq       provider.SharedReceiveQueue
	pd        provider.ProtectionDomain
}

// end makes an end of a connection.
func (c *check) end(at Endpoint, s shape) *end {
	e := &end{c: c, at: at, pd: s.pd}
	if e.pd == nil {
		e.pd = c.pd(at.Device)
	}
	e.sends, e.receives = c.cq(at.Device, s.sends), c.cq(at.Device, s.receives)
	if s.size == 0 {
		s.size = 4096
	}
	e.mr = c.region(e.pd, s.size, everything)
	e.qp = c.qp(e.pd, provider.QPConfig{
		Type: s.typ, SendCQ: e.sends, RecvCQ: e.receives, SRQ: s.srq, Capacity: s.capacity, SignalAll: s.signalAll,
		ID: s.id,
	})
	return e
}

// ends makes two ends of the same shape.
func (c *check) ends(s shape) (a, b *end) { return c.end(c.pair.A, s), c.end(c.pair.B, s) }

// connected makes two ends of the same shape and connects them.
func (c *check) connected(s shape) (a, b *end) {
	a, b = c.ends(s)
	c.connect(a, b, c.link())
	return a, b
}

func (c *check) pd(d provider.Device) provider.ProtectionDomain {
	pd, err := d.AllocatePD()
	c.must(err)
	c.closeLater("protection domain", pd)
	return pd
}

func (c *check) cq(d provider.Device, config provider.CQConfig) provider.CompletionQueue {
	cq, err := d.CreateCQ(config)
	c.must(err)
	c.closeLater("completion queue", cq)
	return cq
}

func (c *check) qp(pd provider.ProtectionDomain, config provider.QPConfig) provider.QueuePair {
	qp, err := pd.CreateQP(config)
	c.must(err)
	c.closeLater("queue pair", qp)
	return qp
}

func (c *check) region(pd provider.ProtectionDomain, size int, access provider.Access) provider.MemoryRegion {
	return c.registered(pd, make([]byte, size), access)
}

func (c *check) registered(
	pd provider.ProtectionDomain, buf []byte, access provider.Access,
) provider.MemoryRegion {
	mr, err := pd.RegisterMemory(buf, provider.MemoryOptions{Access: access})
	c.must(err)
	c.closeLater("region", mr)
	return mr
}

// link is the attributes of a connection. Index 0 is those of the first end, 1 of the second.
type link struct {
	mtu        ib.MTU
	psn        [2]ib.PSN // of the first packet that the end sends
	access     [2]provider.Access
	readAtomic [2]int // outstanding as requester
	destReads  [2]int // as responder
	timeout    uint8
	retry, rnr uint8
	rnrTimer   uint8
	upTo       [2]provider.QPState // RTS
	path       [2]provider.Path
	destQPN    [2]ib.QPN // 0: of the other end
}

// link returns attributes for a connection that works.
func (c *check) link() link {
	access := provider.AccessRemoteWrite | provider.AccessRemoteRead
	if c.has(provider.CapAtomics) {
		access |= provider.AccessRemoteAtomic
	}
	rts := provider.QPStateRTS
	return link{
		mtu: ib.MTU1024, psn: [2]ib.PSN{0x123456, 0xabcdef}, access: [2]provider.Access{access, access},
		readAtomic: [2]int{4, 4}, destReads: [2]int{4, 4}, timeout: c.options.AckTimeout, retry: 7, rnr: 7,
		rnrTimer: 12, upTo: [2]provider.QPState{rts, rts},
		path: [2]provider.Path{c.pair.A.Path, c.pair.B.Path},
	}
}

// attributes returns the attributes of one end.
func (l *link) attributes(i int, at Endpoint, dest ib.QPN) provider.QPAttributes {
	if l.destQPN[i] != 0 {
		dest = l.destQPN[i]
	}
	return provider.QPAttributes{
		Port: at.Port, Access: l.access[i], Path: l.path[i], PathMTU: l.mtu, DestQPN: dest, SendPSN: l.psn[i],
		ReceivePSN: l.psn[1-i], MaxReadAtomic: l.readAtomic[i], MaxDestReadAtomic: l.destReads[i],
		MinRNRTimer: l.rnrTimer, Timeout: l.timeout, RetryCount: l.retry, RNRRetry: l.rnr, QKey: qkey,
	}
}

// qkey is the Q_Key of all datagram queue pairs here.
const qkey = 0x11111111

// connect connects two ends.
func (c *check) connect(a, b *end, l link) {
	if c.options.ByConnector {
		c.manage(a, b, l)
		return
	}
	for i, e := range []*end{a, b} {
		other := []*end{b, a}[i]
		e.peer = other
		e.bring(l.attributes(i, e.at, other.qp.QPN()), l.upTo[i])
	}
}

// bring moves a queue pair from RESET to a state, with the attributes that each step requires.
func (e *end) bring(attr provider.QPAttributes, to provider.QPState) {
	e.c.byNumber()
	steps := []provider.QPState{provider.QPStateInit, provider.QPStateRTR, provider.QPStateRTS}
	if to == provider.QPStateError {
		steps = []provider.QPState{provider.QPStateInit, provider.QPStateError}
	}
	if to == provider.QPStateReset {
		steps = nil
	}
	from := provider.QPStateReset
	for _, state := range steps {
		if err := step(e.qp, from, state, attr); err != nil {
			e.c.fatalf("%v→%v: %v", from, state, err)
		}
		if state == to {
			return
		}
		from = state
	}
}

// step changes the state of a queue pair with exactly the attributes that the step requires.
func step(qp provider.QueuePair, from, to provider.QPState, attr provider.QPAttributes) error {
	attr.State = to
	attr.Mask = requiredAttributes(qp.Type(), from, to)
	return qp.Modify(attr)
}

// reset moves a queue pair to RESET.
func (e *end) reset() {
	e.c.byNumber()
	e.c.must(e.qp.Modify(provider.QPAttributes{State: provider.QPStateReset}))
}

// fail moves a queue pair to ERR.
func (e *end) fail() { e.c.must(e.qp.Modify(provider.QPAttributes{State: provider.QPStateError})) }

// state returns the state that the queue pair reports when it is queried.
func (e *end) state() provider.QPState {
	attr, err := e.qp.Query()
	e.c.must(err)
	return attr.State
}

// waitFailed reports an end that doesn't fail: its queue pair goes to ERR by itself.
func (e *end) waitFailed(what string) {
	if !e.c.eventually(func() bool { return e.state() == provider.QPStateError }) {
		e.c.errorf("%s is in state %v, want ERR", what, e.state())
	}
}

// order tells the race detector what the network orders: what was done with the memory of both ends
// comes before the requests that are posted next.
func (e *end) order() {
	e.qp.State()
	if e.peer != nil {
		e.peer.qp.State()
	}
}

// post posts send requests, which must succeed.
func (e *end) post(wrs ...provider.SendRequest) {
	e.order()
	for i := range wrs {
		if e.peer != nil && wrs[i].Op == provider.SendOpWrite {
			e.peer.written.Store(true)
		}
	}
	if n, err := e.qp.PostSend(wrs); err != nil || n != len(wrs) {
		e.c.fatalf("PostSend of %d requests = %d, %v", len(wrs), n, err)
	}
}

// postReceive posts receive requests, which must succeed.
func (e *end) postReceive(wrs ...provider.ReceiveRequest) {
	if n, err := e.qp.PostReceive(wrs); err != nil || n != len(wrs) {
		e.c.fatalf("PostReceive of %d requests = %d, %v", len(wrs), n, err)
	}
}

// room returns a receive request for a part of the end's memory.
func (e *end) room(id uint64, offset, length int) provider.ReceiveRequest {
	return provider.ReceiveRequest{ID: id, Segments: e.part(offset, length)}
}

// part returns a part of the end's memory as a segment.
func (e *end) part(offset, length int) []provider.Segment {
	return []provider.Segment{{Region: e.mr, Offset: offset, Length: length}}
}

// request returns a signaled request that sends, or reads, the first length bytes of the end's
// memory to, or from, the start of the peer's.
func (e *end) request(id uint64, op provider.SendOp, length int, peer *end) provider.SendRequest {
	return provider.SendRequest{
		ID: id, Op: op, Flags: provider.SendSignaled, Segments: e.part(0, length),
		RKey: peer.mr.RKey(), RemoteAddr: peer.mr.Addr(),
	}
}

// collect waits for n completions.
func (c *check) collect(q provider.CompletionQueue, n int) []provider.WorkCompletion {
	ctx, cancel := c.patience()
	defer cancel()
	out, buf := make([]provider.WorkCompletion, 0, n), make([]provider.WorkCompletion, n)
	for len(out) < n {
		k, err := q.Wait(ctx, buf[:n-len(out)])
		if err != nil {
			c.fatalf("wait for %d completions: %v after %s", n, err, describe(out))
		}
		out = append(out, buf[:k]...)
	}
	return out
}

// sent waits for the completions of n send requests.
func (e *end) sent(n int) []provider.WorkCompletion { return e.c.collect(e.sends, n) }

// received waits for the completions of n receive requests.
func (e *end) received(n int) []provider.WorkCompletion { return e.c.collect(e.receives, n) }

// none reports completions in a queue that must stay empty.
func (c *check) none(what string, q provider.CompletionQueue) {
	c.quiet()
	var wcs [8]provider.WorkCompletion
	if n, err := q.Poll(wcs[:]); n != 0 || err != nil {
		c.errorf("%s: %s, %v; want no completion", what, describe(wcs[:n]), err)
	}
}

// done is a completion as rules expect it.
type done struct {
	id     uint64
	status provider.WCStatus
}

// expect compares completions with those that are expected. With a lossy network, a requester may
// have WCRetryExceeded instead of the reason.
func (c *check) expect(what string, got []provider.WorkCompletion, want ...done) {
	ok := len(got) == len(want)
	for i := 0; ok && i < len(got); i++ {
		ok = got[i].ID == want[i].id && c.isStatus(got[i].Status, want[i].status)
	}
	if !ok {
		c.errorf("%s: completions %s, want %v", what, describe(got), want)
	}
}

// isStatus reports whether a status is the one that is expected of a request.
func (c *check) isStatus(got, want provider.WCStatus) bool {
	remote := want == provider.WCRemoteAccess || want == provider.WCRemoteInvalid || want == provider.WCRemoteOperation
	return got == want || remote && c.options.Lossy && got == provider.WCRetryExceeded
}

// String formats a completion as describe does.
func (d done) String() string { return fmt.Sprintf("%d %v", d.id, d.status) }

// describe returns the IDs and statuses of completions.
func describe(wcs []provider.WorkCompletion) string {
	var list []done
	for i := range wcs {
		list = append(list, done{wcs[i].ID, wcs[i].Status})
	}
	return fmt.Sprint(list)
}

// success is the completions of the requests first to last, all successful.
func success(first, last uint64) (list []done) {
	for id := first; id <= last; id++ {
		list = append(list, done{id, provider.WCSuccess})
	}
	return list
}

// memory returns the memory of a region that the peer may have written. What the provider wrote
// happened before the completion was polled, or the call of a method.
//
// On iWARP a WRITE has completed when TCP has it: the peer may not have executed it yet.
func (e *end) memory(mr provider.MemoryRegion) []byte {
	if e.c.options.ByConnector && e.written.Swap(false) {
		e.c.quiet()
	}
	e.qp.State() // the race detector doesn't see what the network orders
	return mr.Bytes()
}

// fill fills memory with bytes that depend on seed.
func fill(b []byte, seed int) {
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
}

// pattern returns n bytes that depend on seed.
func pattern(n, seed int) []byte {
	b := make([]byte, n)
	fill(b, seed)
	return b
}
