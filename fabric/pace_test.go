package fabric

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	o := Options{MaxWindow: 32, MinTimeout: 50 * time.Millisecond, MaxTimeout: time.Second}
	p := newPace(o)
	if p.window != firstWindow || p.timeout(0) != firstTimeout || p.timeout(5) != time.Second {
		t.Errorf("start: window %v, timeouts %v and %v", p.window, p.timeout(0), p.timeout(5))
	}
	for range 100 {
		p.answered(100*time.Microsecond, false)
	}
	if p.window != 32 || p.timeout(0) != 50*time.Millisecond || p.timeout(2) != 200*time.Millisecond ||
		p.release() != leastRelease {
		t.Errorf("behind 100 quick answers: window %v, timeouts %v and %v, release %v",
			p.window, p.timeout(0), p.timeout(2), p.release())
	}
	smoothed := p.smoothed
	p.answered(time.Hour, true)
	if p.smoothed != smoothed {
		t.Errorf("an answer to a retried request moved the round trip to %v", p.smoothed)
	}
	now := time.Now()
	p.lost(now)
	p.lost(now.Add(time.Millisecond)) // of the same burst
	if p.window != 16 {
		t.Errorf("window behind one burst of losses = %v, want 16", p.window)
	}
	for i := range 20 {
		p.lost(now.Add(time.Duration(i+1) * time.Second))
	}
	if p.window < 1 || p.window > 2 {
		t.Errorf("window behind many losses = %v, want between 1 and 2", p.window)
	}
	p.full(0)
	if !p.allows(0) {
		t.Error("a full transport closes the window for good")
	}
	for range 1000 {
		p.answered(400*time.Millisecond, false)
	}
	if got := p.timeout(0); got < 400*time.Millisecond || got > 500*time.Millisecond {
		t.Errorf("timeout with round trips of 400ms = %v", got)
	}
}
