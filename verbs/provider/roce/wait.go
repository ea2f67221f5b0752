package roce

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// A hybrid wait polls for hybridSpin and then sleeps. hybridPolls bounds it too,
// where time stands still while somebody runs (testing/synctest).
const (
	hybridSpin  = 50 * time.Microsecond
	hybridPolls = 1 << 10
	// checkEvery is how many polls pass between looks at the clock and the context.
	checkEvery = 16
)

// waiter is what somebody waits for.
type waiter interface{ ready() bool }

// spin receives in the goroutine of the caller until w is ready, which is what the
// first result says: it saves the way through Go's poller and scheduler, of several
// microseconds. Unless forever is set it gives up after a while.
func (e *Engine) spin(ctx context.Context, what string, forever bool, w waiter) (bool, error) {
	var start time.Time
	for i := 0; ; i++ {
		e.poll()
		if w.ready() {
			return true, nil
		}
		e.debts.pay()
		if i%checkEvery == 0 {
			if ctx.Err() != nil {
				e.conn.Resume()
				return false, waitError(ctx, what)
			}
			now := time.Now()
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

// debts are the queue pairs that owe their peers an acknowledgement because a waiting
// goroutine received the request and has not been told yet: it mostly has something
// to send itself then, and the acknowledgement goes with that, behind it. They are paid
// by PostSend, by whoever waits next, or after debtLimit.
type debts struct {
	mu    sync.Mutex
	list  []*queuePair // each once; those with owing
	spare []*queuePair // for the next list
	armed bool
	timer *time.Timer
}

// debtLimit is how long an acknowledgement may wait (about: Go's timers take up to a
// millisecond more when the process sleeps). It is short against the timeout of any
// peer, the least useful of which is some milliseconds.
const debtLimit = 100 * time.Microsecond

func (d *debts) init() {
	d.timer = time.AfterFunc(time.Hour, d.due)
	d.timer.Stop()
}

// owe leaves the acknowledgement that is due for later. qp.mu is held.
func (qp *queuePair) owe() {
	if qp.owing {
		return
	}
	qp.owing = true
	d := &qp.e.debts
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, qp)
	if !d.armed {
		d.armed = true
		d.timer.Reset(debtLimit)
	}
}

func (d *debts) due() {
	d.mu.Lock()
	d.armed = false
	d.mu.Unlock()
	d.pay()
}

// pay sends what is owed. No lock of the engine may be held.
func (d *debts) pay() {
	d.mu.Lock()
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
		qp.owing = false
		qp.settle(false)
		qp.mu.Unlock()
	}
	d.mu.Lock()
	d.spare = list[:0]
	d.mu.Unlock()
}
