package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

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
	v.findResends()
	sums := map[key]*incastSum{}
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
			sums[k] = &incastSum{line: v.expected(t)}
			order = append(order, k)
		}
		g := v.gbps(s)
		if v.cards[f].known[tx] {
			sums[k].faulty = true
		}
		if g == 0 && (v.cards[f].known[tx] || v.out[s.From.Node]) {
			continue // it sends nothing to any card
		}
		sums[k].gbps += g
		sums[k].n++
		sums[k].refs = cite(sums[k].refs, i)
		if !v.cards[f].known[tx] {
			sums[k].loss.add(v, s, v.resends(s, f))
		}
	}
	var all []incastSample
	for _, k := range order {
		x := sums[k]
		if x.faulty && !v.countsResends { // the receiver counts what it missed over all senders
			x.loss = pathLoss{}
		}
		if x.n >= 2 && x.line > 0 {
			all = append(all, incastSample{k.to, x.n, min(x.gbps/x.line, 1.2), x.loss, x.refs})
		}
	}
	v.judgeIncast(all)
}

// incastSum sums what several senders reached at one receiver.
type incastSum struct {
	gbps, line float64
	n          int
	loss       pathLoss
	faulty     bool // one of them has a fault of its own
	refs       []int
}

// lossCount counts samples, and those that lost packets.
type lossCount struct{ n, lossy int }

func (c *lossCount) add(lossy bool) {
	c.n++
	if lossy {
		c.lossy++
	}
}

// pathLoss counts samples within a leaf and between leaves.
type pathLoss [2]lossCount

func (p *pathLoss) add(v *view, s *result.Sample, lossy bool) {
	switch {
	case v.crosses(s.From.Node, s.To.Node):
		p[1].add(lossy)
	case v.within(s.From.Node, s.To.Node):
		p[0].add(lossy)
	}
}

func (p *pathLoss) merge(q *pathLoss) {
	for i := range p {
		p[i].n += q[i].n
		p[i].lossy += q[i].lossy
	}
}

// findResends finds out whether the drivers count at the sender what is sent again.
func (v *view) findResends() {
	for i := range v.run.Samples {
		if s := &v.run.Samples[i]; s.Detail != nil && errorsIn(s.Detail).again > 0 {
			v.countsResends = true
			return
		}
	}
}

// resends reports whether packets of a sample were lost, by the sender's own count if it has one:
// what its port missed, a receiver counts over all senders.
func (v *view) resends(s *result.Sample, from int32) bool {
	e := errorsIn(s.Detail)
	lost := e.missed
	if v.countsResends {
		lost = e.again
	}
	return v.isLoss(lost, v.packets(s, from))
}

// incastSample is what several senders reached at one receiver, as a share of its rate.
type incastSample struct {
	to    int32
	n     int
	share float64
	loss  pathLoss // of its senders without those that lose packets with others, too
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
		if v.stageIndex(plan.StageIncast) >= 0 {
			v.gap("incast", "no round with several senders to one receiver was measured, or no pairs to compare with")
		}
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
		if v.collapses(groups[k], v.leaves[k.leaf]) {
			bad[k.leaf] = append(bad[k.leaf], int(k.rail))
			total++
		}
	}
	v.tests += 1 + judged
	switch {
	case judged == 0:
		if v.collapses(all, "") {
			v.incastVerdict(Where{Scope: ScopeFabric}, all)
		}
	case total == judged && (len(v.leaves) == 1 || judged > 1),
		len(v.leaves) > 1 && v.drops(all) && !v.cleanLeaf(groups):
		v.incastVerdict(Where{Scope: ScopeFabric}, all)
	default:
		for _, leaf := range slices.Sorted(maps.Keys(bad)) {
			v.incastOfLeaf(leaf, bad[leaf], groups)
		}
	}
}

// collapses reports whether several senders to one of a leaf's receivers get far less than one of
// them alone, or lose packets that single senders don't: a network with flow control drops nothing
// because a queue is full (IEEE 802.1Qbb), and one without does so only when senders compete.
func (v *view) collapses(list []incastSample, leaf string) bool {
	share, _ := incastShare(list)
	if share < collapsed*(1-v.uplinksLost(leaf)) {
		return true
	}
	return v.drops(list)
}

// drops reports whether packets are lost where several cards send to one, and not where one does.
// Four senders or more say more than two or three, for which buffers may suffice.
func (v *view) drops(list []incastSample) bool {
	for _, senders := range [...]int{4, 2} {
		if drops, ok := v.dropsOf(list, senders); ok {
			return drops
		}
	}
	return false
}

// dropsOf judges the rounds with so many senders or more; ok if there are enough. If there is such
// traffic within leaves, uplinks have no part in it.
func (v *view) dropsOf(list []incastSample, senders int) (drops, ok bool) {
	var several, single pathLoss
	seen := map[int32]bool{}
	for i := range list {
		x := &list[i]
		if x.n >= senders {
			several.merge(&x.loss)
		}
		if !seen[x.to] {
			seen[x.to] = true
			single.merge(&v.single[x.to])
		}
	}
	for path := range several {
		a, b := several[path], single[path]
		if a.n >= fewSenders && b.n >= fewSenders {
			return float64(a.lossy) >= mostSenders*float64(a.n) && float64(b.lossy) <= fewPairs*float64(b.n), true
		}
	}
	return false, false
}

// cleanLeaf reports whether there is a leaf at which several senders lose nothing: then it is no
// setting of the whole fabric.
func (v *view) cleanLeaf(groups map[leafRail][]incastSample) bool {
	leaves := map[int32]*lossCount{}
	for k, list := range groups {
		if leaves[k.leaf] == nil {
			leaves[k.leaf] = &lossCount{}
		}
		for i := range list {
			for _, c := range list[i].loss {
				leaves[k.leaf].n += c.n
				leaves[k.leaf].lossy += c.lossy
			}
		}
	}
	for _, c := range leaves {
		if c.n >= fewSenders && float64(c.lossy) <= fewPairs*float64(c.n) {
			return true
		}
	}
	return false
}

// What distinguishes drops of a full queue from those of a cable or an uplink: three quarters of
// the samples with several senders to a receiver lose packets, and at most a quarter of those with
// one. Half way between all and none on either side, a few others' faults change nothing.
const (
	mostSenders = 0.75
	fewPairs    = 0.25
	fewSenders  = 4 // of fewer samples, one or two bad partners are most
)

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

// explainDrops removes verdicts about what incast explains: a switch that drops instead of pausing
// drops on its uplinks, too, when the flows of several senders meet there. A card that is alone in
// its leaf receives only over uplinks, so its losses are theirs.
func (v *view) explainDrops(w *Where) {
	v.verdicts = slices.DeleteFunc(v.verdicts, func(x Verdict) bool {
		switch x.Cause {
		case CauseUplink:
			return w.Scope == ScopeFabric || x.Where.Leaf == w.Leaf && (len(w.Rails) == 0 || x.sends ||
				!slices.ContainsFunc(x.Where.Rails, func(r int) bool { return !slices.Contains(w.Rails, r) }))
		case CauseLossReceive:
			return w.Scope == ScopeFabric && slices.ContainsFunc(x.Where.Ends, func(e plan.End) bool {
				l := v.leaf[e.Node]
				return l >= 0 && len(v.leafNodes[l]) == 1
			})
		}
		return false
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
	v.explainDrops(&w)
	share, refs := incastShare(list)
	if len(refs) == 0 {
		for _, x := range list {
			for _, i := range x.refs {
				refs = cite(refs, i)
			}
		}
	}
	discards, pause := 0.0, 0.0
	for _, x := range list { // what the receiver's port counts is in the sample of each of its senders
		var again, missed, dropped, paused float64
		for _, i := range x.refs {
			e := errorsIn(v.run.Samples[i].Detail)
			again += e.again
			missed, dropped, paused = max(missed, e.missed), max(dropped, e.discards), max(paused, e.pause)
		}
		discards, pause = discards+dropped+max(again, missed), pause+paused
	}
	x := Verdict{
		Cause: CauseIncast, Where: w, Severity: min(max(1-share, 0), 1), Confidence: incastConfidence(len(list),
			share, discards, pause),
		Words: fmt.Sprintf("several senders to one receiver reach %.0f %% of its rate together", 100*share),
		Evidence: []Evidence{{fmt.Sprintf("the median of %s is %.0f %% of what one sender reaches",
			plural(float64(len(list)), "measurement"), 100*share), refs}},
	}
	if share >= collapsed { // only drops speak of it
		x.Words = fmt.Sprintf("packets are lost where several cards send to one, which reaches %.0f %% of its rate",
			100*share)
		x.Evidence = append(x.Evidence, Evidence{Text: "single senders lose none: a queue drops instead of pausing, " +
			"which is right only in a fabric that is lossy by intent"})
	}
	if discards > 0 || pause > 0 {
		x.Evidence = append(x.Evidence, Evidence{Text: fmt.Sprintf(
			"meanwhile %.0f packets were discarded or sent again, and %.0f pause frames were counted", discards,
			pause)})
	}
	v.verdicts = append(v.verdicts, x)
}
