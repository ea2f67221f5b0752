package verdict

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

type planted struct {
	cause Cause
	node  int
	rail  int
	leaf  string
}

func (w *world) plantAny(nodes, rails int, used map[int]bool) *planted {
	r := w.rng
	n, c := r.IntN(nodes), r.IntN(rails)
	if used[n] {
		return nil
	}
	used[n] = true
	e := end(n, c)
	p := &planted{node: n, rail: c}
	share := 0.4 + 0.5*r.Float64()
	lossRate := []float64{3e-6, 1e-5, 1e-4, 1e-3}[r.IntN(4)]
	switch k := r.IntN(20); k {
	case 0:
		w.tx[e], w.rx[e] = share, share
		p.cause = CauseSlow
	case 1:
		w.tx[e] = share
		p.cause = CauseSlowSend
	case 2:
		w.rx[e] = share
		p.cause = CauseSlowReceive
	case 3:
		if rails < 2 {
			return nil
		}
		for x := range rails {
			w.tx[end(n, x)], w.rx[end(n, x)] = share, share
		}
		p.cause, p.rail = CauseSlowNode, -1
	case 4:
		w.lossTx[e], w.lossRx[e] = lossRate, lossRate
		p.cause = CauseLoss
	case 5:
		w.lossTx[e] = lossRate
		p.cause = CauseLossSend
	case 6:
		w.lossRx[e] = lossRate
		p.cause = CauseLossReceive
	case 7:
		w.icrc[e], w.lossTx[e] = lossRate, lossRate
		p.cause = CauseBitErrors
	case 8:
		w.symbol[e] = 20 + 1000*r.Float64()
		p.cause = CauseBitErrors
	case 9:
		w.dead[e] = true
		p.cause = CauseDeadCard
	case 10:
		w.nodes[n].State = result.NodeAbsent
		for x := range rails {
			w.dead[end(n, x)] = true
		}
		p.cause, p.rail = CauseAbsent, -1
	case 11:
		w.tail[int32(n)] = 2.5 + 5*r.Float64()
		p.cause, p.rail = CauseJitter, -1
	case 12:
		w.pauses[int32(n)] = 0.3 + 0.6*r.Float64()
		p.cause, p.rail = CausePauses, -1
	case 13:
		w.fact(n, c, result.FactMTU, "1024")
		p.cause = CauseMTU
	case 14:
		w.fact(n, c, result.FactPCIe, "32.0 GT/s x8")
		w.tx[e], w.rx[e] = 0.55, 0.55
		p.cause = CausePCIe
	case 15:
		w.downs[e] = 0.3
		p.cause = CauseFlapping
	case 16:
		w.nodes[n].Clock = 3e9
		p.cause, p.rail = CauseClock, -1
	case 17, 18:
		if w.leaf(int32(n)) == "" || nodes < 12 {
			return nil
		}
		p.leaf, p.node = w.leaf(int32(n)), -1
		if k == 17 {
			w.leafShare[p.leaf] = 0.5
			p.cause = CauseUplinks
		} else {
			w.badUplink[p.leaf] = []int{4, 8}[r.IntN(2)]
			p.cause = CauseUplink
		}
	default:
		return nil
	}
	return p
}

func (p *planted) match(w *world, v Verdict) bool {
	if p.leaf == "" && p.rail >= 0 {
		for _, e := range v.Where.Or {
			if e == end(p.node, p.rail) || v.Where.Ends[0] == end(p.node, p.rail) {
				return true
			}
		}
	}
	if v.Cause != p.cause {
		return false
	}
	if p.leaf != "" {
		return v.Where.Leaf == p.leaf
	}
	if p.rail >= 0 {
		for _, e := range v.Where.Ends {
			if e == end(p.node, p.rail) {
				return true
			}
		}
		return false
	}
	for _, n := range v.Where.Nodes {
		if n == w.cluster.Nodes[p.node].Name {
			return true
		}
	}
	return false
}

func TestScore(t *testing.T) {
	runs, _ := strconv.Atoi(os.Getenv("SCORE"))
	if runs == 0 {
		t.Skip("SCORE")
	}
	only, _ := strconv.Atoi(os.Getenv("SIZE"))
	type tally struct{ n, hit int }
	recall, bins, sizes := map[Cause]*tally{}, map[int]*tally{}, map[int]*tally{}
	add := func(m map[int]*tally, k int, hit bool) {
		if m[k] == nil {
			m[k] = &tally{}
		}
		m[k].n++
		if hit {
			m[k].hit++
		}
	}
	shown := 0
	for seed := range uint64(runs) {
		size := []int{2, 3, 4, 5, 8, 16, 24, 48}[seed%8]
		if only > 0 {
			size = only
		}
		w := newWorld(seed, size, []int{1, 2, 4, 8}[seed/8%4], []int{0, 4, 8}[seed/32%3])
		w.noise = 0.01 * float64(1+seed%3)
		rails := len(w.cluster.Nodes[0].Rails)
		var all []*planted
		used := map[int]bool{}
		for range 1 + w.rng.IntN(max(1, size/8)+1) {
			if p := w.plantAny(size, rails, used); p != nil {
				all = append(all, p)
			}
		}
		run := w.run(t)
		var suspects []int32
		for _, s := range Suspects(run, Options{}) {
			suspects = append(suspects, s.Node)
			if s.Peer >= 0 {
				suspects = append(suspects, s.Peer)
			}
		}
		good := Good(run)
		w.retest, _ = plan.Retests(uniq(suspects), good, map[plan.Pair]bool{}, 2, 1)
		run = w.run(t)
		r := Find(run, Options{})
		bad := ""
		for _, p := range all {
			hit := false
			for _, v := range r.Verdicts {
				hit = hit || p.match(w, v)
			}
			if recall[p.cause] == nil {
				recall[p.cause] = &tally{}
			}
			recall[p.cause].n++
			add(sizes, size, hit)
			if hit {
				recall[p.cause].hit++
			} else {
				bad += fmt.Sprintf("missed %+v; ", *p)
			}
		}
		for _, v := range r.Verdicts {
			hit := false
			for _, p := range all {
				hit = hit || p.match(w, v)
			}
			add(bins, int(v.Confidence*20), hit)
			if !hit {
				bad += fmt.Sprintf("false %s %s %.2f; ", v.Cause, v.Where, v.Confidence)
			}
		}
		if bad != "" && shown < 400 {
			shown++
			t.Logf("seed %d size %d rails %d: %s", seed, size, rails, bad)
		}
	}
	for c, x := range recall {
		t.Logf("recall %-14s %3d of %3d", c, x.hit, x.n)
	}
	for b := range 20 {
		if x := bins[b]; x != nil {
			t.Logf("confidence %.2f-: %3d of %3d", float64(b)/20, x.hit, x.n)
		}
	}
	for b, x := range sizes {
		t.Logf("size %d: %3d of %3d", b, x.hit, x.n)
	}
}

func uniq(x []int32) []int32 {
	seen := map[int32]bool{}
	var out []int32
	for _, v := range x {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}
