package providertest

import (
	"bytes"
	"encoding/binary"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

func atomicRules() []rule {
	const needs = provider.CapRC | provider.CapAtomics
	return []rule{
		{"fetch-and-add", needs, checkFetchAdd},
		{"compare-and-swap", needs, checkCompareSwap},
		{"unaligned", needs, checkUnaligned},
		{"wrong-length", needs, checkAtomicLength},
		{"together", needs, checkAtomicTogether},
	}
}

// atomicEnds connects two ends; the peer's region permits atomics.
func (c *check) atomicEnds() (a, b *end, mr provider.MemoryRegion) {
	a, b = c.connected(shape{})
	return a, b, c.region(b.pd, 64, everything|provider.AccessRemoteAtomic)
}

func (e *end) atomic(op provider.SendOp, mr provider.MemoryRegion, at uint64) provider.SendRequest {
	return provider.SendRequest{
		ID: 1, Op: op, Flags: provider.SendSignaled, Segments: e.part(0, 8),
		RKey: mr.RKey(), RemoteAddr: mr.Addr() + at,
	}
}

// checkFetchAdd checks the sum, modulo 2^64, and that the original value is returned, each in the
// byte order of its end (section 9.4.5; ibv_post_send).
func checkFetchAdd(c *check) {
	a, b, mr := c.atomicEnds()
	want := uint64(0)
	for _, add := range []uint64{1, 1 << 40, ^uint64(0), 5} {
		wr := a.atomic(provider.SendOpFetchAdd, mr, 8)
		wr.Operand = add
		a.post(wr)
		wc := a.sent(1)[0]
		c.expect("fetch and add", []provider.WorkCompletion{wc}, success(1, 1)...)
		if wc.Op != provider.WCFetchAdd {
			c.errorf("completion of %v", wc.Op)
		}
		if got := binary.NativeEndian.Uint64(a.memory(a.mr)); got != want {
			c.errorf("fetch and add returns %#x, want %#x", got, want)
		}
		want += add
		if got := binary.NativeEndian.Uint64(b.memory(mr)[8:]); got != want {
			c.errorf("after fetch and add: %#x, want %#x", got, want)
		}
	}
}

// checkCompareSwap checks that the value is exchanged only if it is the expected one.
func checkCompareSwap(c *check) {
	a, b, mr := c.atomicEnds()
	for _, tt := range []struct{ compare, swap, before, after uint64 }{
		{0, 7, 0, 7}, {0, 9, 7, 7}, {7, 1 << 60, 7, 1 << 60},
	} {
		wr := a.atomic(provider.SendOpCompareSwap, mr, 0)
		wr.Compare, wr.Operand = tt.compare, tt.swap
		a.post(wr)
		c.expect("compare and swap", a.sent(1), success(1, 1)...)
		before, after := binary.NativeEndian.Uint64(a.memory(a.mr)), binary.NativeEndian.Uint64(b.memory(mr))
		if before != tt.before || after != tt.after {
			c.errorf("compare and swap of %#x by %#x: returns %#x, is %#x, want %#x and %#x",
				tt.compare, tt.swap, before, after, tt.before, tt.after)
		}
	}
}

// checkUnaligned checks that the address must be a multiple of 8 (section 9.4.5.1, C9-183: invalid
// request). A provider may notice it before.
func checkUnaligned(c *check) {
	a, b, mr := c.atomicEnds()
	wr := a.atomic(provider.SendOpFetchAdd, mr, 4)
	wr.Operand = 1
	if _, err := a.qp.PostSend([]provider.SendRequest{wr}); err == nil {
		c.expect("fetch and add at an address that is no multiple of 8", a.sent(1), done{1, provider.WCRemoteInvalid})
	}
	if m := b.memory(mr); !bytes.Equal(m, make([]byte, len(m))) {
		c.errorf("fetch and add at an address that is no multiple of 8 changed the memory")
	}
}

// checkAtomicLength checks that the result needs eight bytes (ibv_post_send).
func checkAtomicLength(c *check) {
	a, _, mr := c.atomicEnds()
	wr := a.atomic(provider.SendOpFetchAdd, mr, 0)
	wr.Segments = a.part(0, 4)
	if _, err := a.qp.PostSend([]provider.SendRequest{wr}); err == nil {
		if got := a.sent(1)[0].Status; got == provider.WCSuccess {
			c.errorf("fetch and add with room for four bytes succeeds")
		}
	}
}

// checkAtomicTogether checks that the additions of several queue pairs of a device are atomic with
// respect to each other (section 10.6.4).
func checkAtomicTogether(c *check) {
	const pairs, each = 4, 25
	pd := c.pd(c.pair.B.Device)
	mr := c.region(pd, 8, everything|provider.AccessRemoteAtomic)
	var ends []*end
	var last *end
	for range pairs {
		a, b := c.end(c.pair.A, shape{}), c.end(c.pair.B, shape{pd: pd})
		c.connect(a, b, c.link())
		ends, last = append(ends, a), b
	}
	for range each {
		for _, a := range ends {
			wr := a.atomic(provider.SendOpFetchAdd, mr, 0)
			wr.Operand = 1
			a.post(wr)
		}
	}
	for _, a := range ends {
		for _, wc := range a.sent(each) {
			c.expect("fetch and add", []provider.WorkCompletion{wc}, success(1, 1)...)
		}
	}
	if got := binary.NativeEndian.Uint64(last.memory(mr)); got != pairs*each {
		c.errorf("the sum is %d, want %d", got, pairs*each)
	}
}
