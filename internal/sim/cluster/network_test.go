package cluster

import (
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/internal/sim/virtualtime"
)

// emulate runs stages of a verification over engines, in simulated time; none stands for all.
func emulate(t *testing.T, s Scenario, stages ...plan.Name) (run *result.Run) {
	t.Helper()
	c := new(clock.Manual)
	defer virtualtime.Drive(c)()
	n, err := NewNetwork(s, NetworkOptions{Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	o := plan.Options{Stages: stages, Seed: s.Seed, Flows: 4, Step: 300 * time.Millisecond}
	if run, err = n.Verify(t.Context(), o, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := run.Check(); err != nil {
		t.Fatal(err)
	}
	return run
}

// TestNetworkKinds plants each kind in the network of packets and looks for its main effect, in
// figures of the hardware.
func TestNetworkKinds(t *testing.T) {
	const node, rail = 3, 1
	gbps := func(list []*result.Sample) float64 { return median(list) * 400 * 1e9 / defaultCardRate }
	within := func(t *testing.T, what string, got, least, most float64) {
		t.Helper()
		if got < least || got > most {
			t.Errorf("%s: %v, want %v to %v", what, got, least, most)
		}
	}
	counted := func(list []*result.Sample, side result.Side, name string) float64 {
		return float64(counters(list, side, name))
	}
	pairs := func(run *result.Run, f func(*result.Sample) bool) []*result.Sample {
		return stageOf(run, plan.StagePairs, f)
	}
	for _, tt := range []struct {
		fault Fault
		check func(*testing.T, *result.Run)
	}{
		{Fault{}, func(t *testing.T, run *result.Run) {
			within(t, "a healthy pair", gbps(pairs(run, nil)), 0.93*line, line)
			if got := failures(pairs(run, nil)); len(got) != 1 {
				t.Errorf("failures: %v", got)
			}
		}},
		{Fault{Kind: SlowCard}, func(t *testing.T, run *result.Run) {
			// Without congestion control, acknowledgements wait behind what it receives.
			within(t, "sends", gbps(pairs(run, sends(node, rail))), 0.4*line, 0.61*line)
			within(t, "receives", gbps(pairs(run, receives(node, rail))), 0.4*line, 0.61*line)
			within(t, "its neighbour", gbps(pairs(run, sends(node, 0))), 0.93*line, line)
		}},
		{Fault{Kind: SlowOneWay, Direction: Send}, func(t *testing.T, run *result.Run) {
			within(t, "sends", gbps(pairs(run, sends(node, rail))), 0.54*line, 0.61*line)
			within(t, "receives", gbps(pairs(run, receives(node, rail))), 0.9*line, line)
		}},
		{Fault{Kind: SlowNode}, func(t *testing.T, run *result.Run) {
			within(t, "rail 0", gbps(pairs(run, sends(node, 0))), 0.54*line, 0.61*line)
			within(t, "rail 1", gbps(pairs(run, receives(node, 1))), 0.54*line, 0.61*line)
		}},
		{Fault{Kind: HalfPCIe}, func(t *testing.T, run *result.Run) {
			within(t, "sends", gbps(pairs(run, sends(node, rail))), 0.5*line, 0.6*line)
		}},
		{Fault{Kind: LossyOneWay, Direction: Receive, Severity: 0.03}, func(t *testing.T, run *result.Run) {
			list := pairs(run, receives(node, rail))
			within(t, "gaps", counted(list, result.AtTo, result.CounterOutOfSeq), 3, 1e4)
			within(t, "retransmissions of its peers", counted(list, result.AtFrom, result.CounterRetransmits), 3, 1e4)
		}},
		{Fault{Kind: BitErrors, Severity: 0.03}, func(t *testing.T, run *result.Run) {
			list := pairs(run, receives(node, rail))
			within(t, "symbol errors", counted(list, result.AtTo, result.CounterSymbol), 3, 1e4)
			within(t, "ICRC errors", counted(list, result.AtTo, result.CounterICRC), 3, 1e4)
		}},
		{Fault{Kind: DeadCard}, func(t *testing.T, run *result.Run) {
			got := failures(stageOf(run, plan.StageReach, sends(node, rail)))
			if got["port-down"] == 0 || len(got) > 1 {
				t.Errorf("connections: %v", got)
			}
		}},
		{Fault{Kind: DeadCard, Hidden: true}, noPackets},
		{Fault{Kind: DeadNode}, func(t *testing.T, run *result.Run) {
			if got := run.Nodes[node]; got.State != result.NodeAbsent || got.Cause == "" {
				t.Errorf("%+v", got)
			}
		}},
		{Fault{Kind: DyingNode}, func(t *testing.T, run *result.Run) {
			if got := run.Nodes[node]; got.State != result.NodeLost || got.Cause == "" {
				t.Errorf("%+v", got)
			}
		}},
		{Fault{Kind: JitteryHost}, func(t *testing.T, run *result.Run) {
			for _, s := range stageOf(run, plan.StageJitter, func(s *result.Sample) bool { return !s.Load }) {
				with := s.From.Node == node || s.To.Node == node
				if l := s.Detail.Latency; with != (l.P99 > 3*l.P50) {
					t.Errorf("%v to %v: %+v", s.From, s.To, l)
				}
			}
		}},
		{Fault{Kind: PausingHost}, func(t *testing.T, run *result.Run) {
			most := 0.0
			for _, s := range stageOf(run, plan.StageJitter, func(s *result.Sample) bool { return !s.Load }) {
				if s.From.Node == node || s.To.Node == node {
					most = max(most, s.Detail.Latency.Max)
				}
			}
			within(t, "largest latency", most, 15_000, 30_000)
		}},
		{Fault{Kind: WrongMTU}, func(t *testing.T, run *result.Run) {
			within(t, "sends", gbps(pairs(run, sends(node, rail))), 0.85*line, 0.95*line)
		}},
		{Fault{Kind: WrongMTU, Hidden: true}, func(t *testing.T, run *result.Run) {
			if got := failures(stageOf(run, plan.StageReach, sends(node, rail))); len(got) != 1 || got[""] == 0 {
				t.Errorf("small messages: %v", got)
			}
			if got := failures(pairs(run, sends(node, rail))); len(got) != 1 || got[""] > 0 {
				t.Errorf("large messages: %v", got)
			}
		}},
		{Fault{Kind: MissingGID}, func(t *testing.T, run *result.Run) {
			if got := failures(stageOf(run, plan.StageReach, sends(node, rail))); len(got) != 1 || got["no-gid"] == 0 {
				t.Errorf("connections: %v", got)
			}
		}},
		{Fault{Kind: OtherGIDType}, noPackets},
		{Fault{Kind: WrongPKey}, noPackets},
		{Fault{Kind: NoPFC, Leaf: -1}, func(t *testing.T, run *result.Run) {
			list := stageOf(run, plan.StageIncast, nil)
			within(t, "retransmissions in an incast",
				counted(list, result.AtFrom, result.CounterRetransmits)+
					counted(list, result.AtFrom, result.CounterTimeouts), 10, 1e6)
		}},
		{Fault{Kind: WrongClass}, func(t *testing.T, run *result.Run) {
			list := stageOf(run, plan.StageIncast, sends(node, rail))
			within(t, "retransmissions in an incast",
				counted(list, result.AtFrom, result.CounterRetransmits)+
					counted(list, result.AtFrom, result.CounterTimeouts), 1, 1e6)
		}},
		{Fault{Kind: WrongClock}, func(t *testing.T, run *result.Run) {
			within(t, "clock", run.Nodes[node].Clock.Seconds(), 59.9, 60.1)
		}},
		{Fault{Kind: FlappingLink, Severity: 0.5}, func(t *testing.T, run *result.Run) {
			within(t, "outages", counted(pairs(run, sends(node, rail)), result.AtFrom, result.CounterDowned), 1, 10)
			if got := failures(pairs(run, nil)); got[""] == 0 {
				t.Errorf("no pair works: %v", got)
			}
		}},
	} {
		t.Run(string(tt.fault.Kind), func(t *testing.T) {
			s := Scenario{Nodes: 6, Rails: 2, Seed: 1}
			if f := tt.fault; f.Kind != "" {
				if f.Leaf == 0 {
					f.Node = node
					if PlaceOf(f.Kind) == PlaceCard {
						f.Rail = rail
					}
				}
				s.Faults = []Fault{f}
			}
			stages := []plan.Name{plan.StageReach, plan.StagePairs}
			switch tt.fault.Kind {
			case NoPFC, WrongClass:
				stages = []plan.Name{plan.StageIncast}
			case JitteryHost, PausingHost:
				stages = []plan.Name{plan.StageJitter}
			case "":
				stages = nil
			}
			tt.check(t, emulate(t, s, stages...))
		})
	}
}
