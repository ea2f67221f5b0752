package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/sim/cluster"
)

// reach runs the stage reach of a scenario of which the leaves are unknown, and returns the run and
// the true leaves.
func reach(t *testing.T, s cluster.Scenario) (*result.Run, []string) {
	t.Helper()
	m, err := cluster.NewModel(s)
	if err != nil {
		t.Fatal(err)
	}
	s = m.Scenario()
	c := s.Cluster()
	truth := make([]string, len(c.Nodes))
	for i := range c.Nodes {
		truth[i], c.Nodes[i].Leaf = c.Nodes[i].Leaf, ""
	}
	p, err := plan.New(c, plan.Options{Stages: []plan.Name{plan.StageReach}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := leader.Verify(t.Context(), m, leader.Config{Plan: p})
	if err != nil {
		t.Fatal(err)
	}
	return run, truth
}

// agreement returns the adjusted Rand index of two divisions of the same nodes: 1 for the same, 0
// for chance (L. Hubert, P. Arabie, Comparing Partitions, Journal of Classification 2, 1985). A
// node without a leaf is in one by itself.
func agreement(a, b []string) float64 {
	pairs := func(n int) float64 { return float64(n*(n-1)) / 2 }
	both, as, bs := map[[2]string]int{}, map[string]int{}, map[string]int{}
	for i := range a {
		x, y := a[i], b[i]
		if y == "" {
			y = fmt.Sprint("none ", i)
		}
		both[[2]string{x, y}]++
		as[x]++
		bs[y]++
	}
	var index, sumA, sumB float64
	for _, n := range both {
		index += pairs(n)
	}
	for _, n := range as {
		sumA += pairs(n)
	}
	for _, n := range bs {
		sumB += pairs(n)
	}
	chance, most := sumA*sumB/pairs(len(a)), (sumA+sumB)/2
	return (index - chance) / (most - chance)
}

func TestAgreement(t *testing.T) {
	a := []string{"x", "x", "x", "y", "y", "y"}
	for _, c := range []struct {
		b    []string
		want float64
	}{
		{[]string{"1", "1", "1", "2", "2", "2"}, 1},
		{[]string{"1", "1", "2", "2", "3", "3"}, 0.2424},
		{[]string{"", "", "", "", "", ""}, 0},
	} {
		if got := agreement(a, c.b); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("agreement with %q = %v, want %v", c.b, got, c.want)
		}
	}
}

// TestInferLeaves infers the leaves of clusters of 8 to 128 nodes from the latencies of the model.
func TestInferLeaves(t *testing.T) {
	// Two switches add 1.4 µs; the shortest of 32 round trips with a spread of 5 % is a tenth less.
	inferred := 0
	for _, nodes := range []int{8, 12, 16, 24, 32, 64, 128} {
		for _, perLeaf := range []int{2, 4, 8, 16, 32} {
			for _, rails := range []int{1, 2, 8} {
				if 2*perLeaf > nodes || rails == 8 && nodes > 32 {
					continue
				}
				for seed := range uint64(3) {
					run, truth := reach(t, cluster.Scenario{
						Seed: 1 + seed, Nodes: nodes, Rails: rails, NodesPerLeaf: perLeaf, LeafPerRail: seed%2 == 0,
					})
					got := verdict.InferLeaves(run)
					if got.Leaves == nil {
						t.Errorf("%d nodes, %d a leaf, %d rails, seed %d: none: %s", nodes, perLeaf, rails, seed,
							got.Why)
						continue
					}
					inferred++
					if a := agreement(truth, got.Leaves); a < 1 || got.Hop < 1.15 || got.Hop > 1.45 {
						t.Errorf("%d nodes, %d a leaf, %d rails, seed %d: agreement %.3f, hop %.2f µs, noise %.3f µs",
							nodes, perLeaf, rails, seed, a, got.Hop, got.Noise)
					}
				}
			}
		}
	}
	t.Logf("%d clusters with an agreement of 1", inferred)
}

// TestInferNoLeaves infers nothing on a flat network, whatever its noise, and nothing wrong where
// the hop is small.
func TestInferNoLeaves(t *testing.T) {
	for _, nodes := range []int{8, 16, 64, 128} {
		for seed := range uint64(20) {
			if nodes == 128 && seed > 3 {
				break
			}
			run, _ := reach(t, cluster.Scenario{Seed: 1 + seed, Nodes: nodes, Rails: 1 + int(seed%3)})
			if got := verdict.InferLeaves(run); got.Leaves != nil || got.Why == "" {
				t.Errorf("flat network of %d nodes, seed %d: %q, hop %.3f µs, noise %.3f µs", nodes, seed, got.Leaves,
					got.Hop, got.Noise)
			}
		}
	}
	told := map[float64]int{}
	for _, hop := range []float64{0.025, 0.05, 0.1, 0.15, 0.2, 0.35} {
		for seed := range uint64(20) {
			run, truth := reach(t, cluster.Scenario{
				Seed: 1 + seed, Nodes: 16 + 8*int(seed%3), Rails: 1 + int(seed%2), NodesPerLeaf: 4, HopLatency: hop,
			})
			got := verdict.InferLeaves(run)
			if got.Leaves == nil {
				continue
			}
			told[hop]++
			if a := agreement(truth, got.Leaves); a < 1 {
				t.Errorf("hop of %g µs, seed %d: agreement %.3f", hop, seed, a)
			}
		}
	}
	t.Logf("of 20 clusters each, leaves were told by hop in µs: %v", told)
}

// TestVerdictsWithInferredLeaves finds a fault of uplinks without knowing the leaves, says from
// where they are, and has them in the journal, from which a run goes on.
func TestVerdictsWithInferredLeaves(t *testing.T) {
	s := cluster.Scenario{
		Seed: 3, Nodes: 16, Rails: 2, NodesPerLeaf: 4,
		Faults: []cluster.Fault{{Kind: cluster.HalfUplinks, Leaf: 1, Severity: 0.5}},
	}
	const name = "of gpu-004 and 3 other nodes"
	verify := func(o plan.Options, journal *bytes.Buffer, early bool, resume *result.Run) *result.Run {
		t.Helper()
		m, err := cluster.NewModel(s)
		if err != nil {
			t.Fatal(err)
		}
		whole := m.Scenario()
		c := whole.Cluster()
		for i := range c.Nodes {
			c.Nodes[i].Leaf = ""
		}
		p, err := plan.New(c, o)
		if err != nil {
			t.Fatal(err)
		}
		config := leader.Config{
			Plan: p, Suspects: verdict.Retest, Journal: leader.NewJournal(journal), Resume: resume,
			Leaves: func(run *result.Run) []string { return verdict.InferLeaves(run).Leaves },
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if early {
			config.Progress = func(p leader.Progress) {
				if p.Stage == plan.StagePermutation {
					cancel()
				}
			}
		}
		run, err := leader.Verify(ctx, m, config)
		if (err != nil) != early {
			t.Fatal(err)
		}
		return run
	}
	check := func(what string, run *result.Run) {
		t.Helper()
		if run.LeavesFrom != "latency" || run.Cluster.Nodes[5].Leaf != name {
			t.Errorf("%s: leaf of gpu-005 = %q from %q", what, run.Cluster.Nodes[5].Leaf, run.LeavesFrom)
		}
		found := verdict.Find(run, verdict.Options{})
		if len(found.Verdicts) != 1 || found.Verdicts[0].Cause != verdict.CauseUplinks {
			t.Fatalf("%s: verdicts %+v, want one of uplinks", what, found.Verdicts)
		}
		v := found.Verdicts[0]
		last := v.Evidence[len(v.Evidence)-1].Text
		if v.Where.Leaf != name || v.Confidence > 0.9 || !strings.HasPrefix(last, "leaves inferred from latency: ") {
			t.Errorf("%s: %s, confidence %v, last evidence %q", what, v.Where, v.Confidence, last)
		}
	}
	var journal, early, rest bytes.Buffer
	run := verify(plan.Options{}, &journal, false, nil)
	check("run", run)
	read, _, err := leader.ReadJournal(&journal)
	if err != nil {
		t.Fatal(err)
	}
	check("journal", read)

	verify(plan.Options{}, &early, true, nil)
	half, _, err := leader.ReadJournal(&early)
	if err != nil || half.LeavesFrom != "latency" || half.Complete() {
		t.Fatalf("unfinished journal: leaves from %q, complete %v, %v", half.LeavesFrom, half.Complete(), err)
	}
	resumed := verify(plan.Options{}, &rest, false, half)
	check("resumed run", resumed)
	if diff := cmp.Diff(run.Samples, resumed.Samples); diff != "" {
		t.Errorf("samples of the resumed run differ from those of a whole one:\n%.2000s", diff)
	}

	without := verify(plan.Options{Stages: []plan.Name{plan.StagePairs, plan.StagePermutation}},
		new(bytes.Buffer), false, nil)
	for _, g := range verdict.Find(without, verdict.Options{}).NotJudged {
		if g.What == "uplinks and spines" && strings.Contains(g.Why, "stage reach") {
			return
		}
	}
	t.Error("without the stage reach, nothing says why leaves are unknown")
}
