package worker

import (
	"testing"
	"time"
)

// TestTallyTook checks which time the counts of a run belong to: to the last completion, since what
// came after it is a part of a group, but to the end after a silence.
func TestTallyTook(t *testing.T) {
	begin := time.Unix(100, 0)
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	for _, c := range []struct {
		name  string
		tally tally
		want  time.Duration
	}{
		{"ends within a group", tally{first: at(10), latest: at(990), polls: 98}, 980 * time.Millisecond},
		{"silent for half of the time", tally{first: at(10), latest: at(500), polls: 49}, 990 * time.Millisecond},
		{"nothing after the warm-up", tally{first: at(10)}, 990 * time.Millisecond},
	} {
		if got := c.tally.took(at(1000)); got != c.want {
			t.Errorf("%s: took %v, want %v", c.name, got, c.want)
		}
	}
}
