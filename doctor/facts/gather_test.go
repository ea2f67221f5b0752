package facts_test

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// clockCollector returns a collector of the clock with a function of a test.
func clockCollector(collect func(context.Context, *facts.Facts)) facts.Collector {
	return facts.Collector{
		Kind:    facts.KindClock,
		Collect: func(ctx context.Context, _ *inventory.Snapshot, f *facts.Facts) { collect(ctx, f) },
	}
}

// linksCollector returns a collector that succeeds.
func linksCollector() facts.Collector {
	return facts.Collector{
		Kind: facts.KindLinks,
		Collect: func(_ context.Context, _ *inventory.Snapshot, f *facts.Facts) {
			f.Links = &facts.Datum[[]facts.Link]{Value: []facts.Link{{Name: "eth0"}}}
		},
	}
}

// TestGatherContains has collectors that misbehave: each gives a datum that failed and names it,
// whatever they stored before, and the others are not affected.
func TestGatherContains(t *testing.T) {
	for name, tt := range map[string]struct {
		collect func(release <-chan struct{}, ctx context.Context, f *facts.Facts)
		want    string
	}{
		"panics": {
			func(_ <-chan struct{}, _ context.Context, f *facts.Facts) {
				f.Clock = &facts.Datum[facts.ClockDiscipline]{}
				panic("boo")
			}, "the collector of clock: panicked: boo",
		},
		"exits": {
			func(<-chan struct{}, context.Context, *facts.Facts) { runtime.Goexit() },
			"the collector of clock: ended without a result",
		},
		"stores nothing": {
			func(<-chan struct{}, context.Context, *facts.Facts) {}, "the collector of clock: ended without a result",
		},
		"ignores its context": {
			func(release <-chan struct{}, _ context.Context, f *facts.Facts) {
				<-release
				f.Clock = &facts.Datum[facts.ClockDiscipline]{}
			}, "the collector of clock: not finished within 20s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				f := facts.New(nil)
				bad := clockCollector(func(ctx context.Context, f *facts.Facts) { tt.collect(release, ctx, f) })
				f.Gather(t.Context(), nil, []facts.Collector{bad, linksCollector()}, facts.KindClock, facts.KindLinks)
				check := func() {
					t.Helper()
					err := f.State(facts.KindClock)
					if err == nil || err.Error() != tt.want || errors.Is(err, facts.ErrNotGathered) ||
						errors.Is(err, facts.ErrAbsent) || errors.Is(err, facts.ErrDenied) {
						t.Errorf("the state of the clock is %v, want a failure: %s", err, tt.want)
					}
				}
				check()
				if err := f.State(facts.KindLinks); err != nil {
					t.Errorf("the state of links is %v, want nil", err)
				}
				if g := f.Gathered(); len(g) != 2 || g[1].State != facts.StateFailed || g[1].Taken.IsZero() {
					t.Errorf("Gathered = %+v, want links, and a clock that failed at a time", g)
				}
				close(release)
				synctest.Wait()
				check() // a late answer changes nothing
			})
		})
	}
}

// TestGatherEndsWithContext ends the context: what a collector stores then counts, and one that
// ignores it is given up.
func TestGatherEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("the user is impatient"))
		defer cancel()
		f := facts.New(nil)
		f.Gather(ctx, nil, []facts.Collector{clockCollector(func(ctx context.Context, f *facts.Facts) {
			<-ctx.Done()
			f.Clock = &facts.Datum[facts.ClockDiscipline]{Error: "half of it"}
		})}, facts.KindClock)
		if err := f.State(facts.KindClock); err == nil || err.Error() != "half of it" {
			t.Errorf("State = %v, want the collector's own error", err)
		}
		f, release, start := facts.New(nil), make(chan struct{}), time.Now()
		f.Gather(ctx, nil, []facts.Collector{clockCollector(func(context.Context, *facts.Facts) { <-release })},
			facts.KindClock)
		err := f.State(facts.KindClock)
		if err == nil || !strings.Contains(err.Error(), "clock: the user is impatient") {
			t.Errorf("State = %v, want the cause of the end", err)
		}
		if waited := time.Since(start); waited > 2*time.Second {
			t.Errorf("Gather waited %v for a collector that ignores its context", waited)
		}
		close(release)
	})
}

// TestGatherLimit gives a collector more time than the usual.
func TestGatherLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := clockCollector(func(_ context.Context, f *facts.Facts) {
			time.Sleep(time.Minute)
			f.Clock = &facts.Datum[facts.ClockDiscipline]{}
		})
		slow.Limit = time.Hour
		f := facts.New(nil)
		f.Gather(t.Context(), nil, []facts.Collector{slow}, facts.KindClock)
		if err := f.State(facts.KindClock); err != nil {
			t.Errorf("State = %v, want nil", err)
		}
	})
}

// TestGatherAllKinds has a collector that panics for each kind: every kind has a failure.
func TestGatherAllKinds(t *testing.T) {
	f := facts.New(nil)
	var list []facts.Collector
	for _, k := range facts.Kinds() {
		list = append(list, facts.Collector{
			Kind: k, Collect: func(context.Context, *inventory.Snapshot, *facts.Facts) { panic("of " + k) },
		})
	}
	f.Gather(t.Context(), nil, list, facts.Kinds()...)
	for _, k := range facts.Kinds() {
		want := "the collector of " + string(k) + ": panicked: of " + string(k)
		if err := f.State(k); err == nil || err.Error() != want {
			t.Errorf("State(%s) = %v, want %s", k, err, want)
		}
	}
}

// steppedClock returns two times between which the wall clock went another way than the monotonic
// one: two reads of the clocks differ by some nanoseconds, as they do by more when the clock is
// set.
func steppedClock(t *testing.T) (first, second time.Time) {
	t.Helper()
	first = time.Now()
	for range 1_000_000 {
		second = time.Now()
		if second.Sub(first) != second.UTC().Sub(first.UTC()) {
			return first, second
		}
	}
	t.Skip("the wall clock and the monotonic clock of this machine are one")
	return first, second
}

// TestReadIgnoresClockSteps sets the clock while a datum is read.
func TestReadIgnoresClockSteps(t *testing.T) {
	first, second := steppedClock(t)
	times := []time.Time{first, second}
	now := func() time.Time {
		at := times[0]
		times = times[1:]
		return at
	}
	d := facts.Read(now, func() (int, error) { return 7, nil })
	if d.Took != second.Sub(first) || !d.Taken.Equal(first) || d.Taken.Location() != time.UTC || d.Value != 7 {
		t.Errorf("Read = %+v, want taken at %v in %v", d, first, second.Sub(first))
	}
}

// TestReadStates has an error of each kind: the state of the datum matches it, with its text.
func TestReadStates(t *testing.T) {
	for _, tt := range []struct {
		err, is error
		want    facts.State
	}{
		{facts.Absent("no such card"), facts.ErrAbsent, facts.StateAbsent},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, facts.ErrDenied, facts.StateDenied},
		{facts.Denied("root would see it"), facts.ErrDenied, facts.StateDenied},
		{syscall.EIO, nil, facts.StateFailed},
	} {
		f := facts.New(nil)
		f.Clock = facts.Read(time.Now, func() (facts.ClockDiscipline, error) {
			return facts.ClockDiscipline{Synchronized: true}, tt.err
		})
		err := f.State(facts.KindClock)
		if err == nil || err.Error() != tt.err.Error() || tt.is != nil && !errors.Is(err, tt.is) ||
			f.Clock.Value.Synchronized {
			t.Errorf("Read with %v: %v, value %+v, want the error alone", tt.err, err, f.Clock.Value)
		}
		if g := f.Gathered(); len(g) != 1 || g[0].State != tt.want {
			t.Errorf("Read with %v: %+v, want %s", tt.err, g, tt.want)
		}
	}
}
