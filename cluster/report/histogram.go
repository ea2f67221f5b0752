package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/english"
)

// distribution are the histograms of a figure, one for each rail, over a common range.
type distribution struct {
	Title string
	Rails []histogram
}

// histogram is a drawing: its lengths are in the units of its view box, histogramWidth by
// histogramHeight.
type histogram struct {
	Title, Low, High string
	Count            string
	Bars             []bar
}

type bar struct {
	X, Y, Width, Height float64
	Text                string // its range and count
}

const (
	histogramBars   = 40
	histogramWidth  = 240.0
	histogramHeight = 72.0
)

// distributions returns the histograms of what was measured.
func distributions(rails []Rail, gathered []gather) []distribution {
	var out []distribution
	for _, f := range []struct {
		title, unit string
		log         bool
		values      func(*gather) []float64
	}{
		{"Bandwidth of each direction of a pair", "Gb/s", false, func(g *gather) []float64 { return g.rates }},
		{"Latency of each pair without load, median", "µs", true, func(g *gather) []float64 { return g.idle.p50 }},
		{"Jitter of each pair without load", "µs", true, func(g *gather) []float64 { return g.idle.jitter }},
		{"Jitter of each pair under load", "µs", true, func(g *gather) []float64 { return g.loaded.jitter }},
	} {
		var all []float64
		for i := range gathered {
			all = append(all, f.values(&gathered[i])...)
		}
		if len(all) == 0 {
			continue
		}
		a := newAxis(slices.Min(all), slices.Max(all), f.log, f.unit)
		d := distribution{Title: f.title}
		for i := range gathered {
			if v := f.values(&gathered[i]); len(v) > 0 {
				d.Rails = append(d.Rails, a.histogram(fmt.Sprintf("rail %d", rails[i].Rail), v))
			}
		}
		out = append(out, d)
	}
	return out
}

// axis is the range of a figure, linear or logarithmic.
type axis struct {
	low, high float64
	log       bool
	unit      string
}

func newAxis(low, high float64, log bool, unit string) axis {
	const least = 0.01 // µs or Gb/s: what is smaller can't be measured
	if log {
		low, high = max(low, least), max(high, least)
	}
	if low == high {
		high = low + least
	}
	return axis{low, high, log, unit}
}

// share returns where a value is on the axis, from 0 to 1.
func (a axis) share(v float64) float64 {
	s := (v - a.low) / (a.high - a.low)
	if a.log {
		s = math.Log(max(v, a.low)/a.low) / math.Log(a.high/a.low)
	}
	return min(max(s, 0), 1)
}

// value is the inverse of share.
func (a axis) value(share float64) float64 {
	if a.log {
		return a.low * math.Pow(a.high/a.low, share)
	}
	return a.low + share*(a.high-a.low)
}

func (a axis) text(v float64) string { return number(v) + " " + a.unit }

func (a axis) histogram(title string, values []float64) histogram {
	var counts [histogramBars]int
	for _, v := range values {
		counts[min(int(a.share(v)*histogramBars), histogramBars-1)]++
	}
	most := slices.Max(counts[:])
	h := histogram{Title: title, Low: a.text(a.low), High: a.text(a.high), Count: english.Count(len(values), "value")}
	const width, visible = histogramWidth / histogramBars, 2.0 // a single value must be visible beside thousands
	for i, n := range counts {
		if n == 0 {
			continue
		}
		height := max(float64(n)/float64(most)*histogramHeight, visible)
		h.Bars = append(h.Bars, bar{
			X: float64(i) * width, Y: histogramHeight - height, Width: width - 1, Height: height,
			Text: fmt.Sprintf("%s to %s: %d", number(a.value(float64(i)/histogramBars)),
				a.text(a.value(float64(i+1)/histogramBars)), n),
		})
	}
	return h
}
