package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
)

// uplinkShare is the share of a leaf's cards that must suffer before its uplinks are to blame:
// three quarters, for a fault of uplinks hits all nodes of a leaf, and few leaves have so many bad
// nodes.
const uplinkShare = 0.75

// leastUneven is the share of samples to other leaves that one bad uplink of a leaf hits at least:
// of a pair with 16 source ports, one of 64 uplinks gets some with a probability of 0.22. Where
// hashing alone makes flows uneven, it does so at all leaves: a bad one has half as many again.
const leastUneven = 0.15

// leafWay is the traffic of a leaf's rail with other leaves: what it sends, what it receives, or
// both.
type leafWay struct {
	leafRail
	dir int // tx, rx or anyDir
}

const anyDir = 2

// leafCounts counts events by the ways that they took.
type leafCounts struct {
	cross  [2]map[int32]int // by card, of samples between leaves in which it sends, or receives
	within map[int32]int    // by card, of samples within a leaf
	far    map[leafWay]map[int32]int
}

func (v *view) countLeaves(list []event) leafCounts {
	c := leafCounts{
		cross: [2]map[int32]int{{}, {}}, within: map[int32]int{}, far: map[leafWay]map[int32]int{},
	}
	meet := func(near, other int32, dir int) {
		c.cross[dir][near]++
		for _, d := range [2]int{dir, anyDir} {
			w := leafWay{v.leafKey(v.cards[near].end), d}
			if c.far[w] == nil {
				c.far[w] = map[int32]int{}
			}
			c.far[w][other]++
		}
	}
	for _, x := range list {
		if v.crosses(v.cards[x.from].end.Node, v.cards[x.to].end.Node) {
			meet(x.from, x.to, tx)
			meet(x.to, x.from, rx)
			continue
		}
		if v.within(v.cards[x.from].end.Node, v.cards[x.to].end.Node) {
			c.within[x.from]++
			c.within[x.to]++
		}
	}
	return c
}

// leafEvents accuses leaves whose cards have events with other leaves, but not within. It returns
// them and the events that they don't explain. One bad uplink of n hits about one in n flows,
// whatever the card. Losses are often one way, and the far ends of what a leaf sends are many
// leaves, so each direction is judged by itself, too.
func (v *view) leafEvents(e *events, what string) (bad map[leafRail]bool, rest []event) {
	bad, rest = map[leafRail]bool{}, slices.Clone(e.list)
	groups, accused := v.leafRails(), map[leafWay]bool{}
	v.tests += len(groups)
	dirs := []int{anyDir}
	if what == lossyFlows {
		dirs = []int{anyDir, tx, rx}
	}
	for range 64 {
		counts := v.countLeaves(rest)
		if len(counts.far) == 0 {
			return bad, rest
		}
		best, share, ok := leafWay{}, 0.0, false
		var shares [3][]float64
		for _, g := range groups {
			for _, d := range dirs {
				w := leafWay{g, d}
				f := v.leafShare(e, w, &counts)
				if !math.IsNaN(f) {
					shares[d] = append(shares[d], f)
				}
				if f > share && !accused[w] && !single(counts.far[w]) {
					best, share, ok = w, f, true
				}
			}
		}
		if !ok || share < leastUneven {
			return bad, rest
		}
		if !v.standsOut(share, shares[best.dir], what) {
			v.gap("uplinks", "traffic between leaves %s in %.0f %% of the steps, at all leaves about alike: "+
				"hashing and congestion do that, too", what, 100*share)
			return bad, rest
		}
		accused[best], bad[best.leafRail] = true, true
		rest = v.uplinkVerdict(e, best, rest, share, what)
	}
	return bad, rest
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
func (v *view) leafShare(e *events, w leafWay, counts *leafCounts) float64 {
	var shares []float64
	inside, insideBad, outsideBad, outside := 0, 0, 0, 0
	for _, c := range v.leafCards(w.leafRail) {
		n, k := 0, 0
		for d := range 2 {
			inside += int(e.inside[d][c])
			if w.dir == anyDir || w.dir == d {
				n, k = n+int(e.cross[d][c]), k+counts.cross[d][c]
			}
		}
		if n > 0 {
			shares = append(shares, float64(k)/float64(n))
			outside, outsideBad = outside+n, outsideBad+k
		}
		insideBad += counts.within[c]
	}
	if len(shares) == 0 {
		return math.NaN()
	}
	if len(shares) < 2 || 2*insideBad*outside > outsideBad*inside && inside > 0 {
		return 0
	}
	return nth(shares, int((1-uplinkShare)*float64(len(shares)-1)))
}

// has reports whether traffic between two cards takes a way.
func (v *view) has(w leafWay, from, to plan.End) bool {
	return v.crosses(from.Node, to.Node) &&
		(w.dir != rx && v.leafKey(from) == w.leafRail || w.dir != tx && v.leafKey(to) == w.leafRail)
}

// uplinkVerdict accuses an uplink of a leaf and returns the events that it does not explain.
func (v *view) uplinkVerdict(e *events, g leafWay, list []event, share float64, what string) []event {
	var refs []int
	var rest []event
	weight, n := 0.0, 0.0
	for _, c := range v.leafCards(g.leafRail) {
		for d := range 2 {
			if g.dir == anyDir || g.dir == d {
				n += float64(e.cross[d][c])
			}
		}
	}
	for _, x := range list {
		if v.has(g, v.cards[x.from].end, v.cards[x.to].end) {
			refs = cite(refs, int(x.sample))
			weight += x.weight
			continue
		}
		rest = append(rest, x)
	}
	way := [...]string{"from it to other leaves", "from other leaves to it", "between it and other leaves"}[g.dir]
	text := fmt.Sprintf("traffic %s %s in %.0f %% of the steps or more, for three quarters of its cards, and not "+
		"within the leaf",
		way, what, 100*share)
	for i := range v.verdicts { // one verdict for a leaf whose flows are uneven and lossy
		old := &v.verdicts[i]
		if old.Cause == CauseUplink && old.Where.Leaf == v.leaves[g.leaf] {
			old.Evidence = append(old.Evidence, Evidence{text, refs})
			old.sends = old.sends && g.dir == tx
			if !slices.Contains(old.Where.Rails, int(g.rail)) {
				old.Where.Rails = append(old.Where.Rails, int(g.rail))
			}
			return rest
		}
	}
	x := Verdict{
		Cause: CauseUplink, Where: Where{Scope: ScopeLeaf, Leaf: v.leaves[g.leaf], Rails: []int{int(g.rail)}},
		Severity: v.leafDeficit(g.leafRail), Confidence: 0.9, Words: "a part of the flows " + way + " " + what,
		Evidence: []Evidence{{text, refs}}, sends: g.dir == tx,
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
	case len(v.leaves) == 0 && uneven*10 > judged:
		v.gap("uplinks", "in %d of %d steps some source ports are slower than others: an uplink is bad, but the "+
			"leaves of the nodes are unknown",
			uneven, judged)
	case len(v.leaves) >= 2:
		bad, _ := v.leafEvents(e, unevenFlows)
		for g := range bad {
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
