package bench

import "time"

// Latencies collects the times of exchanges for a [LatencyPoint], for measurements other than
// perftest's. Create one with [NewLatencies]. It is for one goroutine.
type Latencies struct{ sum *intervals }

// NewLatencies returns an empty collection.
func NewLatencies() *Latencies { return &Latencies{newIntervals()} }

// Add adds the time of one exchange. Adding allocates nothing.
func (l *Latencies) Add(d time.Duration) { l.sum.add(d) }

// Point returns the result for messages of size bytes. Each time that was added covers the given
// number of messages, one after the other: 2 for a round trip, of which the result is a half.
func (l *Latencies) Point(size, messages int) LatencyPoint {
	return l.sum.point(size, l.sum.n, messages)
}
