package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
)

// fewSpines is the least share of the rate that traffic between leaves loses against traffic within
// them before the fabric counts as oversubscribed: collisions of ECMP alone cost permutations up to
// a quarter of what their links carry, with few flows (Al-Fares et al., Hedera, NSDI 2010).
const fewSpines = 0.25

// oversubscribed compares traffic between leaves with traffic within them.
func (v *view) oversubscribed() {
	v.tests++
	var within, cross, perm []float32
	pairs := v.rate.pairs
	alone := func(c int32) bool { return len(v.leafNodes[v.leaf[v.cards[c].end.Node]]) < 2 }
	for i, y := range pairs.y {
		a, b := pairs.from[i], pairs.to[i]
		switch {
		case pairs.skip[i] || v.leaf[v.cards[a].end.Node] < 0 || v.leaf[v.cards[b].end.Node] < 0:
		case alone(a) || alone(b): // such a leaf can't be told from its node
		case v.crosses(v.cards[pairs.from[i]].end.Node, v.cards[pairs.to[i]].end.Node):
			cross = append(cross, y)
		default:
			within = append(within, y)
		}
	}
	var refs []int
	for i, y := range v.rate.perm.y {
		p := v.rate.perm
		if !p.skip[i] && v.crosses(v.cards[p.from[i]].end.Node, v.cards[p.to[i]].end.Node) &&
			!alone(p.from[i]) && !alone(p.to[i]) {
			perm = append(perm, y)
			refs = cite(refs, int(p.idx[i]))
		}
	}
	if len(within) < fewPeers || len(cross)+len(perm) < fewPeers {
		if len(within) < fewPeers {
			v.gap("spines", "no pairs within a leaf were measured to compare with")
		}
		return
	}
	inside := float64(median(within))
	crossDrop, permDrop := inside-float64(median(cross)), inside-float64(median(perm))
	if math.IsNaN(crossDrop) {
		crossDrop = 0
	}
	if math.IsNaN(permDrop) {
		permDrop = 0
	}
	lost := 1 - math.Exp(-max(crossDrop, permDrop))
	if lost < fewSpines {
		return
	}
	v.ignoreCross(crossDrop)
	v.verdicts = append(v.verdicts, Verdict{
		Cause: CauseOversubscribed, Where: Where{Scope: ScopeFabric}, Severity: lost,
		Confidence: oversubscribedConfidence(len(v.leaves), lost),
		Words:      fmt.Sprintf("traffic between leaves is %.0f %% slower than within", 100*lost),
		Evidence: []Evidence{{fmt.Sprintf("pairs between leaves lose %.0f %% against pairs within a leaf, and "+
			"%.0f %% if all cards send to other leaves at once",
			100*(1-math.Exp(-max(crossDrop, 0))), 100*(1-math.Exp(-max(permDrop, 0)))), refs}},
	})
}

// ignoreCross takes the effect of oversubscription from samples between leaves, and leaves them out
// of the estimates of cards that have samples within their leaf. The others are compared by what
// they do between leaves, where uplinks are shared by chance: only much less counts.
func (v *view) ignoreCross(drop float64) {
	s := v.rate.pairs
	inside := make([]bool, len(v.cards))
	for i := range s.y {
		if !v.crosses(v.cards[s.from[i]].end.Node, v.cards[s.to[i]].end.Node) {
			inside[s.from[i]], inside[s.to[i]] = true, true
		}
	}
	v.rate.shared = make([]bool, len(v.cards))
	for c, ok := range inside {
		v.rate.shared[c] = !ok
	}
	for i := range s.y {
		if !v.crosses(v.cards[s.from[i]].end.Node, v.cards[s.to[i]].end.Node) {
			continue
		}
		if inside[s.from[i]] && inside[s.to[i]] {
			s.skip[i] = true
		} else {
			s.y[i] += float32(drop)
		}
	}
}

// collapsed is the share of a receiver's rate that several senders reach together at least: with
// flow control, or with congestion control alone, they share its link (IEEE 802.1Qbb; Zhu et al.,
// DCQCN, SIGCOMM 2015, where ten senders keep nine tenths of it). Without either, go-back-N brings
// it down to a small part.
const collapsed = 0.7

// incast finds receivers, leaves or fabrics at which incast collapses.
func (v *view) incast() {
	type key struct {
		stage, attempt uint8
		round          uint16
		to             int32
	}
	type sum struct {
		gbps, line float64
		n          int
		refs       []int
	}
	sums := map[key]*sum{}
	var order []key
	for i := range v.run.Samples {
		s := &v.run.Samples[i]
		if v.stage(s) != plan.StageIncast || s.From.Node == s.To.Node {
			continue
		}
		f, t := v.find(s.From), v.find(s.To)
		if f < 0 || t < 0 || v.cards[t].known[rx] || v.out[s.To.Node] {
			continue
		}
		k := key{s.Stage, s.Attempt, s.Round, t}
		if sums[k] == nil {
			sums[k] = &sum{line: v.expected(t)}
			order = append(order, k)
		}
		g := v.gbps(s)
		if g == 0 && (v.cards[f].known[tx] || v.out[s.From.Node]) {
			continue // it sends nothing to any card
		}
		sums[k].gbps += g
		sums[k].n++
		sums[k].refs = cite(sums[k].refs, i)
	}
	var all []incastSample
	for _, k := range order {
		if x := sums[k]; x.n >= 2 && x.line > 0 {
			all = append(all, incastSample{k.to, x.n, min(x.gbps/x.line, 1.2), x.refs})
		}
	}
	v.judgeIncast(all)
}

// incastSample is what several senders reached at one receiver, as a share of its rate.
type incastSample struct {
	to    int32
	n     int
	share float64
	refs  []int
}

// expected returns the rate in Gb/s that a card has reached as a receiver of pairs, or its class's.
func (v *view) expected(c int32) float64 {
	x := &v.cards[c]
	base, ok := v.rate.base[[2]int32{x.class, x.class}]
	if !ok {
		return 0
	}
	e := v.rate.est[rx][c]
	if math.IsNaN(e) {
		e = 0
	}
	return v.line(c, c) * math.Exp(base+min(e, 0))
}

func (v *view) judgeIncast(all []incastSample) {
	if len(all) == 0 {
		v.gap("incast", "no round with several senders to one receiver was measured, or no pairs to compare with")
		return
	}
	groups := map[leafRail][]incastSample{}
	for _, x := range all {
		if end := v.cards[x.to].end; v.leaf[end.Node] >= 0 {
			k := v.leafKey(end)
			groups[k] = append(groups[k], x)
		}
	}
	judged, bad := 0, map[int32][]int{} // rails by leaf
	total := 0
	for _, k := range v.leafRails() {
		if len(groups[k]) < 2 {
			continue
		}
		judged++
		if share, _ := incastShare(groups[k]); share < collapsed*(1-v.uplinksLost(v.leaves[k.leaf])) {
			bad[k.leaf] = append(bad[k.leaf], int(k.rail))
			total++
		}
	}
	v.tests += 1 + judged
	switch {
	case judged == 0:
		if share, _ := incastShare(all); share < collapsed*(1-v.uplinksLost("")) {
			v.incastVerdict(Where{Scope: ScopeFabric}, all)
		}
	case total == judged && (len(v.leaves) == 1 || judged > 1):
		v.incastVerdict(Where{Scope: ScopeFabric}, all)
	default:
		for _, leaf := range slices.Sorted(keys(bad)) {
			v.incastOfLeaf(leaf, bad[leaf], groups)
		}
	}
}

// incastOfLeaf accuses the rails of a leaf at whose receivers incast collapses.
func (v *view) incastOfLeaf(leaf int32, rails []int, groups map[leafRail][]incastSample) {
	var list []incastSample
	for _, r := range rails {
		list = append(list, groups[leafRail{leaf, int32(r)}]...)
	}
	w := Where{Scope: ScopeLeaf, Leaf: v.leaves[leaf], Rails: rails}
	if len(rails) == len(v.rails) {
		w.Rails = nil
	}
	v.incastVerdict(w, list)
}

// explainUplinks drops verdicts about uplinks where incast collapses: a switch that drops instead
// of pausing drops on its uplinks, too, when the flows of several senders meet there.
func (v *view) explainUplinks(w *Where) {
	v.verdicts = slices.DeleteFunc(v.verdicts, func(x Verdict) bool {
		return x.Cause == CauseUplink && (w.Scope == ScopeFabric || x.Where.Leaf == w.Leaf &&
			(len(w.Rails) == 0 || !slices.ContainsFunc(x.Where.Rails, func(r int) bool {
				return !slices.Contains(w.Rails, r)
			})))
	})
}

// uplinksLost returns the share that verdicts about the uplinks of a leaf, or about those of all
// leaves, take from senders in other leaves.
func (v *view) uplinksLost(leaf string) (lost float64) {
	for _, x := range v.verdicts {
		if x.Where.Scope == ScopeFabric || x.Where.Scope == ScopeLeaf && x.Where.Leaf == leaf {
			lost = max(lost, min(x.Severity, 1))
		}
	}
	return lost
}

// incastShare returns the median share that receivers reached, and references.
func incastShare(list []incastSample) (float64, []int) {
	var x []float64
	var refs []int
	for _, s := range list {
		x = append(x, s.share)
		if s.share < collapsed {
			for _, r := range s.refs {
				refs = cite(refs, r)
			}
		}
	}
	return median(x), refs
}

func (v *view) incastVerdict(w Where, list []incastSample) {
	v.explainUplinks(&w)
	share, refs := incastShare(list)
	discards, pause := 0.0, 0.0
	for _, x := range list {
		for _, i := range x.refs {
			e := errorsIn(v.run.Samples[i].Detail)
			discards, pause = discards+e.discards+e.lost, pause+e.pause
		}
	}
	x := Verdict{
		Cause: CauseIncast, Where: w, Severity: min(max(1-share, 0), 1), Confidence: incastConfidence(len(list),
			share, discards, pause),
		Words: fmt.Sprintf("several senders to one receiver reach %.0f %% of its rate together", 100*share),
		Evidence: []Evidence{{fmt.Sprintf("the median of %s is %.0f %% of what one sender reaches",
			plural(float64(len(list)), "receiver"), 100*share), refs}},
	}
	if discards > 0 || pause > 0 {
		x.Evidence = append(x.Evidence, Evidence{Text: fmt.Sprintf(
			"meanwhile %.0f packets were discarded or sent again, and %.0f pause frames were counted", discards,
			pause)})
	}
	v.verdicts = append(v.verdicts, x)
}
