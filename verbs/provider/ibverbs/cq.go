package ibverbs

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

const (
	defaultDepth = 1024
	maxPoll      = 64 // completions of one call of the driver
	// A hybrid wait polls for hybridSpin and then sleeps. The clock is read every checkEvery polls.
	hybridSpin = 50 * time.Microsecond
	checkEvery = 16
)

// completionQueue implements [provider.CompletionQueue].
type completionQueue struct {
	object
	d       *openDevice
	mode    provider.WaitMode
	channel *channel // the program's or the queue's own one; nil for WaitBusy
	own     bool     // the channel is the queue's own
	id      uint64   // of the program
	depth   int
	overrun atomic.Bool // an event has reported it

	mu    sync.Mutex // held while C uses the queue
	arena *arena
	wcs   []cWC
}

// CreateCQ implements [provider.Device].
func (d *openDevice) CreateCQ(cfg provider.CQConfig) (provider.CompletionQueue, error) {
	q, err := d.newCQ(cfg)
	if err != nil {
		return nil, err
	}
	return q, nil
}

const opCreateCQ = "create completion queue"

func (d *openDevice) newCQ(cfg provider.CQConfig) (*completionQueue, error) {
	if err := d.checkCQ(cfg); err != nil {
		return nil, fmt.Errorf("%s on %s: %w", opCreateCQ, d.name, err)
	}
	q := &completionQueue{d: d, mode: cfg.Wait, id: cfg.ID, object: object{what: "completion queue"}}
	switch ch, isOurs := cfg.Channel.(*channel); {
	case cfg.Channel != nil && (!isOurs || ch.d != d):
		return nil, fmt.Errorf("%s on %s: completion channel: %w", opCreateCQ, d.name, errOther)
	case cfg.Channel != nil:
		q.channel = ch
	case cfg.Wait != provider.WaitBusy:
		own, err := d.newChannel()
		if err != nil {
			return nil, err
		}
		q.channel, q.own = own, true
	}
	byDefault := min(defaultDepth, max(1, int(d.attr.MaxCQE)))
	if err := q.create(cmp.Or(cfg.Depth, byDefault), cfg.Vector); err != nil {
		q.arena.free()
		q.closeOwnChannel()
		return nil, err
	}
	return q, nil
}

func (d *openDevice) checkCQ(cfg provider.CQConfig) error {
	switch vectors := int(d.attr.CompletionVectors); {
	case cfg.Timestamps:
		return fmt.Errorf("timestamps: %w", provider.ErrNotSupported)
	case cfg.Depth < 0 || cfg.Depth > int(d.attr.MaxCQE):
		return fmt.Errorf("depth %d is not in 0 to %d", cfg.Depth, d.attr.MaxCQE)
	case cfg.Vector < 0 || cfg.Vector >= max(1, vectors):
		return fmt.Errorf("completion vector %d: the device has %d", cfg.Vector, vectors)
	}
	return nil
}

// create makes the C object and its memory.
func (q *completionQueue) create(depth, vector int) (err error) {
	n := min(depth, maxPoll)
	if q.arena, err = newArena(room[cWC](n)); err != nil {
		return fmt.Errorf("%s on %s: %w", opCreateCQ, q.d.name, err)
	}
	q.wcs = carve[cWC](q.arena, n)
	parents, channelAddr := q.parents(), uintptr(0)
	if q.channel != nil {
		channelAddr = q.channel.addr
	}
	err = q.d.create(opCreateCQ, &q.object, q, 0, parents, func() (uintptr, int) {
		addr, errno := q.d.calls.createCQ.CallErrno(q.d.c.addr, uintptr(depth), 0, channelAddr, uintptr(vector))
		return addr, int(errno)
	})
	if err != nil {
		return err
	}
	q.depth = int(peek[cCQ](q.addr).CQE)
	return nil
}

// parents are the objects that the queue uses.
func (q *completionQueue) parents() []*object {
	if q.channel == nil {
		return []*object{&q.d.root}
	}
	return []*object{&q.d.root, &q.channel.object}
}

// Depth implements [provider.CompletionQueue].
func (q *completionQueue) Depth() int { return q.depth }

// Poll implements [provider.CompletionQueue].
func (q *completionQueue) Poll(wcs []provider.WorkCompletion) (n int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed.Load() {
		return 0, fmt.Errorf("poll completion queue of %s: %w", q.d.name, provider.ErrClosed)
	}
	for n < len(wcs) {
		batch := min(len(wcs)-n, len(q.wcs))
		got := int(int32(q.d.inline.pollCQ.Call3(q.addr, uintptr(batch), at(q.wcs, 0))))
		if got < 0 || got > batch {
			return n, q.d.failed("poll completion queue", unknownErrno, 0)
		}
		for i := range got {
			if q.convert(&wcs[n], &q.wcs[i]) {
				n++
			}
		}
		if got < batch {
			break
		}
	}
	if n == 0 && q.overrun.Load() {
		return 0, fmt.Errorf("poll completion queue of %s: %w", q.d.name, provider.ErrOverrun)
	}
	return n, nil
}

// The numbers of enum ibv_wc_opcode from IBV_WC_RECV on; the others are in wcOps.
const (
	wcReceive      = 1 << 7
	wcReceiveWrite = wcReceive + 1
)

// wcOps are the operations by their numbers in enum ibv_wc_opcode.
var wcOps = [...]provider.WCOp{
	provider.WCSend, provider.WCWrite, provider.WCRead, provider.WCCompareSwap, provider.WCFetchAdd,
	provider.WCBindWindow, provider.WCLocalInvalidate,
}

// convert fills to. It reports false for a completion of a queue pair that has been closed or
// reset since.
func (q *completionQueue) convert(to *provider.WorkCompletion, c *cWC) bool {
	id, ok := q.d.queues.complete(c.WRID)
	if !ok {
		return false
	}
	*to = provider.WorkCompletion{ID: id, Status: provider.WCStatus(c.Status), QPN: ib.QPN(c.QPNum)}
	if to.Status != provider.WCSuccess {
		to.VendorError = c.VendorErr
		return true
	}
	switch op := c.Opcode; {
	case op == wcReceiveWrite:
		to.Op = provider.WCReceiveWrite
	case op == wcReceive:
		to.Op = provider.WCReceive
	case int(op) < len(wcOps):
		to.Op = wcOps[op]
	}
	to.Bytes = c.ByteLen
	to.Flags = provider.WCFlags(c.WCFlags) & (provider.WCGRH | provider.WCImmediate | provider.WCInvalidated)
	if to.Flags&provider.WCImmediate != 0 {
		to.Immediate = c.Imm
	}
	if to.Flags&provider.WCInvalidated != 0 {
		to.InvalidatedKey = binary.NativeEndian.Uint32(c.Imm[:])
	}
	to.SourceQPN, to.SourceLID = ib.QPN(c.SrcQP), ib.LID(c.SLID)
	to.PathBits, to.ServiceLevel, to.PKeyIndex = c.DLIDPathBits, c.SL, c.PKeyIndex
	return true
}

// Wait implements [provider.CompletionQueue].
func (q *completionQueue) Wait(ctx context.Context, wcs []provider.WorkCompletion) (n int, err error) {
	const what = "completion"
	switch {
	case len(wcs) == 0:
		return 0, errors.New("wait for completion: no room for one")
	case q.channel != nil && !q.own:
		return 0, errors.New("wait for completion: the queue has a channel: wait there")
	}
	if q.mode != provider.WaitEvent {
		if n, err = q.spin(ctx, wcs); n > 0 || err != nil {
			return n, err
		}
	}
	// The queue is polled once more after it has been armed: a completion may have come before.
	waitErr := q.channel.file.wait(ctx, what, func() bool {
		if err = q.channel.drain(&q.mu); err != nil {
			return true
		}
		if n, err = q.Poll(wcs); n > 0 || err != nil {
			return true
		}
		if err = q.arm(false); err != nil {
			return true
		}
		n, err = q.Poll(wcs)
		return n > 0 || err != nil
	})
	return n, cmp.Or(err, waitErr)
}

// spin polls until there is a completion, for WaitHybrid only for a while.
func (q *completionQueue) spin(ctx context.Context, wcs []provider.WorkCompletion) (int, error) {
	var start time.Time
	for i := 0; ; i++ {
		if n, err := q.Poll(wcs); n > 0 || err != nil {
			return n, err
		}
		if i%checkEvery == 0 {
			if ctx.Err() != nil {
				return 0, waitError(ctx, "completion")
			}
			now := time.Now()
			if i == 0 {
				start = now
			}
			if q.mode == provider.WaitHybrid && now.Sub(start) > hybridSpin {
				return 0, nil
			}
		}
		runtime.Gosched()
	}
}

// Arm implements [provider.CompletionQueue].
func (q *completionQueue) Arm(solicited bool) error {
	if q.channel == nil || q.own {
		return errors.New("arm completion queue: the queue has no channel (CQConfig.Channel)")
	}
	return q.arm(solicited)
}

func (q *completionQueue) arm(solicited bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed.Load() {
		return fmt.Errorf("arm completion queue of %s: %w", q.d.name, provider.ErrClosed)
	}
	only := uintptr(0)
	if solicited {
		only = 1
	}
	if errno := errnoOf(q.d.inline.reqNotifyCQ.Call3(q.addr, only, 0), 0); errno != 0 {
		return q.d.failed("arm completion queue", errno, 0)
	}
	return nil
}

// Close implements [provider.CompletionQueue].
func (q *completionQueue) Close() error {
	first, err := q.d.shut(&q.object)
	if err != nil || !first {
		return err
	}
	if err := q.destroy(); err != nil {
		return err
	}
	q.closeOwnChannel()
	return nil
}

// destroy destroys the C object while nobody polls it or reads an event of it.
func (q *completionQueue) destroy() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.channel != nil && !q.own {
		q.channel.mu.Lock()
		defer q.channel.mu.Unlock()
	}
	if err := q.d.destroy(&q.object, q, q.d.calls.destroyCQ, q.parents()...); err != nil {
		return err
	}
	q.arena.free()
	q.wcs = nil
	return nil
}

func (q *completionQueue) closeOwnChannel() {
	if q.own {
		_ = q.channel.Close() // nobody else has it
	}
}
