package providertest

import (
	"github.com/rdmakit/rdmakit/verbs/provider"
)

func drainRules() []rule {
	const needs = provider.CapRC | provider.CapDrain
	return []rule{
		{"requests-wait", needs, checkDrain},
		{"responder-goes-on", needs, checkDrainResponder},
		{"event", needs | provider.CapEvents, checkDrainEvent},
	}
}

// checkDrain checks that requests posted in SQD wait until the queue pair is in RTS again (section
// 10.3.1.4).
func checkDrain(c *check) {
	a, b := c.connected(shape{})
	a.post(a.request(1, provider.SendOpWrite, 4096, b))
	c.must(a.qp.Modify(provider.QPAttributes{State: provider.QPStateSQD}))
	c.expect("request before SQD", a.sent(1), success(1, 1)...)
	a.post(a.request(2, provider.SendOpWrite, 8, b))
	c.none("request in SQD", a.sends)
	c.must(a.qp.Modify(provider.QPAttributes{State: provider.QPStateRTS}))
	c.expect("request after SQD", a.sent(1), success(2, 2)...)
}

// checkDrainResponder checks that a queue pair in SQD still answers its peer.
func checkDrainResponder(c *check) {
	a, b := c.connected(shape{})
	c.must(b.qp.Modify(provider.QPAttributes{State: provider.QPStateSQD}))
	a.post(a.request(1, provider.SendOpWrite, 8, b), a.request(2, provider.SendOpRead, 8, b))
	c.expect("requests to a peer in SQD", a.sent(2), success(1, 2)...)
}

// checkDrainEvent checks the event when the queue is drained (section 11.6.3.1;
// IBV_EVENT_SQ_DRAINED).
func checkDrainEvent(c *check) {
	a, b := c.ends(shape{id: 60})
	c.connect(a, b, c.link())
	a.post(a.request(1, provider.SendOpWrite, 4096, b))
	c.must(a.qp.Modify(provider.QPAttributes{State: provider.QPStateSQD}))
	if e := c.nextEvent(a.at.Device, provider.EventSendQueueDrained); e.QPN != a.qp.QPN() || e.ID != 60 {
		c.errorf("event %+v, want one of queue pair %v with ID 60", e, a.qp.QPN())
	}
}
