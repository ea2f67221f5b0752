package providertest

import (
	"bytes"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

func rnrRules() []rule {
	var list []rule
	for _, o := range operations {
		if o.receives {
			list = append(
				list,
				rule{o.name + "-ends", o.needs, func(c *check) { checkRNREnds(c, o) }},
				rule{o.name + "-posted-late", o.needs, func(c *check) { checkPostedLate(c, o) }},
			)
		}
	}
	return append(
		list,
		rule{"counts-delays", provider.CapRC, checkRNRDelays},
		rule{"no-more-retries", provider.CapRC, checkRNRMost},
		rule{"count-starts-again", provider.CapRC, checkRNRCount},
		rule{"holds-later-requests", provider.CapRC, checkRNROrder},
		rule{"write-needs-none", provider.CapRC, checkWriteNeedsNoReceive},
	)
}

// checkRNREnds checks that a message without a receive request fails if no retry is allowed, the
// requests after it are flushed, and the responder stays as it was (section 9.7.5.2.8 and 11.6.2).
func checkRNREnds(c *check, o operation) {
	for _, length := range []int{0, 8, 3000} {
		a, b := c.ends(shape{})
		l := c.link()
		l.rnr = 0
		c.connect(a, b, l)
		after := a.request(2, provider.SendOpWrite, 8, b)
		after.RemoteAddr += 4000
		fill(a.mr.Bytes(), 1)
		a.post(a.request(1, o.op, length, b), after)
		what := fmt.Sprintf("%v of %d bytes without a receive request", o.op, length)
		c.expect(what, a.sent(2), done{1, provider.WCRNRRetryExceeded}, done{2, provider.WCFlushed})
		a.waitFailed(what + ": the requester")
		if got := b.state(); got != provider.QPStateRTS {
			c.errorf("%s: the responder is in state %v, want RTS", what, got)
		}
		c.none(what+", responder", b.receives)
		if m := b.memory(b.mr)[4000:]; !bytes.Equal(m, make([]byte, len(m))) {
			c.errorf("%s: the request after it was executed", what)
		}
	}
}

// checkPostedLate checks that without a limit (7, section 11.2.4.2) a message waits for its receive
// request, many RNR delays long, and that with one it may come while retries are left.
func checkPostedLate(c *check, o operation) {
	for _, tt := range []struct {
		rnr, timer uint8
		late       time.Duration
	}{{7, 12, 40 * time.Millisecond}, {6, 26, 15 * time.Millisecond}} {
		a, b := c.ends(shape{})
		l := c.link()
		l.rnr, l.rnrTimer = tt.rnr, tt.timer
		c.connect(a, b, l)
		fill(a.mr.Bytes(), 1)
		wr := a.request(1, o.op, 3000, b)
		a.post(wr)
		time.Sleep(tt.late)
		c.none(fmt.Sprintf("%v before the receive request", o.op), a.sends)
		b.postReceive(b.room(2, 0, 3000))
		what := fmt.Sprintf("%v, receive request %v late, RNR retry count %d", o.op, tt.late, tt.rnr)
		c.expect(what, a.sent(1), success(1, 1)...)
		c.expect(what+", receive", b.received(1), success(2, 2)...)
		if !bytes.Equal(b.memory(b.mr)[:3000], a.mr.Bytes()[:3000]) {
			c.errorf("%s: the bytes differ", what)
		}
	}
}

// checkRNRDelays checks that each retry waits for as long as the responder demands, and that there
// are as many as are allowed (section 9.7.5.2.8: the timer of the NAK is a minimum).
func checkRNRDelays(c *check) {
	for _, retries := range []uint8{1, 3} {
		a, b := c.ends(shape{})
		l := c.link()
		l.rnr, l.rnrTimer = retries, 20
		c.connect(a, b, l)
		start := time.Now()
		a.post(a.request(1, provider.SendOpSend, 8, b))
		c.expect("SEND", a.sent(1), done{1, provider.WCRNRRetryExceeded})
		least := time.Duration(retries) * ib.RNRDelay(20) * 9 / 10
		if took := time.Since(start); took < least {
			c.errorf("%d retries with %v each took %v", retries, ib.RNRDelay(20), took)
		}
	}
}

// checkRNRMost checks that there are no more retries than allowed: one is over before the time of
// two. A busy machine may need another attempt.
func checkRNRMost(c *check) {
	const code = 26 // 82 ms
	var took time.Duration
	for range 3 {
		a, b := c.ends(shape{})
		l := c.link()
		l.rnr, l.rnrTimer = 1, code
		c.connect(a, b, l)
		start := time.Now()
		a.post(a.request(1, provider.SendOpSend, 8, b))
		c.expect("SEND", a.sent(1), done{1, provider.WCRNRRetryExceeded})
		if took = time.Since(start); took < 2*ib.RNRDelay(code)-10*time.Millisecond {
			return
		}
	}
	c.errorf("one retry after %v takes %v", ib.RNRDelay(code), took)
}

// checkRNRCount checks that the retries of each message are counted from 0: more of them than are
// allowed for one come together (section 9.7.5.2.8: the counter is reset when a request completes).
func checkRNRCount(c *check) {
	a, b := c.ends(shape{})
	l := c.link()
	l.rnr, l.rnrTimer = 2, 24
	c.connect(a, b, l)
	for id := range uint64(3) {
		a.post(a.request(id, provider.SendOpSend, 8, b))
		time.Sleep(5 * time.Millisecond)
		b.postReceive(b.room(id, 0, 8))
		c.expect(fmt.Sprintf("message %d", id), a.sent(1), success(id, id)...)
	}
}

// checkRNROrder checks that requests after one that waits for a receive request wait, too (section
// 10.8.3), and then are executed once.
func checkRNROrder(c *check) {
	a, b := c.connected(shape{})
	fill(a.mr.Bytes(), 1)
	write := a.request(2, provider.SendOpWrite, 8, b)
	write.RemoteAddr += 100
	a.post(a.request(1, provider.SendOpSend, 8, b), write, a.request(3, provider.SendOpSend, 9, b))
	c.none("requests that wait", a.sends)
	if m := b.memory(b.mr)[100:108]; !bytes.Equal(m, make([]byte, 8)) {
		c.errorf("a WRITE has overtaken the SEND before it")
	}
	b.postReceive(b.room(11, 0, 16))
	c.expect("the first two", a.sent(2), success(1, 2)...)
	c.none("the third", a.sends)
	b.postReceive(b.room(12, 0, 16))
	c.expect("the third", a.sent(1), success(3, 3)...)
	wcs := b.received(2)
	c.expect("receives", wcs, success(11, 12)...)
	if wcs[0].Bytes != 8 || wcs[1].Bytes != 9 {
		c.errorf("%d and %d bytes received, want 8 and 9", wcs[0].Bytes, wcs[1].Bytes)
	}
}

// checkWriteNeedsNoReceive checks that WRITE and READ need and use no receive request.
func checkWriteNeedsNoReceive(c *check) {
	a, b := c.ends(shape{})
	l := c.link()
	l.rnr = 0
	c.connect(a, b, l)
	a.post(a.request(1, provider.SendOpWrite, 2000, b), a.request(2, provider.SendOpRead, 2000, b))
	c.expect("without receive requests", a.sent(2), success(1, 2)...)
	b.postReceive(b.room(9, 0, 8))
	a.post(a.request(3, provider.SendOpWrite, 2000, b), a.request(4, provider.SendOpRead, 2000, b))
	c.expect("with one", a.sent(2), success(3, 4)...)
	c.none("the receive request", b.receives)
}
