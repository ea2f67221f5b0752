package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// TestTogether gives what all nodes did together: medians, the longest of all, and who was last.
func TestTogether(t *testing.T) {
	card := func(node int32, rail int16) plan.End { return plan.End{Node: node, Rail: rail} }
	slowest := func(node int32, n int) result.Slowest { return result.Slowest{End: card(node, 0), Count: n} }
	run := &result.Run{
		Cluster: plan.Cluster{Nodes: []plan.Node{
			{Name: "a", Rails: []plan.Card{{Device: "mlx5_0"}}}, {Name: "b", Rails: []plan.Card{{Device: "mlx5_0"}}},
		}},
		Scale: &result.Scale{Rate: 2, Time: 0.5},
		Barriers: []result.Barrier{
			{Load: true, Latency: result.Latency{Count: 5, P50: 30, P99: 50, Max: 70}},
			{
				Latency: result.Latency{Count: 8, P50: 2, P99: 8, Max: 100},
				Slowest: []result.Slowest{slowest(1, 6), slowest(0, 2)},
			},
			{Latency: result.Latency{Count: 4, P50: 4, P99: 6, Max: 20}, Slowest: []result.Slowest{slowest(0, 4)}},
			{Latency: result.Latency{Count: 6, P50: 90, P99: 99, Max: 99}, Slowest: []result.Slowest{slowest(1, 3)}},
		},
		Collectives: []result.Collective{
			{Algorithm: "tree", Bytes: 1024, Nodes: 2, AlgBW: 5, BusBW: 6},
			{
				Algorithm: "ring", Bytes: 1 << 20, Nodes: 2, AlgBW: 10, BusBW: 12,
				Slowest: []result.Slowest{slowest(0, 1)},
			},
			{Algorithm: "ring", Bytes: 1 << 20, Nodes: 1, AlgBW: 20, BusBW: 18},
			{Algorithm: "ring", Bytes: 1 << 20, Failure: &result.Failure{Code: "lost"}, AlgBW: 999},
			{Algorithm: "ring", Rail: 3, Failure: &result.Failure{Code: "lost", Text: "b has vanished"}},
			{Algorithm: "ring", Rail: 3, Failure: &result.Failure{Code: "lost", Text: "later"}},
		},
	}
	wantBarriers := []Barrier{
		{Rounds: 3, P50: 2, P99: 4, Max: 50, Last: "b mlx5_0", LastShare: 9.0 / 18},
		{Load: true, Rounds: 1, P50: 15, P99: 25, Max: 35},
	}
	if diff := cmp.Diff(wantBarriers, Barriers(run)); diff != "" {
		t.Errorf("barriers (-want +got):\n%s", diff)
	}
	wantCollectives := []Collective{
		{
			Algorithm: "ring", Bytes: 1 << 20, Nodes: 2, Runs: 3, Failed: 1, AlgBW: 30, BusBW: 30, Last: "a mlx5_0",
			LastShare: 1,
		},
		{Algorithm: "tree", Bytes: 1024, Nodes: 2, Runs: 1, AlgBW: 10, BusBW: 12},
		{Rail: 3, Algorithm: "ring", Runs: 2, Failed: 2, Why: "b has vanished"},
	}
	got := Collectives(run)
	if diff := cmp.Diff(wantCollectives, got); diff != "" {
		t.Errorf("collectives (-want +got):\n%s", diff)
	}
	if row := got[0].row(); row[6] != "a mlx5_0 (100 %); 1 of 3 failed" {
		t.Errorf("row of one that failed once: %q", row)
	}
	want := []string{"3", "ring", "0 bytes", "–", "failed", "failed", "b has vanished"}
	if diff := cmp.Diff(want, got[2].row()); diff != "" {
		t.Errorf("row of a failed one (-want +got):\n%s", diff)
	}
}
