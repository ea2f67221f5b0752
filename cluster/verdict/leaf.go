package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
)

// leafRail is a rail's uplinks of a leaf. With rails on different switches, a leaf is a group of
// switches, and each rail has its own.
type leafRail struct{ leaf, rail int32 }

func (v *view) leafKey(e plan.End) leafRail { return leafRail{v.leaf[e.Node], int32(e.Rail)} }

// leafCards returns the cards of a leaf's rail.
func (v *view) leafCards(k leafRail) []int32 {
	var out []int32
	for _, node := range v.leafNodes[k.leaf] {
		if c := v.at[int(node)*maxRails+int(k.rail)]; c >= 0 {
			out = append(out, c)
		}
	}
	return out
}

// leafRails returns all rails of all leaves.
func (v *view) leafRails() []leafRail {
	var out []leafRail
	for l := range v.leaves {
		for _, r := range v.rails {
			out = append(out, leafRail{int32(l), int32(r)})
		}
	}
	return out
}

// uplinkShare is the share of a leaf's cards that must suffer before its uplinks are to blame:
// three quarters, for a fault of uplinks hits all nodes of a leaf, and few leaves have so many bad
// nodes.
const uplinkShare = 0.75

// leastUneven is the share of samples to other leaves that one bad uplink of a leaf hits at least:
// of a pair with 16 source ports, one of 64 uplinks gets some with a probability of 0.22. Where
// hashing alone makes flows uneven, it does so at all leaves: a bad one has half as many again.
const leastUneven = 0.15

// leafEvents accuses leaves whose cards have events with other leaves, but not within, and returns
// them. One bad uplink of n hits about one in n flows, whatever the card.
func (v *view) leafEvents(e *events, what string) map[leafRail]bool {
	bad := map[leafRail]bool{}
	groups := v.leafRails()
	v.tests += len(groups)
	list := slices.Clone(e.list)
	for range 64 {
		cross, within := make(map[int32]int), make(map[int32]int)
		far := map[leafRail]map[int32]int{}
		meet := func(near, other int32) {
			g := v.leafKey(v.cards[near].end)
			if far[g] == nil {
				far[g] = map[int32]int{}
			}
			far[g][other]++
		}
		for _, x := range list {
			m := within
			if v.crosses(v.cards[x.from].end.Node, v.cards[x.to].end.Node) {
				m = cross
				meet(x.from, x.to)
				meet(x.to, x.from)
			}
			m[x.from]++
			m[x.to]++
		}
		if len(cross) == 0 {
			return bad
		}
		best, share, ok := leafRail{}, 0.0, false
		var shares []float64
		for _, g := range groups {
			f := v.leafShare(e, g, cross, within)
			if !math.IsNaN(f) {
				shares = append(shares, f)
			}
			if f > share && !bad[g] && !single(far[g]) {
				best, share, ok = g, f, true
			}
		}
		if !ok || share < leastUneven {
			return bad
		}
		if !v.standsOut(share, shares, what) {
			v.gap("uplinks", "traffic between leaves %s in %.0f %% of the steps, at all leaves about alike: "+
				"hashing and congestion do that, too", what, 100*share)
			return bad
		}
		bad[best] = true
		list = v.uplinkVerdict(e, best, list, share, what)
	}
	return bad
}

// fewLeaves is the number of leaves below which they can't be compared with each other.
const fewLeaves = 3

// standsOut reports whether the share of a leaf is an outlier among those of all leaves. Two leaves
// share all of their traffic: then only a loss without congestion speaks of an uplink.
func (v *view) standsOut(share float64, shares []float64, what string) bool {
	if len(v.leaves) < fewLeaves {
		return what == lossyFlows
	}
	middle, sigma := spread(shares)
	// A bad leaf is the far end of others, which are half as bad among three.
	return share > 1.5*middle && share-middle > v.o.Z*min(max(sigma, 2*v.o.Floor), middle/v.o.Z+2*v.o.Floor)
}

// single reports whether most events are with one card: then that one is bad.
func single(far map[int32]int) bool {
	most, sum := 0, 0
	for _, n := range far {
		most, sum = max(most, n), sum+n
	}
	return 2*most > sum
}

// leafShare returns the share of samples to other leaves with an event that three quarters of a
// leaf's cards exceed, 0 if there are as many within the leaf, NaN if there are no such samples.
func (v *view) leafShare(e *events, g leafRail, cross, within map[int32]int) float64 {
	var shares []float64
	inside, insideBad, outsideBad, outside := 0, 0, 0, 0
	for _, c := range v.leafCards(g) {
		if n := int(e.cross[c]); n > 0 {
			shares = append(shares, float64(cross[c])/float64(n))
			outside, outsideBad = outside+n, outsideBad+cross[c]
		}
		inside, insideBad = inside+int(e.all[c]-e.cross[c]), insideBad+within[c]
	}
	if len(shares) == 0 {
		return math.NaN()
	}
	if len(shares) < 2 || 2*insideBad*outside > outsideBad*inside && inside > 0 {
		return 0
	}
	return quantile(shares, 1-uplinkShare)
}

// uplinkVerdict accuses an uplink of a leaf and returns the events that it does not explain.
func (v *view) uplinkVerdict(e *events, g leafRail, list []event, share float64, what string) []event {
	var refs []int
	var rest []event
	weight, n := 0.0, 0.0
	for _, c := range v.leafCards(g) {
		n += float64(e.cross[c])
	}
	for _, x := range list {
		a, b := v.cards[x.from].end, v.cards[x.to].end
		if v.crosses(a.Node, b.Node) && (v.leafKey(a) == g || v.leafKey(b) == g) {
			refs = cite(refs, int(x.sample))
			weight += x.weight
			continue
		}
		rest = append(rest, x)
	}
	text := fmt.Sprintf("traffic between it and other leaves %s in %.0f %% of the steps or more, for three "+
		"quarters of its cards, and not within the leaf",
		what, 100*share)
	for i := range v.verdicts { // one verdict for a leaf whose flows are uneven and lossy
		old := &v.verdicts[i]
		if old.Cause == CauseUplink && old.Where.Leaf == v.leaves[g.leaf] {
			old.Evidence = append(old.Evidence, Evidence{text, refs})
			if !slices.Contains(old.Where.Rails, int(g.rail)) {
				old.Where.Rails = append(old.Where.Rails, int(g.rail))
			}
			return rest
		}
	}
	x := Verdict{
		Cause: CauseUplink, Where: Where{Scope: ScopeLeaf, Leaf: v.leaves[g.leaf], Rails: []int{int(g.rail)}},
		Severity: v.leafDeficit(g), Confidence: 0.9, Words: "a part of the flows to other leaves " + what,
		Evidence: []Evidence{{text, refs}},
	}
	if len(v.leaves) == 2 {
		x.Confidence = 0.55
		x.Evidence = append(x.Evidence, Evidence{Text: "there are two leaves only: the far end, " +
			v.leaves[1-g.leaf] + ", can be the bad one as well"})
	}
	if mean := weight / max(n, 1); what == unevenFlows && mean > 0 {
		x.Severity = max(x.Severity, min(mean, 1))
		x.Where.Uplink = fmt.Sprintf("about 1 uplink of %.0f", 1/mean)
	}
	v.verdicts = append(v.verdicts, x)
	return rest
}

// What leaves are accused of.
const (
	unevenFlows = "has source ports slower than the others"
	lossyFlows  = "loses packets"
)

// slowFlow is the share of the median flow below which a flow is slow. Queue pairs of one pair
// share its bandwidth evenly; hashing onto shared uplinks gives two flows half each.
const slowFlow = 0.6

// flows finds leaves of which one uplink is bad: some source ports of their pairs are slow.
func (v *view) flows() {
	e := newEvents(len(v.cards), 0.02)
	uneven, judged := 0, 0
	var flows []float32
	for i := range v.run.Samples {
		s := &v.run.Samples[i]
		if s.Detail == nil || len(s.Detail.Flows) < 4 || s.From.Node == s.To.Node || v.stage(s) != plan.StagePairs {
			continue
		}
		f, t := v.find(s.From), v.find(s.To)
		if f < 0 || t < 0 || v.cards[f].known[tx] || v.cards[t].known[rx] {
			continue
		}
		judged++
		v.countSample(e, f, t, s.Attempt > 0)
		flows = append(flows[:0], s.Detail.Flows...)
		if share := slowShare(flows); share > 0 {
			uneven++
			e.list = append(e.list, event{int32(i), f, t, share, s.Attempt > 0})
		}
	}
	switch {
	case judged == 0:
		v.gap("uplinks", "no pair was measured with several source ports")
	case len(v.leaves) < 2 && uneven*10 > judged:
		v.gap("uplinks", "in %d of %d steps some source ports are slower than others: an uplink is bad, but the "+
			"leaves of the nodes are unknown",
			uneven, judged)
	case len(v.leaves) >= 2:
		for g := range v.leafEvents(e, unevenFlows) {
			v.skipCross(g)
		}
	}
}

// slowShare returns the share of flows that are much slower than the others, 0 if half or more are.
func slowShare(flows []float32) float64 {
	for _, f := range flows {
		if !(f >= 0) || math.IsInf(float64(f), 0) {
			return 0
		}
	}
	limit := slowFlow * median(flows)
	n := 0
	for _, f := range flows {
		if f < limit {
			n++
		}
	}
	return float64(n) / float64(len(flows))
}

// skipCross leaves a leaf's samples to other leaves out of the estimates of cards.
func (v *view) skipCross(g leafRail) {
	for _, s := range []*set{v.rate.pairs, v.rate.perm} {
		for _, c := range v.leafCards(g) {
			for d := range 2 {
				for _, i := range s.by[d].of(c) {
					if v.crosses(v.cards[s.from[i]].end.Node, v.cards[s.to[i]].end.Node) {
						s.skip[i] = true
					}
				}
			}
		}
	}
}

// leafValue is a direction of a leaf's uplinks.
type leafValue struct {
	g       leafRail
	value   [2]float64 // of samples to other leaves, log; the upper quartile over the cards
	mean    [2]float64 // of all samples to other leaves
	within  float64    // of samples within the leaf
	deficit float64    // the larger one of both directions
}

// leafValues computes what three quarters of each leaf's cards don't exceed.
func (v *view) leafValues(s *set) []leafValue {
	var out []leafValue
	var y, inside []float32
	for _, g := range v.leafRails() {
		x := leafValue{g: g}
		var cross [2][]float64
		var within []float64
		far := [2]int32{-1, -1} // two cards of other leaves
		n := [2]float64{}
		for _, c := range v.leafCards(g) {
			inside = inside[:0]
			for d := range 2 {
				y = y[:0]
				for _, i := range s.by[d].of(c) {
					switch {
					case s.skip[i]:
					case v.crosses(v.cards[s.from[i]].end.Node, v.cards[s.to[i]].end.Node):
						y = append(y, s.y[i])
						x.mean[d] += float64(s.y[i])
						n[d]++
						if f := s.to[i] + s.from[i] - c; far[0] < 0 || far[0] == f {
							far[0] = f
						} else {
							far[1] = f
						}
					default:
						inside = append(inside, s.y[i])
					}
				}
				if len(y) > 0 {
					cross[d] = append(cross[d], float64(mostly(y)))
				}
			}
			if len(inside) > 0 {
				within = append(within, float64(median(inside)))
			}
		}
		if len(cross[tx]) < 2 && len(cross[rx]) < 2 || far[1] < 0 { // a single card may be the bad one
			continue
		}
		for d := range 2 {
			x.mean[d] /= max(n[d], 1)
		}
		x.value = [2]float64{quantile(cross[tx], uplinkShare), quantile(cross[rx], uplinkShare)}
		x.within = quantile(within, uplinkShare)
		out = append(out, x)
	}
	return out
}

// mostly returns the median of y, or the largest of few values, so that one bad partner doesn't
// count.
func mostly(y []float32) float32 {
	if len(y) < 4 {
		return slices.Max(y)
	}
	return median(y)
}

// leafLoss is the least share of the rate that a leaf's uplinks must lose, compared with other
// leaves: hashing of ECMP alone makes leaves differ by some per cent.
const leafLoss = 0.1

// rateLeaves finds leaves with too few uplinks, and a fabric with too few. It leaves samples that
// they explain out of the estimates of cards.
func (v *view) rateLeaves() {
	if len(v.leaves) < 2 {
		if len(v.leaves) == 0 {
			v.gap("uplinks and spines", "the leaves of the nodes are unknown")
		}
		return
	}
	found := map[leafRail]float64{}
	for _, s := range []*set{v.rate.perm, v.rate.pairs} {
		for range maxLeaves {
			worst, ok := v.worstLeaf(s)
			if !ok {
				break
			}
			found[worst.g] = max(found[worst.g], 1-math.Exp(-worst.deficit))
			v.skipCross(worst.g)
		}
	}
	v.tests += 2 * len(v.leafRails())
	v.uplinkVerdicts(found)
	v.oversubscribed()
}

// maxLeaves bounds how many leaves of a rail are accused.
const maxLeaves = 256

// worstLeaf returns the leaf whose traffic with others is slowest, if its uplinks are slower than
// those of other leaves and than traffic within the leaf.
func (v *view) worstLeaf(s *set) (worst leafValue, found bool) {
	all := v.leafValues(s)
	var ref []float64
	for _, x := range all {
		for _, y := range x.value {
			if !math.IsNaN(y) {
				ref = append(ref, y)
			}
		}
	}
	if len(ref) < fewPeers {
		return worst, false
	}
	_, sigma := spread(ref)
	sigma = min(max(sigma, v.o.Floor), 4*v.o.Floor)
	middle := quantile(ref, uplinkShare)
	for _, x := range all {
		least := leafLoss
		if x.within-middle > -math.Log1p(-fewSpines) { // all uplinks are short: leaves of few nodes differ
			least = 3 * leafLoss
		}
		for _, value := range x.value {
			if y := middle - value; y > -math.Log1p(-least) && y > v.o.Z*sigma {
				x.deficit = max(x.deficit, y)
			}
		}
		if x.deficit == 0 || x.within < max(x.value[tx], x.value[rx])+0.05 {
			continue
		}
		if !found || x.mean[tx]+x.mean[rx] < worst.mean[tx]+worst.mean[rx] {
			worst, found = x, true
		}
	}
	return worst, found
}

// uplinkVerdicts makes one verdict for each leaf.
func (v *view) uplinkVerdicts(found map[leafRail]float64) {
	byLeaf := map[int32][]leafRail{}
	for g := range found {
		byLeaf[g.leaf] = append(byLeaf[g.leaf], g)
	}
	for _, l := range slices.Sorted(keys(byLeaf)) {
		list := byLeaf[l]
		slices.SortFunc(list, func(a, b leafRail) int { return cmp.Compare(a.rail, b.rail) })
		x := Verdict{Cause: CauseUplinks, Where: Where{Scope: ScopeLeaf, Leaf: v.leaves[l]}, Confidence: 0.92}
		for _, g := range list {
			x.Where.Rails = append(x.Where.Rails, int(g.rail))
			x.Severity = max(x.Severity, found[g])
		}
		x.Words = fmt.Sprintf("its uplinks carry %.0f %% less than those of other leaves", 100*x.Severity)
		x.Evidence = []Evidence{{x.Words + fmt.Sprintf(", on %s; traffic within the leaf is not slow",
			plural(float64(len(list)), "rail")), v.leafSamples(list[0])}}
		if v.noneWithin(list[0]) {
			x.Confidence = 0.75
		}
		if len(v.leaves) == 2 {
			x.Confidence = 0.5
			x.Evidence = append(x.Evidence, Evidence{Text: "there are two leaves only: the other one can be the " +
				"bad one as well"})
		}
		v.verdicts = append(v.verdicts, x)
	}
}

// noneWithin reports whether no pair within a leaf was measured: then its nodes may be slow
// instead.
func (v *view) noneWithin(g leafRail) bool {
	for _, c := range v.leafCards(g) {
		for _, i := range v.rate.pairs.by[tx].of(c) {
			if !v.crosses(v.cards[c].end.Node, v.cards[v.rate.pairs.to[i]].end.Node) {
				return false
			}
		}
	}
	return true
}

// leafSamples returns a few samples between a leaf and others.
func (v *view) leafSamples(g leafRail) (refs []int) {
	for _, s := range []*set{v.rate.perm, v.rate.pairs} {
		for _, c := range v.leafCards(g) {
			for _, i := range s.by[tx].of(c) {
				if v.crosses(v.cards[s.from[i]].end.Node, v.cards[s.to[i]].end.Node) {
					refs = cite(refs, int(s.idx[i]))
				}
			}
		}
	}
	return refs
}

// leafDeficit returns the share of its rate that a leaf's traffic to others loses against the
// reference.
func (v *view) leafDeficit(g leafRail) float64 {
	var y []float32
	for _, c := range v.leafCards(g) {
		for _, i := range v.rate.pairs.by[tx].of(c) {
			if v.crosses(v.cards[c].end.Node, v.cards[v.rate.pairs.to[i]].end.Node) {
				y = append(y, v.rate.pairs.y[i])
			}
		}
	}
	if len(y) == 0 {
		return 0
	}
	return min(max(0, 1-math.Exp(float64(median(y)))), 1)
}
