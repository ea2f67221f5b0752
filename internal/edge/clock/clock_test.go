package clock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestManualLikeSystem checks that a manual clock calls the same functions in the same order, and
// that its timers report the same, as the system's does.
func TestManualLikeSystem(t *testing.T) {
	script := func(c Clock, advance func(time.Duration)) (log []string) {
		var mu sync.Mutex // calls of the system's clock run in goroutines
		add := func(s string) func() {
			return func() {
				mu.Lock()
				defer mu.Unlock()
				log = append(log, s)
			}
		}
		report := func(what string, pending bool) {
			if pending {
				what += " pending"
			}
			add(what)()
		}
		a := c.AfterFunc(3*time.Second, add("a"))
		b := c.AfterFunc(time.Second, add("b"))
		c.AfterFunc(2*time.Second, add("c"))
		advance(1500 * time.Millisecond)
		report("stop b", b.Stop())
		report("reset b", b.Reset(time.Second))
		report("reset a", a.Reset(5*time.Second))
		advance(4 * time.Second)
		report("stop a", a.Stop())
		report("stop a again", a.Stop())
		advance(time.Minute)
		c.AfterFunc(0, add("now"))
		advance(time.Nanosecond)
		return log
	}
	m := &Manual{}
	got := script(m, m.Advance)
	var want []string
	synctest.Test(t, func(*testing.T) {
		want = script(System, func(d time.Duration) { time.Sleep(d); synctest.Wait() })
	})
	if diff := cmp.Diff(want, got); diff != "" || len(got) < 8 {
		t.Errorf("calls differ from the system's (-system +manual):\n%s", diff)
	}
	if got, want := m.Now(), (time.Time{}).Add(1500*time.Millisecond+4*time.Second+time.Minute+1); !got.Equal(want) {
		t.Errorf("time = %v, want %v", got, want)
	}
}

// TestManualCalls checks calls at one time, calls that set further calls, and Next.
func TestManualCalls(t *testing.T) {
	m := &Manual{}
	var log []int
	var at []time.Duration
	begin := m.Now()
	note := func(n int) { log, at = append(log, n), append(at, m.Now().Sub(begin)) }
	if _, ok := m.Next(); ok {
		t.Error("a call is next, but none was set")
	}
	for i := range 3 {
		m.AfterFunc(time.Second, func() {
			note(i)
			m.AfterFunc(time.Second, func() { note(10 + i) })
		})
	}
	if next, ok := m.Next(); !ok || next != time.Second {
		t.Errorf("the next call is in %v, %t; want 1s", next, ok)
	}
	m.Advance(10 * time.Second)
	if diff := cmp.Diff([]int{0, 1, 2, 10, 11, 12}, log); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if at[2] != time.Second || at[5] != 2*time.Second {
		t.Errorf("the calls saw the times %v, want 1s and 2s", at)
	}
}

func TestSleep(t *testing.T) {
	var m Manual
	slept := make(chan error, 1)
	go func() { slept <- Sleep(t.Context(), &m, time.Hour) }()
	for pending := 0; pending == 0; time.Sleep(time.Millisecond) {
		m.mu.Lock()
		pending = len(m.calls)
		m.mu.Unlock()
	}
	m.Advance(time.Hour - 1)
	select {
	case err := <-slept:
		t.Fatalf("Sleep returns too early: %v", err)
	default:
	}
	m.Advance(1)
	if err := <-slept; err != nil {
		t.Errorf("Sleep = %v", err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := Sleep(ctx, &m, time.Hour); !errors.Is(err, cause) || len(m.calls) != 0 {
		t.Errorf("Sleep = %v with %d calls to come, want the cause and none", err, len(m.calls))
	}
}
