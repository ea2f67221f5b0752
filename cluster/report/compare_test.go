package report

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// TestCompareNoise compares healthy runs with other noise: nothing has changed.
func TestCompareNoise(t *testing.T) {
	for seed := range uint64(5) {
		old, now := synthetic{nodes: 24, rails: 4, seed: 10 + seed}, synthetic{nodes: 24, rails: 4, seed: 20 + seed}
		c, err := Compare(old.run(t), now.run(t))
		if err != nil {
			t.Fatal(err)
		}
		bandwidth := 0
		for _, ch := range c.Changes {
			if ch.Metric != MetricLatency {
				bandwidth++
			}
		}
		if bandwidth > 0 || len(c.Changes) > 1 || c.Compared != 96 {
			t.Errorf("seed %d: %d cards compared, %d changes: %v", seed, c.Compared, len(c.Changes), c.Changes)
		}
	}
}

// TestCompareChanges plants a card that became slow, one that became fast, and a node that became
// late.
func TestCompareChanges(t *testing.T) {
	old := synthetic{nodes: 24, rails: 2, seed: 1, slow: map[plan.End]float64{{Node: 3, Rail: 1}: 0.5}}
	now := synthetic{
		nodes: 24, rails: 2, seed: 2, slow: map[plan.End]float64{{Node: 5, Rail: 0}: 0.9},
		late: map[int32]float64{7: 9},
	}
	c, err := Compare(old.run(t), now.run(t))
	if err != nil {
		t.Fatal(err)
	}
	type found struct {
		Place
		Metric
		Worse bool
	}
	want := []found{
		{Place{"gpu-007", "mlx5_0", 0}, MetricLatency, true},
		{Place{"gpu-007", "mlx5_1", 1}, MetricLatency, true},
		{Place{"gpu-005", "mlx5_0", 0}, MetricSend, true},
		{Place{"gpu-003", "mlx5_1", 1}, MetricSend, false},
	}
	var got []found
	for _, ch := range c.Changes {
		if ch.Metric == MetricLatency && ch.Node != "gpu-007" && ch.factor() < 1.6 {
			continue // a partner of the late node, one of four
		}
		got = append(got, found{ch.Place, ch.Metric, ch.Worse})
	}
	if len(got) > 1 && got[0].Rail > got[1].Rail { // two cards of the node, about equally late
		got[0], got[1] = got[1], got[0]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Compare(old, new).Changes (-want +got):\n%s", diff)
	}
}

func TestCompareCards(t *testing.T) {
	old := tiny(4, rate(0, 1, 1, 100), rate(1, 0, 1, 100), rate(2, 0, 1, 100))
	retest := rate(1, 0, 4, 50) // would change the median
	retest.Attempt = 1
	old.Samples = append(old.Samples, retest, rate(1, 0, 4, 100))
	now := tiny(4, rate(1, 0, 4, 100), rate(0, 1, 1, 101), rate(1, 0, 1, 100), broken(rate(2, 0, 1, 0)))
	now.Cluster.Nodes[0].Rails[0].Device = "renamed"
	now.Cluster.Nodes[3].Name = "z"
	c, err := Compare(old, now)
	if err != nil {
		t.Fatal(err)
	}
	want := &Comparison{
		Compared: 4, Added: []Place{{"z", "x1", 1}, {"z", "x4", 4}}, Gone: []Place{{"d", "x1", 1}, {"d", "x4", 4}},
		Unmeasured: []Place{{"c", "x1", 1}},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("Compare(old, new) (-want +got):\n%s", diff)
	}
}

func TestCompareScale(t *testing.T) {
	emulated := &result.Scale{Label: "EMULATED", Rate: 100, Time: 1}
	old, now := tiny(2), tiny(2)
	now.Scale = emulated
	if _, err := Compare(old, now); !errors.Is(err, ErrScale) {
		t.Errorf("hardware against an emulated network: %v, want ErrScale", err)
	}
	old.Scale = &result.Scale{Label: "EMULATED", Rate: 100, Time: 1}
	if _, err := Compare(old, now); err != nil {
		t.Errorf("equal scales: %v", err)
	}
}

// TestCompareSoftware says that figures of processors are no comparison of cards; those of an
// emulation don't depend on them.
func TestCompareSoftware(t *testing.T) {
	c := Comparison{Compared: 1}
	for scale, want := range map[string]bool{" (SOFTWARE)": true, " (EMULATED)": false, "": false} {
		blocks := c.blocks(scale)
		b, err := output.New(output.Options{}).Render(nil, blocks...)
		if got := strings.Contains(string(b), "processors"); got != want || err != nil {
			t.Errorf("comparison%s: %s, %v, want the caution: %v", scale, b, err, want)
		}
	}
}
