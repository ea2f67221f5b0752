package providertest

import (
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// right is a set of rights of peers, with a name.
type right struct {
	name   string
	access provider.Access
}

var rights = []right{
	{"nothing", 0},
	{"read", provider.AccessRemoteRead},
	{"write", provider.AccessRemoteWrite},
	{"read-write", provider.AccessRemoteRead | provider.AccessRemoteWrite},
}

func accessRules() []rule {
	var list []rule
	for _, o := range operations {
		if o.isSend() {
			continue
		}
		for _, r := range rights {
			name := fmt.Sprintf("%s-of-qp-for-%s", o.name, r.name)
			list = append(list, rule{name, o.needs, func(c *check) { checkRights(c, o, r) }})
		}
		list = append(list, rule{o.name + "-zero-length", o.needs, func(c *check) { checkZeroLength(c, o) }})
	}
	return append(
		list,
		rule{"send-needs-none", provider.CapRC, checkSendNeedsNone},
		rule{"local-read-needs-none", provider.CapRC, checkLocalRead},
		rule{"local-write", provider.CapRC, checkLocalWrite},
		rule{"atomics", provider.CapRC | provider.CapAtomics, checkAtomicRight},
	)
}

// need returns the right that an operation needs.
func (o *operation) need() provider.Access {
	if o.op == provider.SendOpRead {
		return provider.AccessRemoteRead
	}
	return provider.AccessRemoteWrite
}

// checkRights checks an operation against a queue pair with a right, and regions with each right:
// both must permit it (section 10.6.3.1). An operation that the queue pair doesn't permit is an
// invalid request, whatever the key; one that the region doesn't permit is an access error (section
// 9.9.3, and 11.6.2: completion statuses).
func checkRights(c *check, o operation, ofQP right) {
	for _, ofRegion := range rights {
		a, b := c.ends(shape{})
		l := c.link()
		l.access[1] = ofQP.access
		c.connect(a, b, l)
		mr := c.region(b.pd, 64, provider.AccessLocalWrite|ofRegion.access)
		fill(a.mr.Bytes()[:64], 1)
		b.postReceive(provider.ReceiveRequest{ID: 2})
		wr := a.request(1, o.op, 64, b)
		wr.RKey, wr.RemoteAddr = mr.RKey(), mr.Addr()
		a.post(wr)
		want := provider.WCSuccess
		switch {
		case ofQP.access&o.need() == 0:
			want = provider.WCRemoteInvalid
		case ofRegion.access&o.need() == 0:
			want = provider.WCRemoteAccess
		}
		what := fmt.Sprintf("%v, queue pair permits %s, region %s", o.op, ofQP.name, ofRegion.name)
		c.expect(what, a.sent(1), done{1, want})
		if wrote := b.memory(mr)[0] != 0; wrote != (want == provider.WCSuccess && o.op != provider.SendOpRead) {
			c.errorf("%s: written %t", what, wrote)
		}
		if want != provider.WCSuccess { // the responder's queue pair fails, too: it flushes the receive request
			c.expect(what+", responder", b.received(1), done{2, provider.WCFlushed})
		}
	}
}

// checkZeroLength checks that neither key nor address of a request of no bytes is validated (C9-88
// of section 9.7.4.1), and that the queue pair must permit the operation nevertheless.
func checkZeroLength(c *check, o operation) {
	for _, permitted := range []bool{true, false} {
		a, b := c.ends(shape{})
		l := c.link()
		if !permitted {
			l.access[1] &^= o.need()
		}
		c.connect(a, b, l)
		b.postReceive(provider.ReceiveRequest{ID: 2}, provider.ReceiveRequest{ID: 3})
		wr := a.request(1, o.op, 0, b)
		wr.RKey, wr.RemoteAddr = ^wr.RKey, ^uint64(0)
		a.post(wr)
		if !permitted {
			c.expect("zero length without the right", a.sent(1), done{1, provider.WCRemoteInvalid})
			continue
		}
		c.expect("zero length with a wrong key and address", a.sent(1), success(1, 1)...)
		gone := c.region(b.pd, 8, everything)
		wr.ID, wr.RKey, wr.RemoteAddr = 2, gone.RKey(), gone.Addr()
		c.must(gone.Close())
		a.post(wr)
		c.expect("zero length with the key of a closed region", a.sent(1), success(2, 2)...)
	}
}

// checkSendNeedsNone checks that SEND needs no right of the peer's: only a receive request.
func checkSendNeedsNone(c *check) {
	a, b := c.ends(shape{})
	l := c.link()
	l.access = [2]provider.Access{}
	c.connect(a, b, l)
	mr := c.region(b.pd, 64, provider.AccessLocalWrite)
	b.postReceive(provider.ReceiveRequest{ID: 2, Segments: []provider.Segment{{Region: mr, Length: 64}}})
	a.post(a.request(1, provider.SendOpSend, 64, b))
	c.expect("SEND", a.sent(1), success(1, 1)...)
	c.expect("receive", b.received(1), success(2, 2)...)
}

// checkLocalRead checks that memory without any right can be sent (ibv_reg_mr: local reads are
// always enabled).
func checkLocalRead(c *check) {
	a, b := c.connected(shape{})
	mr := c.registered(a.pd, pattern(100, 1), 0)
	for id, op := range []provider.SendOp{provider.SendOpWrite, provider.SendOpSend} {
		b.postReceive(b.room(9, 200, 100))
		wr := a.request(uint64(id), op, 0, b)
		wr.Segments = []provider.Segment{{Region: mr, Length: 100}}
		a.post(wr)
		c.expect(fmt.Sprintf("%v of memory that is read-only", op), a.sent(1), done{uint64(id), provider.WCSuccess})
	}
}

// checkLocalWrite checks that memory without local write access is never written by the program's
// own requests (section 10.6.3.1): a READ and a receive request fail, when posted or when executed.
func checkLocalWrite(c *check) {
	const remote = provider.AccessRemoteRead
	a, b := c.connected(shape{})
	mr := c.registered(a.pd, make([]byte, 100), remote)
	fill(b.mr.Bytes(), 1)
	wr := a.request(1, provider.SendOpRead, 0, b)
	wr.Segments = []provider.Segment{{Region: mr, Length: 100}}
	a.refusedOrFails("READ into memory that is read-only", wr)
	if a.memory(mr)[0] != 0 {
		c.errorf("READ has written to memory that is read-only")
	}

	a, b = c.connected(shape{})
	mr = c.registered(b.pd, make([]byte, 100), remote)
	fill(a.mr.Bytes(), 1)
	rr := provider.ReceiveRequest{ID: 2, Segments: []provider.Segment{{Region: mr, Length: 100}}}
	if _, err := b.qp.PostReceive([]provider.ReceiveRequest{rr}); err == nil {
		a.post(a.request(1, provider.SendOpSend, 100, b))
		c.expect("receive into memory that is read-only", b.received(1), done{2, provider.WCLocalProtection})
		c.expect("SEND into memory that is read-only", a.sent(1), done{1, provider.WCRemoteOperation})
	}
	if b.memory(mr)[0] != 0 {
		c.errorf("SEND has written to memory that is read-only")
	}
}

// refusedOrFails posts a request whose own memory can't be used: that is an error of PostSend, or
// the request completes with a local protection error (section 11.6.2; ibv_post_send leaves open
// which errors are detected immediately).
func (e *end) refusedOrFails(what string, wr provider.SendRequest) {
	e.order()
	n, err := e.qp.PostSend([]provider.SendRequest{wr})
	switch {
	case err != nil && n != 0:
		e.c.errorf("%s: PostSend = %d, %v", what, n, err)
	case err == nil:
		e.c.expect(what, e.sent(1), done{wr.ID, provider.WCLocalProtection})
	default:
		e.c.none(what+", which was refused", e.sends)
	}
}

// checkAtomicRight checks that atomics need their own right, of queue pair and region.
func checkAtomicRight(c *check) {
	for _, tt := range []struct {
		qp, region provider.Access
		want       provider.WCStatus
	}{
		{provider.AccessRemoteAtomic, provider.AccessRemoteAtomic, provider.WCSuccess},
		{everything, provider.AccessRemoteAtomic, provider.WCRemoteInvalid},
		{provider.AccessRemoteAtomic, everything, provider.WCRemoteAccess},
	} {
		a, b := c.ends(shape{})
		l := c.link()
		l.access[1] = tt.qp &^ provider.AccessLocalWrite
		c.connect(a, b, l)
		mr := c.region(b.pd, 64, provider.AccessLocalWrite|tt.region)
		wr := a.request(1, provider.SendOpFetchAdd, 8, b)
		wr.RKey, wr.RemoteAddr, wr.Operand = mr.RKey(), mr.Addr(), 1
		a.post(wr)
		what := fmt.Sprintf("fetch and add, queue pair %#x, region %#x", tt.qp, tt.region)
		c.expect(what, a.sent(1), done{1, tt.want})
	}
}
