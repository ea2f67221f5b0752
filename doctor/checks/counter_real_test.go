package checks_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
	"github.com/rdmakit/rdmakit/inventory"
)

// TestIdleRealNodes reads the counters of every recorded machine twice with the same values: none
// may have a fault, and only the one with saturated counters gets warnings.
func TestIdleRealNodes(t *testing.T) {
	ports := 0
	for _, name := range realnodes.Names() {
		n, err := realnodes.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		snap := scan(t, n.Tree)
		in := doctor.Input{Snapshot: &snap, Facts: factsOf(t, n.Tree)}
		rates := facts.Rates{Interval: span}
		from := time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC)
		for d, p := range snap.Ports() {
			list, _ := inventory.ReadCounters(t.Context(), n.Tree.FS(), d.Name, p.Number) // what there is
			rates.Ports = append(rates.Ports, facts.Readings{
				Object: d.Name + ":" + strconv.Itoa(p.Number), From: from, To: from.Add(span), Elapsed: span,
				Before: list, After: list,
			})
			if len(list) > 0 {
				ports++
			}
		}
		in.Facts.Rates = known(rates)
		var only []string
		for _, c := range checks.All() {
			if slices.Contains(slices.Concat(c.Facts, c.Uses), facts.KindRates) {
				only = append(only, c.ID)
			}
		}
		r, err := doctor.Run(t.Context(), checks.All(), in, doctor.Options{Only: only})
		if err != nil {
			t.Fatal(err)
		}
		if got := bad(r, doctor.OutcomeFail); len(got) > 0 {
			t.Errorf("%s: nothing was counted, and yet there are faults:\n%s", name, strings.Join(got, "\n"))
		}
		warnings := bad(r, doctor.OutcomeWarn)
		if name == "gpud_h100_bond" {
			if len(warnings) != 8 || !strings.HasPrefix(warnings[0], "counter-saturated mlx5_0:1: excessive_buffer") ||
				!strings.Contains(warnings[1], "link_downed is saturated at 255") {
				t.Errorf("%s: warnings of saturated counters = %q, want 8", name, warnings)
			}
			continue
		}
		unknown := slices.DeleteFunc(bad(r, doctor.OutcomeUnknown), func(line string) bool {
			return strings.Contains(line, "no usable value in /sys/class/infiniband/scif0") // a dangling link
		})
		if len(warnings)+len(unknown) > 0 {
			t.Errorf("%s: nothing was counted, and yet there are warnings:\n%s", name,
				strings.Join(append(warnings, unknown...), "\n"))
		}
	}
	if ports < 100 {
		t.Errorf("only %d ports have counters", ports)
	}
}
