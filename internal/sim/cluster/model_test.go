package cluster

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// verify runs a whole plan on a scenario.
func verify(t *testing.T, s Scenario) *result.Run {
	t.Helper()
	m, err := NewModel(s)
	if err != nil {
		t.Fatal(err)
	}
	c := m.Scenario()
	p, err := plan.New(c.Cluster(), plan.Options{Seed: s.Seed})
	if err != nil {
		t.Fatal(err)
	}
	run, err := leader.Verify(t.Context(), m, leader.Config{Plan: p, LeavesFrom: "scenario"})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Check(); err != nil {
		t.Fatal(err)
	}
	return run
}

// stageOf returns the samples of a stage that f accepts.
func stageOf(run *result.Run, name plan.Name, f func(*result.Sample) bool) (out []*result.Sample) {
	for i := range run.Samples {
		s := &run.Samples[i]
		if run.Stages[s.Stage].Name == name && (f == nil || f(s)) {
			out = append(out, s)
		}
	}
	return out
}

func median(list []*result.Sample) float64 {
	rates := make([]float64, 0, len(list))
	for _, s := range list {
		rates = append(rates, float64(s.Gbps))
	}
	slices.Sort(rates)
	if len(rates) == 0 {
		return math.NaN()
	}
	return rates[len(rates)/2]
}

func sends(node, rail int) func(*result.Sample) bool {
	return func(s *result.Sample) bool {
		return s.From == plan.End{Node: int32(node), Rail: int16(rail)} && s.From != s.To
	}
}

func receives(node, rail int) func(*result.Sample) bool {
	return func(s *result.Sample) bool {
		return s.To == plan.End{Node: int32(node), Rail: int16(rail)} && s.From != s.To
	}
}

func failures(list []*result.Sample) map[string]int {
	out := map[string]int{}
	for _, s := range list {
		if s.Detail != nil && s.Detail.Failure != nil {
			out[s.Detail.Failure.Code]++
		} else {
			out[""]++
		}
	}
	return out
}

func counters(list []*result.Sample, side result.Side, name string) (n uint64) {
	for _, s := range list {
		if s.Detail == nil {
			continue
		}
		for _, c := range s.Detail.Counters {
			if c.At == side && c.Name == name {
				n += c.Delta
			}
		}
	}
	return n
}

// line is what a card of 400 Gb/s carries of payload at an MTU of 4096.
const line = 400 * 4096 / (4096 + 82.)

func near(got, want float64) bool { return math.Abs(got-want) < 0.03*want }

// TestKinds plants each kind in a quiet cluster of one leaf and looks for its main effect.
func TestKinds(t *testing.T) {
	const node, rail = 3, 1
	for kind, check := range map[Kind]func(*testing.T, *result.Run){
		SlowCard: func(t *testing.T, run *result.Run) {
			a := median(stageOf(run, plan.StagePairs, sends(node, rail)))
			b := median(stageOf(run, plan.StagePairs, receives(node, rail)))
			if !near(a, 0.6*line) || !near(b, 0.6*line) {
				t.Errorf("sends %v and receives %v, want 60 %% of %v", a, b, line)
			}
			if got := median(stageOf(run, plan.StagePairs, sends(node, 0))); !near(got, line) {
				t.Errorf("its neighbour sends %v, want %v", got, line)
			}
		},
		SlowNode: func(t *testing.T, run *result.Run) {
			for r := range 2 {
				if got := median(stageOf(run, plan.StagePairs, sends(node, r))); !near(got, 0.6*line) {
					t.Errorf("rail %d sends %v, want 60 %% of %v", r, got, line)
				}
			}
		},
		HalfPCIe: func(t *testing.T, run *result.Run) {
			if got := median(stageOf(run, plan.StagePairs, receives(node, rail))); !near(got, 504*0.9/2) {
				t.Errorf("receives %v, want half of a slot, %v", got, 504*0.9/2)
			}
			if got := run.Nodes[node].Cards[rail].Facts[result.FactPCIe]; got != "32.0 GT/s x8" {
				t.Errorf("reports a slot of %s", got)
			}
		},
		LossyCable: func(t *testing.T, run *result.Run) {
			list := stageOf(run, plan.StagePairs, sends(node, rail))
			if counters(list, result.AtFrom, result.CounterRetransmits) == 0 ||
				counters(list, result.AtTo, result.CounterOutOfSeq) == 0 ||
				counters(list, result.AtFrom, result.CounterOutOfSeq) == 0 {
				t.Error("no retransmissions or gaps")
			}
			if got := counters(list, result.AtFrom, result.CounterSymbol); got != 0 {
				t.Errorf("%d symbol errors", got)
			}
		},
		BitErrors: func(t *testing.T, run *result.Run) {
			if counters(stageOf(run, plan.StagePairs, receives(node, rail)), result.AtTo, result.CounterSymbol) == 0 {
				t.Error("no symbol errors")
			}
		},
		DeadCard: func(t *testing.T, run *result.Run) {
			if got := failures(stageOf(run, plan.StageReach, sends(node, rail)))[""]; got != 0 {
				t.Errorf("%d connections", got)
			}
			if run.Nodes[node].Cards[rail].Failure == nil {
				t.Error("its port is not down")
			}
		},
		DeadNode: func(t *testing.T, run *result.Run) {
			if got := run.Nodes[node].State; got != result.NodeAbsent {
				t.Errorf("it is %s", got)
			}
		},
		DyingNode: func(t *testing.T, run *result.Run) {
			if got := run.Nodes[node].State; got != result.NodeLost {
				t.Errorf("it is %s", got)
			}
			if got := failures(stageOf(run, plan.StageReach, sends(node, rail))); got[""] == 0 || len(got) > 1 {
				t.Errorf("before it dies: %v", got)
			}
		},
		JitteryHost: func(t *testing.T, run *result.Run) {
			for _, s := range stageOf(run, plan.StageJitter, func(s *result.Sample) bool { return !s.Load }) {
				with := s.From.Node == node || s.To.Node == node
				if l := s.Detail.Latency; with != (l.P999 > 60) {
					t.Errorf("%v to %v: %+v", s.From, s.To, l)
				}
			}
		},
		WrongMTU: func(t *testing.T, run *result.Run) {
			if got := median(stageOf(run, plan.StagePairs, sends(node, rail))); !near(got, 400*1024/(1024+82.)) {
				t.Errorf("sends %v", got)
			}
		},
		MissingGID: func(t *testing.T, run *result.Run) {
			got := failures(stageOf(run, plan.StageReach, receives(node, rail)))
			if got["no-gid"] == 0 || len(got) > 1 {
				t.Errorf("connections: %v", got)
			}
		},
		OtherGIDType: noPackets,
		WrongPKey:    noPackets,
		WrongClass: func(t *testing.T, run *result.Run) {
			list := stageOf(run, plan.StageIncast, sends(node, rail))
			if counters(list, result.AtFrom, result.CounterRetransmits) == 0 {
				t.Error("no retransmissions in an incast")
			}
			if got := median(stageOf(run, plan.StagePairs, sends(node, rail))); !near(got, line) {
				t.Errorf("sends %v to one card, want %v", got, line)
			}
		},
		NoPFC: func(t *testing.T, run *result.Run) {
			sum := 0.0
			list := stageOf(run, plan.StageIncast, func(s *result.Sample) bool { return s.Round == 4 })
			for _, s := range list {
				sum += float64(s.Gbps)
			}
			if sum /= float64(len(list)) / 8; sum > line/3 || sum < line/50 {
				t.Errorf("an incast of eight carries %v of %v", sum, line)
			}
		},
		OtherFirmware: func(t *testing.T, run *result.Run) {
			a, b := run.Nodes[node].Cards[rail].Facts, run.Nodes[0].Cards[rail].Facts
			if a[result.FactFirmware] == b[result.FactFirmware] {
				t.Error("its firmware is equal")
			}
		},
		FlappingLink: func(t *testing.T, run *result.Run) {
			list := stageOf(run, plan.StagePairs, sends(node, rail))
			if got := failures(list); got[""] == 0 || got[""] == len(list) {
				t.Errorf("connections: %v", got)
			}
		},
		WrongClock: func(t *testing.T, run *result.Run) {
			if got := run.Nodes[node].Clock.Seconds(); !near(got, 60) {
				t.Errorf("its clock differs by %v s", got)
			}
		},
	} {
		t.Run(string(kind), func(t *testing.T) {
			s := Scenario{Nodes: 12, Rails: 2, Seed: 1, Noise: -1}
			f := Fault{Kind: kind, Node: node, Rail: rail}
			switch kind {
			case NoPFC:
				f = Fault{Kind: kind, Leaf: -1}
			case FlappingLink:
				f.Severity = 0.5
			case JitteryHost:
				s.Noise = 0
			}
			s.Faults = []Fault{f}
			check(t, verify(t, s))
		})
	}
}

func noPackets(t *testing.T, run *result.Run) {
	t.Helper()
	if got := failures(stageOf(run, plan.StageReach, receives(3, 1))); got["retry-exceeded"] == 0 || len(got) > 1 {
		t.Errorf("connections: %v", got)
	}
	if got := failures(stageOf(run, plan.StageReach, receives(3, 0))); got[""] == 0 || len(got) > 1 {
		t.Errorf("connections of its neighbour: %v", got)
	}
}

// TestFabric plants the kinds that need several leaves.
func TestFabric(t *testing.T) {
	crossing := func(leaf int32) func(*result.Sample) bool {
		return func(s *result.Sample) bool {
			a, b := s.From.Node/4, s.To.Node/4
			return s.From.Rail == s.To.Rail && a != b && (leaf < 0 || a == leaf || b == leaf)
		}
	}
	build := func(f ...Fault) *result.Run {
		return verify(t, Scenario{
			Nodes: 16, Rails: 2, NodesPerLeaf: 4, LeafPerRail: true, Uplinks: 4, Seed: 1, Noise: -1, Faults: f,
		})
	}
	healthy := median(stageOf(build(), plan.StagePermutation, crossing(-1)))
	if healthy < 0.8*line {
		t.Fatalf("a healthy cluster carries %v of %v across leaves", healthy, line)
	}
	got := median(stageOf(build(Fault{Kind: Oversubscribed, Severity: 4}), plan.StagePermutation, crossing(-1)))
	if got > 0.3*line || got < 0.2*line {
		t.Errorf("spines of a quarter: %v of %v", got, line)
	}
	run := build(Fault{Kind: HalfUplinks, Leaf: 1 * 2}) // group 1, rail 0
	got = median(stageOf(run, plan.StagePermutation, func(s *result.Sample) bool {
		return s.From.Node/4 == 1 && s.From.Rail == 0
	}))
	if got > 0.55*line || got < 0.4*line {
		t.Errorf("half of the uplinks: %v of %v", got, line)
	}
	got = median(stageOf(run, plan.StagePermutation, func(s *result.Sample) bool {
		return s.From.Node/4 == 3 && s.To.Node/4 != 1
	}))
	if got < 0.8*healthy {
		t.Errorf("another leaf: %v of %v", got, healthy)
	}
	run = build(Fault{Kind: BadUplink, Leaf: 2, Uplink: 1, Loss: 0.05})
	list := stageOf(run, plan.StagePairs, crossing(1))
	slow := 0
	for _, s := range list {
		if s.From.Rail == 0 && slices.Min(s.Detail.Flows) < 0.5*slices.Max(s.Detail.Flows) {
			slow++
		}
	}
	if slow < len(list)/4 {
		t.Errorf("%d of %d pairs have a slow flow", slow, len(list))
	}
	idle := func(s *result.Sample) bool { return !s.Load && s.From.Rail == 0 }
	run = build(Fault{Kind: ExchangedRails, Node: 5, Rail: 0, Other: 1, Hidden: true})
	for _, s := range stageOf(run, plan.StageJitter, idle) {
		far := s.From.Node/4 != s.To.Node/4 || s.From.Node == 5 || s.To.Node == 5
		if want := map[bool]float64{true: 2 + 2*0.7, false: 2}[far]; !near(s.Detail.Latency.P50, want) {
			t.Errorf("%v to %v: %v µs, want %v", s.From, s.To, s.Detail.Latency.P50, want)
		}
	}
}

// TestOneWay checks the directions.
func TestOneWay(t *testing.T) {
	for _, d := range []Direction{Send, Receive} {
		run := verify(t, Scenario{Nodes: 8, Rails: 1, Seed: 1, Noise: -1, Faults: []Fault{
			{Kind: SlowOneWay, Node: 2, Direction: d, Inside: true},
			{Kind: LossyOneWay, Node: 5, Direction: d, Severity: 1e-3},
		}})
		out, in := stageOf(run, plan.StagePairs, sends(2, 0)), stageOf(run, plan.StagePairs, receives(2, 0))
		lossy, well := stageOf(run, plan.StagePairs, sends(5, 0)), stageOf(run, plan.StagePairs, receives(5, 0))
		if d == Receive {
			out, in, lossy, well = in, out, well, lossy
		}
		if a, b := median(out), median(in); !near(a, 0.6*line) || !near(b, line) {
			t.Errorf("%s: %v and %v the other way", d, a, b)
		}
		if a, b := median(lossy), median(well); a > 0.95*line || b < 0.97*line {
			t.Errorf("loss at %s: %v and %v the other way", d, a, b)
		}
		itself := stageOf(run, plan.StageLoopback, func(s *result.Sample) bool { return s.From.Node == 2 })
		if got := median(itself); !near(got, 0.6*line) {
			t.Errorf("a card that is slow inside sends itself %v", got)
		}
	}
}

// TestPauses checks that a pause shows in the latency and in what the node sends.
func TestPauses(t *testing.T) {
	run := verify(t, Scenario{
		Nodes: 8, Rails: 2, Seed: 1, Faults: []Fault{{Kind: PausingHost, Node: 2, Severity: 0.1}},
	})
	if got := median(stageOf(run, plan.StagePairs, sends(2, 0))); !near(got, line/2) {
		t.Errorf("a node that stands still half of the time sends %v", got)
	}
	most := 0.0
	ofNode := func(s *result.Sample) bool { return s.From.Node == 2 || s.To.Node == 2 }
	for _, s := range stageOf(run, plan.StageJitter, ofNode) {
		most = max(most, s.Detail.Latency.Max)
	}
	if most < 20_000 || most > 26_000 {
		t.Errorf("the largest latency is %v µs, want half of 50 ms", most)
	}
}

func TestModelRepeats(t *testing.T) {
	s := Random(5)
	a, b := verify(t, s), verify(t, s)
	if !reflect.DeepEqual(a.Samples, b.Samples) || !reflect.DeepEqual(a.Barriers, b.Barriers) {
		t.Error("two runs of a scenario differ")
	}
}
