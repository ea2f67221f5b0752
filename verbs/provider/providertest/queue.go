package providertest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

func queueRules() []rule {
	return []rule{
		{"send-full", provider.CapRC, checkSendFull},
		{"receive-full", provider.CapRC, checkReceiveFull},
		{"slots-by-polling", provider.CapRC, checkSlotsByPolling},
		{"slots-of-unsignaled", provider.CapRC, checkSlotsOfUnsignaled},
		{"places-reused", provider.CapRC, checkPlacesReused},
		{"full-in-err", provider.CapRC, checkFullInError},
		{"bad-request-in-list", provider.CapRC, checkBadInList},
		{"bad-receive-in-list", provider.CapRC, checkBadReceiveInList},
		{"lists-are-copied", provider.CapRC, checkCopied},
		{"empty-list", provider.CapRC, checkEmptyList},
		{"unknown-operation", provider.CapRC, checkUnknownOperation},
	}
}

// narrow is the shape of an end whose queues are short.
var narrow = shape{capacity: provider.QPCapacity{MaxSendWR: 4, MaxRecvWR: 4}}

// fillSends posts requests that don't complete, since the peer has no receive request, until the
// queue is full, and returns how many it takes.
func fillSends(a, b *end) int {
	for n := 0; ; n++ {
		k, err := a.qp.PostSend([]provider.SendRequest{a.request(uint64(n), provider.SendOpSend, 8, b)})
		switch {
		case errors.Is(err, provider.ErrQueueFull) && k == 0:
			return n
		case err != nil || k != 1 || n > 1<<16:
			a.c.fatalf("PostSend of request %d = %d, %v; want ErrQueueFull in the end", n, k, err)
		}
	}
}

// checkSendFull checks that the send queue takes as many requests as were granted, and then reports
// that it is full; what was refused isn't executed.
func checkSendFull(c *check) {
	a, b := c.connected(narrow)
	depth := a.qp.Capacity().MaxSendWR
	if n := fillSends(a, b); n != depth {
		c.errorf("the send queue takes %d requests, Capacity is %d", n, depth)
	}
	for id := range uint64(depth) {
		b.postReceive(b.room(id, 0, 8))
		b.received(1)
	}
	c.expect("the requests that were taken", a.sent(depth), success(0, uint64(depth)-1)...)
	b.postReceive(b.room(1, 0, 8))
	c.none("the one that was refused", b.receives)
}

// checkReceiveFull checks the same of the receive queue.
func checkReceiveFull(c *check) {
	a, b := c.connected(narrow)
	depth := b.qp.Capacity().MaxRecvWR
	list := make([]provider.ReceiveRequest, depth+3)
	for i := range list {
		list[i] = b.room(uint64(i), 0, 8)
	}
	n, err := b.qp.PostReceive(list)
	if n != depth || !errors.Is(err, provider.ErrQueueFull) {
		c.errorf("PostReceive of %d requests = %d, %v; want %d and ErrQueueFull", len(list), n, err, depth)
	}
	a.post(a.request(1, provider.SendOpSend, 8, b))
	a.sent(1)
	b.received(1)
	if n, err := b.qp.PostReceive(list[:2]); n != 1 || !errors.Is(err, provider.ErrQueueFull) {
		c.errorf("PostReceive after one completion = %d, %v; want 1 and ErrQueueFull", n, err)
	}
}

// checkSlotsByPolling checks that a request occupies its slot until its completion has been polled.
func checkSlotsByPolling(c *check) {
	a, b := c.connected(narrow)
	depth := a.qp.Capacity().MaxSendWR
	list := make([]provider.SendRequest, depth)
	for i := range list {
		list[i] = a.request(uint64(i), provider.SendOpWrite, 8, b)
	}
	for range 5 {
		a.post(list...)
		probe := b.request(9, provider.SendOpRead, 8, a) // answered after the writes were
		b.post(probe)
		b.sent(1)
		c.quiet()
		if n, err := a.qp.PostSend(list[:1]); n != 0 || !errors.Is(err, provider.ErrQueueFull) {
			c.errorf("PostSend before any completion was polled = %d, %v; want ErrQueueFull", n, err)
		}
		a.sent(2)
		a.post(list[:2]...)
		if n, err := a.qp.PostSend(list[:1]); n != 0 || !errors.Is(err, provider.ErrQueueFull) {
			c.errorf("PostSend after two were polled and two posted = %d, %v; want ErrQueueFull", n, err)
		}
		a.sent(depth)
	}
}

// checkSlotsOfUnsignaled checks that the completion of a signaled request frees the slots of the
// unsignaled ones before it, again and again (section 10.8.5).
func checkSlotsOfUnsignaled(c *check) {
	a, b := c.connected(narrow)
	depth := a.qp.Capacity().MaxSendWR
	for round := range c.shorter(50, 10) {
		for i := range depth {
			wr := a.request(uint64(i), provider.SendOpWrite, 8, b)
			if i < depth-1 {
				wr.Flags = 0
			}
			if n, err := a.qp.PostSend([]provider.SendRequest{wr}); n != 1 || err != nil {
				c.fatalf("round %d, PostSend of request %d = %d, %v", round, i, n, err)
			}
		}
		c.expect("the last one", a.sent(1), success(uint64(depth)-1, uint64(depth)-1)...)
	}
}

// checkPlacesReused checks that a request uses its own memory, and not that of the request that had
// its place in the queue before.
func checkPlacesReused(c *check) {
	a, b := c.connected(narrow)
	depth := a.qp.Capacity()
	fill(a.mr.Bytes(), 3)
	for i := range 2*max(depth.MaxSendWR, depth.MaxRecvWR) + 2 {
		from, to := 8*(i%100), 8*(i*7%100)
		clear(b.memory(b.mr))
		b.postReceive(b.room(uint64(i), to, 8))
		wr := a.request(uint64(i), provider.SendOpSend, 8, b)
		wr.Segments = a.part(from, 8)
		a.post(wr)
		c.expect("send", a.sent(1), done{uint64(i), provider.WCSuccess})
		c.expect("receive", b.received(1), done{uint64(i), provider.WCSuccess})
		if !bytes.Equal(b.memory(b.mr)[to:to+8], a.mr.Bytes()[from:from+8]) {
			c.fatalf("message %d from offset %d isn't at %d", i, from, to)
		}
	}
}

// checkFullInError checks that queues in ERR are full, too, while flushed requests aren't polled.
func checkFullInError(c *check) {
	a, b := c.ends(narrow)
	a.bring(func() provider.QPAttributes { l := c.link(); return l.attributes(0, a.at, b.qp.QPN()) }(),
		provider.QPStateError)
	depth := a.qp.Capacity()
	if n := fillSends(a, b); n != depth.MaxSendWR {
		c.errorf("in ERR the send queue takes %d requests, Capacity is %d", n, depth.MaxSendWR)
	}
	n, err := a.qp.PostReceive(make([]provider.ReceiveRequest, depth.MaxRecvWR+1))
	if n != depth.MaxRecvWR || !errors.Is(err, provider.ErrQueueFull) {
		c.errorf("in ERR PostReceive = %d, %v, want %d and ErrQueueFull", n, err, depth.MaxRecvWR)
	}
	for _, wc := range append(a.sent(depth.MaxSendWR), a.received(depth.MaxRecvWR)...) {
		if wc.Status != provider.WCFlushed {
			c.errorf("in ERR request %d completes with %v", wc.ID, wc.Status)
		}
	}
	a.post(provider.SendRequest{ID: 50})
	c.expect("after polling", a.sent(1), done{50, provider.WCFlushed})
}

// checkBadInList checks that a list is posted up to the first bad request (ibv_post_send: bad_wr).
func checkBadInList(c *check) {
	a, b := c.connected(shape{})
	fill(a.mr.Bytes()[:8], 1)
	var list []provider.SendRequest
	for id := range uint64(5) {
		wr := a.request(id, provider.SendOpWrite, 8, b)
		wr.RemoteAddr += 8 * id
		list = append(list, wr)
	}
	list[2].Segments = append(a.part(0, 4), a.part(4, 4)...) // MaxSendSegments is 1
	for len(list[2].Segments) <= a.qp.Capacity().MaxSendSegments {
		list[2].Segments = append(list[2].Segments, a.part(0, 0)...)
	}
	a.order()
	n, err := a.qp.PostSend(list)
	if n != 2 || err == nil || errors.Is(err, provider.ErrQueueFull) {
		c.errorf("PostSend with a bad third request = %d, %v; want 2 and an error", n, err)
	}
	c.expect("the requests before it", a.sent(2), success(0, 1)...)
	c.none("the others", a.sends)
	if m := b.memory(b.mr); !bytes.Equal(m[16:40], make([]byte, 24)) {
		c.errorf("a request that was not posted was executed")
	}
	a.post(list[3])
	c.expect("the queue pair afterwards", a.sent(1), success(3, 3)...)
}

// checkBadReceiveInList checks the same of receive requests.
func checkBadReceiveInList(c *check) {
	a, b := c.connected(shape{})
	list := []provider.ReceiveRequest{b.room(0, 0, 8), b.room(1, 8, 8), b.room(2, 16, 8), b.room(3, 24, 8)}
	for len(list[2].Segments) <= b.qp.Capacity().MaxRecvSegments {
		list[2].Segments = append(list[2].Segments, b.part(0, 0)...)
	}
	n, err := b.qp.PostReceive(list)
	if n != 2 || err == nil || errors.Is(err, provider.ErrQueueFull) {
		c.errorf("PostReceive with a bad third request = %d, %v; want 2 and an error", n, err)
	}
	b.postReceive(list[3])
	for id := range uint64(3) {
		a.post(a.request(id, provider.SendOpSend, 8, b))
	}
	a.sent(3)
	c.expect("receives", b.received(3), done{0, 0}, done{1, 0}, done{3, 0})
}

// checkCopied checks that the program may change requests and their segments after posting.
func checkCopied(c *check) {
	a, b := c.connected(shape{})
	fill(a.mr.Bytes(), 1)
	rr := []provider.ReceiveRequest{b.room(1, 100, 50)}
	b.postReceive(rr...)
	rr[0].ID, rr[0].Segments[0] = 99, provider.Segment{Region: b.mr, Offset: 2000, Length: 1}
	wr := []provider.SendRequest{a.request(2, provider.SendOpSend, 50, b)}
	a.post(wr...)
	wr[0].ID, wr[0].Op = 98, provider.SendOpRead
	wr[0].Segments[0] = provider.Segment{Region: a.mr, Offset: 500, Length: 7}
	c.expect("send", a.sent(1), success(2, 2)...)
	c.expect("receive", b.received(1), success(1, 1)...)
	if !bytes.Equal(b.memory(b.mr)[100:150], a.mr.Bytes()[:50]) {
		c.errorf("the bytes differ")
	}
}

// checkEmptyList checks that posting nothing is no error.
func checkEmptyList(c *check) {
	a, _ := c.connected(shape{})
	if n, err := a.qp.PostSend(nil); n != 0 || err != nil {
		c.errorf("PostSend of nothing = %d, %v", n, err)
	}
	if n, err := a.qp.PostReceive(nil); n != 0 || err != nil {
		c.errorf("PostReceive of nothing = %d, %v", n, err)
	}
}

// checkUnknownOperation checks that operations that don't exist are errors.
func checkUnknownOperation(c *check) {
	a, b := c.connected(shape{})
	for _, op := range []provider.SendOp{provider.SendOpBindWindow + 1, 255} {
		wr := a.request(1, op, 8, b)
		_, err := a.qp.PostSend([]provider.SendRequest{wr})
		c.wantError(fmt.Sprintf("PostSend of operation %d", op), err, nil)
	}
	a.post(a.request(1, provider.SendOpWrite, 8, b))
	c.expect("the queue pair afterwards", a.sent(1), success(1, 1)...)
}
