package roce

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// completionQueue is a ring of completions.
type completionQueue struct {
	e       *Engine
	mode    provider.WaitMode
	channel *channel      // may be nil
	id      uint64        // of the program
	wake    wakeup        // there may be completions to poll
	done    chan struct{} // closed by Close
	// delays reports that a queue pair that receives into this queue may have a delayed
	// acknowledgement: a program that polls the queue again in vain sends no answer with it.
	delays atomic.Bool

	mu      sync.Mutex
	ring    []completion
	head, n int
	armed   armedFor
	overrun bool
	closed  bool
	users   int // queue pairs that use this queue; guarded by e.mu
}

// completion is an entry of the ring. Until it is polled its request still occupies a slot in the
// work queue that it was posted to; unpolled counts these slots.
type completion struct {
	wc       provider.WorkCompletion
	unpolled *atomic.Int32
}

// push adds a completion, whose slot the caller has counted in unpolled; solicited reports whether
// its sender has asked for an event, as a completion with an error always does. push reports false
// when the ring is full: the completion queue is then in an error state, as with hardware, and
// takes no completion any more, so that there is no gap between those that the program polls.
func (q *completionQueue) push(wc provider.WorkCompletion, unpolled *atomic.Int32, solicited bool) bool {
	q.mu.Lock()
	ok := !q.overrun && q.n < len(q.ring)
	q.notify(solicited || wc.Status != provider.WCSuccess || !ok)
	overrun := !ok && !q.overrun
	if ok {
		q.ring[(q.head+q.n)%len(q.ring)] = completion{wc, unpolled}
		q.n++
	} else {
		unpolled.Add(-1)
		q.overrun = true
	}
	q.mu.Unlock()
	q.wake.signal()
	if overrun {
		q.e.events.add(q, provider.Event{Type: provider.EventCQError, ID: q.id})
	}
	return ok
}

// Poll implements provider.CompletionQueue.
func (q *completionQueue) Poll(wcs []provider.WorkCompletion) (n int, err error) {
	if n, err = q.take(wcs); n == 0 && q.delays.Load() {
		q.delays.Store(false)
		q.e.delayedAcks.send()
	}
	return n, err
}

func (q *completionQueue) take(wcs []provider.WorkCompletion) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(wcs), q.n)
	for i := range n {
		one := &q.ring[q.head]
		wcs[i] = one.wc
		one.unpolled.Add(-1)
		one.unpolled = nil // don't keep a closed queue pair alive
		q.head = (q.head + 1) % len(q.ring)
	}
	q.n -= n
	switch {
	case n > 0:
		return n, nil
	case q.overrun:
		return 0, fmt.Errorf("poll completion queue: %w", provider.ErrOverrun)
	case q.closed:
		return 0, fmt.Errorf("poll completion queue: %w", provider.ErrClosed)
	}
	return 0, nil
}

// drop drops the completions that have not been polled, whose slots may belong to a shared receive
// queue that stays open. q.mu is held.
func (q *completionQueue) drop() {
	for ; q.n > 0; q.n-- {
		one := &q.ring[q.head]
		one.unpolled.Add(-1)
		one.unpolled = nil
		q.head = (q.head + 1) % len(q.ring)
	}
}

// ready reports whether Poll would return a completion or an error.
func (q *completionQueue) ready() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n > 0 || q.overrun || q.closed
}

// Depth implements provider.CompletionQueue.
func (q *completionQueue) Depth() int { return len(q.ring) }

// Wait implements provider.CompletionQueue.
func (q *completionQueue) Wait(ctx context.Context, wcs []provider.WorkCompletion) (n int, err error) {
	switch {
	case len(wcs) == 0:
		return 0, errors.New("wait for completion: no room for one")
	case q.channel != nil:
		return 0, errors.New("wait for completion: the queue has a channel: wait there")
	}
	for {
		if n, err = q.Poll(wcs); n > 0 || err != nil {
			return n, err
		}
		if err := q.wait(ctx); err != nil {
			return 0, err
		}
	}
}

// wait waits until Poll would return a completion or an error.
func (q *completionQueue) wait(ctx context.Context) error {
	if q.mode != provider.WaitEvent {
		if done, err := q.e.spin(ctx, "completion", q.mode == provider.WaitBusy, q); done || err != nil {
			return err
		}
	}
	q.e.delayedAcks.send()
	for woken := false; ; {
		if q.ready() {
			if woken { // there may be completions left for another waiter
				q.wake.signal()
			}
			return nil
		}
		select {
		case <-q.wake:
			woken = true
		case <-q.done:
			return nil
		case <-ctx.Done():
			return waitError(ctx, "completion")
		}
	}
}

// Close implements provider.CompletionQueue.
func (q *completionQueue) Close() error {
	q.e.mu.Lock()
	defer q.e.mu.Unlock()
	if q.users > 0 {
		return fmt.Errorf("close completion queue: %d queue pairs: %w", q.users, provider.ErrBusy)
	}
	q.mu.Lock()
	first := !q.closed
	q.closed = true
	q.drop()
	q.mu.Unlock()
	if !first {
		return nil
	}
	q.e.events.forget(q)
	q.e.queues--
	close(q.done)
	if q.channel != nil {
		q.channel.users--
		q.channel.remove(func(other *completionQueue) bool { return other == q })
	}
	return nil
}
