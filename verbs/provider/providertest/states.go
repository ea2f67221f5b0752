package providertest

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// The states of a reliable connection without those that need a capability.
var rcStates = []provider.QPState{
	provider.QPStateReset, provider.QPStateInit, provider.QPStateRTR, provider.QPStateRTS, provider.QPStateError,
}

// change is a change of state.
type change struct{ from, to provider.QPState }

// attributeSet is the attributes that a change of state requires and those that it allows.
type attributeSet struct{ required, optional provider.QPMask }

// rcChanges are the changes of state of reliable connections that may have attributes (section
// 10.3.1 and table 91; ibv_modify_qp). Those to RESET, from any state, and to ERR, from any but
// RESET, are allowed as well and need none.
func rcChanges() map[change]attributeSet {
	const (
		setup = provider.QPAttrPKeyIndex | provider.QPAttrPort | provider.QPAttrAccess
		rtr   = provider.QPAttrPath | provider.QPAttrPathMTU | provider.QPAttrDestQPN | provider.QPAttrReceivePSN |
			provider.QPAttrMaxDestReadAtomic | provider.QPAttrMinRNRTimer
		rts = provider.QPAttrTimeout | provider.QPAttrRetryCount | provider.QPAttrRNRRetry | provider.QPAttrSendPSN |
			provider.QPAttrMaxReadAtomic
		running = provider.QPAttrAccess | provider.QPAttrMinRNRTimer
	)
	return map[change]attributeSet{
		{provider.QPStateReset, provider.QPStateInit}: {setup, 0},
		{provider.QPStateInit, provider.QPStateInit}:  {0, setup},
		{provider.QPStateInit, provider.QPStateRTR}:   {rtr, provider.QPAttrAccess | provider.QPAttrPKeyIndex},
		{provider.QPStateRTR, provider.QPStateRTS}:    {rts, running},
		{provider.QPStateRTS, provider.QPStateRTS}:    {0, running},
	}
}

// requiredAttributes returns what a step of a queue pair to RTS requires (ibv_modify_qp).
func requiredAttributes(t provider.QPType, from, to provider.QPState) provider.QPMask {
	const datagram = provider.QPAttrPKeyIndex | provider.QPAttrPort | provider.QPAttrQKey
	rc := rcChanges()[change{from, to}].required
	switch {
	case t == provider.QPTypeRC:
		return rc
	case t == provider.QPTypeUD && to == provider.QPStateInit:
		return datagram
	case to == provider.QPStateRTS:
		return provider.QPAttrSendPSN
	case t == provider.QPTypeUD:
		return 0
	}
	return rc &^ (provider.QPAttrMaxDestReadAtomic | provider.QPAttrMinRNRTimer)
}

// isAllowed reports whether reliable connections have a change of state.
func (ch change) isAllowed() bool {
	_, ok := rcChanges()[ch]
	return ok || ch.to == provider.QPStateReset || ch.to == provider.QPStateError && ch.from != provider.QPStateReset
}

// name returns the name of a rule about the change.
func (ch change) name() string {
	return strings.ToLower(fmt.Sprintf("%v-to-%v", ch.from, ch.to))
}

func stateRules() []rule {
	var list []rule
	for _, from := range rcStates {
		for _, to := range rcStates {
			ch := change{from, to}
			list = append(list, rule{ch.name(), provider.CapRC, func(c *check) { checkChange(c, ch) }})
		}
	}
	return append(
		list,
		rule{"post", provider.CapRC, checkPostInStates},
		rule{"receive-before-rtr", provider.CapRC, checkReceiveBeforeRTR},
		rule{"flush", provider.CapRC, checkFlush},
		rule{"reset-drops", provider.CapRC, checkResetDrops},
		rule{"again", provider.CapRC, checkAgain},
		rule{"not-responding", provider.CapRC, checkNotResponding},
		rule{"quiet-failure", provider.CapRC, checkQuietFailure},
	)
}

// at makes a queue pair in a state and returns it with its attributes.
func (c *check) at(state provider.QPState) (*end, provider.QPAttributes) {
	a, b := c.ends(shape{})
	l := c.link()
	attr := l.attributes(0, a.at, b.qp.QPN())
	a.bring(attr, state)
	return a, attr
}

// checkChange checks one change of state: with what it requires, without each attribute of that,
// and with each one that it doesn't allow.
func checkChange(c *check, ch change) {
	a, attr := c.at(ch.from)
	attr.State = ch.to
	set := rcChanges()[ch]
	always := ch.to == provider.QPStateReset || ch.to == provider.QPStateError
	before, err := a.qp.Query()
	c.must(err)
	refused := func(what string, mask provider.QPMask) {
		attr.Mask = mask
		err := a.qp.Modify(attr)
		c.wantError(fmt.Sprintf("Modify %v→%v %s", ch.from, ch.to, what), err, provider.ErrTransition)
		// ibv_modify_qp: if anything is invalid, nothing is modified
		if after, err := a.qp.Query(); err != nil || after != before {
			c.errorf("after Modify %v→%v %s: %+v, %v, was %+v", ch.from, ch.to, what, after, err, before)
		}
	}
	if !ch.isAllowed() {
		for _, mask := range []provider.QPMask{0, ^provider.QPMask(0), set.required} {
			refused(fmt.Sprintf("with attributes %v", mask), mask)
		}
		return
	}
	for bit := provider.QPAttrPKeyIndex; bit <= provider.QPAttrQKey; bit <<= 1 {
		switch {
		case set.required&bit != 0:
			refused("without "+bit.String(), set.required&^bit)
		case set.optional&bit == 0 && !always:
			refused("with "+bit.String(), set.required|bit)
		}
	}
	attr.Mask = set.required
	if err := a.qp.Modify(attr); err != nil {
		c.fatalf("Modify %v→%v: %v", ch.from, ch.to, err)
	}
	if got := a.state(); got != ch.to || a.qp.State() != ch.to {
		c.errorf("after Modify %v→%v: state %v, queried %v", ch.from, ch.to, a.qp.State(), got)
	}
	for bit := provider.QPAttrPKeyIndex; bit <= provider.QPAttrQKey; bit <<= 1 {
		if ch.from == ch.to && set.optional&bit != 0 {
			attr.Mask = bit
			c.must(a.qp.Modify(attr))
		}
	}
}

// checkPostInStates checks in which states requests can be posted (section 10.3.1: RESET takes
// none, INIT and RTR take receive requests only, ERR takes both and flushes them).
func checkPostInStates(c *check) {
	for _, tt := range []struct {
		state         provider.QPState
		send, receive bool // accepted
		flushed       bool
	}{
		{provider.QPStateReset, false, false, false},
		{provider.QPStateInit, false, true, false},
		{provider.QPStateRTR, false, true, false},
		{provider.QPStateRTS, true, true, false},
		{provider.QPStateError, true, true, true},
	} {
		a, _ := c.at(tt.state)
		wr := provider.SendRequest{ID: 1, Flags: provider.SendSignaled, Segments: a.part(0, 8)}
		if n, err := a.qp.PostSend([]provider.SendRequest{wr}); (err == nil) != tt.send || (n == 1) != tt.send {
			c.errorf("PostSend in %v = %d, %v; accepted must be %t", tt.state, n, err, tt.send)
		}
		n, err := a.qp.PostReceive([]provider.ReceiveRequest{a.room(2, 0, 8)})
		if (err == nil) != tt.receive || (n == 1) != tt.receive {
			c.errorf("PostReceive in %v = %d, %v; accepted must be %t", tt.state, n, err, tt.receive)
		}
		if tt.flushed {
			c.expect("sends in ERR", a.sent(1), done{1, provider.WCFlushed})
			c.expect("receives in ERR", a.received(1), done{2, provider.WCFlushed})
		}
	}
}

// checkReceiveBeforeRTR checks that a receive request posted in INIT is used (section 10.3.1.2).
func checkReceiveBeforeRTR(c *check) {
	c.byNumber()
	a, b := c.ends(shape{})
	l := c.link()
	init := l.attributes(1, b.at, a.qp.QPN())
	c.must(step(b.qp, provider.QPStateReset, provider.QPStateInit, init))
	b.postReceive(b.room(5, 0, 8))
	for _, ch := range []change{
		{provider.QPStateInit, provider.QPStateRTR}, {provider.QPStateRTR, provider.QPStateRTS},
	} {
		c.must(step(b.qp, ch.from, ch.to, init))
	}
	a.bring(l.attributes(0, a.at, b.qp.QPN()), provider.QPStateRTS)
	a.post(a.request(1, provider.SendOpSend, 8, b))
	c.expect("send", a.sent(1), done{1, provider.WCSuccess})
	c.expect("receive", b.received(1), done{5, provider.WCSuccess})
}

// checkFlush checks that the change to ERR completes all requests, signaled or not, in order
// (section 10.3.1.5; ibv_modify_qp).
func checkFlush(c *check) {
	a, b := c.connected(shape{})
	for id := range uint64(4) { // no receive request: none completes
		wr := a.request(id, provider.SendOpSend, 8, b)
		if id%2 == 1 {
			wr.Flags = 0
		}
		a.post(wr)
		a.postReceive(a.room(10+id, 0, 8))
	}
	a.fail()
	want := func(first uint64) (list []done) {
		for id := range uint64(4) {
			list = append(list, done{first + id, provider.WCFlushed})
		}
		return list
	}
	c.expect("sends", a.sent(4), want(0)...)
	c.expect("receives", a.received(4), want(10)...)
	a.post(provider.SendRequest{ID: 9})
	c.expect("unsignaled send in ERR", a.sent(1), done{9, provider.WCFlushed})
	c.must(a.qp.Modify(provider.QPAttributes{State: provider.QPStateError}))
	c.none("second change to ERR", a.sends)
}

// checkResetDrops checks that requests that are queued when a queue pair is reset never complete
// (section 10.3.1.1), that their slots are free again, and that the attributes are gone.
func checkResetDrops(c *check) {
	a, b := c.connected(shape{capacity: provider.QPCapacity{MaxSendWR: 4, MaxRecvWR: 4}})
	depth := a.qp.Capacity()
	for id := range uint64(depth.MaxSendWR) {
		wrs := []provider.SendRequest{a.request(id, provider.SendOpSend, 8, b)}
		if n, err := a.qp.PostSend(wrs); n != 1 {
			// With iWARP, the first message that finds no receive request ends the connection (RFC
			// 5041, section 7.1), and a driver may refuse what is posted after that.
			if attr, failed := a.qp.Query(); failed != nil || attr.State == provider.QPStateRTS {
				c.fatalf("PostSend of request %d = %d, %v, in state %v (%v)", id, n, err, attr.State, failed)
			}
			break
		}
	}
	for id := range uint64(depth.MaxRecvWR) {
		a.postReceive(a.room(id, 0, 8))
	}
	a.reset()
	b.reset()
	c.none("sends after RESET", a.sends)
	c.none("receives after RESET", a.receives)
	c.connect(a, b, c.link())
	for id := range uint64(depth.MaxRecvWR) {
		a.postReceive(a.room(id, 0, 8))
	}
	for id := range uint64(depth.MaxSendWR) {
		a.post(a.request(100+id, provider.SendOpWrite, 8, b))
	}
	c.expect("writes after RESET", a.sent(depth.MaxSendWR), success(100, 99+uint64(depth.MaxSendWR))...)
}

// checkAgain checks that a queue pair works again after ERR and RESET, with another peer and other
// PSNs.
func checkAgain(c *check) {
	a, b := c.connected(shape{})
	a.post(a.request(1, provider.SendOpWrite, 64, b))
	c.expect("first connection", a.sent(1), success(1, 1)...)
	a.fail()
	a.reset()
	other := c.end(c.pair.B, shape{})
	l := c.link()
	l.psn = [2]ib.PSN{7, 9}
	c.connect(a, other, l)
	other.postReceive(other.room(3, 0, 64))
	fill(a.mr.Bytes()[:64], 1)
	a.post(a.request(2, provider.SendOpSend, 64, other))
	c.expect("second connection", a.sent(1), success(2, 2)...)
	c.expect("second peer", other.received(1), success(3, 3)...)
	if string(other.memory(other.mr)[:64]) != string(a.mr.Bytes()[:64]) {
		c.errorf("second connection: the bytes differ")
	}
}

// checkNotResponding checks that a queue pair takes packets only in RTR and RTS: the peer's request
// runs out of retries (section 10.3.1), and memory isn't changed.
func checkNotResponding(c *check) {
	for _, state := range []provider.QPState{
		provider.QPStateReset, provider.QPStateInit, provider.QPStateError,
	} {
		a, b := c.ends(shape{})
		l := c.link()
		l.timeout, l.retry, l.upTo[1] = shortTimeout, 1, state
		c.connect(a, b, l)
		fill(a.mr.Bytes(), 3)
		a.post(a.request(1, provider.SendOpWrite, 64, b))
		c.expect(fmt.Sprintf("WRITE to a peer in %v", state), a.sent(1), done{1, provider.WCRetryExceeded})
		if b.memory(b.mr)[0] != 0 {
			c.errorf("a queue pair in %v has written to memory", state)
		}
	}
	a, b := c.ends(shape{}) // RTR is enough to respond
	l := c.link()
	l.upTo[1] = provider.QPStateRTR
	c.connect(a, b, l)
	for id, op := range []provider.SendOp{provider.SendOpWrite, provider.SendOpRead} {
		a.post(a.request(uint64(id), op, 64, b))
	}
	c.expect("requests to a peer in RTR", a.sent(2), success(0, 1)...)
}

// checkQuietFailure checks that the peer is not notified of a program's change to ERR.
func checkQuietFailure(c *check) {
	a, b := c.connected(shape{})
	b.fail()
	c.none("the other end", a.sends)
	if got := a.state(); got != provider.QPStateRTS {
		c.errorf("the other end is in state %v, want RTS", got)
	}
}
