package facts_test

import (
	"fmt"
	"testing"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

// branching returns rules of a base chain and further ones, of which each jumps several times to
// the next. All but the last accept nothing.
func branching(chains, jumps int) []facts.FilterRule {
	rules := []facts.FilterRule{{
		Family: "inet", Table: "t", Chain: "0", Hook: "input", Policy: true, Verdict: "accept",
	}}
	for c := range chains {
		for range jumps {
			rules = append(rules, facts.FilterRule{
				Family: "inet", Table: "t", Chain: fmt.Sprint(c), Verdict: "jump", Target: fmt.Sprint(c + 1),
			})
		}
	}
	return rules
}

// TestFilteredEnds evaluates chains that branch 20^15 ways: the fate is not known then. A few ways
// are followed.
func TestFilteredEnds(t *testing.T) {
	if got := facts.Filtered(branching(3, 20), nil, "input"); !got.Accept || got.Drop {
		t.Errorf("Filtered of 400 ways = %+v, want accepted", got)
	}
	got := facts.Filtered(branching(15, 20), nil, "input")
	if !got.Accept || !got.Drop || got.By == "" {
		t.Errorf("Filtered of 20^15 ways = %+v, want both", got)
	}
}
