package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// synthetic describes a run that tests make up: the rounds of a real plan, figures around those of
// 400 Gb/s cards.
type synthetic struct {
	nodes, rails int
	allPairs     int // of plan.Options
	seed         uint64
	slow         map[plan.End]float64 // share of the bandwidth that a card sends
	dead         map[plan.End]bool
	late         map[int32]float64 // factor of the latency of a node
	lost         map[int32]bool    // from the stage of pairs on
	scale        *result.Scale
	names        map[int]string
	unfinished   bool // the run ends within the stage of pairs
}

func (c synthetic) run(t testing.TB) *result.Run {
	t.Helper()
	var cluster plan.Cluster
	for i := range c.nodes {
		n := plan.Node{Name: fmt.Sprintf("gpu-%03d", i), Leaf: fmt.Sprintf("leaf%d", i/16)}
		if name, ok := c.names[i]; ok {
			n.Name = name
		}
		for r := range c.rails {
			n.Rails = append(n.Rails, plan.Card{Rail: r, Device: fmt.Sprintf("mlx5_%d", r), Gbps: 400})
		}
		cluster.Nodes = append(cluster.Nodes, n)
	}
	p, err := plan.New(cluster, plan.Options{Seed: c.seed + 1, AllPairs: c.allPairs})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 26, 14, 0, 0, 0, time.UTC)
	run := &result.Run{
		Schema: result.Schema, Started: start, Ended: start.Add(251 * time.Second), Scale: c.scale, Cluster: cluster,
		LeavesFrom: "lldp", Options: p.Options,
	}
	for i := range cluster.Nodes {
		n := result.Node{State: result.NodeReady, Cards: make([]result.Card, c.rails)}
		if c.lost[int32(i)] {
			n.State, n.Cause, n.LostStage = result.NodeLost, "no answer for 10 s", 2
		}
		for r := range n.Cards {
			n.Cards[r].Facts = map[string]string{
				result.FactFirmware: "28.39.2048", result.FactRate: "400", result.FactMTU: "4096",
				result.FactGIDType: "RoCE v2", result.FactPCIe: "32.0 GT/s x16",
			}
		}
		run.Nodes = append(run.Nodes, n)
	}
	g := generator{c, p, run, rand.New(rand.NewPCG(c.seed, 1))}
	for s := range p.Stages {
		g.stage(s)
	}
	if err := run.Check(); err != nil {
		t.Fatal(err)
	}
	return run
}

type generator struct {
	synthetic
	plan *plan.Plan
	run  *result.Run
	rng  *rand.Rand
}

func (g *generator) stage(s *plan.Stage) {
	i := len(g.run.Stages)
	g.run.Stages = append(g.run.Stages, result.Stage{Name: s.Name, Kind: s.Kind, Planned: s.Count, Length: s.Length})
	if g.unfinished && !g.run.Ended.IsZero() && s.Name == plan.StageIncast {
		g.run.Ended = time.Time{}
	}
	if g.unfinished && g.run.Ended.IsZero() {
		return
	}
	if s.Kind == plan.KindCollective {
		g.run.Stages[i].Done = s.Count
		for r := range g.rails {
			g.run.Collectives = append(g.run.Collectives, result.Collective{
				Stage: uint8(i), Algorithm: "ring", Rail: int16(r), Nodes: g.nodes, Bytes: 1 << 30,
				Seconds: 0.05, AlgBW: 21.5, BusBW: 43,
			})
		}
		return
	}
	n := 0
	for r := range s.Rounds() {
		if g.unfinished && s.Name == plan.StagePairs && n == s.Count/2 {
			break
		}
		for _, f := range r.Flows {
			for from, to := range g.plan.Ends(f) {
				g.sample(i, n, from, to, s, r.Load)
				if f.Both && s.Kind != plan.KindLatency {
					g.sample(i, n, to, from, s, r.Load)
				}
			}
		}
		n++
	}
	g.run.Stages[i].Done = n
}

func (g *generator) sample(stage, round int, from, to plan.End, s *plan.Stage, load bool) {
	out := result.Sample{Stage: uint8(stage), Round: uint16(round), From: from, To: to, Load: load}
	gone := stage >= 2 && (g.lost[from.Node] || g.lost[to.Node])
	switch {
	case g.dead[from] || g.dead[to] || gone:
		out.Detail = &result.Detail{Failure: &result.Failure{
			Step: result.StepConnect, Code: "retry-exceeded", Text: "transport retry counter exceeded",
		}}
	case s.Kind == plan.KindBandwidth:
		share := 1.0
		if v, ok := g.slow[from]; ok {
			share = v
		}
		out.Gbps = float32(math.Round(share*(389+g.rng.NormFloat64()*1.2)*100) / 100)
	case s.Kind == plan.KindLatency:
		out.Detail = &result.Detail{Latency: g.latency(from.Node, to.Node, load)}
	}
	g.run.Samples = append(g.run.Samples, out)
}

func (g *generator) latency(a, b int32, load bool) *result.Latency {
	f := 1.0
	for _, n := range []int32{a, b} {
		if v, ok := g.late[n]; ok {
			f *= v
		}
	}
	if load {
		f *= 4
	}
	round := func(v float64) float64 { return math.Round(v*100) / 100 }
	p50 := 1.9 + 0.6*g.rng.Float64()
	return &result.Latency{
		Count: 20000, P50: round(p50 * math.Sqrt(f)), P99: round((p50 + 1) * f), P999: round((p50 + 3) * f),
		Max: round(40 * f),
	}
}

// faulty is a cluster of n nodes with a card that sends slowly, a dead card and a late node.
func faulty(n int) synthetic {
	return synthetic{
		nodes: n, rails: 8,
		slow: map[plan.End]float64{{Node: 1, Rail: 2}: 0.48},
		dead: map[plan.End]bool{{Node: int32(n - 2), Rail: 5}: true},
		late: map[int32]float64{int32(n / 2): 12},
	}
}
