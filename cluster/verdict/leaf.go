package verdict

import (
	"cmp"
	"fmt"
	"maps"
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
					case v.within(v.cards[s.from[i]].end.Node, v.cards[s.to[i]].end.Node):
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
		x.value = [2]float64{upperQuartile(cross[tx]), upperQuartile(cross[rx])}
		x.within = upperQuartile(within)
		out = append(out, x)
	}
	return out
}

// upperQuartile returns a value that three quarters of x don't exceed, NaN for none: of two cards,
// the better one's.
func upperQuartile(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	return nth(x, int(math.Ceil(uplinkShare*float64(len(x)-1))))
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
// leaves, if pairs have as many source ports as usual: hashing of ECMP alone makes leaves differ by
// some per cent. How much depends on the square root of the number of flows.
const (
	leafLoss   = 0.1
	usualFlows = 16
)

// leastLeafLoss returns [leafLoss] for the number of flows of this run.
func (v *view) leastLeafLoss() float64 {
	var flows []float64
	for i := range v.run.Samples {
		s := &v.run.Samples[i]
		if v.stage(s) != plan.StagePairs || v.find(s.From) < 0 || v.find(s.To) < 0 ||
			!v.crosses(s.From.Node, s.To.Node) {
			continue
		}
		n := 1
		if s.Detail != nil {
			n = max(n, len(s.Detail.Flows))
		}
		flows = append(flows, float64(n))
	}
	if len(flows) == 0 {
		return leafLoss
	}
	return leafLoss * math.Sqrt(max(1, usualFlows/median(flows)))
}

// rateLeaves finds leaves with too few uplinks, and a fabric with too few. It leaves samples that
// they explain out of the estimates of cards.
func (v *view) rateLeaves() {
	if len(v.leaves) < 2 {
		if len(v.leaves) == 0 {
			v.gap("uplinks and spines", "the leaves of the nodes are unknown%s", v.whyNoLeaves())
		}
		return
	}
	found := map[leafRail]float64{}
	least := v.leastLeafLoss()
	for _, s := range []*set{v.rate.perm, v.rate.pairs} {
		for range maxLeaves {
			worst, ok := v.worstLeaf(s, least)
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
	v.unevenLeaves(least)
}

// unevenLeaves leaves out what leaves carry less than others if it is too little to accuse their
// uplinks with few source ports: it is no fault of their cards either.
func (v *view) unevenLeaves(least float64) {
	if least <= leafLoss {
		return
	}
	for _, s := range []*set{v.rate.perm, v.rate.pairs} {
		for range maxLeaves {
			worst, ok := v.worstLeaf(s, leafLoss)
			if !ok {
				break
			}
			v.gap("uplinks", "leaf %s carries %.0f %% less between leaves on rail %d: with few source ports hashing "+
				"does that, too", v.leaves[worst.g.leaf], 100*(1-math.Exp(-worst.deficit)), worst.g.rail)
			v.skipCross(worst.g)
		}
	}
}

// maxLeaves bounds how many leaves of a rail are accused.
const maxLeaves = 256

// worstLeaf returns the leaf whose traffic with others is slowest, if its uplinks are slower than
// those of other leaves and than traffic within the leaf; they lose a share at least.
func (v *view) worstLeaf(s *set, share float64) (worst leafValue, found bool) {
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
		least := share
		if x.within-middle > -math.Log1p(-fewSpines) { // all uplinks are short: leaves of few nodes differ
			least = min(3*share, 0.5)
		}
		best := math.Inf(-1) // of the directions that were measured
		for _, value := range x.value {
			if value > best {
				best = value
			}
			if y := middle - value; y > -math.Log1p(-least) && y > v.o.Z*sigma {
				x.deficit = max(x.deficit, y)
			}
		}
		if x.deficit == 0 || x.within < best+v.o.Deficit {
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
	for _, l := range slices.Sorted(maps.Keys(byLeaf)) {
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
			if v.within(v.cards[c].end.Node, v.cards[v.rate.pairs.to[i]].end.Node) {
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
