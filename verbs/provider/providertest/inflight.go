package providertest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

func inFlightRules() []rule {
	var list []rule
	for _, o := range operations {
		list = append(
			list,
			rule{o.name + "-remote-region-closed", o.needs, func(c *check) { checkRemoteRegion(c, o) }},
			rule{o.name + "-own-region-closed", o.needs, func(c *check) { checkOwnRegion(c, o) }},
		)
	}
	return append(
		list,
		rule{"own-qp-closed", provider.CapRC, checkOwnQPClosed},
		rule{"peer-qp-closed", provider.CapRC, checkPeerQPClosed},
		rule{"own-qp-to-err", provider.CapRC, checkOwnQPFails},
	)
}

const (
	streamDepth = 16
	streamSize  = 1 << 16
)

// stream posts requests as fast as they complete, until one fails; meanwhile it calls at once,
// after the first completion. It returns the status of the one that failed.
func stream(
	c *check, a, b *end, o operation, segments []provider.Segment, key provider.MemoryRegion, at func(),
) (reason provider.WCStatus) {
	request := func(id uint64) provider.SendRequest {
		wr := a.request(id, o.op, 0, b)
		wr.Segments, wr.RKey, wr.RemoteAddr = segments, key.RKey(), key.Addr()
		return wr
	}
	var posted, polled uint64
	var wcs [streamDepth]provider.WorkCompletion
	failed, refused := false, false
	a.order()
	ctx, cancel := c.patience()
	defer cancel()
	for {
		for !failed && !refused && posted-polled < streamDepth {
			n, err := a.qp.PostSend([]provider.SendRequest{request(posted)})
			if err != nil && !errors.Is(err, provider.ErrQueueFull) {
				refused = true // the region is closed, and PostSend knows
			}
			posted += uint64(n)
			if n == 0 {
				break
			}
		}
		if polled == posted {
			return reason
		}
		n, err := a.sends.Wait(ctx, wcs[:])
		if err != nil {
			c.fatalf("%v after %d completions", err, polled)
		}
		for _, wc := range wcs[:n] {
			c.checkNext(wc, polled, failed, o)
			if polled++; !failed {
				reason = wc.Status
			}
			failed = failed || wc.Status != provider.WCSuccess
		}
		if at != nil {
			at()
			at = nil
		}
	}
}

// checkNext checks that a completion is the next one in the order of requests: first successes,
// then the reason, then flushed ones.
func (c *check) checkNext(wc provider.WorkCompletion, id uint64, failed bool, o operation) {
	reason := wc.Status == provider.WCLocalProtection || c.isStatus(wc.Status, provider.WCRemoteAccess) ||
		o.isSend() && c.isStatus(wc.Status, provider.WCRemoteOperation)
	switch {
	case wc.ID != id:
		c.errorf("completion of request %d, want %d", wc.ID, id)
	case failed && wc.Status != provider.WCFlushed && wc.Status != provider.WCLocalProtection:
		c.errorf("request %d after the failure: %v", wc.ID, wc.Status)
	case !failed && wc.Status != provider.WCSuccess && !reason:
		c.errorf("request %d: %v", wc.ID, wc.Status)
	}
}

// checkRemoteRegion checks that the responder's region can be closed while the peer accesses it:
// when Close returns, the program owns the memory, and later requests are refused.
func checkRemoteRegion(c *check, o operation) {
	a, b := c.connected(shape{
		size: streamSize, capacity: provider.QPCapacity{MaxSendWR: streamDepth, MaxRecvWR: 128},
	})
	buf := make([]byte, streamSize)
	mr := c.registered(b.pd, buf, everything)
	fill(a.mr.Bytes(), 1)
	rr := provider.ReceiveRequest{}
	if o.isSend() {
		rr.Segments = []provider.Segment{{Region: mr, Length: streamSize}}
	}
	for range 128 {
		b.postReceive(rr)
	}
	reason := stream(c, a, b, o, a.part(0, streamSize), mr, func() {
		c.must(mr.Close())
		fill(buf, 2) // with the race detector, an access that goes on is found
	})
	if !bytes.Equal(buf, pattern(streamSize, 2)) {
		c.errorf("the memory was written after Close of its region")
	}
	if reason != provider.WCRetryExceeded { // otherwise packets were lost
		b.waitFailed("the responder")
	}
}

// checkOwnRegion checks that the requester's own region can be closed while its requests are
// executed: nothing writes to the memory after Close, and the request fails.
func checkOwnRegion(c *check, o operation) {
	a, b := c.connected(shape{
		size: streamSize, capacity: provider.QPCapacity{MaxSendWR: streamDepth, MaxRecvWR: 128},
	})
	buf := make([]byte, streamSize)
	mr := c.registered(a.pd, buf, everything)
	fill(b.mr.Bytes(), 1)
	for range 128 {
		b.postReceive(b.room(0, 0, streamSize))
	}
	stream(c, a, b, o, []provider.Segment{{Region: mr, Length: streamSize}}, b.mr, func() {
		c.must(mr.Close())
		fill(buf, 2)
	})
	if !bytes.Equal(buf, pattern(streamSize, 2)) {
		c.errorf("the memory was written after Close of its region")
	}
}

// busy posts requests that take a while, and returns their number.
func busy(a, b *end) int {
	for id := range uint64(streamDepth) {
		a.post(a.request(id, provider.SendOpWrite, streamSize, b))
	}
	return streamDepth
}

// checkOwnQPClosed checks that Close of a queue pair with requests in progress doesn't wait, that
// none of them completes later, and that nothing is sent from its memory.
func checkOwnQPClosed(c *check) {
	a, b := c.connected(shape{size: streamSize})
	busy(a, b)
	c.must(a.qp.Close())
	var wcs [2 * streamDepth]provider.WorkCompletion
	if _, err := a.sends.Poll(wcs[:]); err != nil {
		c.errorf("Poll after Close of the queue pair: %v", err)
	}
	c.none("requests of a queue pair that is closed", a.sends)
	c.must(a.sends.Close())
	memory := a.mr.Bytes()
	c.must(a.mr.Close())
	fill(memory, 3) // with the race detector, an access that goes on is found
}

// checkPeerQPClosed checks requests to a peer whose queue pair is closed meanwhile: those that it
// has executed succeed, the next one runs out of retries, the rest is flushed.
func checkPeerQPClosed(c *check) {
	a, b := c.ends(shape{size: streamSize})
	l := c.link()
	l.timeout, l.retry = shortTimeout, 2
	if c.options.Lossy {
		l.timeout, l.retry = c.options.AckTimeout, 4
	}
	c.connect(a, b, l)
	n := busy(a, b)
	c.must(b.qp.Close())
	for id := n; id < 3*n; id++ {
		a.post(a.request(uint64(id), provider.SendOpWrite, 8, b))
	}
	var failed bool
	for i, wc := range a.sent(3 * n) {
		ok := wc.Status == provider.WCSuccess && !failed || wc.Status == provider.WCRetryExceeded && !failed ||
			wc.Status == provider.WCFlushed && failed
		if wc.ID != uint64(i) || !ok {
			c.errorf("completion %d: %+v after a failure: %t", i, wc, failed)
		}
		failed = failed || wc.Status != provider.WCSuccess
	}
	if !failed {
		c.errorf("all requests to a queue pair that is closed have succeeded")
	}
}

// checkOwnQPFails checks that a change to ERR with requests in progress completes each of them
// once, in order: some successful, then only flushed ones.
func checkOwnQPFails(c *check) {
	a, b := c.connected(shape{size: streamSize})
	n := busy(a, b)
	a.fail()
	failed := false
	for i, wc := range a.sent(n) {
		failed = failed || wc.Status != provider.WCSuccess
		if wc.ID != uint64(i) || failed && wc.Status != provider.WCFlushed {
			c.errorf("completion %d: %s", i, fmt.Sprint(done{wc.ID, wc.Status}))
		}
	}
	c.none("more", a.sends)
}
