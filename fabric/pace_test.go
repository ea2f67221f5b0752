package fabric

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	p := newPace(32)
	if p.window != firstWindow || p.estimate() != firstTimeout {
		t.Errorf("start: window %v, estimate %v", p.window, p.estimate())
	}
	for range 100 {
		p.answered(100 * time.Microsecond)
	}
	if p.window != 32 || p.estimate() > 110*time.Microsecond || p.release() != leastRelease {
		t.Errorf("behind 100 quick answers: window %v, estimate %v, release %v", p.window, p.estimate(), p.release())
	}
	p.answered(time.Hour)
	if p.release() > 10*leastRelease {
		t.Errorf("release behind one answer of an hour = %v, want about %v", p.release(), leastRelease)
	}
	for range 100 {
		p.answered(100 * time.Microsecond)
	}
	now := time.Duration(0)
	p.lost(now)
	p.lost(now + time.Millisecond) // of the same burst
	if p.window != 16 {
		t.Errorf("window behind one burst of losses = %v, want 16", p.window)
	}
	for i := range 20 {
		p.lost(now + time.Duration(i+1)*time.Second)
	}
	if p.window < 1 || p.window > 2 {
		t.Errorf("window behind many losses = %v, want between 1 and 2", p.window)
	}
	p.full(0)
	if !p.allows(0) {
		t.Error("a full transport closes the window for good")
	}
	for range 1000 {
		p.answered(400 * time.Millisecond)
	}
	if got := p.estimate(); got < 400*time.Millisecond || got > 500*time.Millisecond {
		t.Errorf("estimate with round trips of 400ms = %v", got)
	}
}
