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

// ErrOtherTest is matched by the error for a peer that evidently runs another test:
// the exchange doesn't tell which.
var ErrOtherTest = errors.New("the peer runs another test")

// guardDelay lets the goroutine that measures tell its own error first, which is
// better.
const guardDelay = 200 * time.Millisecond

// guard returns a context that ends when the peer does what the test doesn't have.
// A test of WRITE or READ has no SENDs: one receive request for no bytes waits in
// vain on each queue pair, unless the peer sends, or unless the queue pair has failed
// because the peer asked for what it may not do. Without it a server would wait for
// the end of a test that never begins. stop must be called before the queue pairs
// are closed.
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

// uninvited waits for a completion of a receive request and says what it means; nil
// when ctx has ended.
func (r *run) uninvited(ctx context.Context) error {
	for {
		if err := r.recvs.Wait(ctx); err != nil {
			return nil //nolint:nilerr // nothing came
		}
		var wcs [1]verbs.WorkCompletion
		n, err := r.recvs.Poll(wcs[:])
		switch {
		case err != nil:
			return err
		case n == 0:
			continue
		case wcs[0].Status == verbs.WCFlushed:
			return fmt.Errorf("queue pair %v failed: %w, or asks for memory that is not ours", wcs[0].QPN, ErrOtherTest)
		}
		return fmt.Errorf("a SEND came to queue pair %v: %w", wcs[0].QPN, ErrOtherTest)
	}
}

// ErrStalled is matched by the error for a measurement in which nothing moves: the
// peer runs another test, or with other sizes or numbers.
var ErrStalled = errors.New("nothing moves")

// slowest is the bandwidth below which a measurement counts as stalled, in bytes a
// second.
const slowest = 1 << 20

// watchdog returns a context that ends when nothing has completed for as long as a
// step of the exchange may take, and for as long as a slow network needs for what is
// under way. It looks now and then instead of being told: a clock read with every
// completion would be measured too.
func (r *run) watchdog(ctx context.Context, size int) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	limit := cmp.Or(r.cfg.StepTimeout, perftest.DefaultStepTimeout) + underWay(size, r.cfg.TxDepth*r.cfg.QueuePairs)
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(max(limit/looks, 1))
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

// looks is how often watchdog looks within its limit.
const looks = 32

// underWay is how long a slow network needs for n messages, at most maxInterval.
func underWay(size, n int) time.Duration {
	seconds := float64(size) * float64(n) / slowest
	return time.Duration(min(seconds, maxInterval.Seconds()) * float64(time.Second))
}

// rounded drops what nobody wants to read.
func rounded(d time.Duration) time.Duration {
	if d >= time.Second {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}
