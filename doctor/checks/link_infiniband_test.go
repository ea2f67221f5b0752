package checks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
)

// TestSlowLinkIsNamedOnce runs the two checks that find a slow InfiniBand link: one names it with
// its full outcome, the other refers to it. Each alone names it, and so it does if the other is on
// trial.
func TestSlowLinkIsNamedOnce(t *testing.T) {
	for _, c := range []struct {
		name, rate   string
		alone, other []string // findings about mlx5_0 of each check: alone, beside the other
	}{
		{
			"lanes lost", "200 Gb/sec (2X NDR)",
			[]string{"fail link-width", "fail rail-rate"},
			[]string{"fail link-width", "info rail-rate"},
		},
		{
			"a lower speed", "200 Gb/sec (4X HDR)",
			[]string{"warn link-width", "fail rail-rate"},
			[]string{"info link-width", "fail rail-rate"},
		},
	} {
		tree := load(t, "01_ib_8hca", port("mlx5_0", "rate", c.rate))
		found := func(options doctor.Options) (list []string) {
			snap := scan(t, tree)
			in := doctor.Input{Snapshot: &snap, Facts: factsOf(t, tree)}
			r, err := doctor.Run(t.Context(), checks.All(), in, options)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Findings {
				if f.Object == port0 {
					list = append(list, string(f.Outcome)+" "+f.CheckID)
				}
				refers := strings.Contains(f.Summary, ": see ")
				if refers != (f.Outcome == doctor.OutcomeInfo) || refers && len(f.Remedy) > 0 {
					t.Errorf("%s: %s of %s: %s", c.name, f.Outcome, f.CheckID, f.Summary)
				}
			}
			slices.Sort(list)
			return list
		}
		slices.Sort(c.alone)
		slices.Sort(c.other)
		both := []string{"link-width", "rail-rate"}
		alone := slices.Concat(found(doctor.Options{Only: both[:1]}), found(doctor.Options{Only: both[1:]}))
		slices.Sort(alone)
		if !slices.Equal(alone, c.alone) {
			t.Errorf("%s: alone %q, want %q", c.name, alone, c.alone)
		}
		if got := found(doctor.Options{Only: both}); !slices.Equal(got, c.other) {
			t.Errorf("%s: both %q, want %q", c.name, got, c.other)
		}
		if got := found(doctor.Options{Only: both, Shadow: both}); !slices.Equal(got, c.alone) {
			t.Errorf("%s: both on trial %q, want %q", c.name, got, c.alone)
		}
	}
}

// models gives each of the eight cards its own model, but the first n the same one.
func models(n int) change {
	changes := make([]change, 8)
	for i := range changes {
		changes[i] = set(fmt.Sprintf("sys/class/infiniband/mlx5_%d/board_id", i), fmt.Sprint("MT_", max(i, n-1)))
	}
	return all(changes...)
}

// TestLinkOfModel compares InfiniBand links with those of the same model of card.
func TestLinkOfModel(t *testing.T) {
	rate := func(dev, value string) change { return port(dev, "rate", value) }
	pass := []string{"pass node"}
	fail, warn := append(slices.Clone(pass), "fail "+port0), append(slices.Clone(pass), "warn "+port0)
	var slow []string
	for i := range 7 {
		slow = append(slow, fmt.Sprintf("warn mlx5_%d:1", i))
	}
	runCounters(t, []counterSituation{
		{
			"half of the lanes", "link-width", ibTree, rate("mlx5_0", "200 Gb/sec (2X NDR)"), fail,
			"the link uses 2 of 4 lanes: 200 Gb/sec (2X NDR); that of mlx5_1:1 on the same model of card has " +
				"400 Gb/sec (4X NDR)",
		},
		{
			"fewer lanes and slower", "link-width", ibTree, rate("mlx5_0", "50 Gb/sec (2X EDR)"), fail,
			"the link uses 2 of 4 lanes: 50 Gb/sec (2X EDR)",
		},
		{
			"a single lane", "link-width", ibTree, rate("mlx5_0", "100 Gb/sec (1X NDR)"), fail,
			"single lane: 100 Gb/sec (1X NDR); that of mlx5_1:1 on the same model of card has 400 Gb/sec (4X NDR)",
		},
		{
			"one slow link", "link-width", ibTree, rate("mlx5_0", "100 Gb/sec (4X EDR)"), warn,
			"the link is slow: 100 Gb/sec (4X EDR); that of mlx5_1:1 on the same model of card has 400 Gb/sec (4X NDR)",
		},
		{
			"one fast link", "link-width", ibTree,
			all(eight("rate", "100 Gb/sec (4X EDR)"), rate("mlx5_7", "200 Gb/sec (4X HDR)")),
			append(slices.Clone(pass), slow...), "that of mlx5_7:1 on the same model of card has 200 Gb/sec (4X HDR)",
		},
		{
			"the fastest of several", "link-width", ibTree, all(rate("mlx5_0", "100 Gb/sec (4X EDR)"),
				rate("mlx5_6", "800 Gb/sec (4X XDR)"), models(3)), warn,
			"that of mlx5_1:1 on the same model",
		},
		{
			"more lanes at half the speed", "link-width", ibTree,
			all(eight("rate", "200 Gb/sec (2X NDR)"), rate("mlx5_0", "200 Gb/sec (4X HDR)")), pass,
			"8 InfiniBand links",
		},
		{
			"more lanes, and slower", "link-width", ibTree,
			all(eight("rate", "200 Gb/sec (2X NDR)"), rate("mlx5_0", "100 Gb/sec (4X EDR)")), warn,
			"the link is slow: 100 Gb/sec (4X EDR)",
		},
		{
			"the fast link is down", "link-width", ibTree, all(eight("rate", "200 Gb/sec (2X NDR)"),
				rate("mlx5_1", "400 Gb/sec (4X NDR)"), state("mlx5_1", "1: DOWN", "3: Disabled")), pass,
			"7 InfiniBand links with more than one lane, as fast as others",
		},
		{
			"another model", "link-width", ibTree, all(rate("mlx5_7", "200 Gb/sec (2X NDR)"), models(7)), pass,
			"7 of them as fast as others on the same model of card, 1 with none to compare with",
		},
		{
			"nothing to compare", "link-width", ibTree, all(rate("mlx5_0", "200 Gb/sec (2X NDR)"), models(1)), pass,
			"8 InfiniBand links with more than one lane, and no other on the same model of card to compare with",
		},
	})
}
