package providertest

import (
	"bytes"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

func inlineRules() []rule {
	const needs = provider.CapRC | provider.CapInline
	return []rule{
		{"buffer-is-free", needs, checkInlineBuffer},
		{"region-is-free", needs, checkInlineRegion},
		{"data", needs, checkInlineData},
		{"limit", needs, checkInlineLimit},
		{"refused", needs, checkInlineRefused},
		{"without-capacity", needs, checkInlineWithoutCapacity},
	}
}

// inlineShape is the shape of an end whose requests may be inline.
func inlineShape() shape {
	return shape{capacity: provider.QPCapacity{MaxInline: 64, MaxSendSegments: 2}}
}

// checkInlineBuffer checks that the program may change the buffer once an inline request is posted
// (ibv_post_send, IBV_SEND_INLINE), although it is sent only later.
func checkInlineBuffer(c *check) {
	a, b := c.connected(inlineShape())
	want := pattern(64, 3)
	copy(a.mr.Bytes(), want)
	send := a.request(1, provider.SendOpSend, 0, b) // waits for a receive request
	send.Segments = append(a.part(0, 30), a.part(30, 34)...)
	write := a.request(2, provider.SendOpWrite, 64, b)
	write.RemoteAddr += 1000
	send.Flags |= provider.SendInline
	write.Flags |= provider.SendInline
	a.post(send, write)
	clear(a.mr.Bytes())
	c.quiet()
	b.postReceive(b.room(9, 0, 64))
	c.expect("inline requests", a.sent(2), success(1, 2)...)
	b.received(1)
	if m := b.memory(b.mr); !bytes.Equal(m[:64], want) || !bytes.Equal(m[1000:1064], want) {
		c.errorf("what was posted is not what arrived")
	}
}

// checkInlineRegion checks that the region of an inline request may be closed at once.
func checkInlineRegion(c *check) {
	a, b := c.connected(inlineShape())
	gone := c.registered(a.pd, pattern(32, 1), 0)
	wr := a.request(1, provider.SendOpSend, 0, b)
	wr.Flags |= provider.SendInline
	wr.Segments = []provider.Segment{{Region: gone, Length: 32}}
	a.post(wr)
	c.must(gone.Close())
	b.postReceive(b.room(9, 0, 64))
	c.expect("inline SEND of a region that was closed", a.sent(1), success(1, 1)...)
	b.received(1)
	if !bytes.Equal(b.memory(b.mr)[:32], pattern(32, 1)) {
		c.errorf("the bytes differ")
	}
}

// checkInlineData checks requests whose message is Data, of memory that isn't registered.
func checkInlineData(c *check) {
	a, b := c.connected(inlineShape())
	for id, o := range operations {
		if o.op == provider.SendOpRead || !c.has(o.needs) {
			continue
		}
		for _, size := range []int{0, 1, 64} {
			data := pattern(size, id)
			if o.receives {
				b.postReceive(b.room(5, 0, 64))
			}
			clear(b.memory(b.mr)[:64])
			a.post(provider.SendRequest{
				ID: uint64(id), Op: o.op, Flags: provider.SendSignaled, Data: data,
				RKey: b.mr.RKey(), RemoteAddr: b.mr.Addr(),
			})
			clear(data)
			c.expect(fmt.Sprintf("%v of %d bytes of Data", o.op, size), a.sent(1), success(uint64(id), uint64(id))...)
			if o.receives && int(b.received(1)[0].Bytes) != size {
				c.errorf("%v of %d bytes of Data: another number received", o.op, size)
			}
			if !bytes.Equal(b.memory(b.mr)[:size], pattern(size, id)) {
				c.errorf("%v of %d bytes of Data: the bytes differ", o.op, size)
			}
		}
	}
}

// checkInlineLimit checks that exactly MaxInline bytes are taken.
func checkInlineLimit(c *check) {
	a, b := c.connected(inlineShape())
	most := a.qp.Capacity().MaxInline
	for _, size := range []int{most, most + 1} {
		wr := a.request(1, provider.SendOpWrite, size, b)
		wr.Flags |= provider.SendInline
		for _, form := range []provider.SendRequest{
			wr,
			{
				ID: 1, Op: provider.SendOpWrite, Flags: provider.SendSignaled, Data: make([]byte, size),
				RKey: wr.RKey, RemoteAddr: wr.RemoteAddr,
			},
		} {
			n, err := a.qp.PostSend([]provider.SendRequest{form})
			if (err == nil) != (size == most) || (n == 1) != (size == most) {
				c.errorf("PostSend of %d bytes, MaxInline is %d, = %d, %v", size, most, n, err)
			}
			if err == nil {
				c.expect("as many as MaxInline", a.sent(1), success(1, 1)...)
			}
		}
	}
}

// checkInlineRefused checks that inline READs, and Data together with segments, are errors
// (ibv_post_send: inline is for SEND and WRITE).
func checkInlineRefused(c *check) {
	a, b := c.connected(inlineShape())
	read := a.request(1, provider.SendOpRead, 8, b)
	read.Flags |= provider.SendInline
	readData := read
	readData.Segments, readData.Data = nil, make([]byte, 8)
	both := a.request(2, provider.SendOpWrite, 8, b)
	both.Data = make([]byte, 8)
	for what, wr := range map[string]provider.SendRequest{
		"an inline READ": read, "a READ with Data": readData, "Data and segments": both,
	} {
		_, err := a.qp.PostSend([]provider.SendRequest{wr})
		c.wantError("PostSend of "+what, err, nil)
	}
	a.post(a.request(3, provider.SendOpWrite, 8, b))
	c.expect("the queue pair afterwards", a.sent(1), success(3, 3)...)
}

// checkInlineWithoutCapacity checks queue pairs that were created for no inline bytes: they take at
// most what was granted.
func checkInlineWithoutCapacity(c *check) {
	a, b := c.connected(shape{})
	size := a.qp.Capacity().MaxInline + 1
	wr := a.request(1, provider.SendOpWrite, size, b)
	wr.Flags |= provider.SendInline
	_, err := a.qp.PostSend([]provider.SendRequest{wr})
	c.wantError(fmt.Sprintf("PostSend of %d bytes inline", size), err, nil)
}
