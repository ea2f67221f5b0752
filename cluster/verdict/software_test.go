package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// TestSoftwareLoss accuses no cable of the packets that busy processors drop (the world sends ten
// packets again for one), but of being slow if it is by a third; and still one that loses a
// hundredth.
func TestSoftwareLoss(t *testing.T) {
	for _, tt := range []struct {
		label string
		loss  float64
		rate  float64
		want  []string
	}{
		{result.LabelSoftware, 4e-5, 1, []string{}},
		{result.LabelSoftware, 4e-5, 0.5, []string{"slow-send: gpu-4 mlx5_0:1 (what it sends)"}},
		{"", 4e-5, 1, []string{"loss-send: gpu-4 mlx5_0:1 (what it sends)"}},
		{result.LabelSoftware, 1e-2, 1, []string{"loss-send: gpu-4 mlx5_0:1 (what it sends)"}},
	} {
		w := newWorld(1, 8, 1, 0)
		w.lossTx[plan.End{Node: 3}], w.tx[plan.End{Node: 3}] = tt.loss, tt.rate
		run := w.run(t)
		if tt.label != "" {
			run.Scale = &result.Scale{Label: tt.label, Rate: 1, Time: 1}
		}
		if got := brief(Find(run, Options{})); !slices.Equal(got, tt.want) {
			t.Errorf("%s %g lost: %q, want %q", tt.label, tt.loss, got, tt.want)
		}
	}
}

// TestEngineRemedies checks that what is advised about RDMA in software names its network device,
// and nothing that only real cards have.
func TestEngineRemedies(t *testing.T) {
	for cause, plant := range map[Cause]func(w *world, e plan.End){
		CauseSlow:     func(w *world, e plan.End) { w.tx[e], w.rx[e] = 0.5, 0.5 },
		CauseLossSend: func(w *world, e plan.End) { w.lossTx[e] = 1e-2 },
		CauseDeadCard: func(w *world, e plan.End) { w.dead[e] = true },
	} {
		w := newWorld(1, 8, 1, 0)
		plant(w, plan.End{Node: 3})
		run := w.run(t)
		for i := range run.Cluster.Nodes {
			card := &run.Cluster.Nodes[i].Rails[0]
			card.Device, card.Gbps = "roce@2001:db8::7", 0
			w.fact(i, 0, result.FactNetdev, "eth7")
		}
		run.Scale = &result.Scale{Label: result.LabelSoftware, Rate: 1, Time: 1}
		list := Find(run, Options{}).Verdicts
		w.fact(3, 0, result.FactNetdev, "lo") // of --local
		if local := Find(run, Options{}).Verdicts; len(local) != 1 || strings.Contains(local[0].Next, "cable") ||
			strings.Contains(local[0].Next, "lo ") {
			t.Errorf("%s of the loopback device: %+v", cause, local)
		}
		if len(list) != 1 || list[0].Cause != cause {
			t.Errorf("%s: %+v", cause, list)
			continue
		}
		text := strings.Join(append(list[0].TakeOut, list[0].Next), "\n")
		if !strings.Contains(list[0].Next, "eth7") || !strings.Contains(text, "scontrol") {
			t.Errorf("%s: %s", cause, text)
		}
		for _, e := range list[0].Evidence {
			text += "\n" + e.Text
		}
		for _, foreign := range []string{"NCCL_IB_HCA", "lspci", "ibstat", "(0 Gb/s)"} {
			if strings.Contains(text, foreign) {
				t.Errorf("%s advises %s:\n%s", cause, foreign, text)
			}
		}
	}
}

// TestSoftwareNoise accuses nobody of what busy processors do: rates that differ by a quarter, and
// tails below some milliseconds. It still names a card at half its rate, and long tails.
func TestSoftwareNoise(t *testing.T) {
	for _, tt := range []struct {
		name  string
		plant func(w *world)
		want  []string
	}{
		{"quarter", func(w *world) { w.tx[end(1, 0)], w.rx[end(1, 0)] = 0.74, 0.74 }, []string{}},
		{"half", func(w *world) { w.tx[end(1, 0)], w.rx[end(1, 0)] = 0.5, 0.5 }, []string{"slow: gpu-2 mlx5_0:1"}},
		{"tail", func(w *world) { w.tail[1] = 20 }, []string{}},
		{"long tail", func(w *world) { w.tail[1] = 20_000 }, []string{"pauses: gpu-2"}},
	} {
		w := newWorld(1, 4, 2, 0)
		tt.plant(w)
		run := w.run(t)
		run.Scale = &result.Scale{Label: result.LabelSoftware, Rate: 1, Time: 1}
		if got := brief(Find(run, Options{})); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestSoftwareRepeats needs repeats of a slow card in software to lose a quarter, too: half of what
// it lost before may be a busy processor.
func TestSoftwareRepeats(t *testing.T) {
	w := newWorld(1, 8, 1, 0)
	w.tx[end(2, 0)], w.rx[end(2, 0)] = 0.62, 0.62
	w.retest = [][]plan.Pair{{{A: 2, B: 5}}, {{A: 2, B: 7}}}
	run := w.run(t)
	run.Scale = &result.Scale{Label: result.LabelSoftware, Rate: 1, Time: 1}
	expect(t, Find(run, Options{}), "slow: gpu-3 mlx5_0:1")
	for i := range run.Samples {
		if s := &run.Samples[i]; s.Attempt > 0 && s.Gbps > 0 {
			s.Gbps = 389 * 0.78
		}
	}
	r := Find(run, Options{})
	expect(t, r)
	if !slices.ContainsFunc(r.NotJudged, func(g Gap) bool {
		return g.What == "gpu-3 mlx5_0:1" && strings.Contains(g.Why, "not when it was repeated")
	}) {
		t.Errorf("not judged: %v", r.NotJudged)
	}
}
