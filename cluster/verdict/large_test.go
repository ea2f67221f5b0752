package verdict

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// TestLargeCluster checks that a report says which nodes were not part of an all-reduce.
func TestLargeCluster(t *testing.T) {
	for _, n := range []int{plan.MaxRanks, plan.MaxRanks + 7} {
		run := &result.Run{Schema: result.Schema}
		for i := range n {
			run.Cluster.Nodes = append(run.Cluster.Nodes, plan.Node{Name: fmt.Sprint("n", i), Rails: []plan.Card{{}}})
			run.Nodes = append(run.Nodes, result.Node{State: result.NodeReady, Cards: []result.Card{{}}})
		}
		want := Gap{What: "all-reduce", Why: "the last 7 nodes took no part: 5000 can do it together"}
		gaps := Find(run, Options{}).NotJudged
		told := slices.ContainsFunc(gaps, func(g Gap) bool { return g.What == want.What })
		if large := n > plan.MaxRanks; slices.Contains(gaps, want) != large || told != large {
			t.Errorf("%d nodes: not judged: %v", n, gaps)
		}
	}
}
