// Package clock is the time of programs that can also run on simulated time.
//
//	c := clock.System
//	timer := c.AfterFunc(time.Second, expired)
//
// Tests and simulations use a [Manual] clock, which moves only when they say so.
package clock

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// Clock tells the time and runs functions later.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in a goroutine of its own, or in that of [Manual.Advance], after d.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a call in the future, with the methods of [time.Timer].
type Timer interface {
	// Reset moves the call to d from now, also one that has been made or stopped. It reports
	// whether the call was still to come.
	Reset(d time.Duration) bool
	// Stop prevents the call and reports whether it was still to come.
	Stop() bool
}

// System is the clock of package time.
var System Clock = system{}

type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// Sleep waits for d, or until ctx ends: then it returns the cause.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	over := make(chan struct{})
	timer := c.AfterFunc(d, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// WithTimeout returns a context that ends after d by the clock, with the cause, and a function that
// releases it.
func WithTimeout(ctx context.Context, c Clock, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := c.AfterFunc(d, func() { cancel(cause) })
	return ctx, func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}

// Manual is a clock that moves only by [Manual.Advance]. The zero value shows the zero time. All
// methods may be called concurrently.
type Manual struct {
	mu    sync.Mutex
	now   time.Time
	calls calls
	order uint64
}

// Now returns the time.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// AfterFunc calls f from the Advance that reaches the time.
func (m *Manual) AfterFunc(d time.Duration, f func()) Timer {
	t := &manualTimer{m: m, f: f, index: -1}
	t.Reset(d)
	return t
}

// Advance moves the clock by d. On the way it makes the calls that are due, one after another in
// the order of their times, at these times.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	end := m.now.Add(d)
	for len(m.calls) > 0 && !m.calls[0].at.After(end) {
		t, _ := heap.Pop(&m.calls).(*manualTimer)
		if t.at.After(m.now) {
			m.now = t.at
		}
		m.mu.Unlock()
		t.f()
		m.mu.Lock()
	}
	if end.After(m.now) { // a call may have advanced the clock
		m.now = end
	}
}

// Next returns how far the next call is, and false if there is none.
func (m *Manual) Next() (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.calls) == 0 {
		return 0, false
	}
	return max(0, m.calls[0].at.Sub(m.now)), true
}

type manualTimer struct {
	m     *Manual
	f     func()
	at    time.Time
	order uint64 // of calls with the same time
	index int    // in m.calls, -1 if it isn't there
}

// Reset implements Timer.
func (t *manualTimer) Reset(d time.Duration) bool {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	pending := t.remove()
	t.m.order++
	t.at, t.order = t.m.now.Add(d), t.m.order
	heap.Push(&t.m.calls, t)
	return pending
}

// Stop implements Timer.
func (t *manualTimer) Stop() bool {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	return t.remove()
}

func (t *manualTimer) remove() bool {
	if t.index < 0 {
		return false
	}
	heap.Remove(&t.m.calls, t.index)
	return true
}

// calls is a heap, the next call first.
type calls []*manualTimer

func (c calls) Len() int { return len(c) }

func (c calls) Less(i, j int) bool {
	if !c[i].at.Equal(c[j].at) {
		return c[i].at.Before(c[j].at)
	}
	return c[i].order < c[j].order
}

func (c calls) Swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].index, c[j].index = i, j
}

// Push adds a call, for package heap.
func (c *calls) Push(x any) {
	t, _ := x.(*manualTimer)
	t.index = len(*c)
	*c = append(*c, t)
}

// Pop removes the last call, for package heap.
func (c *calls) Pop() any {
	old := *c
	t := old[len(old)-1]
	old[len(old)-1], *c = nil, old[:len(old)-1]
	t.index = -1
	return t
}
