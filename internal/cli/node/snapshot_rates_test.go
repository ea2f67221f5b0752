package node

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/inventory"
)

// TestSnapshotFacts repeats a recording: the interval is waited for once, everything else is read
// again.
func TestSnapshotFacts(t *testing.T) {
	var rates, shm atomic.Int32 // calls of the collectors, which run side by side
	collectors := []facts.Collector{
		{Kind: facts.KindRates, Live: true, Collect: func(_ context.Context, _ *inventory.Snapshot, f *facts.Facts) {
			rates.Add(1)
			f.Rates = &facts.Datum[facts.Rates]{Value: facts.Rates{Interval: 10 * time.Second}}
		}},
		{Kind: facts.KindShm, Collect: func(_ context.Context, _ *inventory.Snapshot, f *facts.Facts) {
			shm.Add(1)
			f.Shm = &facts.Datum[facts.FileSystem]{Value: facts.FileSystem{Size: 1}}
		}},
	}
	gather := snapshotFacts(nil, collectors, []facts.Kind{facts.KindShm, facts.KindRates})
	for range 2 {
		f := gather(t.Context(), &inventory.Snapshot{})
		if f.Rates == nil || f.Rates.Value.Interval != 10*time.Second || f.Shm == nil {
			t.Errorf("gathered %+v, want both kinds", f)
		}
	}
	if rates.Load() != 1 || shm.Load() != 2 {
		t.Errorf("%d calls for the rates and %d for the other, want 1 and 2", rates.Load(), shm.Load())
	}
	f := snapshotFacts(nil, collectors, []facts.Kind{facts.KindShm})(t.Context(), &inventory.Snapshot{})
	if !errors.Is(f.State(facts.KindRates), facts.ErrNotGathered) {
		t.Errorf("without the kind: %v, want not gathered", f.State(facts.KindRates))
	}
}

func TestSnapshotCollectors(t *testing.T) {
	app := &cli.App{Now: time.Now}
	for interval, want := range map[time.Duration]bool{0: false, time.Second: true} {
		collectors, kinds := snapshotCollectors(app, nil, interval)
		has := slices.ContainsFunc(collectors, func(c facts.Collector) bool { return c.Kind == facts.KindRates })
		if has != want || slices.Contains(kinds, facts.KindRates) != want {
			t.Errorf("interval %v: collector %t, kinds %v, want %t", interval, has, kinds, want)
		}
	}
}
