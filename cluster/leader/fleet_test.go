package leader_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/worker"
	"github.com/rdmakit/rdmakit/internal/sim/engines"
	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// direct is a worker in this process.
type direct struct{ w *worker.Worker }

func (d direct) Do(ctx context.Context, c protocol.Command) (protocol.Reply, error) {
	return d.w.Do(ctx, c), nil
}

// dead is a worker that vanishes after a number of commands.
type dead struct {
	leader.Link
	after int
}

func (d *dead) Do(ctx context.Context, c protocol.Command) (protocol.Reply, error) {
	if d.after--; d.after < 0 {
		return protocol.Reply{}, fmt.Errorf("connection reset")
	}
	return d.Link.Do(ctx, c)
}

// rig is a cluster of workers on a simulated network of 100 Mb/s.
type rig struct {
	network *packetnet.Network
	links   []leader.Link
}

const (
	rigBandwidth = 100_000_000
	rigMessage   = 4096
)

func addrOf(node, rail int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(rail), 0, byte(node + 1)})
}

func newRig(t *testing.T, nodes, rails int) *rig {
	r := &rig{network: packetnet.NewNetwork(packetnet.Config{
		Faults: packetnet.Faults{Delay: 10 * time.Microsecond}, Link: packetnet.Link{Bandwidth: rigBandwidth},
	})}
	for n := range nodes {
		node := worker.Node{Name: fmt.Sprintf("node-%d", n), Facts: map[string]string{result.FactKernel: "6.1"}}
		for rail := range rails {
			name := roce.Prefix + addrOf(n, rail).String()
			node.Cards = append(node.Cards, worker.Card{
				Rail: rail, Name: name, Gbps: rigBandwidth / 1e9, Port: 1,
				Open: func(ctx context.Context) (*verbs.Device, error) {
					return verbs.Open(ctx, name, engines.Provider{Network: r.network, MTU: ib.MTU1024})
				},
			})
		}
		w := worker.New(worker.Config{Node: node, Message: rigMessage, Depth: 16, Wait: verbs.WaitEvent})
		t.Cleanup(func() {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
		r.links = append(r.links, direct{w})
	}
	return r
}

// task returns the first round of a stage.
func task(p *plan.Plan, name plan.Name) leader.Task {
	i := 0
	for s := range p.Stages {
		if s.Name != name {
			i++
			continue
		}
		for r := range s.Rounds() {
			return leader.Task{
				Stage: i, Name: s.Name, Kind: s.Kind, Length: s.Length, Plan: p, Flows: r.Flows, Load: r.Load,
			}
		}
	}
	panic("no stage " + name)
}

func fleetOf(t *testing.T, r *rig) (*leader.Fleet, *plan.Plan) {
	f, left, err := leader.NewFleet(t.Context(), leader.FleetConfig{Links: r.links})
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	p, err := plan.New(f.Cluster(), plan.Options{Step: 100 * time.Millisecond, Flows: 2})
	if err != nil {
		t.Fatal(err)
	}
	return f, p
}

// TestFleetMeasures runs one round of each stage on three nodes with two rails.
func TestFleetMeasures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, p := fleetOf(t, newRig(t, 3, 2))
		for _, c := range []struct {
			stage   plan.Name
			samples int
			check   func(result.Sample) bool
		}{
			{plan.StageReach, 2, func(s result.Sample) bool { return s.Detail.Latency.Count == 33 }},
			// A loopback doesn't leave the card in hardware; here it goes through the switch.
			{plan.StageLoopback, 6, func(s result.Sample) bool { return s.From == s.To && near(s.Gbps) }},
			{plan.StagePairs, 4, func(s result.Sample) bool { return s.From.Node != s.To.Node && near(s.Gbps) }},
			{plan.StagePermutation, 6, func(s result.Sample) bool { return near(s.Gbps) && len(s.Detail.Flows) == 2 }},
			{plan.StageIncast, 4, func(s result.Sample) bool { return s.Gbps > 0.04 && s.Gbps < 0.055 }},
			{plan.StageJitter, 2, func(s result.Sample) bool {
				return s.Detail.Latency.P50 < 50 && s.Detail.Latency.Count > 100
			}},
		} {
			out, err := f.Measure(t.Context(), task(p, c.stage))
			if err != nil || len(out.Samples) != c.samples || len(out.Lost) > 0 {
				t.Errorf("%s: %d samples, lost %v, %v; want %d", c.stage, len(out.Samples), out.Lost, err, c.samples)
			}
			for _, s := range out.Samples {
				if s.Detail != nil && s.Detail.Failure != nil || !c.check(s) {
					t.Errorf("%s: %+v %+v", c.stage, s, s.Detail)
				}
			}
		}
	})
}

// near reports whether a rate is that of the payload on a link of 100 Mb/s with packets of 1024
// bytes.
func near(gbps float32) bool { return gbps > 0.085 && gbps < 0.1 }

// TestFleetCollectives checks rings and trees, that sums are right, and that a dead card is left
// out.
func TestFleetCollectives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, p := fleetOf(t, newRig(t, 5, 2))
		var got []string
		for s := range p.Stages {
			if s.Name != plan.StageCollective {
				continue
			}
			for r := range s.Rounds() {
				out, err := f.Measure(t.Context(), leader.Task{
					Name: s.Name, Kind: s.Kind, Length: s.Length, Plan: p, Flows: r.Flows,
					Dead: []plan.End{{Node: 2, Rail: 1}},
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range out.Collectives {
					got = append(got, fmt.Sprint(c.Algorithm, c.Rail, c.Nodes, c.Failure))
					if c.BusBW <= 0 || c.BusBW > 0.0125 { // 100 Mb/s
						t.Errorf("%s: bus bandwidth %g GB/s", c.Algorithm, c.BusBW)
					}
				}
			}
		}
		want := []string{"ring0 5 <nil>", "ring1 4 <nil>", "tree0 5 <nil>", "tree1 4 <nil>"}
		if !slices.Equal(got, want) {
			t.Errorf("collectives = %q, want %q", got, want)
		}
	})
}

// TestFleetLosesNode checks that a node that vanishes costs only the pairs that it is part of,
// whatever the step.
func TestFleetLosesNode(t *testing.T) {
	for after := 1; after <= 3; after++ { // a survey and then prepare, connect, run
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 4, 1)
			r.links[2] = &dead{r.links[2], after}
			f, p := fleetOf(t, r)
			out, err := f.Measure(t.Context(), task(p, plan.StagePairs))
			if err != nil || len(out.Lost) != 1 || out.Lost[0].Node != 2 {
				t.Fatalf("lost %v, %v; want node 2", out.Lost, err)
			}
			for _, s := range out.Samples {
				with := s.From.Node == 2 || s.To.Node == 2
				failed := s.Detail != nil && s.Detail.Failure != nil
				if with != failed || !with && !near(s.Gbps) {
					t.Errorf("after %d commands: %+v %+v", after, s, s.Detail)
				}
			}
			out, err = f.Measure(t.Context(), task(p, plan.StagePairs))
			if err != nil || len(out.Lost) != 0 || len(out.Samples) != 4 {
				t.Errorf("next round: %d samples, lost %v, %v", len(out.Samples), out.Lost, err)
			}
		})
	}
}

// liar is a worker that reports an edge of another node beside its own.
type liar struct {
	leader.Link
	kind protocol.Kind // of the command to whose reply the edge is added
	id   int
}

func (l liar) Do(ctx context.Context, c protocol.Command) (protocol.Reply, error) {
	r, err := l.Link.Do(ctx, c)
	if c.Kind == l.kind {
		r.Edges = append(r.Edges, protocol.EdgeReply{
			ID: l.id, Gbps: 1e6, Endpoints: []protocol.Endpoint{{QPN: 1}, {QPN: 2}},
			Failure: &result.Failure{Step: result.StepData, Code: "other", Text: "invented"},
		})
	}
	return r, err
}

// TestFleetForeignEdge checks that a worker that reports edges of others is taken out, and that
// what these have reported stays.
func TestFleetForeignEdge(t *testing.T) {
	for _, kind := range []protocol.Kind{protocol.KindPrepare, protocol.KindConnect, protocol.KindRun} {
		for id := -1; id <= 4; id++ { // four nodes in two pairs have the edges 0 to 3
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 4, 1)
				_, first := fleetOf(t, r)
				pairs := task(first, plan.StagePairs)
				own := []int32{pairs.Flows[0].From, pairs.Flows[0].To, pairs.Flows[1].From, pairs.Flows[1].To}
				of := own[3]
				if id == 3 {
					of = own[0]
				}
				r.links[of] = liar{r.links[of], kind, id}
				f, p := fleetOf(t, r)
				out, err := f.Measure(t.Context(), task(p, plan.StagePairs))
				want := fmt.Sprintf("the worker reports edge %d, which is not one of its own", id)
				if err != nil || len(out.Lost) != 1 || out.Lost[0].Node != of || out.Lost[0].Cause != want {
					t.Fatalf("%s, edge %d: lost %v, %v", kind, id, out.Lost, err)
				}
				for _, s := range out.Samples {
					with := s.From.Node == of || s.To.Node == of
					failed := s.Detail != nil && s.Detail.Failure != nil
					if with != failed || !with && !near(s.Gbps) {
						t.Errorf("%s, edge %d: %+v %+v", kind, id, s, s.Detail)
					}
				}
			})
		}
	}
}

// TestFleetDeadCard checks that a card without a way fails with the engine's own words, at the end
// that noticed it.
func TestFleetDeadCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 2)
		r.network.Cut(addrOf(0, 1), addrOf(1, 1), true)
		f, p := fleetOf(t, r)
		out, err := f.Measure(t.Context(), task(p, plan.StagePairs))
		if err != nil || len(out.Samples) != 4 {
			t.Fatal(out, err)
		}
		for _, s := range out.Samples {
			switch {
			case s.From.Rail == 0 && !near(s.Gbps):
				t.Errorf("rail 0: %+v", s)
			case s.From.Rail == 1 && (s.Detail == nil || s.Detail.Failure == nil ||
				s.Detail.Failure.Code != "retry-exceeded" || s.Detail.Failure.Step != result.StepData):
				t.Errorf("rail 1: %+v %+v", s, s.Detail)
			}
		}
	})
}

// TestFleetAbsent checks that a node that never answers is part of the cluster if its name is
// known, with the cards of the others and failures for samples, and left out otherwise.
func TestFleetAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 2)
		r.links[1] = &dead{r.links[1], 0}
		f, left, err := leader.NewFleet(t.Context(), leader.FleetConfig{Links: r.links})
		if err != nil || len(left) != 1 || left[1] == nil || len(f.Cluster().Nodes) != 2 {
			t.Fatalf("without names: %v, %v, %d nodes", left, err, len(f.Cluster().Nodes))
		}
		f, left, err = leader.NewFleet(t.Context(), leader.FleetConfig{Links: r.links, Names: []string{"a", "b", "c"}})
		if err != nil || len(left) != 0 || len(f.Cluster().Nodes) != 3 {
			t.Fatalf("with names: %v, %v, %d nodes", left, err, len(f.Cluster().Nodes))
		}
		nodes, _ := f.Survey(t.Context())
		n := f.Cluster().Nodes[1]
		if n.Name != "b" || len(n.Rails) != 2 || nodes[1].State != result.NodeAbsent ||
			nodes[1].Cause != "connection reset" {
			t.Errorf("absent node: %+v, %+v", n, nodes[1])
		}
		p, err := plan.New(f.Cluster(), plan.Options{Step: 50 * time.Millisecond, Flows: 1})
		if err != nil {
			t.Fatal(err)
		}
		run, err := leader.Verify(t.Context(), f, leader.Config{Plan: p})
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Check(); err != nil {
			t.Error(err)
		}
		for _, s := range run.Samples {
			with := s.From.Node == 1 || s.To.Node == 1
			if failed := s.Detail != nil && s.Detail.Failure != nil; failed != with {
				t.Errorf("%+v %+v", s, s.Detail)
			}
		}
	})
}

// surveyed is a worker that changes its report.
type surveyed struct {
	leader.Link
	change func(*protocol.Reply)
}

func (s surveyed) Do(ctx context.Context, c protocol.Command) (protocol.Reply, error) {
	r, err := s.Link.Do(ctx, c)
	if c.Kind == protocol.KindSurvey {
		s.change(&r)
	}
	return r, err
}

// TestFleetInvalidNode checks that a worker that reports what no node can have is left out alone,
// with the cause, and that the others can be verified.
func TestFleetInvalidNode(t *testing.T) {
	for _, c := range []struct {
		change func(*protocol.Reply)
		want   string
	}{
		{func(r *protocol.Reply) { r.Rails[1].Rail = 0 }, "node node-1 has two cards of rail 0"},
		{func(r *protocol.Reply) { r.Rails[1].Rail = 64 }, "node node-1: rail 64 is not in 0 to 63"},
		{func(r *protocol.Reply) { r.Rails[1].Rail = -1 }, "node node-1: rail -1 is not in 0 to 63"},
		{func(r *protocol.Reply) { r.Rails[1].Gbps = -1 }, "node node-1: rail 1 has a rate of -1 Gb/s"},
		{func(r *protocol.Reply) { r.Name = "" }, "a node has no name"},
		{func(r *protocol.Reply) { r.Rails = r.Rails[:1] }, "node-1: the worker reports 1 rails and 2 cards"},
		{func(r *protocol.Reply) { r.Rails = nil }, "node-1: no card carries a rail"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 3, 2)
			r.links[1] = surveyed{r.links[1], c.change}
			f, left, err := leader.NewFleet(t.Context(), leader.FleetConfig{Links: r.links})
			if err != nil || len(left) != 1 || left[1] == nil || left[1].Error() != c.want {
				t.Fatalf("left out: %v, %v; want %s", left, err, c.want)
			}
			if _, err := plan.New(f.Cluster(), plan.Options{}); err != nil || len(f.Cluster().Nodes) != 2 {
				t.Errorf("%s: the others: %v", c.want, err)
			}
		})
	}
}

// TestFleetClock checks the offset of a node's clock.
func TestFleetClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := worker.Node{Name: "n", Cards: []worker.Card{{Failure: &result.Failure{Step: result.StepOpen}}}}
		w := worker.New(worker.Config{Node: node, Time: func() time.Time { return time.Now().Add(-time.Minute) }})
		f, _, err := leader.NewFleet(t.Context(), leader.FleetConfig{Links: []leader.Link{slow{direct{w}}}})
		if err != nil {
			t.Fatal(err)
		}
		nodes, _ := f.Survey(t.Context())
		// The answer came 3 ms after the question, the clock was read after 2 of them.
		if n := nodes[0]; n.Clock != -time.Minute+500*time.Microsecond || n.Uncertainty != 1500*time.Microsecond {
			t.Errorf("clock %v ± %v", n.Clock, n.Uncertainty)
		}
	})
}

// slow is a link that takes 2 ms to the worker and 1 ms back.
type slow struct{ leader.Link }

func (s slow) Do(ctx context.Context, c protocol.Command) (protocol.Reply, error) {
	time.Sleep(2 * time.Millisecond)
	r, err := s.Link.Do(ctx, c)
	time.Sleep(time.Millisecond)
	return r, err
}

// TestFleetOrder checks that nodes are in the order of their names, in whichever they joined.
func TestFleetOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 4, 1)
		slices.Reverse(r.links)
		f, _ := fleetOf(t, r)
		for i, n := range f.Cluster().Nodes {
			if want := fmt.Sprintf("node-%d", i); n.Name != want {
				t.Errorf("node %d is %s, want %s", i, n.Name, want)
			}
		}
	})
}

// TestFleetUnusableCard checks that a card that can't be opened fails its pairs at its own end,
// whichever direction a sample has.
func TestFleetUnusableCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		broken := &result.Failure{Step: result.StepOpen, Code: "no-gid", Text: "no GID"}
		r.links[1] = direct{worker.New(worker.Config{Node: worker.Node{
			Name: "node-1", Cards: []worker.Card{{Name: "x", Failure: broken}},
		}})}
		f, p := fleetOf(t, r)
		out, err := f.Measure(t.Context(), task(p, plan.StagePairs))
		if err != nil || len(out.Samples) != 2 {
			t.Fatal(out, err)
		}
		for _, s := range out.Samples {
			want := result.AtFrom
			if s.From.Node == 0 {
				want = result.AtTo
			}
			if got := s.Detail.Failure; got.Code != "no-gid" || got.At != want {
				t.Errorf("from node %d: %+v, want it at %q", s.From.Node, got, want)
			}
		}
	})
}

// TestSetLeaves checks that leaves that become known after the survey are part of the cluster, and
// that the facts of a node's report stay as they were.
func TestSetLeaves(t *testing.T) {
	r := newRig(t, 3, 2)
	f, missing, err := leader.NewFleet(t.Context(), leader.FleetConfig{Links: r.links})
	if err != nil || len(missing) > 0 {
		t.Fatal(err, missing)
	}
	nodes, err := f.Survey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := nodes[0].Cards[1].Facts
	f.SetLeaves([]string{"a", "", "b"}, func(node, card int) map[string]string {
		if node == 0 && card == 1 {
			return map[string]string{result.FactSwitch: "leaf0"}
		}
		return nil
	})
	for i, want := range []string{"a", "", "b"} {
		if got := f.Cluster().Nodes[i].Leaf; got != want {
			t.Errorf("leaf of node %d = %q, want %q", i, got, want)
		}
	}
	if got := nodes[0].Cards[1].Facts[result.FactSwitch]; got != "leaf0" {
		t.Errorf("switch of the card = %q, want leaf0", got)
	}
	if got := nodes[1].Cards[1].Facts[result.FactSwitch]; got != "" || before[result.FactSwitch] != "" {
		t.Errorf("switch of another card = %q, of the first report %q", got, before[result.FactSwitch])
	}
}
