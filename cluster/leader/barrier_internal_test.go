package leader

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// TestBarriers checks that a barrier has the slowest round trip of each step, and who it was.
func TestBarriers(t *testing.T) {
	pair := func(a, b int32, steps ...float32) *wire {
		w := &wire{}
		w.halves[0] = half{end: plan.End{Node: a}, reply: &protocol.EdgeReply{Steps: steps}}
		w.halves[1] = half{end: plan.End{Node: b}}
		return w
	}
	load := pair(8, 9, 999, 999, 999, 999)
	load.load = true
	r := round{wires: []*wire{
		pair(0, 1, 1, 7, 1, 1), pair(2, 3, 2, 2, 2, 2), pair(4, 5, 1, 1, 1), load, // one ended a step before
	}}
	r.barriers()
	want := []result.Barrier{{
		Latency: result.Latency{Count: 4, Min: 2, P50: 2, P99: 7, P999: 7, Max: 7},
		Slowest: []result.Slowest{
			{End: plan.End{Node: 2}, Count: 3},
			{End: plan.End{Node: 3}, Count: 3},
			{End: plan.End{Node: 0}, Count: 1},
			{End: plan.End{Node: 1}, Count: 1},
		},
	}}
	if diff := cmp.Diff(want, r.out.Barriers); diff != "" {
		t.Errorf("barriers (-want +got):\n%s", diff)
	}
}
