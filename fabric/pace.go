package fabric

import "time"

// pace decides how many requests may be outstanding and how long to wait for an answer.
//
// The window starts small, doubles each round trip until the first loss, then grows by one each
// round trip; a loss halves it (similar to RFC 5681). The timeout follows the smoothed round-trip
// time and its variation (RFC 6298).
type pace struct {
	window, threshold float64
	limit             float64

	smoothed, spread time.Duration
	samples          int
	min, max         time.Duration

	lastCut time.Time
}

// Start values: the wait before the first measurement is long enough for a slow node.
const (
	firstWindow  = 4
	firstTimeout = 250 * time.Millisecond
	// leastRelease is the shortest time that a request holds its place in the window.
	leastRelease = time.Millisecond
)

func newPace(o Options) pace {
	limit := float64(o.MaxWindow)
	return pace{window: min(firstWindow, limit), threshold: limit, limit: limit, min: o.MinTimeout, max: o.MaxTimeout}
}

// allows reports whether one more request may be sent.
func (p *pace) allows(underWay int) bool { return float64(underWay) < p.window }

// answered records an answer. A retried request gives no measurement, because the answer may be to
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

// lost records a loss that indicates congestion, because the node answered before. A burst of
// losses counts once.
func (p *pace) lost(now time.Time) {
	if now.Sub(p.lastCut) < p.timeout(0) {
		return
	}
	p.lastCut = now
	p.threshold = max(2, p.window/2)
	p.window = p.threshold
}

// full records that the transport accepted no more with this many requests outstanding.
func (p *pace) full(underWay int) {
	p.threshold = max(1, min(p.window, float64(underWay)))
	p.window = p.threshold
}

// estimate is the time after which an answer is overdue by the measurements, without bounds.
func (p *pace) estimate() time.Duration {
	if p.samples == 0 {
		return firstTimeout
	}
	return p.smoothed + 4*p.spread
}

// release is how long a request holds its place in the window: missing answers must not block other
// requests.
func (p *pace) release() time.Duration { return min(max(2*p.estimate(), leastRelease), p.max) }

// timeout is how long to wait for the answer to the given try, counted from 0, before the next try.
func (p *pace) timeout(try int) time.Duration {
	return min(min(max(p.estimate(), p.min), p.max)<<try, p.max)
}
