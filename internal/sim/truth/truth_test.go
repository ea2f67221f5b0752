package truth_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/sim/cluster"
	"github.com/rdmakit/rdmakit/internal/sim/truth"
)

// TestMatch checks that a verdict counts only with the cause and the place of a fault, and once.
func TestMatch(t *testing.T) {
	s, err := cluster.Scenario{
		Nodes: 8, Rails: 2, NodesPerLeaf: 4, LeafPerRail: true, Uplinks: 4,
		Faults: []cluster.Fault{
			{Kind: cluster.SlowOneWay, Node: 1, Rail: 1, Direction: cluster.Send},
			{Kind: cluster.DeadNode, Node: 2},
			{Kind: cluster.BadUplink, Leaf: 3, Uplink: 1},
		},
	}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cluster()
	card := func(cause verdict.Cause, node int32, rail int16) verdict.Verdict {
		where := verdict.Where{Scope: verdict.ScopeCard, Ends: []plan.End{{Node: node, Rail: rail}}}
		return verdict.Verdict{Cause: cause, Where: where}
	}
	node := func(cause verdict.Cause, name string) verdict.Verdict {
		return verdict.Verdict{Cause: cause, Where: verdict.Where{Scope: verdict.ScopeNode, Nodes: []string{name}}}
	}
	leaf := func(name string, rails ...int) verdict.Verdict {
		where := verdict.Where{Scope: verdict.ScopeLeaf, Leaf: name, Rails: rails}
		return verdict.Verdict{Cause: verdict.CauseUplink, Where: where}
	}
	for _, q := range []struct {
		name     string
		verdicts []verdict.Verdict
		want     truth.Matching
	}{
		{"nothing", nil, truth.Matching{Verdict: []int{-1, -1, -1}}},
		{
			"all",
			[]verdict.Verdict{
				leaf("leaf-01", 1), node(verdict.CauseAbsent, "gpu-002"), card(verdict.CauseSlowSend, 1, 1),
			},
			truth.Matching{Verdict: []int{2, 1, 0}},
		},
		{
			"other direction, other node, other leaf",
			[]verdict.Verdict{
				card(verdict.CauseSlowReceive, 1, 1), node(verdict.CauseAbsent, "gpu-003"), leaf("leaf-00", 1),
			},
			truth.Matching{Verdict: []int{-1, -1, -1}, Extra: []int{0, 1, 2}},
		},
		{
			"twice",
			[]verdict.Verdict{card(verdict.CauseSlowSend, 1, 1), card(verdict.CauseSlowSend, 1, 1)},
			truth.Matching{Verdict: []int{0, -1, -1}, Extra: []int{1}},
		},
	} {
		got := truth.Match(&s, &c, &verdict.Report{Verdicts: q.verdicts})
		if diff := cmp.Diff(q.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", q.name, diff)
		}
	}
}
