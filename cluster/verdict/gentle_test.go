package verdict

import (
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// tenth makes a run one that measured with a tenth of the rate.
func tenth(run *result.Run) *result.Run {
	run.Options.Gentle = 10
	for i := range run.Samples {
		run.Samples[i].Gbps /= 10
	}
	return run
}

// TestGentleRuns checks that a run at a tenth of the rate accuses nobody of being slow: also two
// nodes, which are compared with the rate of their cards. What is slower than that is still found.
func TestGentleRuns(t *testing.T) {
	for _, nodes := range []int{2, 3, 8} {
		r := Find(tenth(newWorld(1, nodes, 2, 0).run(t)), Options{})
		told := slices.ContainsFunc(r.NotJudged, func(g Gap) bool { return g.What == "full rate" })
		if len(r.Verdicts) > 0 || !told {
			t.Errorf("%d nodes at a tenth of the rate, limit told %v:\n%s", nodes, told, dump(r))
		}
	}
	w := newWorld(1, 8, 2, 0)
	w.tx[plan.End{Node: 3, Rail: 1}] = 0.5
	want := []string{"slow-send: gpu-4 mlx5_1:1 (what it sends)"}
	if r := Find(tenth(w.run(t)), Options{}); !slices.Equal(brief(r), want) {
		t.Errorf("half of the limit: %q, want %q", brief(r), want)
	}
}
