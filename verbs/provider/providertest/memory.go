package providertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

func memoryRules() []rule {
	return []rule{
		{"registration", 0, checkRegistration},
		{"refused-access", 0, checkRefusedAccess},
		{"keys", 0, checkKeys},
		{"same-memory-twice", provider.CapRC, checkSameMemory},
		{"chosen-address", provider.CapRC | provider.CapMemoryAddress, checkChosenAddress},
		{"bad-address", provider.CapMemoryAddress, checkBadAddress},
		{"watch", provider.CapRC | provider.CapWatch, checkWatch},
		{"watch-ends", provider.CapWatch, checkWatchEnds},
	}
}

// checkRegistration checks what a region reports of itself (ibv_reg_mr).
func checkRegistration(c *check) {
	pd := c.pd(c.pair.A.Device)
	for _, size := range []int{1, 7, 4096, 1 << 20} {
		buf := make([]byte, size)
		mr := c.registered(pd, buf, provider.AccessLocalWrite)
		if mr.Length() != uint64(size) || len(mr.Bytes()) != size || &mr.Bytes()[0] != &buf[0] {
			c.errorf("region of %d bytes: %d bytes, %d of memory", size, mr.Length(), len(mr.Bytes()))
		}
		c.must(mr.Close())
		if mr.Bytes() != nil {
			c.errorf("a region that is closed still has its memory")
		}
		c.must(mr.Close())
	}
	for _, buf := range [][]byte{nil, {}} {
		_, err := pd.RegisterMemory(buf, provider.MemoryOptions{})
		c.wantError("RegisterMemory of no bytes", err, nil)
	}
}

// checkRefusedAccess checks the combinations of access flags (section 11.2.8.2; ibv_reg_mr: remote
// writes and atomics require local writes; flags that a device may ignore are ignored).
func checkRefusedAccess(c *check) {
	pd := c.pd(c.pair.A.Device)
	remote := []provider.Access{
		0, provider.AccessRemoteWrite, provider.AccessRemoteRead,
		provider.AccessRemoteWrite | provider.AccessRemoteRead,
	}
	for _, local := range []provider.Access{0, provider.AccessLocalWrite} {
		for _, r := range remote {
			access := local | r
			mr, err := pd.RegisterMemory(make([]byte, 8), provider.MemoryOptions{Access: access})
			refused := r&provider.AccessRemoteWrite != 0 && local == 0
			if (err != nil) != refused {
				c.errorf("RegisterMemory with access %#x = %v; refused must be %t", uint32(access), err, refused)
			}
			if err == nil {
				c.must(mr.Close())
			}
		}
	}
	for _, access := range []provider.Access{provider.AccessRemoteAtomic, provider.AccessWindowBind} {
		_, err := pd.RegisterMemory(make([]byte, 8), provider.MemoryOptions{Access: access})
		c.wantError(fmt.Sprintf("RegisterMemory with access %#x without local write", uint32(access)), err, nil)
	}
	mr, err := pd.RegisterMemory(make([]byte, 8), provider.MemoryOptions{Access: provider.AccessRelaxedOrdering})
	if err != nil {
		c.errorf("RegisterMemory with relaxed ordering, which may be ignored: %v", err)
	} else {
		c.must(mr.Close())
	}
}

// checkKeys checks that regions have keys of their own, also after others were closed.
func checkKeys(c *check) {
	pd := c.pd(c.pair.A.Device)
	seen := map[uint32]bool{}
	for range 100 {
		mr := c.region(pd, 16, everything)
		if seen[mr.RKey()] {
			c.errorf("two regions have the key %#x", mr.RKey())
		}
		seen[mr.RKey()] = true
	}
}

// checkSameMemory checks that the same memory can be registered twice, with rights of its own each
// time (section 10.6.2).
func checkSameMemory(c *check) {
	a, b := c.connected(shape{})
	buf := make([]byte, 64)
	readable := c.registered(b.pd, buf, provider.AccessLocalWrite|provider.AccessRemoteRead)
	writable := c.registered(b.pd, buf, provider.AccessLocalWrite|provider.AccessRemoteWrite)
	fill(a.mr.Bytes()[:64], 1)
	a.post(provider.SendRequest{
		ID: 1, Op: provider.SendOpWrite, Flags: provider.SendSignaled, Segments: a.part(0, 64),
		RKey: writable.RKey(), RemoteAddr: writable.Addr(),
	}, provider.SendRequest{
		ID: 2, Op: provider.SendOpRead, Flags: provider.SendSignaled, Segments: a.part(64, 64),
		RKey: readable.RKey(), RemoteAddr: readable.Addr(),
	})
	c.expect("WRITE and READ", a.sent(2), success(1, 2)...)
	if got := a.memory(a.mr); string(got[:64]) != string(got[64:128]) {
		c.errorf("READ through the one registration differs from what was written through the other")
	}
}

// samePageOffset returns memory that has the same offset in its page as an address.
func (c *check) samePageOffset(pd provider.ProtectionDomain, addr uint64, size int) []byte {
	page := os.Getpagesize()
	buf := make([]byte, page+size)
	mr := c.registered(pd, buf, provider.AccessLocalWrite) // to learn its address
	start := int((addr - mr.Addr()) % uint64(page))
	return buf[start : start+size]
}

// checkChosenAddress checks that peers use the address that the program has chosen
// (ibv_reg_mr_iova), up to the end of the address space, and 0 for memory that is zero-based. Linux
// demands that the memory has the same offset in its page as the address (drivers/infiniband/core,
// ib_uverbs_reg_mr).
func checkChosenAddress(c *check) {
	for _, options := range []provider.MemoryOptions{
		{Access: everything | provider.AccessZeroBased},
		{Access: everything, Address: 0x10000},
		{Access: everything, Address: 1<<63 - 32},
		{Access: everything, Address: ^uint64(0) - 63},
	} {
		a, b := c.connected(shape{})
		mr, err := b.pd.RegisterMemory(c.samePageOffset(b.pd, options.Address, 64), options)
		if err != nil {
			c.errorf("RegisterMemory at %#x: %v", options.Address, err)
			continue
		}
		c.closeLater("region", mr)
		if mr.Addr() != options.Address {
			c.errorf("Addr = %#x, want %#x", mr.Addr(), options.Address)
		}
		fill(a.mr.Bytes()[:64], 9)
		wr := a.request(1, provider.SendOpWrite, 64, b)
		wr.RKey, wr.RemoteAddr = mr.RKey(), options.Address
		a.post(wr)
		c.expect(fmt.Sprintf("WRITE to %#x", options.Address), a.sent(1), success(1, 1)...)
		if string(b.memory(mr)) != string(a.mr.Bytes()[:64]) {
			c.errorf("WRITE to %#x: the bytes differ", options.Address)
		}
		wr.ID, wr.RemoteAddr, wr.Segments = 2, options.Address+64, a.part(0, 1)
		a.post(wr)
		c.expect("WRITE after the end", a.sent(1), done{2, provider.WCRemoteAccess})
	}
}

// checkBadAddress checks addresses that a region can't have.
func checkBadAddress(c *check) {
	pd := c.pd(c.pair.A.Device)
	for _, options := range []provider.MemoryOptions{
		{Access: everything | provider.AccessZeroBased, Address: 1}, {Access: everything, Address: ^uint64(0) - 62},
	} {
		mr, err := pd.RegisterMemory(make([]byte, 64), options)
		what := fmt.Sprintf("RegisterMemory of 64 bytes at %#x, access %#x", options.Address, options.Access)
		c.wantError(what, err, nil)
		if err == nil {
			_ = mr.Close()
		}
	}
}

func watcher(c *check, mr provider.MemoryRegion) provider.MemoryWatcher {
	w, ok := mr.(provider.MemoryWatcher)
	if !ok {
		c.fatalf("%T is no MemoryWatcher", mr)
	}
	return w
}

// checkWatch checks that WaitByte returns when a peer has written the byte, and what was written
// before it is there.
func checkWatch(c *check) {
	a, b := c.connected(shape{})
	a.mr.Bytes()[0], a.mr.Bytes()[99] = 7, 8
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := c.patience()
		defer cancel()
		ended <- watcher(c, b.mr).WaitByte(ctx, 99, 8)
	}()
	c.quiet()
	a.post(a.request(1, provider.SendOpWrite, 100, b))
	if err := <-ended; err != nil || b.memory(b.mr)[0] != 7 {
		c.errorf("WaitByte = %v, first byte %d", err, b.memory(b.mr)[0])
	}
	a.sent(1)
	ctx, cancel := c.patience()
	defer cancel()
	c.must(watcher(c, b.mr).WaitByte(ctx, 0, 7)) // at once
}

// checkWatchEnds checks that WaitByte ends with its context and with the region, and rejects
// offsets outside.
func checkWatchEnds(c *check) {
	mr := c.region(c.pd(c.pair.A.Device), 8, everything)
	w := watcher(c, mr)
	ctx, cancel := context.WithTimeout(context.Background(), c.options.Quiet)
	defer cancel()
	c.wantError("WaitByte that times out", w.WaitByte(ctx, 0, 1), context.DeadlineExceeded)
	for _, offset := range []int{-1, 8} {
		c.wantError(fmt.Sprintf("WaitByte of byte %d of 8", offset), w.WaitByte(context.Background(), offset, 1), nil)
	}
	ended := make(chan error, 1)
	go func() { ended <- w.WaitByte(context.Background(), 0, 1) }()
	time.Sleep(c.options.Quiet)
	c.must(mr.Close())
	if err := <-ended; !errors.Is(err, provider.ErrClosed) {
		c.errorf("WaitByte of a region that is closed = %v, want ErrClosed", err)
	}
}
