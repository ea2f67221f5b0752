package roce

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
)

// A hybrid wait polls for hybridSpin and then sleeps. hybridPolls limits the number of polls too,
// since time doesn't advance under testing/synctest while a goroutine runs.
const (
	hybridSpin  = 50 * time.Microsecond
	hybridPolls = 1 << 10
	// checkEvery is the number of polls between checks of the clock and the context.
	checkEvery = 16
)

// waiter is a condition that a goroutine waits for.
type waiter interface{ ready() bool }

// spin receives packets in the goroutine of the caller until w is ready, and reports whether it
// is. This saves the several microseconds that Go's poller and scheduler take. Unless forever is
// set, it gives up after the limits of a hybrid wait.
func (e *Engine) spin(ctx context.Context, what string, forever bool, w waiter) (bool, error) {
	var start time.Time
	for i := 0; ; i++ {
		e.poll()
		if w.ready() {
			return true, nil
		}
		e.delayedAcks.send()
		if i%checkEvery == 0 {
			if ctx.Err() != nil {
				e.conn.Resume()
				return false, waitError(ctx, what)
			}
			now := e.clock.Now()
			if i == 0 {
				start = now
			}
			if !forever && (now.Sub(start) > hybridSpin || i >= hybridPolls) {
				e.conn.Resume()
				return false, nil
			}
		}
		runtime.Gosched()
	}
}

func waitError(ctx context.Context, what string) error {
	return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
}

// delayedAcks lists the queue pairs with a delayed acknowledgement. If a waiting goroutine of the
// program received the request, or if the request completes a receive request, for which the
// program wakes, the acknowledgement is delayed, since the program usually posts a send request
// next: the acknowledgement is then sent together with it, after its packets, and wakes the peer
// once instead of twice. It is sent by the next PostSend, by the next call that waits or finds
// nothing to poll in the queue of receives, or after maxAckDelay.
type delayedAcks struct {
	some  atomic.Bool // list may not be empty
	mu    sync.Mutex
	list  []*queuePair // queue pairs with ackPending, each once
	spare []*queuePair // reused for the next list
	armed bool
	timer clock.Timer
}

// maxAckDelay is how long an acknowledgement may be delayed. Go's timers can add up to a
// millisecond when the process sleeps. The delay is short compared with the timeout of any peer,
// which is at least some milliseconds in practice.
const maxAckDelay = 100 * time.Microsecond

func (d *delayedAcks) init(c clock.Clock) {
	d.timer = c.AfterFunc(time.Hour, d.expired)
	d.timer.Stop()
}

// delayAck delays the acknowledgement that is due. qp.mu is held.
func (qp *queuePair) delayAck() {
	if qp.ackPending {
		return
	}
	qp.ackPending = true
	qp.recvCQ.delays.Store(true)
	d := &qp.e.delayedAcks
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, qp)
	d.some.Store(true)
	if !d.armed {
		d.armed = true
		d.timer.Reset(maxAckDelay)
	}
}

// expired runs when the timer fires.
func (d *delayedAcks) expired() {
	d.mu.Lock()
	d.armed = false
	d.mu.Unlock()
	d.send()
}

// send sends all delayed acknowledgements. The caller must not hold a lock of the engine.
func (d *delayedAcks) send() {
	if !d.some.Load() {
		return
	}
	d.mu.Lock()
	d.some.Store(false)
	if len(d.list) == 0 {
		d.mu.Unlock()
		return
	}
	list := d.list
	d.list, d.spare = d.spare, nil
	d.mu.Unlock()
	for i, qp := range list {
		list[i] = nil
		qp.mu.Lock()
		qp.ackPending = false
		qp.flushBurst(false)
		qp.mu.Unlock()
	}
	d.mu.Lock()
	d.spare = list[:0]
	d.mu.Unlock()
}
