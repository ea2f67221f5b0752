package bench

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/anonmem"
	"github.com/rdmakit/rdmakit/verbs"
)

// credits are what the receiver of a SEND bandwidth test tells the sender on iWARP, where a message
// without a receive request ends the connection: how many messages of each queue pair it has taken.
// It writes that number, of 32 bits in the byte order of its machine, to the sender's memory by
// RDMA WRITE, a few times per rx depth. The sender has at most rx depth messages outstanding beyond
// it. The keys that the ends exchange are those of this memory. As in perftest (ctx_alloc_credit).
type credits struct {
	pairs  int
	depth  uint32 // receive requests of a queue pair
	every  uint32 // messages between two credits
	memory []byte // numbers to send of all queue pairs, then those that the peer has sent
	mr     *verbs.MemoryRegion

	taken []uint32 // messages per queue pair, at the receiver
	sent  []int    // credits without completion per queue pair
	wcs   [pollBatch]verbs.WorkCompletion
}

const creditSize = 4 // bytes of a number

// createCredits allocates the memory and registers it.
func (r *rig) createCredits() (err error) {
	n := r.cfg.QueuePairs
	c := &credits{
		pairs: n, depth: uint32(r.cfg.RxDepth), every: uint32(max(1, r.cfg.RxDepth/3)),
		taken: make([]uint32, n), sent: make([]int, n),
	}
	r.credits = c
	if c.memory, err = anonmem.Alloc(2 * n * creditSize); err != nil {
		return err
	}
	c.mr, err = r.pd.RegisterMemory(c.memory, verbs.MemoryOptions{
		Access: verbs.AccessLocalWrite | verbs.AccessRemoteWrite,
	})
	return err
}

// close frees the memory, unless the device may still write to it.
func (c *credits) close() error {
	if c.mr != nil {
		if err := c.mr.Close(); err != nil {
			return err
		}
	}
	if c.memory == nil {
		return nil
	}
	return anonmem.Free(c.memory)
}

// target is the offset of the number that the peer writes for queue pair i.
func (c *credits) target(i int) int { return (c.pairs + i) * creditSize }

// reset begins with a new size. The peer has reached the same point and writes only after it has
// received messages of that size.
func (c *credits) reset() {
	clear(c.memory[c.target(0):])
	clear(c.taken)
}

// permits reports whether n more messages may follow those that queue pair i has sent.
func (c *credits) permits(i int, sent, n uint64) bool {
	return uint32(sent+n)-load32(c.memory[c.target(i):]) <= c.depth //nolint:gosec // modulo 2^32, as the numbers
}

// load32 reads a number that the device writes without the knowledge of the compiler, which must
// not keep it in a register.
//
//go:noinline
func load32(b []byte) uint32 { return binary.NativeEndian.Uint32(b) }

// grant counts a message that queue pair i has received, after its receive request was posted
// again, and tells the sender.
func (r *rig) grant(ctx context.Context, i int) error {
	c := r.credits
	c.taken[i]++
	if c.taken[i]%c.depth%c.every != 0 {
		return nil
	}
	for c.sent[i] >= r.cfg.TxDepth {
		if err := r.settle(ctx); err != nil {
			return err
		}
	}
	at := i * creditSize
	binary.NativeEndian.PutUint32(c.memory[at:], c.taken[i])
	_, err := r.qps[i].PostSend(verbs.SendRequest{
		ID: uint64(i), Op: verbs.SendOpWrite, Flags: verbs.SendSignaled, //nolint:gosec // at most maxQueuePairs
		Segments:   []verbs.Segment{c.mr.Segment(at, creditSize)},
		RemoteAddr: r.peers[i].VAddr, RKey: r.peers[i].RKey,
	})
	if err == nil {
		c.sent[i]++
	}
	return err
}

// settle waits for completions of credits.
func (r *rig) settle(ctx context.Context) error {
	c := r.credits
	n, err := r.sends.Wait(ctx, c.wcs[:])
	if err != nil {
		return err
	}
	for k := range c.wcs[:n] {
		if err := c.wcs[k].Err(); err != nil {
			return err
		}
		c.sent[c.wcs[k].ID]--
	}
	return nil
}

// settleAll waits until all credits have completed.
func (r *rig) settleAll(ctx context.Context) error {
	if r.credits == nil {
		return nil
	}
	for i := range r.credits.sent {
		for r.credits.sent[i] > 0 {
			if err := r.settle(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Pauses of an end that waits for credits: none for a while, since they usually come soon.
const (
	creditSpin  = 50 * time.Microsecond
	creditPause = 20 * time.Microsecond
)

// wait waits for completions. With credits, it polls for both, and returns when a queue pair may go
// on, too: perhaps no outstanding request reports its completion.
func (f *flow) wait(ctx context.Context) ([]verbs.WorkCompletion, error) {
	if f.r.credits == nil {
		return f.r.pollUntil(ctx, f.r.sends, f.clock)
	}
	for began := time.Now(); ; {
		wcs, err := f.r.pollOnce(f.r.sends)
		switch {
		case err != nil || len(wcs) > 0:
			return wcs, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case f.replenished(), f.limit == 0 && f.clock.now() >= f.clock.last:
			return nil, nil
		}
		if time.Since(began) > creditSpin {
			time.Sleep(creditPause)
		}
	}
}

// permitted reports whether the receiver permits the next requests of queue pair i.
func (f *flow) permitted(i int) bool {
	return f.r.credits == nil || f.r.credits.permits(i, f.sent[i], uint64(f.r.cfg.PostList)) //nolint:gosec // positive
}

// replenished reports whether a queue pair can post requests.
func (f *flow) replenished() bool {
	for i := range f.sent {
		if f.canPost(i) {
			return true
		}
	}
	return false
}
