package providertest

import (
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

func completionRules() []rule {
	return []rule{
		{"order", provider.CapRC, checkOrder},
		{"unsignaled", provider.CapRC, checkUnsignaled},
		{"unsignaled-failure", provider.CapRC, checkUnsignaledFailure},
		{"signal-all", provider.CapRC, checkSignalAll},
		{"poll-few", provider.CapRC, checkPollFew},
		{"error-fields", provider.CapRC, checkErrorFields},
		{"failure-in-the-middle", provider.CapRC, checkFailureInTheMiddle},
		{"overrun", provider.CapRC, checkOverrun},
		{"receive-overrun", provider.CapRC, checkReceiveOverrun},
		{"deep-enough", provider.CapRC, checkDeepEnough},
		{"shared-queue", provider.CapRC, checkSharedQueue},
		{"timestamps", provider.CapRC | provider.CapTimestamps, checkTimestamps},
	}
}

// checkOrder checks that requests of different operations complete in the order in which they were
// posted, and receive requests in theirs (section 10.8.3).
func checkOrder(c *check) {
	const n = 60
	a, b := c.connected(shape{size: 1 << 16})
	for id := range uint64(n) {
		wr := a.request(id, provider.SendOpWrite, int(1+997*id), b)
		switch id % 3 {
		case 1:
			wr.Op = provider.SendOpRead
		case 2:
			wr.Op = provider.SendOpSend
			wr.Segments[0].Length = int(id)
			b.postReceive(b.room(id, 1024, 1024))
		}
		a.post(wr)
	}
	c.expect("sends", a.sent(n), success(0, n-1)...)
	for i, wc := range b.received(n / 3) {
		if id := uint64(3*i + 2); wc.ID != id || wc.Status != provider.WCSuccess || uint64(wc.Bytes) != id {
			c.errorf("receive %d: %+v, want ID and bytes %d", i, wc, id)
		}
	}
}

// checkUnsignaled checks that only signaled requests have completions, which cover the earlier ones
// (ibv_post_send; section 10.7.3.1).
func checkUnsignaled(c *check) {
	a, b := c.connected(shape{})
	for id := range uint64(20) {
		wr := a.request(id, provider.SendOpWrite, 8, b)
		wr.Segments[0].Offset = int(id) * 8
		wr.RemoteAddr += id * 8
		if id%5 != 4 {
			wr.Flags = 0
		}
		a.post(wr)
	}
	c.expect("every fifth request", a.sent(4), done{4, 0}, done{9, 0}, done{14, 0}, done{19, 0})
	c.none("more completions", a.sends)
}

// checkUnsignaledFailure checks that a request that fails has a completion, signaled or not, as the
// requests after it (section 10.7.3.1).
func checkUnsignaledFailure(c *check) {
	a, b := c.connected(shape{})
	good := a.request(1, provider.SendOpWrite, 8, b)
	good.Flags = 0
	bad := good
	bad.ID, bad.RKey = 2, ^b.mr.RKey()
	after := good
	after.ID = 3
	a.post(good, bad, after)
	c.expect("unsignaled requests", a.sent(2), done{2, provider.WCRemoteAccess}, done{3, provider.WCFlushed})
}

// checkSignalAll checks that SignalAll gives each request a completion (sq_sig_all of
// ibv_create_qp).
func checkSignalAll(c *check) {
	a, b := c.connected(shape{signalAll: true})
	for id := range uint64(5) {
		wr := a.request(id, provider.SendOpWrite, 8, b)
		wr.Flags = 0
		a.post(wr)
	}
	c.expect("requests without the flag", a.sent(5), success(0, 4)...)
}

// checkPollFew checks Poll with less and with more room than there are completions
// (ibv_poll_cq).
func checkPollFew(c *check) {
	a, b := c.connected(shape{})
	for id := range uint64(5) {
		a.post(a.request(id, provider.SendOpWrite, 8, b))
	}
	c.expect("first", a.sent(1), success(0, 0)...)
	if n, err := a.sends.Poll(nil); n != 0 || err != nil {
		c.errorf("Poll without room = %d, %v", n, err)
	}
	var got []provider.WorkCompletion
	c.eventually(func() bool {
		var two [2]provider.WorkCompletion
		n, err := a.sends.Poll(two[:])
		c.must(err)
		got = append(got, two[:n]...)
		return len(got) >= 4
	})
	c.expect("two at a time", got, success(1, 4)...)
	var wcs [4]provider.WorkCompletion
	if n, err := a.sends.Poll(wcs[:]); n != 0 || err != nil {
		c.errorf("Poll of an empty queue = %d, %v", n, err)
	}
}

// checkErrorFields checks what is valid in a completion with an error (ibv_poll_cq), and its Err.
func checkErrorFields(c *check) {
	a, b := c.connected(shape{})
	wr := a.request(0xfedcba9876543210, provider.SendOpWrite, 8, b)
	wr.RKey = ^wr.RKey
	a.post(wr)
	wc := a.sent(1)[0]
	c.expect("WRITE with a wrong key", []provider.WorkCompletion{wc}, done{wr.ID, provider.WCRemoteAccess})
	if wc.QPN != a.qp.QPN() {
		c.errorf("completion of queue pair %v, want %v", wc.QPN, a.qp.QPN())
	}
	var e *provider.CompletionError
	if err := wc.Err(); !errors.As(err, &e) || e.ID != wr.ID || e.Status != wc.Status || e.QPN != a.qp.QPN() {
		c.errorf("Err = %v", err)
	}
	a.waitFailed("the requester")
	b.waitFailed("the responder") // section 9.9.3: an access error is of class C
}

// checkFailureInTheMiddle checks that requests before one that fails succeed, and those after it
// are flushed and have no effect (section 10.3.1.5).
func checkFailureInTheMiddle(c *check) {
	for _, op := range []provider.SendOp{provider.SendOpWrite, provider.SendOpRead} {
		a, b := c.connected(shape{})
		fill(a.mr.Bytes()[:64], 4)
		for id := range uint64(9) {
			wr := a.request(id, provider.SendOpWrite, 8, b)
			wr.RemoteAddr += 8 * id
			if id == 4 {
				wr.Op, wr.RKey = op, ^wr.RKey
			}
			a.post(wr)
		}
		want := append(success(0, 3), done{4, provider.WCRemoteAccess})
		for id := uint64(5); id < 9; id++ {
			want = append(want, done{id, provider.WCFlushed})
		}
		c.expect(fmt.Sprintf("%v with a wrong key", op), a.sent(9), want...)
		m := b.memory(b.mr)
		for i := range 9 {
			if wrote := m[8*i] != 0 || m[8*i+1] != 0; wrote != (i < 4) {
				c.errorf("request %d has written: %t", i, wrote)
			}
		}
	}
}

// checkOverrun checks a queue that is too shallow: it reports the overrun, by an error or an event,
// and the completions that fit stay in order (ibv_poll_cq; section 10.2.7: CQ overrun).
func checkOverrun(c *check) {
	a := c.end(c.pair.A, shape{sends: provider.CQConfig{Depth: 1, ID: 77}})
	depth := a.sends.Depth()
	if depth > 1<<12 {
		c.errorf("a queue of depth 1 was granted %d entries", depth)
		return
	}
	n := depth + 8
	a.qp = c.qp(a.pd, provider.QPConfig{
		SendCQ: a.sends, RecvCQ: a.receives, Capacity: provider.QPCapacity{MaxSendWR: n},
	})
	b := c.end(c.pair.B, shape{})
	c.connect(a, b, c.link())
	for id := range uint64(n) {
		// The queue pair may have failed already, and the queue with it.
		if _, err := a.qp.PostSend([]provider.SendRequest{a.request(id, provider.SendOpWrite, 8, b)}); err != nil {
			break
		}
	}
	if c.has(provider.CapEvents) {
		e := c.nextEvent(a.at.Device, provider.EventCQError)
		if e.ID != 77 {
			c.errorf("overrun event of queue %d, want 77", e.ID)
		}
	}
	var got []provider.WorkCompletion
	var last error
	c.eventually(func() bool {
		var wcs [8]provider.WorkCompletion
		k, err := a.sends.Poll(wcs[:])
		got, last = append(got, wcs[:k]...), err
		return err != nil || c.has(provider.CapEvents) && k == 0
	})
	if last != nil && !errors.Is(last, provider.ErrOverrun) || last == nil && !c.has(provider.CapEvents) {
		c.errorf("Poll of a queue that has overrun = %v, want ErrOverrun", last)
	}
	if len(got) > depth {
		c.errorf("%d completions of a queue of depth %d", len(got), depth)
	}
	for i := range got {
		if got[i].ID != uint64(i) {
			c.errorf("completion %d is of request %d", i, got[i].ID)
		}
	}
}

// checkReceiveOverrun checks that a queue pair fails when the completion of a message that it has
// received finds no room (section 11.6.3.3, CQ error; IBV_EVENT_CQ_ERR).
func checkReceiveOverrun(c *check) {
	a, b := c.connected(shape{receives: provider.CQConfig{Depth: 1}})
	n := uint64(b.receives.Depth())
	for id := range n + 1 {
		b.postReceive(b.room(id, 0, 8))
		a.post(a.request(id, provider.SendOpSend, 8, b))
		if id < n { // the peer may wait for the acknowledgement of the last one for ever
			c.expect("message that there is room for", a.sent(1), done{id, provider.WCSuccess})
		}
	}
	b.waitFailed("the queue pair whose receive completion was lost")
}

// checkDeepEnough checks that a queue as deep as its work queues never overruns, although nothing
// is polled: [provider.ErrQueueFull] comes first.
func checkDeepEnough(c *check) {
	a, b := c.ends(shape{capacity: provider.QPCapacity{MaxSendWR: 8, MaxRecvWR: 8}})
	granted := a.qp.Capacity()
	cq := c.cq(a.at.Device, provider.CQConfig{Depth: granted.MaxSendWR + granted.MaxRecvWR})
	a.qp = c.qp(a.pd, provider.QPConfig{SendCQ: cq, RecvCQ: cq, Capacity: granted})
	a.sends, a.receives = cq, cq
	c.connect(a, b, c.link())
	posted := 0
	full := c.eventually(func() bool {
		n, err := a.qp.PostSend([]provider.SendRequest{a.request(1, provider.SendOpWrite, 8, b)})
		posted += n
		return errors.Is(err, provider.ErrQueueFull)
	})
	for range 2 * granted.MaxRecvWR {
		if _, err := a.qp.PostReceive([]provider.ReceiveRequest{a.room(2, 0, 8)}); err == nil {
			posted++
		}
	}
	a.fail() // flushes the receive requests
	if got := len(c.collect(cq, posted)); !full || got != posted {
		c.errorf("%d completions of %d requests, queue full %t", got, posted, full)
	}
	c.none("more", cq)
}

// checkSharedQueue checks a completion queue of several queue pairs: each completion has the number
// of its queue pair, and each queue pair's are in order.
func checkSharedQueue(c *check) {
	const pairs, each = 4, 10
	cq := c.cq(c.pair.A.Device, provider.CQConfig{})
	next := map[uint32]uint64{}
	ends := make([][2]*end, pairs)
	for i := range ends {
		a, b := c.ends(shape{})
		a.qp = c.qp(a.pd, provider.QPConfig{SendCQ: cq, RecvCQ: cq})
		a.sends, a.receives = cq, cq
		c.connect(a, b, c.link())
		ends[i] = [2]*end{a, b}
		next[uint32(a.qp.QPN())] = 0
	}
	for id := range uint64(each) {
		for _, e := range ends {
			e[0].post(e[0].request(id, provider.SendOpWrite, 100, e[1]))
		}
	}
	for _, wc := range c.collect(cq, pairs*each) {
		want, known := next[uint32(wc.QPN)]
		if !known || wc.ID != want || wc.Status != provider.WCSuccess {
			c.errorf("completion %+v, want request %d of one of the queue pairs", wc, want)
		}
		next[uint32(wc.QPN)]++
	}
}

// checkTimestamps checks that completions have times that don't go back
// (ibv_create_cq_ex, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP).
func checkTimestamps(c *check) {
	a, b := c.connected(shape{sends: provider.CQConfig{Timestamps: true}})
	if a.at.Device.Attributes().HCACoreClock == 0 {
		c.errorf("the device announces timestamps, and HCACoreClock is 0")
	}
	var last uint64
	for id := range uint64(5) {
		a.post(a.request(id, provider.SendOpWrite, 8, b))
		wc := a.sent(1)[0]
		if wc.Flags&provider.WCTimestamp == 0 || wc.Timestamp < last {
			c.errorf("completion %+v after time %d", wc, last)
		}
		last = wc.Timestamp
	}
}
