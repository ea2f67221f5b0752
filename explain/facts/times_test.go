package facts_test

import (
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// A kernel's line is of another time only if all failures of programs have times far from it.
func TestOtherTime(t *testing.T) {
	at := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	failure := func(file string, when time.Time) *facts.Failure {
		return &facts.Failure{Event: &evidence.Event{
			Kind: evidence.VerbsCompletion, Time: when, Place: evidence.Place{File: file, Line: 1},
		}}
	}
	for _, c := range []struct {
		name     string
		after    time.Duration
		failures []*facts.Failure
		want     bool
	}{
		{"five hours before", -5*time.Hour - 19*time.Minute, []*facts.Failure{failure("job", at)}, true},
		{"five minutes after", 5 * time.Minute, []*facts.Failure{failure("job", at)}, false},
		{"a quarter of an hour after", 15 * time.Minute, []*facts.Failure{failure("job", at)}, true},
		{"another zone", 30 * time.Minute, []*facts.Failure{failure("job", at)}, false},
		{"no other zone in one file", 30 * time.Minute, []*facts.Failure{failure("dmesg", at)}, true},
		{"near one of two", 15 * time.Minute, []*facts.Failure{
			failure("job", at), failure("job", at.Add(10*time.Minute)),
		}, false},
		{"one without a time", 15 * time.Minute, []*facts.Failure{
			failure("job", at), failure("job", time.Time{}),
		}, false},
		{"no failure of a program", 15 * time.Minute, nil, false},
	} {
		e := &evidence.Event{
			Kind: evidence.KernelLink, Time: at.Add(c.after), Place: evidence.Place{File: "dmesg", Line: 1},
		}
		if got := (&facts.Facts{Failures: c.failures}).OtherTime(e); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
