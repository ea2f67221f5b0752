package providertest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

func closeRules() []rule {
	return []rule{
		{"busy", provider.CapRC, checkBusyObjects},
		{"twice", provider.CapRC, checkCloseTwice},
		{"queue-pair", provider.CapRC, checkClosedQP},
		{"completion-queue", 0, checkClosedCQ},
		{"domain", provider.CapRC, checkClosedDomain},
		{"device", provider.CapRC, checkClosedDevice},
		{"completions-stay", provider.CapRC, checkCompletionsStay},
		{"while-used", provider.CapRC, checkCloseWhileUsed},
		{"opened-again", provider.CapRC, checkManyTimes},
	}
}

// checkBusyObjects checks that an object that others use isn't closed, and works on
// (ibv_destroy_cq, ibv_dealloc_pd; section 11.2).
func checkBusyObjects(c *check) {
	a, b := c.connected(shape{})
	spare := c.pd(a.at.Device)
	mr := c.region(spare, 8, everything)
	for what, o := range map[string]closer{
		"queue of sends":          a.sends,
		"queue of receives":       a.receives,
		"domain of a queue pair":  a.pd,
		"domain of a region only": spare,
		"device":                  a.at.Device,
	} {
		c.wantError("Close of the "+what, o.Close(), provider.ErrBusy)
	}
	a.post(a.request(1, provider.SendOpWrite, 8, b))
	c.expect("request after the errors", a.sent(1), success(1, 1)...)
	c.must(mr.Close())
	c.must(spare.Close())
	c.must(a.qp.Close())
	c.must(a.sends.Close())
	c.must(a.receives.Close())
	c.wantError("Close of the domain of a region", a.pd.Close(), provider.ErrBusy)
	c.must(a.mr.Close())
	c.must(a.pd.Close())
}

// checkCloseTwice checks that closing an object again has no effect: neither on it nor on the
// counts of what it used.
func checkCloseTwice(c *check) {
	a, _ := c.connected(shape{})
	other := c.qp(a.pd, provider.QPConfig{SendCQ: a.sends, RecvCQ: a.receives})
	for range 3 {
		c.must(a.qp.Close())
		c.must(a.mr.Close())
	}
	c.wantError("Close of a queue with one more queue pair", a.sends.Close(), provider.ErrBusy)
	c.wantError("Close of a domain with one more queue pair", a.pd.Close(), provider.ErrBusy)
	c.must(other.Close())
	for range 3 {
		c.must(a.sends.Close())
		c.must(a.receives.Close())
		c.must(a.pd.Close())
	}
}

// checkClosedQP checks the methods of a queue pair that is closed.
func checkClosedQP(c *check) {
	a, b := c.connected(shape{})
	qpn, capacity := a.qp.QPN(), a.qp.Capacity()
	c.must(a.qp.Close())
	_, err := a.qp.PostSend([]provider.SendRequest{a.request(1, provider.SendOpWrite, 8, b)})
	c.wantError("PostSend", err, provider.ErrClosed)
	_, err = a.qp.PostReceive([]provider.ReceiveRequest{a.room(1, 0, 8)})
	c.wantError("PostReceive", err, provider.ErrClosed)
	_, err = a.qp.Query()
	c.wantError("Query", err, provider.ErrClosed)
	for _, state := range rcStates {
		c.wantError(fmt.Sprintf("Modify to %v", state), a.qp.Modify(provider.QPAttributes{State: state}),
			provider.ErrClosed)
	}
	if a.qp.QPN() != qpn || a.qp.Capacity() != capacity || a.qp.Type() != provider.QPTypeRC {
		c.errorf("number, capacity or type of a queue pair differ after Close")
	}
	c.none("a queue pair that is closed", a.sends)
}

// checkClosedCQ checks the methods of a completion queue that is closed.
func checkClosedCQ(c *check) {
	d := c.pair.A.Device
	cq := c.cq(d, provider.CQConfig{})
	c.must(cq.Close())
	var wcs [1]provider.WorkCompletion
	_, err := cq.Poll(wcs[:])
	c.wantError("Poll", err, provider.ErrClosed)
	_, err = cq.Wait(context.Background(), wcs[:])
	c.wantError("Wait", err, provider.ErrClosed)
	if !c.has(provider.CapRC) {
		return
	}
	qp, err := c.pd(d).CreateQP(provider.QPConfig{SendCQ: cq, RecvCQ: cq})
	c.wantError("CreateQP with a queue that is closed", err, provider.ErrClosed)
	if err == nil {
		c.closeLater("queue pair", qp)
	}
}

// checkClosedDomain checks the methods of a protection domain that is closed.
func checkClosedDomain(c *check) {
	d := c.pair.A.Device
	cq, pd := c.cq(d, provider.CQConfig{}), c.pd(d)
	c.must(pd.Close())
	_, err := pd.CreateQP(provider.QPConfig{SendCQ: cq, RecvCQ: cq})
	c.wantError("CreateQP", err, provider.ErrClosed)
	_, err = pd.RegisterMemory(make([]byte, 8), provider.MemoryOptions{})
	c.wantError("RegisterMemory", err, provider.ErrClosed)
}

// checkClosedDevice checks the methods of a device that is closed, and that nothing waits in it.
func checkClosedDevice(c *check) {
	d := c.pair.A.Device
	name, has := d.Name(), d.Capabilities()
	c.must(d.Close())
	_, err := d.AllocatePD()
	c.wantError("AllocatePD", err, provider.ErrClosed)
	_, err = d.CreateCQ(provider.CQConfig{})
	c.wantError("CreateCQ", err, provider.ErrClosed)
	if ch, ok := d.(provider.ChannelCreator); ok && has.Has(provider.CapChannel) {
		_, err = ch.CreateChannel()
		c.wantError("CreateChannel", err, provider.ErrClosed)
	}
	if d.Name() != name || d.Capabilities() != has {
		c.errorf("name or capabilities of a device differ after Close")
	}
	c.must(d.Close())
}

// checkCompletionsStay checks that the completions of requests that were executed can still be
// polled when their region is closed.
func checkCompletionsStay(c *check) {
	a, b := c.connected(shape{})
	b.postReceive(b.room(5, 0, 8))
	a.post(a.request(1, provider.SendOpSend, 8, b))
	c.expect("send", a.sent(1), success(1, 1)...)
	c.must(b.mr.Close())
	c.expect("receive whose region was closed afterwards", b.received(1), success(5, 5)...)
}

// checkCloseWhileUsed checks that methods may be called concurrently with Close: they end, with or
// without an error, and nothing panics.
func checkCloseWhileUsed(c *check) {
	for range c.shorter(10, 3) {
		a, b := c.connected(shape{size: 1 << 14})
		stop := make(chan struct{})
		var wg sync.WaitGroup
		loop := func(f func()) {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						f()
						time.Sleep(10 * time.Microsecond)
					}
				}
			})
		}
		loop(func() {
			_, _ = a.qp.PostSend([]provider.SendRequest{a.request(1, provider.SendOpWrite, 1<<14, b)})
		})
		loop(func() { _, _ = b.qp.PostSend([]provider.SendRequest{b.request(1, provider.SendOpRead, 1<<14, a)}) })
		loop(func() { _, _ = a.qp.PostReceive([]provider.ReceiveRequest{{}}) })
		loop(func() { _, _ = a.qp.Query(); a.qp.State() })
		for _, q := range []provider.CompletionQueue{a.sends, b.sends} {
			loop(func() {
				var wcs [4]provider.WorkCompletion
				_, _ = q.Poll(wcs[:])
			})
		}
		time.Sleep(2 * time.Millisecond)
		for _, o := range []closer{a.mr, a.qp, a.sends, a.receives, b.qp, b.mr, b.sends} {
			c.must(o.Close())
		}
		close(stop)
		wg.Wait()
	}
}

// checkManyTimes checks that objects can be created and closed many times, more often than the
// device's limits if something were left behind.
func checkManyTimes(c *check) {
	c.byNumber()
	b := c.end(c.pair.B, shape{})
	for range c.shorter(50, 10) {
		d := c.pair.A.Device
		pd, err := d.AllocatePD()
		c.must(err)
		cq, err := d.CreateCQ(provider.CQConfig{Depth: 16})
		c.must(err)
		mr, err := pd.RegisterMemory(make([]byte, 64), provider.MemoryOptions{Access: everything})
		c.must(err)
		qp, err := pd.CreateQP(provider.QPConfig{SendCQ: cq, RecvCQ: cq})
		c.must(err)
		a := &end{c: c, at: c.pair.A, pd: pd, sends: cq, receives: cq, qp: qp, mr: mr}
		b.reset()
		c.connect(a, b, c.link())
		a.post(a.request(1, provider.SendOpWrite, 64, b))
		c.expect("WRITE", a.sent(1), success(1, 1)...)
		for _, o := range []closer{qp, mr, cq, pd} {
			c.must(o.Close())
		}
	}
}
