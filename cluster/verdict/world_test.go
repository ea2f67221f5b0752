package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// world is a cluster of ideal cards with planted faults, of which runs are made. Its model is
// the simplest possible: a pair is as fast as the slowest of sender, receiver and uplinks.
type world struct {
	rng        *rand.Rand
	cluster    plan.Cluster
	nodes      []result.Node
	tx, rx     map[plan.End]float64 // share of the rate, 1 if absent
	loop       map[plan.End]float64
	lossTx     map[plan.End]float64
	lossRx     map[plan.End]float64
	icrc       map[plan.End]float64 // of packets that it sends
	symbol     map[plan.End]float64 // errors in a step
	downs      map[plan.End]float64 // probability in a step
	dead       map[plan.End]bool
	detour     map[plan.End]float64 // factor of latency
	tail       map[int32]float64    // factor of the tail
	pauses     map[int32]float64    // probability in a step
	leafShare  map[string]float64   // of uplinks, "" for all leaves
	badUplink  map[string]int       // one of n uplinks is slow
	noPFC      map[string]bool      // "" for all leaves, "leaf-2 rail 1" for a rail
	smallOnly  map[plan.End]bool    // large packets don't pass
	lostAt     map[int32]int        // round of pairs in which a node vanishes
	noise      float64              // of a sample
	cardNoise  float64              // of a card
	cardFactor map[plan.End]float64
	stages     []plan.Name
	allPairs   int
	retest     [][]plan.Pair
	echo       bool // a slow direction slows down the other one of a pair
	// uplinks is the capacity of a leaf's uplinks of a rail by the rates of its nodes, "" for all
	// leaves. The flows of a round share it.
	uplinks map[string]float64
	crowd   map[string]float64 // flows of the round that leave or enter a leaf
}

// newWorld returns a healthy cluster of nodes with rails of 400 Gb/s, perLeaf nodes to a leaf, 0
// for unknown leaves.
func newWorld(seed uint64, nodes, rails, perLeaf int) *world {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 1)), noise: 0.02, cardNoise: 0.005,
		tx: map[plan.End]float64{}, rx: map[plan.End]float64{}, loop: map[plan.End]float64{},
		lossTx: map[plan.End]float64{}, lossRx: map[plan.End]float64{}, icrc: map[plan.End]float64{},
		symbol: map[plan.End]float64{}, downs: map[plan.End]float64{}, dead: map[plan.End]bool{},
		detour: map[plan.End]float64{}, tail: map[int32]float64{}, pauses: map[int32]float64{},
		leafShare: map[string]float64{}, badUplink: map[string]int{}, noPFC: map[string]bool{},
		smallOnly: map[plan.End]bool{},
		uplinks:   map[string]float64{}, crowd: map[string]float64{}, lostAt: map[int32]int{},
		cardFactor: map[plan.End]float64{},
	}
	for i := range nodes {
		n := plan.Node{Name: fmt.Sprintf("gpu-%d", i+1)}
		if perLeaf > 0 {
			n.Leaf = fmt.Sprintf("leaf-%d", i/perLeaf+1)
		}
		r := result.Node{
			State: result.NodeReady, Facts: map[string]string{result.FactKernel: "6.8.0"},
			Clock: time.Duration(w.rng.NormFloat64() * 2e6), Uncertainty: time.Millisecond,
		}
		for rail := range rails {
			n.Rails = append(n.Rails, plan.Card{Rail: rail, Device: fmt.Sprintf("mlx5_%d:1", rail), Gbps: 400})
			r.Cards = append(r.Cards, result.Card{Facts: map[string]string{
				result.FactBoard: "MT_0838", result.FactState: "ACTIVE", result.FactRate: "400", result.FactMTU: "4096",
				result.FactGIDType: "RoCE v2", result.FactGID: "::ffff:10.0.0.1",
				result.FactSubnet: fmt.Sprintf("10.%d.0.0/16", rail),
				result.FactPKey:   "0xffff", result.FactPCIe: "32.0 GT/s x16", result.FactFirmware: "28.41.1000",
				result.FactClass: "106", result.FactPFC: "3",
			}})
		}
		w.cluster.Nodes = append(w.cluster.Nodes, n)
		w.nodes = append(w.nodes, r)
	}
	return w
}

func end(node, rail int) plan.End { return plan.End{Node: int32(node), Rail: int16(rail)} }

func share(m map[plan.End]float64, e plan.End) float64 {
	if x, ok := m[e]; ok {
		return x
	}
	return 1
}

func (w *world) vary(e plan.End) float64 {
	f, ok := w.cardFactor[e]
	if !ok {
		f = math.Exp(w.cardNoise * w.rng.NormFloat64())
		w.cardFactor[e] = f
	}
	return f
}

func (w *world) leaf(node int32) string { return w.cluster.Nodes[node].Leaf }

func (w *world) gbps(e plan.End) float64 {
	for _, c := range w.cluster.Nodes[e.Node].Rails {
		if c.Rail == int(e.Rail) {
			return c.Gbps
		}
	}
	return 0
}

// run measures the cluster.
func (w *world) run(t testing.TB) *result.Run {
	t.Helper()
	p, err := plan.New(w.cluster, plan.Options{Seed: 7, Stages: w.stages, AllPairs: w.allPairs})
	if err != nil {
		t.Fatal(err)
	}
	r := &result.Run{Schema: result.Schema, Cluster: w.cluster, Options: p.Options, Nodes: w.nodes, LeavesFrom: "lldp"}
	for s := range p.Stages {
		stage := len(r.Stages)
		r.Stages = append(r.Stages, result.Stage{
			Name: s.Name, Kind: s.Kind, Planned: s.Count, Done: s.Count,
			Length: s.Length,
		})
		if s.Kind == plan.KindCollective {
			continue
		}
		round := 0
		for x := range s.Rounds() {
			w.measure(r, p, s, stage, round, 0, x)
			round++
		}
		for i, pairs := range w.retest {
			if s.Name != plan.StagePairs && s.Name != plan.StageJitter {
				break
			}
			var x plan.Round
			for _, q := range pairs {
				x.Flows = append(x.Flows, plan.Flow{From: q.A, To: q.B, Both: true})
			}
			w.measure(r, p, s, stage, round+i, 1, x)
		}
	}
	for node, round := range w.lostAt {
		r.Nodes[node].State, r.Nodes[node].Cause = result.NodeLost, "connection reset by peer"
		r.Nodes[node].LostStage, r.Nodes[node].LostRound = 2, round
	}
	return r
}

func (w *world) measure(r *result.Run, p *plan.Plan, s *plan.Stage, stage, round, attempt int, x plan.Round) {
	receivers := map[int32]int{}
	clear(w.crowd)
	for _, f := range x.Flows {
		receivers[f.To]++
		if a, b := w.leaf(f.From), w.leaf(f.To); a != b {
			w.crowd[a+" out"]++
			w.crowd[b+" in"]++
			if f.Both {
				w.crowd[b+" out"]++
				w.crowd[a+" in"]++
			}
		}
	}
	for _, f := range x.Flows {
		if w.away(s.Name, round, f.From) || w.away(s.Name, round, f.To) {
			continue
		}
		pausedA, pausedB := w.rng.Float64() < w.pauses[f.From], w.rng.Float64() < w.pauses[f.To]
		for from, to := range p.Ends(f) {
			smp := result.Sample{
				Stage: uint8(stage), Attempt: uint8(attempt), Round: uint16(round), From: from,
				To: to, Load: x.Load,
			}
			if (w.dead[from] || w.dead[to]) && from.Node != to.Node {
				smp.Detail = &result.Detail{Failure: &result.Failure{
					Step: result.StepConnect,
					Code: "retry-exceeded", Text: "transport retry counter exceeded",
				}}
				r.Samples = append(r.Samples, smp)
				continue
			}
			switch {
			case s.Kind == plan.KindConnect:
				r.Samples = append(r.Samples, smp)
			case s.Kind == plan.KindLatency:
				smp.Detail = &result.Detail{Latency: w.latency(from, to, x.Load, pausedA || pausedB)}
				r.Samples = append(r.Samples, smp)
			case from.Node == to.Node:
				smp.Gbps = float32(w.gbps(from) * 0.95 * share(w.loop, from) * math.Exp(w.noise*w.rng.NormFloat64()))
				r.Samples = append(r.Samples, smp)
			default:
				r.Samples = append(r.Samples, w.rate(smp, s.Name, receivers[to.Node]))
				if f.Both {
					smp.From, smp.To = to, from
					r.Samples = append(r.Samples, w.rate(smp, s.Name, 1))
				}
			}
		}
	}
}

func (w *world) away(stage plan.Name, round int, node int32) bool {
	at, ok := w.lostAt[node]
	return ok && (stage == plan.StagePairs && round >= at || stage != plan.StagePairs && stage != plan.StageReach &&
		stage != plan.StageLoopback)
}

func (w *world) rate(smp result.Sample, stage plan.Name, senders int) result.Sample {
	a, b := smp.From, smp.To
	y := min(share(w.tx, a)*w.vary(a), share(w.rx, b)*w.vary(b))
	if stage == plan.StagePairs && w.echo { // the partner's traffic delays acknowledgements
		y = min(y, share(w.rx, a), share(w.tx, b))
	}
	if (w.smallOnly[a] || w.smallOnly[b]) && a.Node != b.Node {
		smp.Detail = &result.Detail{Failure: &result.Failure{Step: result.StepData, Code: "retry-exceeded"}}
		return smp
	}
	la, lb := w.leaf(a.Node), w.leaf(b.Node)
	var flows []float32
	if la != lb && la != "" {
		for _, leaf := range []string{la, lb, ""} {
			if s, ok := w.leafShare[leaf]; ok {
				y = min(y, s)
			}
			if n := w.badUplink[leaf]; n > 0 && stage == plan.StagePairs && flows == nil {
				flows = w.flows(n)
			}
		}
	}
	if la != lb {
		y = min(y, w.uplink(la, " out"), w.uplink(lb, " in"))
	}
	loss := 1 - (1-w.lossTx[a])*(1-w.lossRx[b])
	y /= 1 + 3000*loss
	if stage == plan.StageIncast && senders > 1 {
		y = min(y, 0.97/float64(senders))
	}
	g := min(w.gbps(a), w.gbps(b)) * 0.975 * y * math.Exp(w.noise*w.rng.NormFloat64())
	if stage == plan.StageIncast && senders > 1 {
		if w.noPFC[lb] || w.noPFC[""] || w.noPFC[fmt.Sprintf("%s rail %d", lb, b.Rail)] {
			g *= 0.3
		}
	}
	d := &result.Detail{}
	packets := g * 1e9 / 8 / 4096
	add := func(at result.Side, name string, x float64) {
		if x >= 1 {
			d.Counters = append(d.Counters, result.Counter{At: at, Name: name, Delta: uint64(x)})
		}
	}
	if loss > 0 {
		add(result.AtFrom, result.CounterRetransmits, packets*loss*10)
		add(result.AtTo, result.CounterOutOfSeq, packets*loss)
	}
	if w.rng.Float64() < 0.01 { // what happens on healthy links
		add(result.AtFrom, result.CounterRetransmits, 1+w.rng.Float64()*2)
	}
	add(result.AtTo, result.CounterICRC, packets*w.icrc[a])
	add(result.AtFrom, result.CounterSymbol, w.symbol[a])
	add(result.AtTo, result.CounterSymbol, w.symbol[b])
	if w.rng.Float64() < w.downs[a] {
		add(result.AtFrom, result.CounterDowned, 1)
		g /= 2
	}
	if flows != nil {
		sum := float32(0)
		for i := range flows {
			flows[i] *= float32(g) / float32(len(flows)) * float32(math.Exp(w.noise*w.rng.NormFloat64()))
			sum += flows[i]
		}
		d.Flows, g = flows, float64(sum)
	} else if stage == plan.StagePairs && len(w.badUplink) > 0 {
		for range 16 {
			d.Flows = append(d.Flows, float32(g/16*math.Exp(w.noise*w.rng.NormFloat64())))
		}
	}
	smp.Gbps = float32(g)
	if d.Counters != nil || d.Flows != nil {
		smp.Detail = d
	}
	return smp
}

// uplink returns what a flow gets of a leaf's uplinks.
func (w *world) uplink(leaf, direction string) float64 {
	share, ok := w.uplinks[leaf]
	if all, always := w.uplinks[""]; always && (!ok || all < share) {
		share, ok = all, true
	}
	if !ok {
		return 1
	}
	nodes := 0.0
	for i := range w.cluster.Nodes {
		if w.leaf(int32(i)) == leaf {
			nodes++
		}
	}
	return nodes * share / max(w.crowd[leaf+direction], 1)
}

// flows returns shares of 16 flows over n uplinks of which one has a fifth of the rate.
func (w *world) flows(n int) []float32 {
	out := make([]float32, 16)
	for i := range out {
		out[i] = 1
		if w.rng.IntN(n) == 0 {
			out[i] = 0.2
		}
	}
	return out
}

func (w *world) latency(a, b plan.End, load, paused bool) *result.Latency {
	vary := func(s float64) float64 { return math.Exp(s * w.rng.NormFloat64()) }
	l := &result.Latency{Count: 10000, P50: 2.5 * vary(0.02)}
	if la, lb := w.leaf(a.Node), w.leaf(b.Node); la != lb {
		l.P50 *= 1.5
	}
	l.P50 *= max(share(w.detour, a), share(w.detour, b))
	tail := max(w.tail[a.Node], w.tail[b.Node], 1)
	l.P99 = l.P50 * 1.5 * vary(0.1) * tail
	if load {
		l.P99 *= 3
	}
	l.P999 = l.P99 * 2 * vary(0.2) * tail
	l.Max = l.P999 * 3 * vary(0.5)
	if paused {
		l.Max = 50_000 * vary(0.02)
	}
	return l
}
