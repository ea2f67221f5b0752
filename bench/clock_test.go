package bench

import (
	"errors"
	"testing"
	"time"
)

// TestClockCheck sends messages at intervals up to an end, within a duration of a second.
func TestClockCheck(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name       string
		margin     time.Duration
		every, end time.Duration
		gap        time.Duration // at 100 ms
		short      bool
	}{
		{"up to the end", 250 * ms, ms, 1000 * ms, 0, false},
		{"into the margin", 250 * ms, ms, 760 * ms, 0, false},
		{"not quite", 250 * ms, ms, 740 * ms, 0, true},
		{"half", 250 * ms, ms, 500 * ms, 0, true},
		{"half, but the network stops at times", 250 * ms, ms, 700 * ms, 160 * ms, false},
		{"few", 250 * ms, 200 * ms, 700 * ms, 0, false},
		{"without margin", 0, ms, 999 * ms, 0, false},
		{"without margin, a retry at the end", 0, ms, 930 * ms, 0, false},
		{"without margin, half", 0, ms, 500 * ms, 0, true},
	}
	for _, tt := range tests {
		c := clock{from: tt.margin, to: 1000*ms - tt.margin, last: 1000 * ms}
		for at := tt.every; at <= tt.end; at += tt.every {
			if at == 100*ms {
				at += tt.gap
			}
			c.saw(at, 1)
			c.saw(at, 0)
		}
		c.saw(c.last, 0) // the last look finds nothing
		if err := c.check(); errors.Is(err, ErrCutShort) != tt.short {
			t.Errorf("%s: check = %v, want ErrCutShort: %t", tt.name, err, tt.short)
		}
	}
}
