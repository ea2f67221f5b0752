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

// TestGatheredKnowsAllKinds fails for a kind whose times are missing or those of another.
func TestGatheredKnowsAllKinds(t *testing.T) {
	at := time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)
	got := allKinds(at).Gathered()
	if len(got) != len(facts.Kinds()) {
		t.Fatalf("%d of %d kinds", len(got), len(facts.Kinds()))
	}
	for i, g := range got {
		if !g.Taken.Equal(at) || g.Seconds != float64(i+1) {
			t.Errorf("%s: taken %v in %v s, want %d s", g.Kind, g.Taken, g.Seconds, i+1)
		}
	}
}

// allKinds returns facts of which every kind is known; reading the first took one second, and each
// other one second more.
func allKinds(at time.Time) *facts.Facts {
	return &facts.Facts{
		Links:     &facts.Datum[[]facts.Link]{Taken: at, Took: time.Second},
		Routes:    &facts.Datum[facts.Routing]{Taken: at, Took: 2 * time.Second},
		Ethtool:   &facts.Datum[[]facts.Ethtool]{Taken: at, Took: 3 * time.Second},
		Modules:   &facts.Datum[[]facts.Module]{Taken: at, Took: 4 * time.Second},
		DCB:       &facts.Datum[[]facts.DCB]{Taken: at, Took: 5 * time.Second},
		Devlink:   &facts.Datum[[]facts.DevlinkDevice]{Taken: at, Took: 6 * time.Second},
		KernelLog: &facts.Datum[[]facts.KernelMessage]{Taken: at, Took: 7 * time.Second},
		Rates:     &facts.Datum[facts.Rates]{Taken: at, Took: 8 * time.Second},
		Probe:     &facts.Datum[[]facts.Probe]{Taken: at, Took: 9 * time.Second},
		Resolver:  &facts.Datum[facts.Resolver]{Taken: at, Took: 10 * time.Second},
		Filter:    &facts.Datum[[]facts.FilterRule]{Taken: at, Took: 11 * time.Second},
		Clock:     &facts.Datum[facts.ClockDiscipline]{Taken: at, Took: 12 * time.Second},
		PCI:       &facts.Datum[[]facts.PCIFunction]{Taken: at, Took: 13 * time.Second},
		Daemons:   &facts.Datum[[]facts.Daemon]{Taken: at, Took: 14 * time.Second},
		Shm:       &facts.Datum[facts.FileSystem]{Taken: at, Took: 15 * time.Second},
		Verbs:     &facts.Datum[[]facts.VerbsPort]{Taken: at, Took: 16 * time.Second},

		Environment: &facts.Datum[map[string]string]{Taken: at, Took: 17 * time.Second},
	}
}
