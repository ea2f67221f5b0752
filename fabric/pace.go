package fabric

import "time"

// pace decides how many questions may be under way and how long to wait for an answer.
//
// The window starts small, doubles each round trip until the first loss, then grows by one a round
// trip; a loss halves it (RFC 5681 in spirit). The timeout follows the round trips and their spread
// (RFC 6298).
type pace struct {
	window, threshold float64
	limit             float64

	smoothed, spread time.Duration
	samples          int
	min, max         time.Duration

	lastCut time.Time
}

// Start values: the wait before anything was measured is long enough for a node that is slow.
const (
	firstWindow  = 4
	firstTimeout = 250 * time.Millisecond
	// leastRelease is how long a question holds its place in the window at least.
	leastRelease = time.Millisecond
)

func newPace(o Options) pace {
	limit := float64(o.MaxWindow)
	return pace{window: min(firstWindow, limit), threshold: limit, limit: limit, min: o.MinTimeout, max: o.MaxTimeout}
}

// allows reports whether one more question may go out.
func (p *pace) allows(underWay int) bool { return float64(underWay) < p.window }

// answered takes in an answer. A retried question measures nothing: its answer may be to
// either try.
func (p *pace) answered(roundTrip time.Duration, retried bool) {
	if p.window < p.threshold {
		p.window++
	} else {
		p.window += 1 / p.window
	}
	p.window = min(p.window, p.limit)
	if retried {
		return
	}
	p.samples++
	if p.samples == 1 {
		p.smoothed, p.spread = roundTrip, roundTrip/2
		return
	}
	p.spread += ((roundTrip - p.smoothed).Abs() - p.spread) / 4
	p.smoothed += (roundTrip - p.smoothed) / 8
}

// lost takes in a loss that tells of congestion: a node that did answer before. One burst
// counts once.
func (p *pace) lost(now time.Time) {
	if now.Sub(p.lastCut) < p.timeout(0) {
		return
	}
	p.lastCut = now
	p.threshold = max(2, p.window/2)
	p.window = p.threshold
}

// full takes in that the transport took no more with this many under way.
func (p *pace) full(underWay int) {
	p.threshold = max(1, min(p.window, float64(underWay)))
	p.window = p.threshold
}

// estimate is when an answer is overdue by what was measured, not bounded.
func (p *pace) estimate() time.Duration {
	if p.samples == 0 {
		return firstTimeout
	}
	return p.smoothed + 4*p.spread
}

// release is how long a question holds its place in the window: silence must not keep others
// from asking.
func (p *pace) release() time.Duration { return min(max(2*p.estimate(), leastRelease), p.max) }

// timeout is how long to wait for an answer to the given try, from 0, before the next.
func (p *pace) timeout(try int) time.Duration {
	return min(min(max(p.estimate(), p.min), p.max)<<try, p.max)
}
