package rping

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The window is divided into parts, and moves by one of them at a time.
const (
	windowParts = 12
	windowPart  = 5 * time.Second
)

// windowDigits is the precision of its percentiles, and maxWindow the largest time that it tells
// from others.
const (
	windowDigits = 3
	maxWindow    = time.Minute
)

// Window counts the pings of the last minute. Create one with [NewWindow]. It is for one goroutine.
type Window struct {
	parts [windowParts]part
}

// part counts the pings of a few seconds.
type part struct {
	number            int64 // of the part since 1970
	sent, lost, late  uint64
	wrong             uint64
	times             *hdrhistogram.Histogram
	shortest, longest time.Duration
}

// NewWindow returns an empty window.
func NewWindow() *Window {
	w := &Window{}
	for i := range w.parts {
		w.parts[i].times = newTimes()
	}
	return w
}

func newTimes() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, maxWindow.Nanoseconds(), windowDigits)
}

func partOf(at time.Time) int64 { return at.UnixNano() / int64(windowPart) }

// Add adds the result of a ping.
func (w *Window) Add(s Sample) {
	number := partOf(s.At)
	p := &w.parts[number%windowParts]
	if p.number != number {
		times := p.times
		times.Reset()
		*p = part{number: number, times: times}
	}
	p.sent++
	if s.Time == 0 {
		p.lost++
		return
	}
	if s.Err != nil {
		p.wrong++
	}
	if s.Late {
		p.late++
	}
	if p.shortest == 0 || s.Time < p.shortest {
		p.shortest = s.Time
	}
	p.longest = max(p.longest, s.Time)
	_ = p.times.RecordValue(min(s.Time, maxWindow).Nanoseconds()) // it is in the range
}

// Recent is the result of the last minute. Times are in microseconds; they are 0 if no ping came
// back.
type Recent struct {
	Schema string    `json:"schema"` // RecentSchema
	At     time.Time `json:"at"`     // end of the minute
	Device string    `json:"device"`
	Remote string    `json:"remote"`
	Scale  string    `json:"scale,omitempty"` // as in a Result
	Sent   uint64    `json:"sent"`
	Lost   uint64    `json:"lost"`
	Late   uint64    `json:"late"`
	Wrong  uint64    `json:"wrong"`
	Min    float64   `json:"minUs"`
	P50    float64   `json:"p50Us"`
	P99    float64   `json:"p99Us"`
	P999   float64   `json:"p999Us"`
	Max    float64   `json:"maxUs"`
	// Problem is why the last ping was lost, if it was.
	Problem string `json:"problem,omitempty"`
}

// RecentSchema is the version of the JSON form of a [Recent].
const RecentSchema = "rdmakit.ping-minute/v1"

// Recent returns the result of the minute before now.
func (w *Window) Recent(now time.Time) Recent {
	r := Recent{Schema: RecentSchema, At: now.UTC()}
	last := partOf(now)
	times := newTimes()
	var shortest, longest time.Duration
	for i := range w.parts {
		p := &w.parts[i]
		if p.sent == 0 || p.number <= last-windowParts || p.number > last {
			continue
		}
		r.Sent, r.Lost, r.Late, r.Wrong = r.Sent+p.sent, r.Lost+p.lost, r.Late+p.late, r.Wrong+p.wrong
		times.Merge(p.times)
		if p.shortest > 0 && (shortest == 0 || p.shortest < shortest) {
			shortest = p.shortest
		}
		longest = max(longest, p.longest)
	}
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	quantile := func(q float64) float64 { return micros(min(time.Duration(times.ValueAtQuantile(q)), longest)) }
	r.Min, r.Max = micros(shortest), micros(longest)
	r.P50, r.P99, r.P999 = quantile(50), quantile(99), quantile(99.9)
	return r
}
