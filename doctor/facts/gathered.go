package facts

import (
	"errors"
	"time"
)

// Gathering is how one kind of data was obtained: for a report that says what it looked at.
type Gathering struct {
	Kind    Kind      `json:"kind"`
	Taken   time.Time `json:"taken,omitzero"` // when it was read
	Seconds float64   `json:"seconds"`        // how long that lasted
	State   State     `json:"state"`
	Reason  string    `json:"reason,omitempty"` // why there is no value
}

// State is what became of gathering a kind of data.
type State string

// The states.
const (
	StateKnown  State = "known"
	StateAbsent State = "absent" // the node has no such data
	StateDenied State = "denied" // it needs more privilege
	StateFailed State = "failed"
)

// Gathered returns the kinds that were gathered, in order, whatever the result.
func (f *Facts) Gathered() []Gathering {
	var all []Gathering
	for _, k := range Kinds() {
		err := f.State(k)
		if errors.Is(err, ErrNotGathered) {
			continue
		}
		g := Gathering{Kind: k, State: StateKnown}
		var took time.Duration
		g.Taken, took = f.slotOf(k).get().times()
		g.Seconds = took.Seconds()
		if err != nil {
			g.Reason = err.Error()
			switch {
			case errors.Is(err, ErrAbsent):
				g.State = StateAbsent
			case errors.Is(err, ErrDenied):
				g.State = StateDenied
			default:
				g.State = StateFailed
			}
		}
		all = append(all, g)
	}
	return all
}

// times returns when the value was read, and how long that lasted.
func (d *Datum[T]) times() (time.Time, time.Duration) { return d.Taken, d.Took }
