package providertest

import (
	"bytes"
	"encoding/binary"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

func orderRules() []rule {
	return []rule{
		{"fence", provider.CapRC, checkFence},
		{"writes", provider.CapRC, checkWriteOrder},
		{"write-then-send", provider.CapRC, checkWriteThenSend},
		{"write-then-read", provider.CapRC, checkWriteThenRead},
		{"receives", provider.CapRC, checkReceiveOrder},
		{"more-reads-than-allowed", provider.CapRC, checkManyReads},
		{"reads-not-allowed", provider.CapRC, checkReadsNotAllowed},
	}
}

// checkFence checks that a fenced request waits for the READs before it: it sends what they have
// read (section 10.8.3; ibv_post_send, IBV_SEND_FENCE).
func checkFence(c *check) {
	const size = 1 << 17
	for _, op := range []provider.SendOp{provider.SendOpSend, provider.SendOpWrite} {
		a, b := c.connected(shape{size: 2 * size})
		fill(b.mr.Bytes()[:size], 3)
		b.postReceive(b.room(9, size, size))
		read := a.request(1, provider.SendOpRead, size, b)
		after := a.request(2, op, size, b)
		after.Flags |= provider.SendFence
		after.RemoteAddr += size
		a.post(read, after)
		c.expect("READ and fenced request", a.sent(2), success(1, 2)...)
		if op == provider.SendOpSend {
			b.received(1)
		}
		if m := b.memory(b.mr); !bytes.Equal(m[:size], m[size:]) {
			c.errorf("the fenced %v took the memory before the READ had filled it", op)
		}
	}
}

// checkWriteOrder checks that WRITEs to the same place are executed in order: the last one stays
// (section 10.8.3).
func checkWriteOrder(c *check) {
	const n = 64
	a, b := c.connected(shape{})
	for i := range uint64(n) {
		binary.BigEndian.PutUint64(a.mr.Bytes()[8*i:], i)
		wr := a.request(i, provider.SendOpWrite, 8, b)
		wr.Segments = a.part(int(8*i), 8)
		a.post(wr)
	}
	c.expect("writes", a.sent(n), success(0, n-1)...)
	if got := binary.BigEndian.Uint64(b.memory(b.mr)); got != n-1 {
		c.errorf("the memory has WRITE %d, want the last one, %d", got, n-1)
	}
}

// checkWriteThenSend checks that the WRITE before a SEND is complete when the SEND is received
// (section 9.7.6: the responder executes requests in order).
func checkWriteThenSend(c *check) {
	const size = 100_000
	a, b := c.connected(shape{size: size})
	for round := range c.shorter(10, 4) {
		fill(a.mr.Bytes(), round)
		b.postReceive(provider.ReceiveRequest{ID: 1})
		a.post(a.request(2, provider.SendOpWrite, size, b), a.request(3, provider.SendOpSend, 0, b))
		b.received(1) // not the requester's completion
		if m := b.memory(b.mr); !bytes.Equal(m, pattern(size, round)) {
			c.errorf("round %d: the SEND was received before the WRITE: byte %d differs", round,
				firstDifference(m, pattern(size, round)))
		}
		c.expect("requests", a.sent(2), success(2, 3)...)
	}
}

// checkWriteThenRead checks that a READ returns what the WRITE before it has written, without a
// fence (section 10.8.3).
func checkWriteThenRead(c *check) {
	const size = 40_000
	a, b := c.connected(shape{size: 2 * size})
	for round := range 5 {
		fill(a.mr.Bytes()[:size], round)
		read := a.request(2, provider.SendOpRead, size, b)
		read.Segments = a.part(size, size)
		a.post(a.request(1, provider.SendOpWrite, size, b), read)
		c.expect("WRITE and READ", a.sent(2), success(1, 2)...)
		if m := a.memory(a.mr); !bytes.Equal(m[:size], m[size:]) {
			c.errorf("round %d: the READ differs from the WRITE", round)
		}
	}
}

// checkReceiveOrder checks that receive requests are used in their order, by SENDs and WRITEs with
// immediate alike, and each message by one of them (section 10.8.3).
func checkReceiveOrder(c *check) {
	const n = 40
	a, b := c.connected(shape{})
	for i := range uint64(n) {
		b.postReceive(b.room(i, int(64*i), 64))
	}
	for i := range uint64(n) {
		binary.BigEndian.PutUint64(a.mr.Bytes()[8*i:], 1000+i)
		wr := a.request(i, provider.SendOpSend, 8, b)
		wr.Segments = a.part(int(8*i), 8)
		if i%3 == 2 && c.has(provider.CapImmediate) {
			wr.Op = provider.SendOpWriteImmediate
			wr.RemoteAddr += 64 * i
		}
		a.post(wr)
	}
	c.expect("sends", a.sent(n), success(0, n-1)...)
	c.expect("receives", b.received(n), success(0, n-1)...)
	m := b.memory(b.mr)
	for i := range uint64(n) {
		if got := binary.BigEndian.Uint64(m[64*i:]); got != 1000+i {
			c.errorf("buffer %d has message %d", i, got)
		}
	}
}

// checkManyReads checks that more READs can be posted than the peer takes at a time: the requester
// holds the others back (section 9.7.3.1.1).
func checkManyReads(c *check) {
	const n, size = 20, 5000
	for _, reads := range []int{1, 2, 3} {
		a, b := c.ends(shape{size: n * size})
		l := c.link()
		l.readAtomic[0], l.destReads[1] = reads, reads
		c.connect(a, b, l)
		fill(b.mr.Bytes(), reads)
		for i := range uint64(n) {
			wr := a.request(i, provider.SendOpRead, size, b)
			wr.Segments = a.part(int(i)*size, size)
			wr.RemoteAddr += i * size
			a.post(wr)
		}
		c.expect("reads", a.sent(n), success(0, n-1)...)
		if !bytes.Equal(a.memory(a.mr), b.mr.Bytes()) {
			c.errorf("%d outstanding READs: the bytes differ", reads)
		}
	}
}

// checkReadsNotAllowed checks that a responder without resources for READs rejects them as invalid
// (section 9.9.3: too many RDMA READ requests).
func checkReadsNotAllowed(c *check) {
	a, b := c.ends(shape{})
	l := c.link()
	l.destReads[1] = 0
	c.connect(a, b, l)
	a.post(a.request(1, provider.SendOpWrite, 8, b), a.request(2, provider.SendOpRead, 8, b))
	c.expect("READ", a.sent(2), done{1, provider.WCSuccess}, done{2, provider.WCRemoteInvalid})
}
