package providertest

import (
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// shortTimeout is the code of a timeout of 4 ms, for connections whose peer doesn't answer.
const shortTimeout = 10

func retryRules() []rule {
	var list []rule
	for _, o := range operations {
		list = append(
			list,
			rule{o.name + "-to-no-qp", o.needs, func(c *check) { checkNoQP(c, o) }},
			rule{o.name + "-to-no-address", o.needs, func(c *check) { checkNoAddress(c, o) }},
		)
	}
	return append(
		list,
		rule{"takes-its-time", provider.CapRC, checkRetryTime},
		rule{"no-timeout", provider.CapRC, checkNoTimeout},
		rule{"peer-comes-late", provider.CapRC, checkLatePeer},
		rule{"others-go-on", provider.CapRC, checkOthersGoOn},
		rule{"wrong-psn", provider.CapRC, checkWrongPSN},
		rule{"foreign-qp", provider.CapRC, checkForeignQP},
	)
}

// checkNoQP checks requests to the number of a queue pair that doesn't exist: the first one runs
// out of retries, the others are flushed (section 9.9.2.1 and 11.6.2: transport retry counter
// exceeded).
func checkNoQP(c *check, o operation) {
	for _, retries := range []uint8{0, 2} {
		a, b := c.ends(shape{})
		gone := c.qp(b.pd, provider.QPConfig{SendCQ: b.sends, RecvCQ: b.receives})
		c.must(gone.Close())
		l := c.link()
		l.timeout, l.retry = shortTimeout, retries
		l.destQPN[0] = gone.QPN()
		c.connect(a, b, l)
		c.runsOutOfRetries(a, b, o, fmt.Sprintf("%d retries", retries))
	}
}

// runsOutOfRetries posts requests that nobody answers.
func (c *check) runsOutOfRetries(a, b *end, o operation, what string) {
	unsignaled := a.request(2, provider.SendOpWrite, 8, b)
	unsignaled.Flags = 0
	a.post(a.request(1, o.op, 3000, b), unsignaled, a.request(3, provider.SendOpSend, 8, b))
	a.postReceive(a.room(4, 0, 8))
	wcs := a.sent(3)
	c.expect(fmt.Sprintf("%v, %s", o.op, what), wcs, done{1, provider.WCRetryExceeded},
		done{2, provider.WCFlushed}, done{3, provider.WCFlushed})
	c.expect(what+", receive", a.received(1), done{4, provider.WCFlushed})
	a.waitFailed("the requester")
}

// checkNoAddress checks requests to an address where no device is. A provider may refuse the path.
func checkNoAddress(c *check, o operation) {
	path := c.pair.Absent
	if path.DGID == (ib.GID{}) && path.DLID == 0 {
		return // the pair has none
	}
	a, b := c.ends(shape{})
	l := c.link()
	l.timeout, l.retry, l.path[0], l.destQPN[0] = shortTimeout, 1, path, b.qp.QPN()
	attr := l.attributes(0, a.at, b.qp.QPN())
	a.bring(attr, provider.QPStateInit)
	if err := step(a.qp, provider.QPStateInit, provider.QPStateRTR, attr); err != nil {
		return // the address can't be resolved
	}
	c.must(step(a.qp, provider.QPStateRTR, provider.QPStateRTS, attr))
	c.runsOutOfRetries(a, b, o, "no such address")
}

// checkRetryTime checks that a request is given up only after the timeout of each attempt (section
// 9.7.6.1.3: at least the Local ACK Timeout), and that the end comes.
func checkRetryTime(c *check) {
	const code = 14
	a, b := c.ends(shape{})
	l := c.link()
	l.timeout, l.retry, l.upTo[1] = code, 1, provider.QPStateInit
	c.connect(a, b, l)
	start := time.Now()
	a.post(a.request(1, provider.SendOpWrite, 8, b))
	c.expect("WRITE", a.sent(1), done{1, provider.WCRetryExceeded})
	// Drivers round to ticks of a clock.
	if took, least := time.Since(start), 2*ib.AckTimeout(code)-20*time.Millisecond; took < least {
		c.errorf("an attempt and a retry of %v each took %v", ib.AckTimeout(code), took)
	}
}

// checkNoTimeout checks that timeout 0 means to wait for ever (section 11.2.4.2).
func checkNoTimeout(c *check) {
	a, b := c.ends(shape{})
	l := c.link()
	l.timeout, l.retry, l.upTo[1] = 0, 0, provider.QPStateInit
	c.connect(a, b, l)
	a.post(a.request(1, provider.SendOpWrite, 8, b))
	c.quiet()
	c.none("WRITE without a timeout", a.sends)
	a.fail()
	c.expect("WRITE", a.sent(1), done{1, provider.WCFlushed})
}

// checkLatePeer checks that requests are repeated until the peer answers: it becomes ready while
// retries are left (section 9.7.6.1).
func checkLatePeer(c *check) {
	for _, o := range operations {
		if !c.has(o.needs) {
			continue
		}
		a, b := c.ends(shape{})
		l := c.link()
		l.timeout, l.upTo[1] = 13, provider.QPStateInit
		c.connect(a, b, l)
		b.postReceive(b.room(9, 0, 3000))
		for id := range uint64(3) {
			wr := a.request(id, o.op, 3000, b)
			if id > 0 && o.receives {
				wr.Op = provider.SendOpWrite
			}
			a.post(wr)
		}
		time.Sleep(10 * time.Millisecond)
		attr := l.attributes(1, b.at, a.qp.QPN())
		c.must(step(b.qp, provider.QPStateInit, provider.QPStateRTR, attr))
		c.must(step(b.qp, provider.QPStateRTR, provider.QPStateRTS, attr))
		c.expect(fmt.Sprintf("%v to a peer that comes late", o.op), a.sent(3), success(0, 2)...)
	}
}

// checkOthersGoOn checks that a queue pair that fails doesn't disturb another one of the same
// device, domain and completion queue.
func checkOthersGoOn(c *check) {
	a, b := c.ends(shape{})
	l := c.link()
	l.timeout, l.retry, l.upTo[1] = shortTimeout, 1, provider.QPStateInit
	c.connect(a, b, l)
	x, y := c.ends(shape{})
	x.qp = c.qp(x.pd, provider.QPConfig{SendCQ: a.sends, RecvCQ: a.receives})
	c.connect(x, y, c.link())
	a.post(a.request(1, provider.SendOpWrite, 8, b))
	good, failed := 0, false
	for !failed {
		x.post(x.request(2, provider.SendOpWrite, 8, y))
		for got := false; !got; {
			wc := a.sent(1)[0]
			switch {
			case wc.ID == 1 && wc.Status == provider.WCRetryExceeded && wc.QPN == a.qp.QPN():
				failed = true
			case wc.ID == 2 && wc.Status == provider.WCSuccess && wc.QPN == x.qp.QPN():
				got = true
				good++
			default:
				c.fatalf("completion %+v", wc)
			}
		}
	}
	if good == 0 {
		c.errorf("the other queue pair didn't complete a request")
	}
	x.post(x.request(3, provider.SendOpWrite, 8, y))
	c.expect("the other queue pair, afterwards", a.sent(1), success(3, 3)...)
}

// checkWrongPSN checks that packets whose PSN isn't the expected one change nothing: the responder
// takes them for lost or repeated ones (section 9.7.2 and 9.7.4).
func checkWrongPSN(c *check) {
	for _, by := range []int{1, 100, -1 << 22} {
		a, b := c.ends(shape{})
		l := c.link()
		l.timeout, l.retry = shortTimeout, 1
		attr := l.attributes(0, a.at, b.qp.QPN())
		attr.SendPSN = attr.SendPSN.Add(by)
		a.bring(attr, provider.QPStateRTS)
		b.bring(l.attributes(1, b.at, a.qp.QPN()), provider.QPStateRTS)
		fill(a.mr.Bytes(), 1)
		b.postReceive(b.room(9, 100, 100))
		a.post(a.request(1, provider.SendOpWrite, 8, b), a.request(2, provider.SendOpSend, 8, b))
		c.none(fmt.Sprintf("receive of a PSN that is off by %d", by), b.receives)
		if m := b.memory(b.mr); m[0] != 0 || m[100] != 0 {
			c.errorf("a request whose PSN is off by %d was executed", by)
		}
	}
}

// checkForeignQP checks that a stranger who sends to a connected queue pair, with PSNs that aren't
// expected, doesn't end the connection and gets no answer.
func checkForeignQP(c *check) {
	a, b := c.connected(shape{})
	stranger := c.end(c.pair.A, shape{})
	l := c.link()
	l.timeout, l.retry = shortTimeout, 1
	l.psn[0] += 1 << 20 // not the expected one
	stranger.bring(l.attributes(0, stranger.at, b.qp.QPN()), provider.QPStateRTS)
	stranger.post(stranger.request(1, provider.SendOpWrite, 8, b))
	c.expect("a stranger's WRITE", stranger.sent(1), done{1, provider.WCRetryExceeded})
	a.post(a.request(2, provider.SendOpWrite, 8, b))
	c.expect("the connection afterwards", a.sent(1), success(2, 2)...)
}
