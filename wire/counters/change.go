package counters

import "time"

// Endless is the width of a counter that stops nowhere.
const Endless = 64

// Reading is a counter as it was read.
type Reading struct {
	Value uint64
	// Bits is the counter's width. Below Endless it stops at its highest value, all ones; a value
	// beyond that is of a counter that is wider than it should be, and is at no end.
	Bits int
}

// Saturated reports whether the counter stands at its end: it counts nothing more until it is
// reset.
func (r Reading) Saturated() bool { return r.Bits < Endless && r.Value == 1<<r.Bits-1 }

// Change is what became of a counter between two readings.
type Change struct {
	// Delta is how much was counted. It is nil when nothing can be told: there is no earlier
	// reading, the counter stood at its end before and still does, or it was reset (Reset) and is
	// 0.
	Delta *uint64 `json:"delta,omitempty"`
	// AtLeast tells that Delta is a lower bound, for the counter reached its end or was reset.
	AtLeast bool `json:"atLeast,omitempty"`
	Reset   bool `json:"reset,omitempty"` // it is smaller than before
	// PerSecond is Delta over the time between the readings; nil as Delta.
	PerSecond *float64 `json:"perSecond,omitempty"`
}

// Compare tells what became of a counter between two readings, taken elapsed apart; without a time
// there is no rate. Readings of different widths are of different counters and tell nothing. See
// the package for what saturated counters mean. Neither Delta nor PerSecond is ever negative.
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
	if c.AtLeast && delta == 0 { // true of every counter
		c.AtLeast = false
		return c
	}
	c.Delta = &delta
	if elapsed > 0 {
		c.PerSecond = new(float64(delta) / elapsed.Seconds())
	}
	return c
}
