package providertest

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

func eventRules() []rule {
	const needs = provider.CapRC | provider.CapEvents
	return []rule{
		{"access-error", needs, checkAccessEvent},
		{"request-error", needs, checkRequestEvent},
		{"established", needs, checkEstablishedEvent},
		{"overrun", needs, checkOverrunEvent},
		{"none-of-own-failures", needs, checkNoEvents},
		{"order", needs, checkEventOrder},
		{"closed-object", needs, checkClosedObject},
		{"wait-ends", provider.CapEvents, checkEventWait},
	}
}

func (c *check) source(d provider.Device) provider.EventSource {
	source, ok := d.(provider.EventSource)
	if !ok {
		c.fatalf("%s is no EventSource", d.Name())
	}
	return source
}

// nextEvent waits for an event of a type. Others, such as those of ports, are ignored.
func (c *check) nextEvent(d provider.Device, want provider.EventType) provider.Event {
	ctx, cancel := c.patience()
	defer cancel()
	for {
		e, err := c.source(d).NextEvent(ctx)
		if err != nil {
			c.fatalf("wait for event %v: %v", want, err)
		}
		if e.Type == want {
			return e
		}
	}
}

// noEvents reports events of queue pairs and queues that must not come, other than those that are
// allowed.
func (c *check) noEvents(what string, d provider.Device, allowed ...provider.EventType) {
	ctx, cancel := context.WithTimeout(context.Background(), c.options.Quiet)
	defer cancel()
	for {
		e, err := c.source(d).NextEvent(ctx)
		if err != nil {
			c.wantError(what, err, context.DeadlineExceeded)
			return
		}
		isAllowed := e.Port != 0
		for _, a := range allowed {
			isAllowed = isAllowed || e.Type == a
		}
		if !isAllowed {
			c.errorf("%s: event %v of queue pair %v, ID %d", what, e.Type, e.QPN, e.ID)
		}
	}
}

// checkAccessEvent checks that a responder whose peer's request isn't permitted has an event of its
// queue pair (section 11.6.3.2, local access violation work queue error; ibv_get_async_event,
// IBV_EVENT_QP_ACCESS_ERR), and the requester has none.
func checkAccessEvent(c *check) {
	for _, op := range []provider.SendOp{provider.SendOpWrite, provider.SendOpRead} {
		a, b := c.ends(shape{id: 42})
		c.connect(a, b, c.link())
		wr := a.request(1, op, 8, b)
		wr.RKey = ^wr.RKey
		a.post(wr)
		c.expect(fmt.Sprintf("%v with a wrong key", op), a.sent(1), done{1, provider.WCRemoteAccess})
		e := c.nextEvent(b.at.Device, provider.EventQPAccessError)
		if e.QPN != b.qp.QPN() || e.ID != 42 || e.Port != 0 {
			c.errorf("%v with a wrong key: event %+v, want one of queue pair %v with ID 42", op, e, b.qp.QPN())
		}
	}
}

// checkRequestEvent checks the event of an invalid request: one that the queue pair isn't set up
// for (section 11.6.3.2, invalid request local work queue error; IBV_EVENT_QP_REQ_ERR).
func checkRequestEvent(c *check) {
	a, b := c.ends(shape{id: 43})
	l := c.link()
	l.access[1] = 0
	c.connect(a, b, l)
	a.post(a.request(1, provider.SendOpWrite, 8, b))
	c.expect("WRITE that the queue pair doesn't permit", a.sent(1), done{1, provider.WCRemoteInvalid})
	if e := c.nextEvent(b.at.Device, provider.EventQPRequestError); e.QPN != b.qp.QPN() || e.ID != 43 {
		c.errorf("event %+v, want one of queue pair %v with ID 43", e, b.qp.QPN())
	}
}

// checkEstablishedEvent checks that the first packet in RTR is reported, once (section 11.6.3.1,
// communication established; IBV_EVENT_COMM_EST).
func checkEstablishedEvent(c *check) {
	a, b := c.ends(shape{id: 44})
	l := c.link()
	l.upTo[1] = provider.QPStateRTR
	c.connect(a, b, l)
	b.postReceive(b.room(1, 0, 8), b.room(2, 0, 8))
	for id := range uint64(2) {
		a.post(a.request(id, provider.SendOpSend, 8, b))
	}
	c.expect("sends", a.sent(2), success(0, 1)...)
	if e := c.nextEvent(b.at.Device, provider.EventCommEstablished); e.QPN != b.qp.QPN() || e.ID != 44 {
		c.errorf("event %+v, want one of queue pair %v with ID 44", e, b.qp.QPN())
	}
	c.noEvents("after the first packet", b.at.Device)
}

// overrun makes a queue overrun, with the ID of its events.
func (c *check) overrun(at Endpoint, id uint64) *end {
	e := c.end(at, shape{sends: provider.CQConfig{Depth: 1, ID: id}})
	n := e.sends.Depth() + 4
	e.qp = c.qp(e.pd, provider.QPConfig{
		SendCQ: e.sends, RecvCQ: e.receives, Capacity: provider.QPCapacity{MaxSendWR: n},
	})
	c.must(step(e.qp, provider.QPStateReset, provider.QPStateInit, provider.QPAttributes{Port: at.Port}))
	e.fail()
	for range n {
		if _, err := e.qp.PostSend([]provider.SendRequest{{}}); err != nil {
			break
		}
	}
	return e
}

// checkOverrunEvent checks that a queue that overruns is reported, once, with its ID (section
// 11.6.3.3, CQ error; IBV_EVENT_CQ_ERR).
func checkOverrunEvent(c *check) {
	e := c.overrun(c.pair.A, 45)
	if got := c.nextEvent(e.at.Device, provider.EventCQError); got.ID != 45 || got.QPN != 0 {
		c.errorf("event %+v, want one of queue 45", got)
	}
	c.noEvents("after the overrun", e.at.Device, provider.EventQPFatal)
}

// checkNoEvents checks that what a program does itself, and what it learns by completions, causes
// no event: a change to ERR, and a requester that fails (section 11.6.3).
func checkNoEvents(c *check) {
	a, b := c.connected(shape{})
	a.post(a.request(1, provider.SendOpWrite, 8, b))
	a.sent(1)
	b.fail()
	a.reset()
	l := c.link()
	l.rnr = 0
	x, y := c.ends(shape{})
	c.connect(x, y, l)
	x.post(x.request(1, provider.SendOpSend, 8, y))
	c.expect("SEND without a receive request", x.sent(1), done{1, provider.WCRNRRetryExceeded})
	for _, d := range c.devices() {
		c.noEvents("failures that the program knows of", d)
	}
}

// checkEventOrder checks that events come in the order in which they happened.
func checkEventOrder(c *check) {
	const n = 5
	var order []uint64
	for id := range uint64(n) {
		a, b := c.ends(shape{id: 100 + id})
		c.connect(a, b, c.link())
		wr := a.request(1, provider.SendOpWrite, 8, b)
		wr.RKey = ^wr.RKey
		a.post(wr)
		a.sent(1)
		b.waitFailed("the responder")
		order = append(order, 100+id)
	}
	for _, want := range order {
		if e := c.nextEvent(c.pair.B.Device, provider.EventQPAccessError); e.ID != want {
			c.errorf("event of queue pair %d, want %d", e.ID, want)
		}
	}
}

// checkClosedObject checks that no event of an object comes after its Close, although it happened
// before, and that those of other objects stay.
func checkClosedObject(c *check) {
	var last *end
	for id := range uint64(2) {
		a, b := c.ends(shape{id: 200 + id})
		c.connect(a, b, c.link())
		wr := a.request(1, provider.SendOpWrite, 8, b)
		wr.RKey = ^wr.RKey
		a.post(wr)
		a.sent(1)
		b.waitFailed("the responder")
		if id == 0 {
			c.must(b.qp.Close())
		}
		last = b
	}
	if e := c.nextEvent(last.at.Device, provider.EventQPAccessError); e.ID != 201 {
		c.errorf("event of queue pair %d, want 201, which is open", e.ID)
	}
	c.noEvents("queue pair that is closed", last.at.Device)
}

// checkEventWait checks that NextEvent ends with its context and with the device.
func checkEventWait(c *check) {
	d := c.pair.A.Device
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	c.drainEvents(d)
	_, err := c.source(d).NextEvent(canceled)
	c.wantError("NextEvent with a context that was canceled", err, context.Canceled)
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			for {
				if _, err := c.source(d).NextEvent(context.Background()); err != nil {
					ended <- err
					return
				}
			}
		}()
	}
	c.quiet()
	c.must(d.Close())
	for range 2 {
		c.wantError("NextEvent of a device that is closed", <-ended, provider.ErrClosed)
	}
	_, err = c.source(d).NextEvent(context.Background())
	c.wantError("NextEvent after Close", err, provider.ErrClosed)
}

// drainEvents takes the events that are there.
func (c *check) drainEvents(d provider.Device) {
	ctx, cancel := context.WithTimeout(context.Background(), c.options.Quiet)
	defer cancel()
	for {
		if _, err := c.source(d).NextEvent(ctx); err != nil {
			return
		}
	}
}
