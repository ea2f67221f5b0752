package roce

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// region is a memory region. Unless the program chooses it, its virtual address is random: peers
// never learn the address of the memory in this process.
type region struct {
	e      *Engine
	pd     *domain
	key    uint32
	addr   uint64
	access provider.Access
	length uint64

	watched atomic.Bool // a goroutine waits in WaitByte
	wrote   wakeup      // a peer has written while watched

	mu  sync.RWMutex // held for reading while bytes are copied, so that Close waits for the copy
	buf []byte       // nil once closed
}

// WaitByte implements provider.MemoryWatcher. One goroutine at a time may wait.
func (r *region) WaitByte(ctx context.Context, offset int, want byte) error {
	r.watched.Store(true)
	defer r.watched.Store(false)
	w := byteWaiter{r: r, offset: offset, want: want}
	done, err := w.ready(), error(nil)
	if !done {
		done, err = r.e.spin(ctx, "a byte of memory", false, &w)
	}
	for !done && err == nil {
		select {
		case <-r.wrote:
			done = w.ready()
		case <-ctx.Done():
			err = waitError(ctx, "a byte of memory")
		}
	}
	if w.err != nil {
		return fmt.Errorf("wait for a byte of memory: %w", w.err)
	}
	return err
}

// byteWaiter waits until a byte of a region has the value want.
type byteWaiter struct {
	r      *region
	offset int
	want   byte
	err    error
}

// ready reports whether the byte has the value want, or whether waiting has failed.
func (w *byteWaiter) ready() (found bool) {
	found, w.err = w.r.hasByte(w.offset, w.want)
	return found || w.err != nil
}

// hasByte reports whether the byte at offset is want. It takes the exclusive lock, so that no copy
// by a peer is in progress.
func (r *region) hasByte(offset int, want byte) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.buf == nil:
		return false, provider.ErrClosed
	case offset < 0 || offset >= len(r.buf):
		return false, fmt.Errorf("byte %d is outside a region of %d bytes", offset, len(r.buf))
	}
	return r.buf[offset] == want, nil
}

// changed wakes the goroutine in WaitByte, if any.
func (r *region) changed() {
	if r.watched.Load() {
		r.wrote.signal()
	}
}

// LKey implements provider.MemoryRegion.
func (r *region) LKey() uint32 { return r.key }

// RKey implements provider.MemoryRegion.
func (r *region) RKey() uint32 { return r.key }

// Addr implements provider.MemoryRegion.
func (r *region) Addr() uint64 { return r.addr }

// Length implements provider.MemoryRegion.
func (r *region) Length() uint64 { return r.length }

// Bytes implements provider.MemoryRegion.
func (r *region) Bytes() []byte {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.buf
}

// Close deregisters the memory. When it returns, nothing reads or writes the memory any more.
func (r *region) Close() error {
	r.e.mu.Lock()
	if r.e.regions[r.key] == r {
		delete(r.e.regions, r.key)
		r.pd.users--
	}
	r.e.mu.Unlock()
	r.mu.Lock()
	r.buf = nil
	r.mu.Unlock()
	r.changed()
	return nil
}

// offset returns the offset of a virtual address, or false if any of the length bytes is outside
// the region.
func (r *region) offset(addr uint64, length int) (int, bool) {
	if addr < r.addr || length < 0 {
		return 0, false
	}
	off := addr - r.addr
	size := uint64(len(r.buf))
	if off > size || uint64(length) > size-off {
		return 0, false
	}
	return int(off), true
}

// copyIn writes data to a virtual address. It reports false if the region is closed or too short.
func (r *region) copyIn(addr uint64, data []byte) bool {
	r.mu.RLock()
	off, ok := r.offset(addr, len(data))
	if ok = ok && r.buf != nil; ok {
		copy(r.buf[off:], data)
	}
	r.mu.RUnlock()
	r.changed()
	return ok
}

// appendTo appends length bytes at a virtual address to dst. It reports false if the region is
// closed or too short.
func (r *region) appendTo(dst []byte, addr uint64, length int) ([]byte, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	off, ok := r.offset(addr, length)
	if !ok || r.buf == nil {
		return dst, false
	}
	return append(dst, r.buf[off:off+length]...), true
}

// lookup returns the region with the given key if it belongs to pd, contains the range and
// permits the access need; otherwise nil.
func (e *Engine) lookup(pd *domain, key uint32, addr uint64, length int, need provider.Access) *region {
	e.mu.RLock()
	r := e.regions[key]
	e.mu.RUnlock()
	if r == nil || r.pd != pd || r.access&need != need {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if _, ok := r.offset(addr, length); !ok || r.buf == nil {
		return nil
	}
	return r
}

// refused returns why a request of the peer for memory is refused: what lookup doesn't say.
func (qp *queuePair) refused(op string, h ib.RETH, need provider.Access) error {
	if qp.kind != provider.QPTypeRC { // it doesn't fail: no event says why
		return nil
	}
	qp.e.mu.RLock()
	r := qp.e.regions[h.RKey]
	qp.e.mu.RUnlock()
	var why string
	switch {
	case qp.attr.Access&need == 0:
		why = "the queue pair doesn't permit it to its peer"
	case r == nil:
		why = "no region has this key"
	case r.pd != qp.pd:
		why = "the region belongs to another protection domain"
	case r.access&need == 0:
		why = "the region doesn't permit it to peers"
	default:
		why = fmt.Sprintf("the region has %d bytes at %#x", r.length, r.addr)
	}
	return fmt.Errorf("%s of %d bytes at %#x, key %#x: %s", op, h.DMALength, h.VirtualAddress, h.RKey, why)
}

// domain is a protection domain.
type domain struct {
	e      *Engine
	users  int // regions, queue pairs, shared receive queues and address handles; guarded by e.mu
	closed bool
}

// supportedAccess are the access flags that mean something to an engine.
const supportedAccess = provider.AccessLocalWrite | provider.AccessRemoteWrite | provider.AccessRemoteRead |
	provider.AccessRemoteAtomic | provider.AccessZeroBased

func checkMemory(buf []byte, options provider.MemoryOptions) error {
	access := options.Access
	switch {
	case len(buf) == 0:
		return errors.New("empty buffer")
	case access.NeedsLocalWrite():
		return errors.New("remote write access requires local write access")
	case access.Required()&^supportedAccess != 0:
		flags := uint32(access.Required() &^ supportedAccess)
		return fmt.Errorf("access flags %#x: %w", flags, provider.ErrNotSupported)
	case access&provider.AccessZeroBased != 0 && options.Address != 0:
		return errors.New("an address and zero based access exclude each other")
	case options.Address+uint64(len(buf)-1) < options.Address:
		return fmt.Errorf("%d bytes at address %#x exceed the address space", len(buf), options.Address)
	}
	return nil
}

// RegisterMemory implements provider.ProtectionDomain.
func (d *domain) RegisterMemory(buf []byte, options provider.MemoryOptions) (provider.MemoryRegion, error) {
	if err := checkMemory(buf, options); err != nil {
		return nil, fmt.Errorf("register memory: %w", err)
	}
	r := &region{
		e: d.e, pd: d, access: options.Access, length: uint64(len(buf)), buf: buf, wrote: newWakeup(),
	}
	d.e.mu.Lock()
	defer d.e.mu.Unlock()
	if d.closed || d.e.closed {
		return nil, fmt.Errorf("register memory: protection domain: %w", provider.ErrClosed)
	}
	if len(d.e.regions) >= maxRegions {
		return nil, fmt.Errorf("register memory: the device already has %d regions", maxRegions)
	}
	for {
		key, err := d.e.random32()
		if err != nil {
			return nil, fmt.Errorf("register memory: %w", err)
		}
		if _, taken := d.e.regions[key]; key != 0 && !taken {
			r.key = key
			break
		}
	}
	switch {
	case options.Access&provider.AccessZeroBased != 0: // r.addr is 0
	case options.Address != 0:
		r.addr = options.Address
	default:
		page, err := d.e.random32()
		if err != nil {
			return nil, fmt.Errorf("register memory: %w", err)
		}
		r.addr = 1<<46 | uint64(page)<<12
	}
	d.e.regions[r.key] = r
	d.users++
	return r, nil
}

// Close implements provider.ProtectionDomain.
func (d *domain) Close() error {
	d.e.mu.Lock()
	defer d.e.mu.Unlock()
	if d.closed {
		return nil
	}
	if d.users > 0 {
		return fmt.Errorf("close protection domain: %d objects: %w", d.users, provider.ErrBusy)
	}
	d.closed = true
	d.e.domains--
	return nil
}

// random32 returns an unpredictable number.
func (e *Engine) random32() (uint32, error) {
	var b [4]byte
	source := e.rand
	if source == nil {
		source = rand.Reader
	}
	if _, err := io.ReadFull(source, b[:]); err != nil {
		return 0, fmt.Errorf("read random numbers: %w", err)
	}
	return binary.BigEndian.Uint32(b[:]), nil
}

// Limits of an engine.
const (
	maxRegions    = 1 << 16
	maxQueuePairs = 1 << 14
	maxAddresses  = math.MaxInt32 // address handles: nothing but memory limits them
	maxDepth      = 1 << 14
	maxSegments   = 32
	maxInline     = 1024
	maxReads      = 128
	maxMessage    = 1 << 31
	defaultDepth  = 128
	firstQPN      = ib.QPN(16) // lower numbers are reserved for special queue pairs
)
