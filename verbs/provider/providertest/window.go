package providertest

import (
	"github.com/rdmakit/rdmakit/verbs/provider"
)

func windowRules() []rule {
	return []rule{
		{"type-1", provider.CapRC | provider.CapWindow1, func(c *check) { checkWindow(c, provider.WindowType1) }},
		{"type-2", provider.CapRC | provider.CapWindow2, func(c *check) { checkWindow(c, provider.WindowType2) }},
		{"bound-region-busy", provider.CapRC | provider.CapWindow2, checkBoundRegion},
		{
			"local-invalidate", provider.CapRC | provider.CapWindow2 | provider.CapLocalInvalidate,
			checkLocalInvalidate,
		},
		{
			"send-with-invalidate", provider.CapRC | provider.CapWindow2 | provider.CapSendInvalidate,
			checkSendInvalidate,
		},
	}
}

// window is a window of 64 bytes in the middle of a region.
type window struct {
	provider.MemoryWindow
	mr  provider.MemoryRegion
	key uint32
}

// bindWindow allocates a window of b and binds it to the bytes 64 to 127 of a region.
func (c *check) bindWindow(b *end, t provider.WindowType) *window {
	allocator, ok := b.pd.(provider.WindowAllocator)
	if !ok {
		c.fatalf("%T is no WindowAllocator", b.pd)
	}
	w, err := allocator.AllocateWindow(t)
	c.must(err)
	mr := c.region(b.pd, 256, provider.AccessLocalWrite|provider.AccessWindowBind)
	c.closeLater("window", w)
	if w.Type() != t {
		c.errorf("a window of type %d, want %d", w.Type(), t)
	}
	key := provider.NextKey(w.RKey())
	b.post(provider.SendRequest{
		ID: 50, Op: provider.SendOpBindWindow, Flags: provider.SendSignaled,
		Bind: &provider.WindowBind{
			Window: w, RKey: key, Region: mr, Offset: 64, Length: 64,
			Access: provider.AccessRemoteWrite | provider.AccessRemoteRead,
		},
	})
	wc := b.sent(1)[0]
	c.expect("binding", []provider.WorkCompletion{wc}, success(50, 50)...)
	if wc.Op != provider.WCBindWindow {
		c.errorf("completion of %v, want a binding", wc.Op)
	}
	if t == provider.WindowType1 {
		key = w.RKey()
	}
	return &window{w, mr, key}
}

// writeAt posts a WRITE of length bytes through a window, at an offset in its region.
func (w *window) writeAt(a, b *end, offset uint64, length int) provider.SendRequest {
	wr := a.request(1, provider.SendOpWrite, length, b)
	wr.RKey, wr.RemoteAddr = w.key, w.mr.Addr()+offset
	return wr
}

// checkWindow checks that a window gives access to its bytes and to no others of the region
// (section 10.6.7; ibv_bind_mw).
func checkWindow(c *check, t provider.WindowType) {
	for _, tt := range []struct {
		offset uint64
		length int
		want   provider.WCStatus
	}{
		{64, 64, provider.WCSuccess},
		{64, 1, provider.WCSuccess},
		{127, 1, provider.WCSuccess},
		{63, 1, provider.WCRemoteAccess},
		{128, 1, provider.WCRemoteAccess},
		{100, 64, provider.WCRemoteAccess},
	} {
		a, b := c.connected(shape{})
		w := c.bindWindow(b, t)
		fill(a.mr.Bytes()[:64], 1)
		a.post(w.writeAt(a, b, tt.offset, tt.length))
		c.expect("WRITE through a window", a.sent(1), done{1, tt.want})
		if wrote := b.memory(w.mr)[tt.offset] != 0; wrote != (tt.want == provider.WCSuccess) {
			c.errorf("offset %d: written %t", tt.offset, wrote)
		}
		c.must(w.Close())
	}
}

// checkBoundRegion checks that a region can't be closed while a window is bound to it
// (ibv_dereg_mr).
func checkBoundRegion(c *check) {
	_, b := c.connected(shape{})
	w := c.bindWindow(b, provider.WindowType2)
	c.wantError("Close of a region with a window", w.mr.Close(), provider.ErrBusy)
	c.must(w.Close())
	c.must(w.mr.Close())
}

// checkLocalInvalidate checks that a window gives no access once its key is invalidated (section
// 10.6.7.2.6).
func checkLocalInvalidate(c *check) {
	a, b := c.connected(shape{})
	w := c.bindWindow(b, provider.WindowType2)
	a.post(w.writeAt(a, b, 64, 8))
	c.expect("WRITE through a window", a.sent(1), success(1, 1)...)
	b.post(provider.SendRequest{
		ID: 2, Op: provider.SendOpLocalInvalidate, Flags: provider.SendSignaled, Invalidate: w.key,
	})
	wc := b.sent(1)[0]
	c.expect("local invalidate", []provider.WorkCompletion{wc}, success(2, 2)...)
	if wc.Op != provider.WCLocalInvalidate {
		c.errorf("completion of %v, want a local invalidate", wc.Op)
	}
	a.post(w.writeAt(a, b, 64, 8))
	c.expect("WRITE through a window that was invalidated", a.sent(1), done{1, provider.WCRemoteAccess})
}

// checkSendInvalidate checks that the peer's SEND invalidates the key, and that the completion of
// the receive request reports it (section 9.4.1.1).
func checkSendInvalidate(c *check) {
	a, b := c.connected(shape{})
	w := c.bindWindow(b, provider.WindowType2)
	b.postReceive(b.room(3, 0, 8))
	wr := a.request(2, provider.SendOpSendInvalidate, 8, b)
	wr.Invalidate = w.key
	a.post(wr)
	c.expect("SEND with invalidate", a.sent(1), success(2, 2)...)
	wc := b.received(1)[0]
	if wc.Flags&provider.WCInvalidated == 0 || wc.InvalidatedKey != w.key || wc.Status != provider.WCSuccess {
		c.errorf("receive completion %+v, want invalidated key %#x", wc, w.key)
	}
	a.post(w.writeAt(a, b, 64, 8))
	c.expect("WRITE through a window that was invalidated", a.sent(1), done{1, provider.WCRemoteAccess})
}
