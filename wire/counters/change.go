package counters

import "time"

// Endless is the width of a counter that never saturates.
const Endless = 64

// Reading is the value of a counter at one time.
type Reading struct {
	Value uint64
	// Bits is the counter's width. A counter of less than Endless bits stops at its highest
	// value, all ones. A greater value means that the counter is wider than Bits; it isn't
	// saturated then.
	Bits int
}

// Saturated reports whether the counter has reached its highest value: it counts nothing more until
// it is reset.
func (r Reading) Saturated() bool { return r.Bits < Endless && r.Value == 1<<r.Bits-1 }

// Change is the change of a counter between two readings.
type Change struct {
	// Delta is how much was counted. It is nil if that is unknown: there is no earlier reading,
	// the counter was and still is saturated, or it was reset (Reset) and is 0.
	Delta *uint64 `json:"delta,omitempty"`
	// AtLeast reports that Delta is a lower bound: the counter has become saturated or was reset.
	AtLeast bool `json:"atLeast,omitempty"`
	Reset   bool `json:"reset,omitempty"` // the value is smaller than before
	// PerSecond is Delta divided by the time between the readings; nil if Delta is nil.
	PerSecond *float64 `json:"perSecond,omitempty"`
}

// Compare returns the change of a counter between two readings. elapsed is the time between them;
// if it is 0, there is no rate. Readings with different widths belong to different counters, and
// the result is empty. See the package documentation for saturated counters. Delta and PerSecond
// are never negative.
func Compare(before, after Reading, elapsed time.Duration) Change {
	if before.Bits != after.Bits {
		return Change{}
	}
	c := Change{}
	delta := after.Value - before.Value
	switch {
	case after.Value < before.Value:
		c.Reset, c.AtLeast, delta = true, true, after.Value
	case after.Saturated():
		c.AtLeast = true
	}
	if c.AtLeast && delta == 0 { // a lower bound of 0 has no meaning
		c.AtLeast = false
		return c
	}
	c.Delta = &delta
	if elapsed > 0 {
		c.PerSecond = new(float64(delta) / elapsed.Seconds())
	}
	return c
}
