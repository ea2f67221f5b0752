package rping

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
)

func TestDefaults(t *testing.T) {
	for _, tt := range []struct {
		cfg                      Config
		interval, late, patience time.Duration
	}{
		{Config{}, time.Second, time.Second, 10 * time.Second},
		{Config{Interval: time.Minute}, time.Minute, time.Minute, 10 * time.Second},
		{Config{Flood: true}, time.Second, 100 * time.Millisecond, 10 * time.Second},
		{Config{Late: 5, Patience: 7, Flood: true}, time.Second, 5, 7},
	} {
		got, err := tt.cfg.withDefaults()
		if err != nil || got.Interval != tt.interval || got.Late != tt.late || got.Patience != tt.patience ||
			got.Size != DefaultSize {
			t.Errorf("defaults of %+v = %+v, %v", tt.cfg, got, err)
		}
	}
}

// TestPause computes the time until the next ping.
func TestPause(t *testing.T) {
	lost := errors.New("lost")
	for _, tt := range []struct {
		name     string
		cfg      Config
		due      time.Duration // from now
		err      error
		min, max time.Duration
	}{
		{"on time", Config{Interval: time.Hour}, time.Hour, nil, 59 * time.Minute, time.Hour},
		{"late: no pings to catch up", Config{Interval: time.Hour}, -time.Hour, nil, 0, 0},
		{"flood", Config{Interval: time.Hour, Flood: true}, 0, nil, 0, 0},
		{"flood, lost", Config{Interval: time.Hour, Flood: true}, 0, lost, time.Second, time.Second},
		{"flood, lost, short", Config{Interval: time.Millisecond, Flood: true}, 0, lost, 1e6, 1e6},
	} {
		r := run{cfg: tt.cfg}
		now := time.Now()
		due := now.Add(tt.due)
		if got := r.pause(&due, tt.err); got < tt.min || got > tt.max || !tt.cfg.Flood && due.Before(now) {
			t.Errorf("%s: pause of %v, due in %v, want %v to %v", tt.name, got, due.Sub(now), tt.min, tt.max)
		}
	}
}

// TestOver ends a run when the server has ended, unless it goes on forever.
func TestOver(t *testing.T) {
	for _, tt := range []struct {
		err  error
		over bool
	}{
		{io.EOF, true},
		{&verbs.RejectedError{NobodyListens: true}, true},
		{&verbs.RejectedError{}, false},
		{&SizeError{3}, true},
		{&MismatchError{}, false},
		{errNoAnswer, false},
	} {
		err := fmt.Errorf("wrapped: %w", tt.err)
		if got := (&run{}).over(err); got != tt.over {
			t.Errorf("over(%v) = %t, want %t", err, got, tt.over)
		}
		if (&run{cfg: Config{Forever: true}}).over(err) {
			t.Errorf("a run that goes on forever ends with %v", err)
		}
	}
}
