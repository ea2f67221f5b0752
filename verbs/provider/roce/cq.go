package roce

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// cqe is a completion and the account of the queue that it came from: a place in a queue is free again when its
// completion was polled, so that a completion queue as long as all its queues together never overruns.
type cqe struct {
	wc       provider.WorkCompletion
	unpolled *atomic.Uint32
}

// completionQueue is a ring of completions.
type completionQueue struct {
	e    *Engine
	mode provider.WaitMode
	// wake has one token while there may be something to poll.
	wake chan struct{}
	done chan struct{} // closed by Close

	mu      sync.Mutex
	ring    []cqe
	head, n int
	overrun bool
	closed  bool
	users   int // queue pairs; guarded by e.mu
}

// push adds a completion. It reports false when there is no room: the queue is
// dead then, as with hardware.
func (q *completionQueue) push(wc provider.WorkCompletion, unpolled *atomic.Uint32) bool {
	q.mu.Lock()
	ok := q.n < len(q.ring)
	if ok {
		unpolled.Add(1)
		q.ring[(q.head+q.n)%len(q.ring)] = cqe{wc, unpolled}
		q.n++
	} else {
		q.overrun = true
	}
	q.mu.Unlock()
	q.signal()
	return ok
}

// signal wakes one of those who wait.
func (q *completionQueue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Poll implements provider.CompletionQueue.
func (q *completionQueue) Poll(wcs []provider.WorkCompletion) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(wcs), q.n)
	for i := range n {
		e := &q.ring[q.head]
		wcs[i] = e.wc
		e.unpolled.Add(^uint32(0))
		e.unpolled = nil
		q.head = (q.head + 1) % len(q.ring)
	}
	q.n -= n
	if q.n > 0 {
		q.signal() // for another who waits: there was one token for all of them
	}
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

// ready reports whether Poll has something to say.
func (q *completionQueue) ready() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n > 0 || q.overrun || q.closed
}

// Wait implements provider.CompletionQueue.
func (q *completionQueue) Wait(ctx context.Context) error {
	if q.ready() {
		return nil
	}
	if q.mode != provider.WaitEvent {
		if done, err := q.e.spin(ctx, "completion", q.mode == provider.WaitBusy, q); done || err != nil {
			return err
		}
	}
	for !q.ready() {
		select {
		case <-q.wake:
		case <-q.done:
			return nil
		case <-ctx.Done():
			return waitError(ctx, "completion")
		}
	}
	return nil
}

// Close implements provider.CompletionQueue.
func (q *completionQueue) Close() error {
	q.e.mu.Lock()
	defer q.e.mu.Unlock()
	if q.users > 0 {
		return fmt.Errorf("close completion queue: %d queue pairs: %w", q.users, provider.ErrBusy)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		q.e.queues--
		close(q.done)
	}
	return nil
}
