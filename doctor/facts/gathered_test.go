package facts_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

func TestGathered(t *testing.T) {
	at := time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)
	f := facts.New(nil)
	f.Clock = &facts.Datum[facts.ClockDiscipline]{Taken: at, Took: 1500 * time.Millisecond}
	f.Links = &facts.Datum[[]facts.Link]{Taken: at, Absent: "no network"}
	f.KernelLog = &facts.Datum[[]facts.KernelMessage]{Taken: at, Denied: "root reads it"}
	f.Routes = &facts.Datum[facts.Routing]{Taken: at, Error: errors.ErrUnsupported.Error()}
	want := []facts.Gathering{
		{Kind: facts.KindLinks, Taken: at, State: facts.StateAbsent, Reason: "no network"},
		{Kind: facts.KindRoutes, Taken: at, State: facts.StateFailed, Reason: "unsupported operation"},
		{Kind: facts.KindKernelLog, Taken: at, State: facts.StateDenied, Reason: "root reads it"},
		{Kind: facts.KindClock, Taken: at, Seconds: 1.5, State: facts.StateKnown},
	}
	if diff := cmp.Diff(want, f.Gathered()); diff != "" {
		t.Errorf("Gathered (-want +got):\n%s", diff)
	}
}

// TestGatheredKnowsAllKinds fails for a kind whose times are missing.
func TestGatheredKnowsAllKinds(t *testing.T) {
	at := time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)
	f := allKinds(at)
	got := f.Gathered()
	if len(got) != len(facts.Kinds()) {
		t.Fatalf("%d of %d kinds", len(got), len(facts.Kinds()))
	}
	for _, g := range got {
		if !g.Taken.Equal(at) || g.Seconds != 2 {
			t.Errorf("%s: taken %v in %v s", g.Kind, g.Taken, g.Seconds)
		}
	}
}

// allKinds returns facts of which every kind is known.
func allKinds(at time.Time) *facts.Facts {
	const took = 2 * time.Second
	return &facts.Facts{
		Links:     &facts.Datum[[]facts.Link]{Taken: at, Took: took},
		Routes:    &facts.Datum[facts.Routing]{Taken: at, Took: took},
		Ethtool:   &facts.Datum[[]facts.Ethtool]{Taken: at, Took: took},
		Modules:   &facts.Datum[[]facts.Module]{Taken: at, Took: took},
		DCB:       &facts.Datum[[]facts.DCB]{Taken: at, Took: took},
		Devlink:   &facts.Datum[[]facts.DevlinkDevice]{Taken: at, Took: took},
		KernelLog: &facts.Datum[[]facts.KernelMessage]{Taken: at, Took: took},
		Rates:     &facts.Datum[facts.Rates]{Taken: at, Took: took},
		Probe:     &facts.Datum[[]facts.Probe]{Taken: at, Took: took},
		Resolver:  &facts.Datum[facts.Resolver]{Taken: at, Took: took},
		Filter:    &facts.Datum[[]facts.FilterRule]{Taken: at, Took: took},
		Clock:     &facts.Datum[facts.ClockDiscipline]{Taken: at, Took: took},
	}
}
