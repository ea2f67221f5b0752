package providertest

import (
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

func srqRules() []rule {
	const needs = provider.CapRC | provider.CapSRQ
	return []rule{
		{"several-queue-pairs", needs, checkSRQ},
		{"full", needs, checkSRQFull},
		{"no-receive-queue", needs, checkSRQNoReceive},
		{"limit", needs | provider.CapEvents, checkSRQLimit},
		{"limit-values", needs, checkSRQLimitValues},
		{"not-flushed", needs, checkSRQNotFlushed},
		{"last-request", needs | provider.CapEvents, checkSRQLast},
		{"rnr", needs, checkSRQRNR},
		{"close", needs, checkSRQClose},
	}
}

// srq creates a shared receive queue.
func (c *check) srq(pd provider.ProtectionDomain, config provider.SRQConfig) provider.SharedReceiveQueue {
	creator, ok := pd.(provider.SRQCreator)
	if !ok {
		c.fatalf("%T is no SRQCreator", pd)
	}
	s, err := creator.CreateSRQ(config)
	c.must(err)
	c.closeLater("shared receive queue", s)
	return s
}

// srqPairs connects n queue pairs of a shared receive queue to as many others.
func (c *check) srqPairs(n int, config provider.SRQConfig, l link) ([][2]*end, provider.SharedReceiveQueue) {
	pd := c.pd(c.pair.B.Device)
	s := c.srq(pd, config)
	var list [][2]*end
	for i := range n {
		a, b := c.end(c.pair.A, shape{}), c.end(c.pair.B, shape{pd: pd, srq: s, id: 300 + uint64(i)})
		c.connect(a, b, l)
		list = append(list, [2]*end{a, b})
	}
	return list, s
}

// postShared posts receive requests with the IDs first to last, for 16 bytes each.
func (c *check) postShared(s provider.SharedReceiveQueue, e *end, first, last uint64) {
	for id := first; id <= last; id++ {
		rr := e.room(id, int(id%128)*16, 16)
		if n, err := s.PostReceive([]provider.ReceiveRequest{rr}); n != 1 || err != nil {
			c.fatalf("PostReceive of request %d to the shared queue = %d, %v", id, n, err)
		}
	}
}

// checkSRQ checks that the messages of several queue pairs use the requests of one queue, in the
// order of arrival (section 10.2.9; ibv_post_srq_recv).
func checkSRQ(c *check) {
	pairs, s := c.srqPairs(3, provider.SRQConfig{}, c.link())
	c.postShared(s, pairs[0][1], 0, 8)
	for id := range uint64(9) {
		a, b := pairs[id%3][0], pairs[id%3][1]
		a.post(a.request(id, provider.SendOpSend, 16, b))
		c.expect("send", a.sent(1), success(id, id)...)
		wcs := b.received(1)
		c.expect("receive", wcs, success(id, id)...)
		if wcs[0].QPN != b.qp.QPN() {
			c.errorf("receive %d is of queue pair %v, want %v", id, wcs[0].QPN, b.qp.QPN())
		}
	}
}

// checkSRQFull checks that the queue takes as many requests as it says.
func checkSRQFull(c *check) {
	e := c.end(c.pair.A, shape{})
	s := c.srq(e.pd, provider.SRQConfig{MaxWR: 8, MaxSegments: 1})
	granted, err := s.Query()
	c.must(err)
	if granted.MaxWR < 8 || granted.MaxSegments < 1 {
		c.errorf("granted %+v, want at least 8 requests of a segment", granted)
	}
	n, err := s.PostReceive(make([]provider.ReceiveRequest, granted.MaxWR+1))
	if n != granted.MaxWR || !errors.Is(err, provider.ErrQueueFull) {
		c.errorf("PostReceive = %d, %v; want %d and ErrQueueFull", n, err, granted.MaxWR)
	}
}

// checkSRQNoReceive checks that a queue pair with a shared queue takes no receive requests itself.
func checkSRQNoReceive(c *check) {
	pairs, _ := c.srqPairs(1, provider.SRQConfig{}, c.link())
	b := pairs[0][1]
	_, err := b.qp.PostReceive([]provider.ReceiveRequest{b.room(1, 0, 8)})
	c.wantError("PostReceive to a queue pair with a shared queue", err, nil)
}

// checkSRQLimit checks that the limit is reported once, when fewer requests are left, and is 0 then
// (section 11.6.3.1; ibv_modify_srq, IBV_EVENT_SRQ_LIMIT_REACHED).
func checkSRQLimit(c *check) {
	pairs, s := c.srqPairs(1, provider.SRQConfig{MaxWR: 8, Limit: 3, ID: 9}, c.link())
	a, b := pairs[0][0], pairs[0][1]
	c.postShared(s, b, 0, 5)
	for id := range uint64(3) { // 3 are left: not fewer than the limit
		a.post(a.request(id, provider.SendOpSend, 8, b))
		c.expect("send", a.sent(1), success(id, id)...)
	}
	c.noEvents("as many as the limit are left", b.at.Device, provider.EventCommEstablished)
	a.post(a.request(3, provider.SendOpSend, 8, b))
	a.sent(1)
	if e := c.nextEvent(b.at.Device, provider.EventSRQLimit); e.ID != 9 {
		c.errorf("event of queue %d, want 9", e.ID)
	}
	if got, err := s.Query(); err != nil || got.Limit != 0 {
		c.errorf("after the event: limit %d, %v, want 0", got.Limit, err)
	}
	b.received(4)
}

// checkSRQLimitValues checks values of the limit.
func checkSRQLimitValues(c *check) {
	e := c.end(c.pair.A, shape{})
	s := c.srq(e.pd, provider.SRQConfig{MaxWR: 8})
	granted, err := s.Query()
	c.must(err)
	for _, n := range []int{granted.MaxWR, 1, 0} {
		c.must(s.SetLimit(n))
		if got, err := s.Query(); err != nil || got.Limit != n {
			c.errorf("limit %d, %v, want %d", got.Limit, err, n)
		}
	}
	for _, bad := range []int{-1, granted.MaxWR + 1} {
		c.wantError(fmt.Sprintf("SetLimit(%d) of %d requests", bad, granted.MaxWR), s.SetLimit(bad), nil)
	}
}

// checkSRQNotFlushed checks that requests of the shared queue stay when one of its queue pairs
// fails (section 10.3.1.5).
func checkSRQNotFlushed(c *check) {
	pairs, s := c.srqPairs(2, provider.SRQConfig{}, c.link())
	c.postShared(s, pairs[0][1], 0, 0)
	pairs[0][1].fail()
	c.none("the queue pair that fails", pairs[0][1].receives)
	a, b := pairs[1][0], pairs[1][1]
	a.post(a.request(5, provider.SendOpSend, 8, b))
	c.expect("the other one", a.sent(1), success(5, 5)...)
	c.expect("its receive", b.received(1), success(0, 0)...)
}

// checkSRQLast checks the event after which a failed queue pair takes no more requests (section
// 11.6.3.1; IBV_EVENT_QP_LAST_WQE_REACHED).
func checkSRQLast(c *check) {
	pairs, _ := c.srqPairs(1, provider.SRQConfig{}, c.link())
	b := pairs[0][1]
	b.fail()
	if e := c.nextEvent(b.at.Device, provider.EventQPLastRequest); e.QPN != b.qp.QPN() || e.ID != 300 {
		c.errorf("event %+v, want one of queue pair %v with ID 300", e, b.qp.QPN())
	}
}

// checkSRQRNR checks that an empty shared queue is like an empty receive queue.
func checkSRQRNR(c *check) {
	l := c.link()
	l.rnr = 0
	pairs, _ := c.srqPairs(1, provider.SRQConfig{}, l)
	a, b := pairs[0][0], pairs[0][1]
	a.post(a.request(1, provider.SendOpSend, 8, b))
	c.expect("SEND", a.sent(1), done{1, provider.WCRNRRetryExceeded})
}

// checkSRQClose checks that a queue can't be closed while queue pairs use it (ibv_destroy_srq).
func checkSRQClose(c *check) {
	pairs, s := c.srqPairs(1, provider.SRQConfig{}, c.link())
	c.wantError("Close of a shared queue with a queue pair", s.Close(), provider.ErrBusy)
	c.must(pairs[0][1].qp.Close())
	c.must(s.Close())
	c.must(s.Close())
	_, err := s.PostReceive([]provider.ReceiveRequest{{}})
	c.wantError("PostReceive after Close", err, provider.ErrClosed)
	c.wantError("SetLimit after Close", s.SetLimit(1), provider.ErrClosed)
}
