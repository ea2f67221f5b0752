package fabric

import "time"

// pace decides how many requests may be outstanding.
//
// The window starts small, doubles each round trip until the first loss, then grows by one each
// round trip; a loss halves it (similar to RFC 5681).
type pace struct {
	window, threshold float64
	limit             float64
	trips             trips // of all destinations
	cut               bool
	lastCut           time.Duration // since the engine's start
}

// Start values: the wait before the first measurement is long enough for a slow node.
const (
	firstWindow  = 4
	firstTimeout = 250 * time.Millisecond
	// leastRelease is the shortest time that a request holds its place in the window.
	leastRelease = time.Millisecond
)

func newPace(window int) pace {
	limit := float64(max(1, window))
	return pace{window: min(firstWindow, limit), threshold: limit, limit: limit}
}

// allows reports whether one more request may be sent.
func (p *pace) allows(underWay int) bool { return float64(underWay) < p.window }

// answered records an answer. A round trip counts at most twice the time after which requests leave
// the window: in a slow fabric that time grows, and a few slow nodes don't change it much.
func (p *pace) answered(roundTrip time.Duration) {
	if p.window < p.threshold {
		p.window++
	} else {
		p.window += 1 / p.window
	}
	p.window = min(p.window, p.limit)
	p.trips.add(min(roundTrip, 2*p.release()))
}

// lost records a loss that indicates congestion, because the node answered before. A burst of
// losses counts once.
func (p *pace) lost(now time.Duration) {
	if p.cut && now-p.lastCut < max(p.estimate(), leastTimeout) {
		return
	}
	p.cut, p.lastCut = true, now
	p.threshold = max(2, p.window/2)
	p.window = p.threshold
}

// full records that the transport accepted no more with this many requests outstanding.
func (p *pace) full(underWay int) {
	p.threshold = max(1, min(p.window, float64(underWay)))
	p.window = p.threshold
}

// estimate is the time after which an answer is overdue by the measurements.
func (p *pace) estimate() time.Duration {
	if p.trips.samples == 0 {
		return firstTimeout
	}
	return p.trips.estimate()
}

// release is how long a request holds its place in the window: missing answers must not block other
// requests.
func (p *pace) release() time.Duration { return max(2*p.estimate(), leastRelease) }
