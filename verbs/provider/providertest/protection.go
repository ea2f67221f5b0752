package providertest

import (
	"bytes"
	"fmt"
	"math"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// target is remote memory that a request names: a region in the middle of a larger buffer.
type target struct {
	c      *check
	b      *end
	mr     provider.MemoryRegion
	all    []byte
	length int // of the request
}

const (
	targetSize = 4096
	margin     = 64
)

// bound is a place at the limits of a region, or beside it.
type bound struct {
	name    string
	permits bool
	set     func(*target, *provider.SendRequest)
}

// bounds are the ways to name remote memory, right and wrong (section 10.6.3.1 and 9.9.3; each
// wrong one is a remote access error).
func bounds() []bound {
	end := func(t *target) uint64 { return t.mr.Addr() + targetSize - uint64(t.length) }
	return []bound{
		{"first-byte", true, func(t *target, wr *provider.SendRequest) { wr.RemoteAddr = t.mr.Addr() }},
		{"last-byte", true, func(t *target, wr *provider.SendRequest) { wr.RemoteAddr = end(t) }},
		{"before", false, func(t *target, wr *provider.SendRequest) { wr.RemoteAddr = t.mr.Addr() - 1 }},
		{"beyond", false, func(t *target, wr *provider.SendRequest) { wr.RemoteAddr = end(t) + 1 }},
		{"after", false, func(t *target, wr *provider.SendRequest) { wr.RemoteAddr = t.mr.Addr() + targetSize }},
		{"address-0", false, func(_ *target, wr *provider.SendRequest) { wr.RemoteAddr = 0 }},
		{"address-wraps", false, func(t *target, wr *provider.SendRequest) {
			wr.RemoteAddr = math.MaxUint64 - uint64(t.length)/2
		}},
		{"unknown-key", false, func(_ *target, wr *provider.SendRequest) { wr.RKey = ^wr.RKey }},
		{"next-key", false, func(_ *target, wr *provider.SendRequest) { wr.RKey++ }},
		{"closed-region", false, func(t *target, _ *provider.SendRequest) { t.c.must(t.mr.Close()) }},
		{"other-domain", false, func(t *target, wr *provider.SendRequest) {
			mr := t.c.region(t.c.pd(t.b.at.Device), targetSize, everything)
			wr.RKey, wr.RemoteAddr = mr.RKey(), mr.Addr()
		}},
	}
}

func protectionRules() []rule {
	var list []rule
	for _, o := range operations {
		if o.isSend() {
			continue
		}
		for _, at := range bounds() {
			list = append(list, rule{o.name + "-" + at.name, o.needs, func(c *check) { checkBound(c, o, at) }})
		}
	}
	for _, o := range operations {
		list = append(list, rule{o.name + "-own-memory", o.needs, func(c *check) { checkOwnMemory(c, o) }})
	}
	return append(
		list,
		rule{"receive-own-memory", provider.CapRC, checkReceiveMemory},
		rule{"receive-too-short", provider.CapRC, checkTooShort},
		rule{"receive-region-closed", provider.CapRC, checkReceiveRegionClosed},
		rule{"receive-exact", provider.CapRC, checkReceiveExact},
	)
}

// checkBound checks a request for remote memory, of a byte, of a packet's end, and of several
// packets: its status, what it does to the memory, and what happens to the responder.
func checkBound(c *check, o operation, at bound) {
	for _, length := range []int{1, 1000, 3000} {
		a, b := c.connected(shape{size: 2 * targetSize})
		t := &target{c: c, b: b, all: pattern(targetSize+2*margin, 8), length: length}
		t.mr = c.registered(b.pd, t.all[margin:margin+targetSize:margin+targetSize], everything)
		fill(a.mr.Bytes(), 5)
		own := bytes.Clone(a.mr.Bytes())
		b.postReceive(provider.ReceiveRequest{ID: 2})
		wr := a.request(1, o.op, length, b)
		wr.RKey, wr.RemoteAddr = t.mr.RKey(), t.mr.Addr()
		start := t.mr.Addr()
		at.set(t, &wr)
		want := bytes.Clone(t.all)
		a.post(wr)
		what := fmt.Sprintf("%v of %d bytes", o.op, length)
		if at.permits {
			c.expect(what, a.sent(1), success(1, 1)...)
			place := want[margin+int(wr.RemoteAddr-start):]
			if o.op == provider.SendOpRead {
				copy(own[:length], place)
			} else {
				copy(place, own[:length])
			}
		} else {
			c.expect(what, a.sent(1), done{1, provider.WCRemoteAccess})
			c.expect(what+", responder's receive request", b.received(1), done{2, provider.WCFlushed})
			b.waitFailed(what + ": the responder")
		}
		b.qp.State() // for the race detector, see memory
		if !bytes.Equal(t.all, want) {
			c.errorf("%s: the responder's memory differs at byte %d of the region", what,
				firstDifference(t.all, want)-margin)
		}
		if !bytes.Equal(a.memory(a.mr), own) {
			c.errorf("%s: the requester's memory differs", what)
		}
	}
}

// badSegment is memory of the program's own that a request can't use. Some can be refused only when
// the request is posted.
type badSegment struct {
	name   string
	mustBe bool // refused when posted: it can't be given to a device
	make   func(*end) provider.Segment
}

func badSegments() []badSegment {
	return []badSegment{
		{"beyond the end", false, func(e *end) provider.Segment {
			return provider.Segment{Region: e.mr, Offset: int(e.mr.Length()) - 7, Length: 8}
		}},
		{"after the end", false, func(e *end) provider.Segment {
			return provider.Segment{Region: e.mr, Offset: int(e.mr.Length()), Length: 1}
		}},
		{"closed region", false, func(e *end) provider.Segment {
			mr := e.c.region(e.pd, 64, everything)
			e.c.must(mr.Close())
			return provider.Segment{Region: mr, Length: 8}
		}},
		{"other domain", false, func(e *end) provider.Segment {
			return provider.Segment{Region: e.c.region(e.c.pd(e.at.Device), 64, everything), Length: 8}
		}},
		{"negative offset", true, func(e *end) provider.Segment {
			return provider.Segment{Region: e.mr, Offset: -1, Length: 8}
		}},
		{"negative length", true, func(e *end) provider.Segment {
			return provider.Segment{Region: e.mr, Offset: 8, Length: -8}
		}},
		{"overflow", true, func(e *end) provider.Segment {
			return provider.Segment{Region: e.mr, Offset: math.MaxInt - 3, Length: 8}
		}},
		{"too long", true, func(e *end) provider.Segment {
			return provider.Segment{Region: e.mr, Offset: 1, Length: math.MaxInt}
		}},
	}
}

// checkOwnMemory checks requests whose own memory can't be used: nothing reaches the peer.
func checkOwnMemory(c *check, o operation) {
	for _, bad := range badSegments() {
		a, b := c.connected(shape{})
		fill(a.mr.Bytes(), 1)
		before := bytes.Clone(b.mr.Bytes())
		if o.receives {
			b.postReceive(b.room(2, 0, 4096))
		}
		wr := a.request(1, o.op, 0, b)
		wr.Segments = []provider.Segment{bad.make(a)}
		what := fmt.Sprintf("%v, own memory: %s", o.op, bad.name)
		a.order()
		if _, err := a.qp.PostSend([]provider.SendRequest{wr}); err != nil {
			c.none(what+", which was refused", a.sends)
		} else if c.expect(what, a.sent(1), done{1, provider.WCLocalProtection}); bad.mustBe {
			c.errorf("%s: PostSend takes it", what)
		}
		if !bytes.Equal(b.memory(b.mr), before) {
			c.errorf("%s: the peer's memory differs", what)
		}
	}
}

// checkReceiveMemory checks receive requests whose memory can't be used.
func checkReceiveMemory(c *check) {
	for _, bad := range badSegments() {
		a, b := c.connected(shape{})
		rr := provider.ReceiveRequest{ID: 2, Segments: []provider.Segment{bad.make(b)}}
		if _, err := b.qp.PostReceive([]provider.ReceiveRequest{rr}); err != nil {
			continue
		}
		if bad.mustBe {
			c.errorf("PostReceive takes memory: %s", bad.name)
			continue
		}
		a.post(a.request(1, provider.SendOpSend, 8, b))
		c.expect("SEND, "+bad.name, a.sent(1), done{1, provider.WCRemoteOperation})
		c.expect("receive, "+bad.name, b.received(1), done{2, provider.WCLocalProtection})
	}
}

// checkTooShort checks messages that are longer than the buffer, in the first packet and in a later
// one, by one byte and by many: a length error at the responder, an invalid request at the
// requester (section 9.9.3 and 11.6.2). Bytes after the buffer aren't touched.
func checkTooShort(c *check) {
	for _, tt := range []struct{ room, length int }{{0, 1}, {99, 100}, {2048, 2049}, {10, 3000}, {3000, 4000}} {
		a, b := c.connected(shape{})
		fill(a.mr.Bytes(), 1)
		b.postReceive(b.room(2, 0, tt.room), b.room(3, 4000, 10))
		a.post(a.request(1, provider.SendOpSend, tt.length, b), a.request(4, provider.SendOpWrite, 8, b))
		what := fmt.Sprintf("SEND of %d bytes into %d", tt.length, tt.room)
		c.expect(what, a.sent(2), done{1, provider.WCRemoteInvalid}, done{4, provider.WCFlushed})
		c.expect(what+", receive", b.received(2), done{2, provider.WCLocalLengthError}, done{3, provider.WCFlushed})
		if m := b.memory(b.mr); bytes.ContainsFunc(m[tt.room:4096], func(r rune) bool { return r != 0 }) {
			c.errorf("%s: bytes after the buffer were written", what)
		}
		b.waitFailed(what + ": the responder")
	}
}

// checkReceiveRegionClosed checks a receive request whose region is closed before the message
// comes: nothing is written to it.
func checkReceiveRegionClosed(c *check) {
	a, b := c.connected(shape{})
	fill(a.mr.Bytes(), 1)
	buf := make([]byte, 3000)
	mr := c.registered(b.pd, buf, everything)
	b.postReceive(provider.ReceiveRequest{ID: 2, Segments: []provider.Segment{{Region: mr, Length: 3000}}})
	c.must(mr.Close())
	a.post(a.request(1, provider.SendOpSend, 3000, b))
	c.expect("SEND", a.sent(1), done{1, provider.WCRemoteOperation})
	c.expect("receive", b.received(1), done{2, provider.WCLocalProtection})
	if !bytes.Equal(buf, make([]byte, 3000)) {
		c.errorf("memory of a region that is closed was written")
	}
}

// checkReceiveExact checks buffers that are exactly as long as the message, at the end of a region.
func checkReceiveExact(c *check) {
	a, b := c.connected(shape{})
	fill(a.mr.Bytes(), 1)
	for i, n := range []int{1, 1024, 3001} {
		b.postReceive(b.room(uint64(i), 4096-n, n))
		a.post(a.request(9, provider.SendOpSend, n, b))
		c.expect(fmt.Sprintf("SEND of %d bytes", n), a.sent(1), success(9, 9)...)
		b.received(1)
		if !bytes.Equal(b.memory(b.mr)[4096-n:], a.mr.Bytes()[:n]) {
			c.errorf("SEND of %d bytes: the bytes differ", n)
		}
	}
}
