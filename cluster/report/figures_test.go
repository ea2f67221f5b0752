package report

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
)

// TestPercentile uses the definition: the smallest value that at least this share doesn't exceed.
func TestPercentile(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for _, c := range []struct {
		values        []int
		percent, want int
	}{
		{hundred, 5, 5},
		{hundred, 50, 50},
		{hundred, 99, 99},
		{hundred, 100, 100},
		{hundred, 0, 1},
		{[]int{7}, 5, 7},
		{[]int{7}, 99, 7},
		{[]int{1, 2, 3}, 50, 2},
		{[]int{1, 2, 3, 4}, 50, 2},
		{[]int{1, 2, 3}, 99, 3},
	} {
		if got := percentile(c.values, c.percent); got != c.want {
			t.Errorf("percentile(%d values, %d) = %d, want %d", len(c.values), c.percent, got, c.want)
		}
	}
}

// tiny returns a run of n nodes with the rails 1 and 4, a stage of pairs, and the samples.
func tiny(n int, samples ...result.Sample) *result.Run {
	run := &result.Run{
		Schema: result.Schema,
		Stages: []result.Stage{
			{Name: plan.StagePairs, Planned: 1, Done: 1}, {Name: plan.StageJitter, Planned: 1, Done: 1},
		},
	}
	for i := range n {
		run.Cluster.Nodes = append(run.Cluster.Nodes, plan.Node{
			Name: string(rune('a' + i)), Rails: []plan.Card{{Rail: 1, Device: "x1"}, {Rail: 4, Device: "x4"}},
		})
		run.Nodes = append(run.Nodes, result.Node{State: result.NodeReady, Cards: make([]result.Card, 2)})
	}
	run.Samples = samples
	return run
}

func rate(from, to int32, rail int16, gbps float32) result.Sample {
	return result.Sample{From: plan.End{Node: from, Rail: rail}, To: plan.End{Node: to, Rail: rail}, Gbps: gbps}
}

func broken(s result.Sample) result.Sample {
	s.Gbps, s.Detail = 0, &result.Detail{Failure: &result.Failure{Step: result.StepData, Code: "timeout"}}
	return s
}

func latency(s result.Sample, p50, p99 float64, load bool) result.Sample {
	s.Stage, s.Gbps, s.Load = 1, 0, load
	s.Detail = &result.Detail{Latency: &result.Latency{Count: 1, P50: p50, P99: p99}}
	return s
}

func TestRails(t *testing.T) {
	retest := rate(2, 0, 1, 90)
	retest.Attempt = 1
	loopback := rate(1, 1, 1, 999)
	neighbour := rate(1, 1, 1, 999)
	neighbour.To.Rail = 4
	run := tiny(
		4,
		rate(0, 1, 1, 100), rate(1, 0, 1, 80), rate(0, 2, 1, 98), broken(rate(2, 0, 1, 0)), broken(rate(2, 3, 1, 0)),
		broken(rate(3, 2, 1, 0)), retest, loopback, neighbour,
		latency(rate(0, 1, 1, 0), 2, 3, false), latency(rate(2, 3, 1, 0), 3, 9, false),
		latency(rate(0, 1, 1, 0), 8, 20, true),
	)
	want := []Rail{
		{
			Rail: 1, Cards: 4, Pairs: 6, Measured: 2, Failed: 1,
			Bandwidth: &Bandwidth{Median: 90, P5: 80, Worst: 80, Best: 100},
			Idle:      &Latency{Pairs: 2, P50: 2, P99: 3, Worst: 9, Jitter: 1},
			Loaded:    &Latency{Pairs: 1, P50: 8, P99: 20, Worst: 20, Jitter: 12},
		},
		{Rail: 4, Cards: 4, Pairs: 6},
	}
	if diff := cmp.Diff(want, railsOf(run)); diff != "" {
		t.Errorf("railsOf(run) (-want +got):\n%s", diff)
	}
	if got := coverage(want[0]); got != "2 of 6 (33 %)" {
		t.Errorf("coverage = %q", got)
	}
	if got := coverage(Rail{Pairs: 1000, Measured: 999}); got != "999 of 1000 (99 %)" {
		t.Errorf("coverage = %q: 100 %% are all", got)
	}
}

func TestSummary(t *testing.T) {
	run := tiny(3, rate(0, 1, 1, 100))
	run.Nodes[2].State = result.NodeAbsent
	s := Summarize(run, verdict.Report{}, Options{})
	if s.Missing != 1 || s.Complete || s.Nodes != 3 || s.Scale != nil {
		t.Errorf("Summarize of a run with an absent node: %+v", s)
	}
}

// TestScaled holds that figures are multiplied by the scale, as those of verdicts are.
func TestScaled(t *testing.T) {
	run := tiny(2, rate(0, 1, 1, 4), rate(1, 0, 1, 3), latency(rate(0, 1, 1, 0), 200, 300, false))
	run.Scale = &result.Scale{Label: "EMULATED", Rate: 100, Time: 0.01}
	r := railsOf(run)[0]
	if r.Bandwidth.Best != 400 || r.Bandwidth.Worst != 300 || r.Idle.P50 != 2 || r.Idle.P99 != 3 {
		t.Errorf("figures: %+v, %+v", r.Bandwidth, r.Idle)
	}
	if h := heat(run, r); h.Values[0][1] != 0 || h.Values[1][0] != 1 || h.Best != "400 Gb/s" {
		t.Errorf("map from %s to %s: %v", h.Best, h.Worst, h.Values)
	}
	if got := cardsOf(run)[cardKey{"a", 1}].figures[MetricSend][0]; got != 400 {
		t.Errorf("compared: %v Gb/s, want 400", got)
	}
}

// TestReachLatency holds that the first messages of connections are no idle latencies.
func TestReachLatency(t *testing.T) {
	run := tiny(2, latency(rate(0, 1, 1, 0), 2, 3, false))
	run.Stages[run.Samples[0].Stage].Name = plan.StageReach
	if r := railsOf(run)[0]; r.Idle != nil {
		t.Errorf("idle latency of the stage reach: %+v", r.Idle)
	}
	if c := columnsOf(run); c.Latency != "" {
		t.Errorf("latencies of the page: %q", c.Latency)
	}
}

func TestHeat(t *testing.T) {
	run := tiny(3, rate(0, 1, 1, 100), rate(1, 0, 1, 75), rate(1, 0, 1, 100), rate(2, 0, 1, 90),
		broken(rate(0, 2, 1, 0)), rate(0, 2, 1, 100), rate(1, 2, 4, 50))
	h := heat(run, railsOf(run)[0])
	nan, failed := float32(math.NaN()), float32(math.Inf(1))
	want := [][]float32{{nan, 0, failed}, {1, nan, nan}, {0.4, nan, nan}}
	for y := range want {
		for x, w := range want[y] {
			if got := h.Values[y][x]; got != w && (got == got || w == w) {
				t.Errorf("value %d, %d is %v, want %v", y, x, got, w)
			}
		}
	}
	if h.Best != "100 Gb/s" || h.Worst != "75.0 Gb/s" || h.Per != 1 {
		t.Errorf("the scale is from %s to %s, %d nodes a row", h.Best, h.Worst, h.Per)
	}
	big := tiny(1025, rate(1000, 1024, 1, 100))
	if h := heat(big, railsOf(big)[0]); h.Per != 3 || len(h.Values) != 342 || h.Values[333][341] != 0 {
		t.Errorf("1025 nodes: %d rows of %d nodes", len(h.Values), h.Per)
	}
}

func TestHistogram(t *testing.T) {
	a := newAxis(1, 100, true, "µs")
	h := a.histogram("rail 0", []float64{1, 1, 1, 1, 10, 100})
	want := []bar{
		{X: 0, Y: 0, Width: 5, Height: 72, Text: "1.00 to 1.12 µs: 4"},
		{X: 120, Y: 54, Width: 5, Height: 18, Text: "10.0 to 11.2 µs: 1"},
		{X: 234, Y: 54, Width: 5, Height: 18, Text: "89.1 to 100 µs: 1"},
	}
	if diff := cmp.Diff(want, h.Bars); diff != "" {
		t.Errorf("bars (-want +got):\n%s", diff)
	}
	same := newAxis(5, 5, false, "Gb/s").histogram("rail 0", []float64{5, 5})
	if len(same.Bars) != 1 || same.Bars[0].Height != histogramHeight {
		t.Errorf("equal values: %+v", same.Bars)
	}
}
