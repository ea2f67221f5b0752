package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ringOf returns n targets.
func ringOf(kind string, n int) []target {
	var out []target
	for i := range n {
		out = append(out, target{name: fmt.Sprintf("%s%d", kind, i)})
	}
	return out
}

func namesOf(targets []target) []string {
	var out []string
	for _, t := range targets {
		out = append(out, t.name)
	}
	return out
}

// even is a cost function that gives all targets the same cost.
func even(target) int { return 1 }

// TestOrder checks that changed packages come first, and then cheap ones.
func TestOrder(t *testing.T) {
	p := plan{ringOf("changed", 2), ringOf("near", 2), ringOf("others", 2)}
	cost := map[string]int{"changed0": 9, "changed1": 8, "near0": 7, "near1": 2, "others0": 3, "others1": 2}
	want := []string{"changed1", "changed0", "near1", "others1", "others0", "near0"}
	if diff := cmp.Diff(want, namesOf(p.pick(0, func(t target) int { return cost[t.name] }))); diff != "" {
		t.Errorf("order differs (-want +got):\n%s", diff)
	}
}

func TestPick(t *testing.T) {
	tests := []struct {
		name                  string
		changed, near, others int
		turn                  int
		want                  []string
	}{
		{"all fit", 1, 2, 3, 7, []string{"changed0", "near0", "near1", "others0", "others1", "others2"}},
		{
			"nothing changed", 0, 0, 12, 1,
			[]string{
				"others10", "others11", "others0", "others1", "others2", "others3", "others4", "others5", "others6",
				"others7",
			},
		},
		{
			"too many changed", 14, 3, 1, 1,
			[]string{
				"changed12", "changed13", "changed0", "changed1", "changed2", "changed3", "changed4", "changed5",
				"changed6", "changed7", "changed8", "changed9", "others0",
			},
		},
		{
			"too many near a change", 10, 5, 1, 2,
			[]string{
				"changed0", "changed1", "changed2", "changed3", "changed4", "changed5", "changed6", "changed7",
				"changed8", "changed9", "near4", "near0", "others0",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plan{ringOf("changed", tt.changed), ringOf("near", tt.near), ringOf("others", tt.others)}
			if diff := cmp.Diff(tt.want, namesOf(p.pick(tt.turn, even))); diff != "" {
				t.Errorf("pick(%d) differs (-want +got):\n%s", tt.turn, diff)
			}
		})
	}
}

// TestTurns checks that each target gets a turn, wherever the turns begin, and that a turn has no
// target twice.
func TestTurns(t *testing.T) {
	for n := range 100 {
		p := plan{others: ringOf("", n)}
		for _, first := range []int{0, 122, 0x7fffff0} {
			seen := map[string]bool{}
			for turn := first; turn < first+(n+fewOthers-1)/fewOthers+1; turn++ {
				picked := p.pick(turn, even)
				once := map[string]bool{}
				for _, name := range namesOf(picked) {
					seen[name], once[name] = true, true
				}
				if len(once) != min(n, fewOthers) || len(once) != len(picked) {
					t.Fatalf("turn %d of %d targets has %v, want %d of them, none twice",
						turn, n, namesOf(picked), min(n, fewOthers))
				}
			}
			if len(seen) != n {
				t.Errorf("%d of %d targets had their turn from %d on", len(seen), n, first)
			}
		}
	}
}
