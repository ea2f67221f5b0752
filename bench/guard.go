package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/verbs"
)

// ErrOtherTest is matched by the error for a peer that evidently runs another test. The exchange
// doesn't carry the test's name.
var ErrOtherTest = errors.New("the peer runs another test")

// guardDelay lets the measuring goroutine report its error first, which is more specific.
const guardDelay = 200 * time.Millisecond

// guard returns a context that ends if the peer uses an operation that is not part of the test. A
// WRITE or READ test has no SENDs, so guard posts one receive request for zero bytes on each queue
// pair. It completes only if the peer sends a message, or if the queue pair fails because of an
// invalid request of the peer. Without guard, a server would wait for the end of a test that never
// begins. stop must be called before the queue pairs are closed.
func (r *run) guard(ctx context.Context) (guarded context.Context, stop func()) {
	guarded, cancel := context.WithCancelCause(ctx)
	if r.cfg.Test.Op() == verbs.SendOpSend {
		return guarded, func() { cancel(nil) }
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.uninvited(guarded); err != nil {
			select {
			case <-guarded.Done():
			case <-time.After(guardDelay):
				cancel(err)
			}
		}
	})
	return guarded, func() {
		cancel(nil)
		wg.Wait()
	}
}

// uninvited waits for a completion of a receive request and returns the error that it indicates;
// nil if ctx has ended.
func (r *run) uninvited(ctx context.Context) error {
	var wcs [1]verbs.WorkCompletion
	switch _, err := r.recvs.Wait(ctx, wcs[:]); {
	case err != nil && ctx.Err() != nil:
		return nil //nolint:nilerr // no completion
	case err != nil:
		return err
	case wcs[0].Status == verbs.WCFlushed && r.iwarp && r.cm.ended(guardDelay):
		return fmt.Errorf("%w: queue pair %v failed", ErrPeerEnded, wcs[0].QPN)
	case wcs[0].Status == verbs.WCFlushed:
		return fmt.Errorf("queue pair %v failed: %w, or requests memory that is not ours", wcs[0].QPN, ErrOtherTest)
	}
	return fmt.Errorf("queue pair %v received a SEND: %w", wcs[0].QPN, ErrOtherTest)
}

// ErrStalled is matched by the error for a measurement without progress: the peer runs another
// test, or uses other sizes or numbers.
var ErrStalled = errors.New("no progress")

// slowest is the bandwidth below which a measurement counts as stalled, in bytes per second.
const slowest = 1 << 20

// watchdog returns a context that ends if nothing has completed for longer than the timeout of a
// step of the exchange and longer than a slow network needs for the outstanding messages. It checks
// periodically, because reading the clock at every completion would affect the measurement.
func (r *run) watchdog(ctx context.Context, size int) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	limit := cmp.Or(r.cfg.StepTimeout, perftest.DefaultStepTimeout) + underWay(size, r.cfg.TxDepth*r.cfg.QueuePairs)
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(max(limit/checksPerLimit, 1))
		defer ticker.Stop()
		for seen, at := r.moved.Load(), time.Now(); ; {
			select {
			case <-watched.Done():
				return
			case <-ticker.C:
			}
			if now := r.moved.Load(); now != seen {
				seen, at = now, time.Now()
			} else if time.Since(at) >= limit {
				cancel(fmt.Errorf("%w with the peer for %v", ErrStalled, rounded(limit)))
				return
			}
		}
	})
	return watched, func() {
		cancel(nil)
		wg.Wait()
	}
}

// checksPerLimit is how often watchdog checks within its limit.
const checksPerLimit = 32

// underWay returns how long a slow network needs for n messages, at most maxInterval.
func underWay(size, n int) time.Duration {
	seconds := float64(size) * float64(n) / slowest
	return time.Duration(min(seconds, maxInterval.Seconds()) * float64(time.Second))
}

// rounded rounds a duration for messages.
func rounded(d time.Duration) time.Duration {
	if d >= time.Second {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}
