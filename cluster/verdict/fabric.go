package verdict

import (
	"fmt"
	"math"
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
		case alone(a) || alone(b): // such a leaf can't be distinguished from its node
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
		if v.within(v.cards[s.from[i]].end.Node, v.cards[s.to[i]].end.Node) {
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
