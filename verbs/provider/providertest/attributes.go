package providertest

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// badValue is an attribute with a value that is out of range (section 11.2.4.2, modifiers of Modify
// Queue Pair; struct ibv_qp_attr).
type badValue struct {
	name string
	ch   change // that sets the attribute
	set  func(*provider.QPAttributes, *limits)
}

// limits are the limits of a device and port.
type limits struct {
	device provider.DeviceAttributes
	port   provider.PortAttributes
}

func badValues() []badValue {
	toInit := change{provider.QPStateReset, provider.QPStateInit}
	toRTR := change{provider.QPStateInit, provider.QPStateRTR}
	toRTS := change{provider.QPStateRTR, provider.QPStateRTS}
	return []badValue{
		{"port-0", toInit, func(a *provider.QPAttributes, _ *limits) { a.Port = 0 }},
		{"port-beyond", toInit, func(a *provider.QPAttributes, l *limits) { a.Port = int(l.device.PhysPortCount) + 1 }},
		{"pkey-index-negative", toInit, func(a *provider.QPAttributes, _ *limits) { a.PKeyIndex = -1 }},
		{"pkey-index-beyond", toInit, func(a *provider.QPAttributes, l *limits) {
			a.PKeyIndex = max(1, int(l.port.PKeyTableLength))
		}},
		{"mtu-0", toRTR, func(a *provider.QPAttributes, _ *limits) { a.PathMTU = 0 }},
		{"mtu-odd", toRTR, func(a *provider.QPAttributes, _ *limits) { a.PathMTU = 1500 }},
		{"mtu-8192", toRTR, func(a *provider.QPAttributes, _ *limits) { a.PathMTU = 8192 }},
		{"dest-qpn-25-bits", toRTR, func(a *provider.QPAttributes, _ *limits) { a.DestQPN |= 1 << 24 }},
		{"dest-reads-negative", toRTR, func(a *provider.QPAttributes, _ *limits) { a.MaxDestReadAtomic = -1 }},
		{"dest-reads-beyond", toRTR, func(a *provider.QPAttributes, l *limits) {
			a.MaxDestReadAtomic = int(l.device.MaxQPReadAtomic) + 1
		}},
		{"rnr-timer-32", toRTR, func(a *provider.QPAttributes, _ *limits) { a.MinRNRTimer = 32 }},
		{"sgid-index-beyond", toRTR, func(a *provider.QPAttributes, l *limits) {
			a.Path.SGIDIndex = int(l.port.GIDTableLength)
		}},
		{"sgid-index-negative", toRTR, func(a *provider.QPAttributes, _ *limits) { a.Path.SGIDIndex = -1 }},
		{"no-destination", toRTR, func(a *provider.QPAttributes, _ *limits) { a.Path.DGID, a.Path.DLID = ib.GID{}, 0 }},
		{"service-level-16", toRTR, func(a *provider.QPAttributes, _ *limits) { a.Path.ServiceLevel = 16 }},
		{"flow-label-21-bits", toRTR, func(a *provider.QPAttributes, _ *limits) { a.Path.FlowLabel = 1 << 20 }},
		{"timeout-32", toRTS, func(a *provider.QPAttributes, _ *limits) { a.Timeout = 32 }},
		{"retry-8", toRTS, func(a *provider.QPAttributes, _ *limits) { a.RetryCount = 8 }},
		{"rnr-retry-8", toRTS, func(a *provider.QPAttributes, _ *limits) { a.RNRRetry = 8 }},
		{"reads-negative", toRTS, func(a *provider.QPAttributes, _ *limits) { a.MaxReadAtomic = -1 }},
		{"reads-beyond", toRTS, func(a *provider.QPAttributes, l *limits) {
			a.MaxReadAtomic = int(l.device.MaxQPInitReadAtomic) + 1
		}},
	}
}

func attributeRules() []rule {
	var list []rule
	for _, bad := range badValues() {
		list = append(list, rule{bad.name, provider.CapRC, func(c *check) { checkBadValue(c, bad) }})
	}
	return append(
		list,
		rule{"limits", provider.CapRC, checkLimitValues},
		rule{"query", provider.CapRC, checkQuery},
		rule{"mtu", provider.CapRC, checkMTUs},
		rule{"unknown-state", provider.CapRC, checkUnknownState},
		rule{"access-while-running", provider.CapRC, checkAccessWhileRunning},
	)
}

func (c *check) limits(at Endpoint) *limits {
	ctx, cancel := c.patience()
	defer cancel()
	port, err := at.Device.Port(ctx, at.Port)
	c.must(err)
	return &limits{at.Device.Attributes(), port}
}

// checkBadValue checks that a value out of range is an error and changes nothing, and that the
// queue pair then takes a valid one.
func checkBadValue(c *check, bad badValue) {
	a, attr := c.at(bad.ch.from)
	before, err := a.qp.Query()
	c.must(err)
	wrong := attr
	bad.set(&wrong, c.limits(a.at))
	if err := step(a.qp, bad.ch.from, bad.ch.to, wrong); err == nil {
		c.errorf("Modify %v→%v takes the value", bad.ch.from, bad.ch.to)
		return
	}
	if after, err := a.qp.Query(); err != nil || after != before {
		c.errorf("Modify has failed and changed %+v to %+v, %v", before, after, err)
	}
	c.must(step(a.qp, bad.ch.from, bad.ch.to, attr))
}

// checkLimitValues checks that the largest valid values are taken.
func checkLimitValues(c *check) {
	a, b := c.ends(shape{})
	l, limit := c.link(), c.limits(a.at)
	l.psn = [2]ib.PSN{1<<24 - 1, 1<<24 - 1}
	l.readAtomic[0], l.destReads[0] = int(limit.device.MaxQPInitReadAtomic), int(limit.device.MaxQPReadAtomic)
	attr := l.attributes(0, a.at, b.qp.QPN())
	attr.Timeout, attr.RetryCount, attr.RNRRetry, attr.MinRNRTimer = 31, 7, 7, 31
	attr.PathMTU = limit.port.ActiveMTU
	a.bring(attr, provider.QPStateRTS)
}

// checkQuery checks that a queue pair reports what was set, under its own mask (ibv_query_qp).
func checkQuery(c *check) {
	a, attr := c.at(provider.QPStateRTS)
	got, err := a.qp.Query()
	c.must(err)
	want := attr
	want.State, want.QKey = provider.QPStateRTS, 0
	for _, set := range rcChanges() {
		want.Mask |= set.required
	}
	// A driver may fill in what the program left out, and counts PSNs.
	got.Path, want.Path = provider.Path{DGID: got.Path.DGID}, provider.Path{DGID: want.Path.DGID}
	got.QKey = 0
	if got != want {
		c.errorf("Query = %+v, want %+v", got, want)
	}
	a.reset()
	if got, err = a.qp.Query(); err != nil || got.State != provider.QPStateReset {
		c.errorf("Query after RESET = %+v, %v", got, err)
	}
}

// checkMTUs checks each path MTU of the ports: a message of several packets arrives (section
// 9.7.8).
func checkMTUs(c *check) {
	most := min(c.limits(c.pair.A).port.ActiveMTU, c.limits(c.pair.B).port.ActiveMTU)
	for mtu := ib.MTU256; mtu <= most; mtu *= 2 {
		a, b := c.ends(shape{size: 16384})
		l := c.link()
		l.mtu = mtu
		c.connect(a, b, l)
		fill(a.mr.Bytes(), int(mtu))
		b.postReceive(b.room(1, 0, 16384))
		length := 3*int(mtu) + 1
		a.post(a.request(1, provider.SendOpSend, length, b))
		c.expect(fmt.Sprintf("path MTU %d", mtu), a.sent(1), success(1, 1)...)
		wcs := b.received(1)
		if string(b.memory(b.mr)[:length]) != string(a.mr.Bytes()[:length]) || int(wcs[0].Bytes) != length {
			c.errorf("path MTU %d: the bytes differ", mtu)
		}
	}
	if most < ib.MTU4096 {
		a, attr := c.at(provider.QPStateInit)
		attr.PathMTU = 2 * most
		err := step(a.qp, provider.QPStateInit, provider.QPStateRTR, attr)
		c.wantError("Modify with a path MTU above the port's", err, nil)
	}
}

// checkUnknownState checks that states that don't exist are errors.
func checkUnknownState(c *check) {
	a, attr := c.at(provider.QPStateInit)
	for _, state := range []provider.QPState{provider.QPStateError + 1, 255, provider.QPStateSQE} {
		attr.State, attr.Mask = state, 0
		err := a.qp.Modify(attr)
		c.wantError(fmt.Sprintf("Modify to %v", state), err, nil)
		if err != nil && strings.TrimSpace(err.Error()) == "" {
			c.errorf("Modify to %v: an error without text", state)
		}
	}
}

// checkAccessWhileRunning checks that the rights of the peer can be changed in RTS, and count for
// later requests (table 91).
func checkAccessWhileRunning(c *check) {
	a, b := c.connected(shape{})
	b.mustAllow(0)
	b.mustAllow(provider.AccessRemoteRead)
	a.post(a.request(1, provider.SendOpRead, 8, b))
	c.expect("READ that is permitted", a.sent(1), success(1, 1)...)
	a.post(a.request(2, provider.SendOpWrite, 8, b))
	c.expect("WRITE that is no longer permitted", a.sent(1), done{2, provider.WCRemoteInvalid})
}

// mustAllow sets what the peer may do.
func (e *end) mustAllow(access provider.Access) {
	e.c.must(e.qp.Modify(provider.QPAttributes{
		State: provider.QPStateRTS, Mask: provider.QPAttrAccess, Access: access,
	}))
}
