package providertest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// operation is an operation of reliable connections, as rules iterate over them.
type operation struct {
	op       provider.SendOp
	name     string
	needs    provider.Capabilities
	wcOp     provider.WCOp // of the requester's completion
	receives bool          // it consumes a receive request
}

var operations = []operation{
	{provider.SendOpSend, "send", provider.CapRC, provider.WCSend, true},
	{provider.SendOpSendImmediate, "send-imm", provider.CapRC | provider.CapImmediate, provider.WCSend, true},
	{provider.SendOpWrite, "write", provider.CapRC, provider.WCWrite, false},
	{provider.SendOpWriteImmediate, "write-imm", provider.CapRC | provider.CapImmediate, provider.WCWrite, true},
	{provider.SendOpRead, "read", provider.CapRC, provider.WCRead, false},
}

// isSend reports whether the operation writes to the memory of a receive request.
func (o *operation) isSend() bool {
	return o.op == provider.SendOpSend || o.op == provider.SendOpSendImmediate
}

func transferRules() []rule {
	var list []rule
	for _, o := range operations {
		list = append(
			list,
			rule{o.name, o.needs, func(c *check) { checkSizes(c, o) }},
			rule{o.name + "-segments", o.needs, func(c *check) { checkSegments(c, o) }},
			rule{o.name + "-8-mib", o.needs, func(c *check) { checkLarge(c, o) }},
			rule{o.name + "-psn-wrap", o.needs, func(c *check) { checkWrap(c, o) }},
		)
	}
	return append(
		list,
		rule{"both-directions", provider.CapRC, checkBothDirections},
		rule{"immediate", provider.CapRC | provider.CapImmediate, checkImmediate},
		rule{"no-segments", provider.CapRC, checkNoSegments},
		rule{"one-cq", provider.CapRC, checkOneCQ},
	)
}

// message is a message of one operation from a to b, or of a READ in the other direction: where its
// bytes come from and where they go.
type message struct {
	c        *check
	o        operation
	a, b     *end
	from, to []provider.Segment
	length   int
}

// run posts the message and checks both completions and every byte of the destination's memory.
func (m *message) run(id uint64) {
	c, wr := m.c, m.a.request(id, m.o.op, 0, m.b)
	wr.Segments, wr.Immediate = m.from, [4]byte{0xde, 0xad, 0xbe, byte(id)}
	target, owner := m.b.mr, m.b
	if m.o.op == provider.SendOpRead {
		wr.Segments, target, owner = m.to, m.a.mr, m.a
		wr.RemoteAddr += uint64(m.from[0].Offset)
	} else if !m.o.isSend() {
		wr.RemoteAddr += uint64(m.to[0].Offset)
	}
	want := bytes.Clone(owner.memory(target))
	m.apply(want)
	if m.o.isSend() {
		m.b.postReceive(provider.ReceiveRequest{ID: 100 + id, Segments: m.to})
	} else if m.o.receives {
		m.b.postReceive(provider.ReceiveRequest{ID: 100 + id})
	}
	m.a.post(wr)
	what := fmt.Sprintf("%v of %d bytes", m.o.op, m.length)
	wc := m.a.sent(1)[0]
	if wc.ID != id || wc.Status != provider.WCSuccess || wc.Op != m.o.wcOp || wc.QPN != m.a.qp.QPN() {
		c.errorf("%s: completion %+v", what, wc)
	}
	if m.o.op == provider.SendOpRead && wc.Bytes != uint32(m.length) {
		c.errorf("%s: %d bytes", what, wc.Bytes)
	}
	if m.o.receives {
		m.checkReceive(what, id, wr.Immediate)
	}
	if got := owner.memory(target); !bytes.Equal(got, want) {
		c.errorf("%s: the memory differs at byte %d", what, firstDifference(got, want))
	}
}

// checkReceive checks the completion of the receive request.
func (m *message) checkReceive(what string, id uint64, immediate [4]byte) {
	wc := m.b.received(1)[0]
	op, flags := provider.WCReceive, provider.WCFlags(0)
	if m.o.op == provider.SendOpWriteImmediate {
		op = provider.WCReceiveWrite
	}
	if m.o.needs.Has(provider.CapImmediate) {
		flags = provider.WCImmediate
	}
	if wc.ID != 100+id || wc.Status != provider.WCSuccess || wc.Op != op || wc.Bytes != uint32(m.length) ||
		wc.QPN != m.b.qp.QPN() || wc.Flags&provider.WCImmediate != flags {
		m.c.errorf("%s: receive completion %+v", what, wc)
	}
	if flags != 0 && wc.Immediate != immediate {
		m.c.errorf("%s: immediate data %x, want %x", what, wc.Immediate, immediate)
	}
}

// apply does to a copy of the destination's memory what the message is to do.
func (m *message) apply(memory []byte) {
	var data []byte
	for _, s := range m.from {
		data = append(data, s.Region.Bytes()[s.Offset:s.Offset+s.Length]...)
	}
	data = data[:m.length]
	for _, s := range m.to {
		n := copy(memory[s.Offset:s.Offset+s.Length], data)
		data = data[n:]
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// message prepares messages of an operation between two ends, whose memory it fills.
func (c *check) message(o operation, a, b *end) *message {
	fill(a.mr.Bytes(), 1)
	fill(b.mr.Bytes(), 2)
	return &message{c: c, o: o, a: a, b: b}
}

// span sets where the bytes come from and go to, one segment each.
func (m *message) span(from, to, length int) {
	source, target := m.a, m.b
	if m.o.op == provider.SendOpRead {
		source, target = m.b, m.a
	}
	m.from, m.to, m.length = source.part(from, length), target.part(to, length), length
}

// checkSizes checks messages around the limits of packets, at odd offsets; the buffer of a SEND is
// longer than the message, and what is left of it stays as it is.
func checkSizes(c *check, o operation) {
	a, b := c.connected(shape{size: 1 << 16})
	m := c.message(o, a, b)
	mtu := int(c.link().mtu)
	sizes := []int{0, 1, 3, 4, mtu - 1, mtu, mtu + 1, 2 * mtu, 5*mtu + 3, 40 * mtu}
	for i, size := range sizes {
		m.span(3+i, 1001-i, size)
		if o.isSend() {
			m.to[0].Length += 100
		}
		m.run(uint64(i))
	}
}

// checkSegments checks that segments are gathered and scattered in their order (section 11.4.1.1;
// ibv_post_send), one of them empty.
func checkSegments(c *check, o operation) {
	limitsA, limitsB := c.limits(c.pair.A).device, c.limits(c.pair.B).device
	most := int(min(limitsA.MaxSGE, limitsB.MaxSGE, 5))
	if o.op == provider.SendOpRead && c.options.ByConnector { // a READ has its own limit on iWARP
		most = min(most, int(limitsA.MaxSGERead))
	}
	a, b := c.connected(shape{
		size: 1 << 15, capacity: provider.QPCapacity{MaxSendSegments: most, MaxRecvSegments: most},
	})
	m := c.message(o, a, b)
	lengths := []int{1, 2000, 0, 1024, 77}[:most]
	m.length = 0
	source, target := a, b
	if o.op == provider.SendOpRead {
		source, target = b, a
	}
	for i, n := range lengths {
		m.length += n
		m.from = append(m.from, source.part(20000-i*4000, n)...) // backwards
		m.to = append(m.to, target.part(24000-i*4000, n+i)...)
	}
	switch {
	case o.op == provider.SendOpRead: // the source is one range of the peer's memory
		m.from, m.to = source.part(50, m.length), exact(m.to, lengths)
	case !o.isSend(): // and so is the destination of a WRITE
		m.to = target.part(51, m.length)
	}
	m.run(1)
	_, err := a.qp.PostSend([]provider.SendRequest{{
		Op: o.op, Segments: make([]provider.Segment, a.qp.Capacity().MaxSendSegments+1),
	}})
	c.wantError("PostSend with more segments than MaxSendSegments", err, nil)
	_, err = b.qp.PostReceive([]provider.ReceiveRequest{{
		Segments: make([]provider.Segment, b.qp.Capacity().MaxRecvSegments+1),
	}})
	c.wantError("PostReceive with more segments than MaxRecvSegments", err, nil)
}

// exact sets the lengths of segments.
func exact(segments []provider.Segment, lengths []int) []provider.Segment {
	for i := range segments {
		segments[i].Length = lengths[i]
	}
	return segments
}

// checkLarge checks a message of 8 MiB, which is longer than any window and READ response in
// pieces, with the ports' path MTU.
func checkLarge(c *check, o operation) {
	size := c.shorter(8<<20, 1<<20)
	a, b := c.ends(shape{size: size + 16})
	l := c.link()
	l.mtu = min(c.limits(a.at).port.ActiveMTU, c.limits(b.at).port.ActiveMTU)
	c.connect(a, b, l)
	m := c.message(o, a, b)
	m.span(1, 7, size)
	m.run(1)
}

// checkWrap checks messages whose PSNs wrap (section 9.7.2: they count modulo 2^24), at each place
// within a message.
func checkWrap(c *check, o operation) {
	for before := range 4 {
		a, b := c.ends(shape{size: 8192})
		l := c.link()
		first := ib.PSN(0).Add(-before)
		l.psn = [2]ib.PSN{first, first.Add(-1)}
		c.connect(a, b, l)
		m := c.message(o, a, b)
		for id := range uint64(3) {
			m.span(0, 3, 3000)
			m.run(id)
		}
	}
}

// checkBothDirections checks that the two ends may send at the same time.
func checkBothDirections(c *check) {
	const n, size = 16, 1 << 16
	a, b := c.connected(shape{size: 2 * size})
	fill(a.mr.Bytes()[:size], 1)
	fill(b.mr.Bytes()[:size], 2)
	for id := range uint64(n) {
		for _, e := range [][2]*end{{a, b}, {b, a}} {
			wr := e[0].request(id, provider.SendOpWrite, size, e[1])
			wr.RemoteAddr += size
			e[0].post(wr)
		}
	}
	c.expect("writes of the one end", a.sent(n), success(0, n-1)...)
	c.expect("writes of the other end", b.sent(n), success(0, n-1)...)
	am, bm := a.memory(a.mr), b.memory(b.mr)
	if !bytes.Equal(am[:size], bm[size:]) || !bytes.Equal(bm[:size], am[size:]) {
		c.errorf("the bytes differ")
	}
}

// checkImmediate checks that WRITE with immediate doesn't touch the memory of the receive request
// that it consumes (section 9.4.3), and that immediate data isn't carried over to the next message.
func checkImmediate(c *check) {
	a, b := c.connected(shape{})
	b.postReceive(b.room(1, 2000, 100), b.room(2, 3000, 100))
	fill(a.mr.Bytes()[:100], 5)
	write := a.request(11, provider.SendOpWriteImmediate, 100, b)
	write.Immediate = [4]byte{1, 2, 3, 4}
	send := a.request(12, provider.SendOpSend, 100, b)
	send.Immediate = [4]byte{5, 6, 7, 8} // not of this operation
	a.post(write, send)
	c.expect("sends", a.sent(2), success(11, 12)...)
	wcs := b.received(2)
	c.expect("receives", wcs, success(1, 2)...)
	if wcs[0].Immediate != write.Immediate || wcs[1].Flags&provider.WCImmediate != 0 {
		c.errorf("immediate data %x, and flags %#x of a SEND without", wcs[0].Immediate, wcs[1].Flags)
	}
	m := b.memory(b.mr)
	if strings.Trim(string(m[2000:2100]), "\x00") != "" {
		c.errorf("WRITE with immediate has touched the buffer of the receive request")
	}
	if !bytes.Equal(m[:100], a.mr.Bytes()[:100]) || !bytes.Equal(m[3000:3100], a.mr.Bytes()[:100]) {
		c.errorf("the bytes differ")
	}
}

// checkNoSegments checks messages of no bytes without any segment.
func checkNoSegments(c *check) {
	a, b := c.connected(shape{})
	b.postReceive(provider.ReceiveRequest{ID: 1}, b.room(2, 0, 8))
	a.post(
		provider.SendRequest{ID: 3, Flags: provider.SendSignaled},
		provider.SendRequest{ID: 4, Flags: provider.SendSignaled},
		provider.SendRequest{ID: 5, Op: provider.SendOpWrite, Flags: provider.SendSignaled},
		provider.SendRequest{ID: 6, Op: provider.SendOpRead, Flags: provider.SendSignaled},
	)
	c.expect("messages of no bytes", a.sent(4), success(3, 6)...)
	wcs := b.received(2)
	c.expect("receives", wcs, success(1, 2)...)
	if wcs[0].Bytes != 0 || wcs[1].Bytes != 0 {
		c.errorf("%d and %d bytes received, want none", wcs[0].Bytes, wcs[1].Bytes)
	}
}

// checkOneCQ checks a queue pair whose two completion queues are the same one.
func checkOneCQ(c *check) {
	a, b := c.ends(shape{})
	cq := c.cq(a.at.Device, provider.CQConfig{})
	a.qp = c.qp(a.pd, provider.QPConfig{SendCQ: cq, RecvCQ: cq})
	a.sends, a.receives = cq, cq
	c.connect(a, b, c.link())
	a.postReceive(a.room(1, 0, 8))
	b.postReceive(b.room(2, 0, 8))
	b.post(b.request(3, provider.SendOpSend, 8, a))
	c.expect("send to the queue", b.sent(1), success(3, 3)...)
	c.expect("receive in the common queue", a.received(1), success(1, 1)...)
	a.post(a.request(4, provider.SendOpSend, 8, b))
	c.expect("send in the common queue", a.sent(1), success(4, 4)...)
}
