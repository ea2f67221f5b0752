package verdict

import (
	"maps"
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// planted is a fault of a card, of a node (rail -1) or of a leaf.
type planted struct {
	cause Cause
	node  int
	rail  int
	leaf  string
}

// cardFaults plant a fault at a card, with a rate and a loss at random.
func cardFaults() map[Cause]func(w *world, e plan.End, share, loss float64) {
	return map[Cause]func(w *world, e plan.End, share, loss float64){
		CauseSlow:        func(w *world, e plan.End, share, _ float64) { w.tx[e], w.rx[e] = share, share },
		CauseSlowSend:    func(w *world, e plan.End, share, _ float64) { w.tx[e] = share },
		CauseSlowReceive: func(w *world, e plan.End, share, _ float64) { w.rx[e] = share },
		CauseLoss:        func(w *world, e plan.End, _, loss float64) { w.lossTx[e], w.lossRx[e] = loss, loss },
		CauseLossSend:    func(w *world, e plan.End, _, loss float64) { w.lossTx[e] = loss },
		CauseLossReceive: func(w *world, e plan.End, _, loss float64) { w.lossRx[e] = loss },
		CauseBitErrors:   func(w *world, e plan.End, _, loss float64) { w.icrc[e], w.lossTx[e] = loss, loss },
		CauseDeadCard:    func(w *world, e plan.End, _, _ float64) { w.dead[e] = true },
		CauseFlapping:    func(w *world, e plan.End, _, _ float64) { w.downs[e] = 0.4 },
		CauseMTU: func(w *world, e plan.End, _, _ float64) {
			w.fact(int(e.Node), int(e.Rail), result.FactMTU, "1024")
		},
		CausePCIe: func(w *world, e plan.End, _, _ float64) {
			w.fact(int(e.Node), int(e.Rail), result.FactPCIe, "32.0 GT/s x8")
			w.tx[e], w.rx[e] = 0.55, 0.55
		},
	}
}

// nodeFaults plant a fault at a node.
func nodeFaults() map[Cause]func(w *world, node int, share float64) {
	return map[Cause]func(w *world, node int, share float64){
		CauseAbsent: func(w *world, node int, _ float64) {
			w.nodes[node].State = result.NodeAbsent
			for r := range w.nodes[node].Cards {
				w.dead[end(node, r)] = true
			}
		},
		CauseSlowNode: func(w *world, node int, share float64) {
			for r := range w.nodes[node].Cards {
				w.tx[end(node, r)], w.rx[end(node, r)] = share, share
			}
		},
		CauseJitter: func(w *world, node int, share float64) { w.tail[int32(node)] = 2 / share },
		CausePauses: func(w *world, node int, share float64) { w.pauses[int32(node)] = share },
		CauseClock:  func(w *world, node int, _ float64) { w.nodes[node].Clock = 3e9 },
	}
}

// plantAny plants a fault at a place that has none.
func (w *world) plantAny(used map[int]bool) (p planted, ok bool) {
	nodes, rails := len(w.nodes), len(w.nodes[0].Cards)
	p = planted{node: w.rng.IntN(nodes), rail: w.rng.IntN(rails)}
	if used[p.node] {
		return p, false
	}
	used[p.node] = true
	share, loss := 0.4+0.48*w.rng.Float64(), []float64{3e-6, 1e-5, 1e-4, 1e-3}[w.rng.IntN(4)]
	cards, hosts := cardFaults(), nodeFaults()
	causes := append(slices.Sorted(maps.Keys(cards)), slices.Sorted(maps.Keys(hosts))...)
	if w.leaf(int32(p.node)) != "" && nodes >= 24 {
		causes = append(causes, CauseUplinks, CauseUplink)
	}
	p.cause = causes[w.rng.IntN(len(causes))]
	switch f, g := cards[p.cause], hosts[p.cause]; {
	case f != nil:
		f(w, end(p.node, p.rail), share, loss)
	case g != nil && p.cause == CauseSlowNode && rails == 1:
		return p, false // the same as a slow card
	case g != nil:
		g(w, p.node, share)
		p.rail = -1
	default:
		p.leaf = w.leaf(int32(p.node))
		w.leafShare[p.leaf] = 0.5
		if p.cause == CauseUplink {
			delete(w.leafShare, p.leaf)
			w.badUplink[p.leaf] = 8
		}
	}
	return p, true
}

// found reports whether a verdict is about a planted fault.
func (p planted) found(w *world, v Verdict) bool {
	switch {
	case v.Cause != p.cause:
		return false
	case p.leaf != "":
		return v.Where.Leaf == p.leaf
	case p.rail >= 0:
		return slices.Contains(v.Where.Ends, end(p.node, p.rail))
	}
	return slices.Contains(v.Where.Nodes, w.cluster.Nodes[p.node].Name)
}

// TestRandomFaults plants faults at random in clusters of many sizes, measures suspects again as a
// leader does, and counts how many are found and how many verdicts are true.
func TestRandomFaults(t *testing.T) {
	count, hits, sure, wrong := 0, 0, 0, 0
	for seed := range uint64(240) {
		size := []int{4, 5, 8, 9, 16, 24, 33, 48}[seed%8]
		w := newWorld(seed, size, []int{1, 2, 4, 8}[seed/8%4], []int{0, 4, 8}[seed/32%3])
		w.noise = 0.01 * float64(1+seed%3)
		all := w.plantSome(size)
		run := w.run(t)
		w.repeat(run)
		r := Find(w.run(t), Options{})
		for _, p := range all {
			count++
			if slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return p.found(w, v) }) {
				hits++
			} else {
				t.Logf("seed %d, %d nodes: missed %+v", seed, size, p)
			}
		}
		for _, v := range r.Verdicts {
			if v.Confidence < 0.9 {
				continue
			}
			sure++
			if !slices.ContainsFunc(all, func(p planted) bool { return p.found(w, v) }) {
				wrong++
				t.Logf("seed %d, %d nodes: wrong: %s %s, confidence %.2f", seed, size, v.Cause, v.Where, v.Confidence)
			}
		}
	}
	t.Logf("%d of %d found, %d of %d verdicts wrong", hits, count, wrong, sure)
	if hits*100 < count*95 || wrong*100 > sure {
		t.Errorf("%d of %d found, %d of %d verdicts wrong; want 95 %% and 1 %%", hits, count, wrong, sure)
	}
}

func (w *world) plantSome(size int) (all []planted) {
	used := map[int]bool{}
	for range 1 + w.rng.IntN(size/8+1) {
		if p, ok := w.plantAny(used); ok {
			all = append(all, p)
		}
	}
	return all
}

// repeat plans rounds of suspects with good partners.
func (w *world) repeat(run *result.Run) {
	var nodes []int32
	for _, s := range Suspects(run, Options{}) {
		nodes = append(nodes, s.Node)
		if s.Peer >= 0 {
			nodes = append(nodes, s.Peer)
		}
	}
	slices.Sort(nodes)
	w.retest, _ = plan.Retests(slices.Compact(nodes), Good(run), nil, 2, 1)
}
