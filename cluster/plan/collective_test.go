package plan

import "testing"

// TestLargeCollective checks that the ring and the tree of a cluster that is too large for an
// all-reduce have its first nodes.
func TestLargeCollective(t *testing.T) {
	const most = 5000
	for _, n := range []int{most - 1, most, most + 1, 16384} {
		want := min(n, most)
		round := 0
		for r := range stage(t, mustPlan(t, nodes(n, 1, 16), Options{}), StageCollective).Rounds() {
			seen := map[int32]bool{}
			for _, f := range r.Flows {
				seen[f.From], seen[f.To] = true, true
			}
			edges := want - round // a ring has one more than a tree
			if len(seen) != want || len(r.Flows) != edges {
				t.Errorf("%d nodes, round %d: %d nodes and %d edges, want %d and %d", n, round, len(seen),
					len(r.Flows), want, edges)
			}
			for node := range seen {
				if int(node) >= want {
					t.Fatalf("%d nodes, round %d: node %d takes part", n, round, node)
				}
			}
			round++
		}
	}
}
