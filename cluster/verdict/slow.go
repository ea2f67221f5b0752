package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
)

// slowCards makes verdicts of the cards that the estimates call slow: one for a node of which all
// cards are slow, else one for each card.
func (v *view) slowCards() {
	r := &v.rate
	if len(r.pairs.y) == 0 {
		if v.stageIndex(plan.StagePairs) >= 0 {
			v.gap("rates", "no pair's bandwidth was measured")
		}
		return
	}
	v.tests += 2 * len(v.cards)
	loops := v.loopbacks()
	for node := range int32(len(v.run.Cluster.Nodes)) {
		from, to := v.nodeCards(node)
		var slow []int32
		judged := 0
		for c := from; c < to; c++ {
			if v.cards[c].known[tx] && v.cards[c].known[rx] {
				v.knownSlow(c, loops)
				continue
			}
			if math.IsNaN(r.est[tx][c]) && math.IsNaN(r.est[rx][c]) {
				v.gap(v.run.Name(v.cards[c].end), "its rate is unknown: all of its partners are slow "+
					"themselves, or it was not measured")
				continue
			}
			judged++
			if v.confirmSlow(c) {
				slow = append(slow, c)
			}
		}
		if judged > 1 && len(slow) == judged && v.similar(slow) {
			v.slowNode(node, slow, loops)
			continue
		}
		for _, c := range slow {
			v.slowCard(c, loops)
		}
	}
}

// knownSlow adds the rate of a card to the verdict that explains it. A card that loses what it
// receives and is also slow where nothing can be lost, at sending or with itself, is a slow one:
// the network drops what it is too slow for.
func (v *view) knownSlow(c int32, loops loopbacks) {
	if text, refs := loops.evidence(c); v.rate.slow[rx][c] && (v.rate.slow[tx][c] || loops.slow(c)) {
		for i := range v.verdicts {
			x := &v.verdicts[i]
			if x.Cause != CauseLossReceive || !slices.Contains(x.Where.Ends, v.cards[c].end) {
				continue
			}
			x.Cause, x.Severity = CauseSlowReceive, v.rate.deficit[rx][c]
			if v.rate.slow[tx][c] {
				x.Cause, x.Where.Direction = CauseSlow, ""
				x.Severity = max(x.Severity, v.rate.deficit[tx][c])
			}
			x.Words = fmt.Sprintf("%.0f %% slower than its peers; %s", 100*x.Severity, x.Words)
			if text != "" {
				x.Evidence = append(x.Evidence, Evidence{text, refs})
			}
		}
	}
	for d := range 2 {
		if v.rate.slow[d][c] {
			v.addEvidence(c, []Evidence{v.rateEvidence(c, d)})
		}
	}
}

// confirmSlow reports whether a card is slow, also when it was measured again with other partners,
// if it was.
func (v *view) confirmSlow(c int32) bool {
	r := &v.rate
	for d := range 2 {
		if !r.slow[d][c] {
			continue
		}
		if v.o.loose {
			return true
		}
		n, y := v.repeats(c, d)
		least := max(-math.Log1p(-r.deficit[d][c])/2, -math.Log1p(-v.o.repeated))
		if n > 0 && r.ref[v.cards[c].class].middle-y < least {
			v.gap(v.run.Name(v.cards[c].end), "slow in what it %ss in the rounds of the plan, not when it was "+
				"repeated with other partners", directions()[d])
			r.slow[d][c] = false
		}
	}
	return r.slow[tx][c] || r.slow[rx][c]
}

// repeats returns how often a card was measured again in a direction, and the median of that.
func (v *view) repeats(c int32, d int) (int, float64) {
	var y []float32
	s := v.rate.pairs
	for _, i := range s.by[d].of(c) {
		if v.run.Samples[s.idx[i]].Attempt > 0 && !s.skip[i] {
			y = append(y, s.y[i])
		}
	}
	return len(y), float64(median(y))
}

// similar reports whether cards are about equally slow: the fault of a node hits all alike.
func (v *view) similar(list []int32) bool {
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range list {
		x := max(v.rate.deficit[tx][c], v.rate.deficit[rx][c])
		low, high = min(low, x), max(high, x)
	}
	return high < 2*low+0.05
}

// ambiguous reports whether a card can't be distinguished from its only partner.
func (v *view) ambiguous(c int32) bool {
	for d := range 2 {
		if p := v.rate.only[d][c]; v.rate.slow[d][c] && p >= 0 && v.rate.only[1-d][p] == c {
			return true
		}
	}
	return false
}

func (v *view) rateEvidence(c int32, d int) Evidence {
	r := &v.rate
	card := &v.cards[c]
	base := r.base[[2]int32{card.class, card.class}]
	line := max(v.line(c, c), 0)
	ref := r.ref[card.class]
	peers := fmt.Sprintf("its %d peers (%s)", max(ref.n/2-1, 1), v.classes[card.class])
	if ref.byLine {
		peers = "line rate without headers; there are too few peers"
	}
	e := Evidence{Text: fmt.Sprintf("it %ss %.0f %% less than %s: %s instead of %s, over %s, z = %.0f",
		directions()[d], 100*r.deficit[d][c], peers, gbpsText(line*math.Exp(base+r.est[d][c])),
		gbpsText(line*math.Exp(base+ref.middle)),
		plural(float64(r.count[d][c]), "pair"), min(r.z[d][c], 999))}
	for _, i := range r.pairs.by[d].of(c) {
		if !r.pairs.skip[i] {
			e.Samples = cite(e.Samples, int(r.pairs.idx[i]))
		}
	}
	if n, y := v.repeats(c, d); n > 0 {
		e.Text += fmt.Sprintf("; %.0f %% less in %s with other partners", 100*(1-math.Exp(y-ref.middle)),
			plural(float64(n), "repeat"))
	} else {
		e.Text += "; not repeated"
	}
	return e
}

func (v *view) slowCard(c int32, loops loopbacks) {
	r := &v.rate
	if v.cards[c].known[tx] && v.cards[c].known[rx] {
		return
	}
	x := Verdict{Where: Where{Scope: ScopeCard, Ends: ends(v, c)}}
	switch {
	case r.slow[tx][c] && r.slow[rx][c]:
		x.Cause = CauseSlow
	case r.slow[tx][c]:
		x.Cause, x.Where.Direction = CauseSlowSend, Sends
	default:
		x.Cause, x.Where.Direction = CauseSlowReceive, Receives
	}
	if x.Cause == CauseSlow {
		v.oneWay(c, &x)
	}
	// A clearly smaller deficit of one direction is an echo of the other, in shared resources.
	if a, b := r.deficit[tx][c], r.deficit[rx][c]; x.Cause == CauseSlow && max(a, b) > 4*min(a, b) {
		if a > b {
			x.Cause, x.Where.Direction = CauseSlowSend, Sends
		} else {
			x.Cause, x.Where.Direction = CauseSlowReceive, Receives
		}
	}
	x.Severity = max(r.deficit[tx][c], r.deficit[rx][c])
	x.Words = fmt.Sprintf("%.0f %% slower than its peers", 100*x.Severity)
	x.Confidence, x.p = v.rateConfidence(c)
	for d := range 2 {
		if r.slow[d][c] {
			x.Evidence = append(x.Evidence, v.rateEvidence(c, d))
		}
	}
	if text, refs := loops.evidence(c); text != "" {
		x.Evidence = append(x.Evidence, Evidence{text, refs})
	}
	x = v.tellApart(c, x, loops)
	v.pcieFinding(c, &x)
	v.accuse(x.card(v, c), x)
}

// oneWay changes the verdict about a card that is slow both ways in pairs if traffic that goes one
// way through it shows that only one direction is: acknowledgements share the other direction's
// queue, so a slow receiver delays what it sends, too. In a permutation a card sends to one partner
// and receives from another one; in incast it only receives.
func (v *view) oneWay(c int32, x *Verdict) {
	sent, n := v.oneWayDeficit(c, tx)
	received, m := v.oneWayDeficit(c, rx)
	if n == 0 || m == 0 {
		return
	}
	full := max(v.rate.deficit[tx][c], v.rate.deficit[rx][c])
	switch {
	case sent > 0.6*full && received < 0.3*full:
		x.Cause, x.Where.Direction = CauseSlowSend, Sends
	case received > 0.6*full && sent < 0.3*full:
		x.Cause, x.Where.Direction = CauseSlowReceive, Receives
	default:
		return
	}
	x.Evidence = append(x.Evidence, Evidence{Text: fmt.Sprintf(
		"with other traffic than the partner's in the other direction, it sends %.0f %% and receives %.0f %% less",
		100*max(sent, 0), 100*max(received, 0))})
}

// oneWayDeficit returns the share that a card loses in permutations, and in how many samples with
// partners that are not slow themselves.
func (v *view) oneWayDeficit(c int32, d int) (float64, int) {
	s := v.rate.perm
	if !v.rate.permKnown {
		v.rate.permKnown = true
		var all []float32
		for i, y := range s.y {
			if !s.skip[i] {
				all = append(all, y)
			}
		}
		v.rate.permMiddle = float64(median(all))
	}
	var y []float32
	for _, i := range s.by[d].of(c) {
		if p := s.other(d, i); !s.skip[i] && !v.rate.slow[1-d][p] && !v.cards[p].known[1-d] {
			y = append(y, s.y[i])
		}
	}
	return 1 - math.Exp(float64(median(y))-v.rate.permMiddle), len(y)
}

// card returns the number of the accused card.
func (x *Verdict) card(v *view, c int32) int32 {
	if len(x.Where.Ends) > 0 {
		if o := v.find(x.Where.Ends[0]); o >= 0 {
			return o
		}
	}
	return c
}

// tellApart names the far end, too, if the card has no other partner that was measured with others.
// A slow loopback distinguishes the two: its host is the cause.
func (v *view) tellApart(c int32, x Verdict, loops loopbacks) Verdict {
	if !v.ambiguous(c) {
		return x
	}
	p := v.rate.only[tx][c]
	if p < 0 {
		p = v.rate.only[rx][c]
	}
	slowHere, slowThere := loops.slow(c), loops.slow(p)
	switch {
	case slowHere && !slowThere:
		x.Confidence = 0.8
	case slowThere && !slowHere:
		x.Confidence = 0.8
		x.Where.Ends = ends(v, p)
		switch x.Cause {
		case CauseSlowSend:
			x.Cause, x.Where.Direction = CauseSlowReceive, Receives
		case CauseSlowReceive:
			x.Cause, x.Where.Direction = CauseSlowSend, Sends
		}
	default:
		x.Confidence, x.p = 0.45, 0
		x.Where.Or, x.Where.Direction = ends(v, p), ""
		x.Evidence = append(x.Evidence, Evidence{Text: "neither has met another partner: the measurements don't " +
			"tell them apart"})
	}
	// What the other end shows is the same fact.
	v.cards[c].known, v.cards[p].known = [2]bool{}, [2]bool{}
	if len(x.Where.Or) == 0 {
		other := p
		if x.card(v, c) == p {
			other = c
		}
		v.rate.slow[tx][other], v.rate.slow[rx][other] = false, false
	}
	return x
}

func (v *view) slowNode(node int32, slow []int32, loops loopbacks) {
	x := Verdict{Cause: CauseSlowNode, Where: Where{Scope: ScopeNode, Nodes: []string{v.nodeName(node)}}}
	x.p = 1
	for _, c := range slow {
		x.Where.Ends = append(x.Where.Ends, v.cards[c].end)
		x.Severity = max(x.Severity, v.rate.deficit[tx][c], v.rate.deficit[rx][c])
		confidence, p := v.rateConfidence(c)
		x.Confidence, x.p = max(x.Confidence, confidence), min(x.p, p)
	}
	x.Words = fmt.Sprintf("all %d cards are slow, by up to %.0f %%", len(slow), 100*x.Severity)
	for _, c := range slow[:min(len(slow), 4)] {
		for d := range 2 {
			if v.rate.slow[d][c] {
				e := v.rateEvidence(c, d)
				e.Text = v.cards[c].device + ": " + e.Text
				x.Evidence = append(x.Evidence, e)
			}
		}
	}
	if text, refs := loops.evidence(slow[0]); text != "" {
		x.Evidence = append(x.Evidence, Evidence{text, refs})
	}
	if v.ambiguous(slow[0]) {
		node = v.tellNodes(node, slow[0], &x, loops)
	}
	v.verdicts = append(v.verdicts, x)
	v.explain(node)
}

// tellNodes names the other node, too, if the two have no other partner, unless slow loopbacks show
// which one is slow.
func (v *view) tellNodes(node, c int32, x *Verdict, loops loopbacks) int32 {
	p := max(v.rate.only[tx][c], v.rate.only[rx][c])
	other := v.cards[p].end.Node
	v.explain(other)
	switch here, there := loops.slow(c), loops.slow(p); {
	case here && !there:
		x.Confidence = 0.8
	case there && !here:
		x.Confidence, x.Where = 0.8, Where{Scope: ScopeNode, Nodes: []string{v.nodeName(other)}}
	default:
		x.Confidence, x.p = 0.45, 0
		x.Where = Where{Scope: ScopeNode, Nodes: []string{v.nodeName(node), v.nodeName(other)}}
		x.Evidence = append(x.Evidence, Evidence{Text: "one of the two, or what is between them: neither has " +
			"met another node"})
	}
	return node
}

// pcieFinding turns a slow card into one limited by its slot if the node's checks say so.
func (v *view) pcieFinding(c int32, x *Verdict) {
	node := int(v.cards[c].end.Node)
	if node >= len(v.run.Nodes) {
		return
	}
	device := deviceName(v.cards[c].device)
	for _, f := range v.run.Nodes[node].Findings {
		if !names(f.Object, device) {
			continue
		}
		x.Evidence = append(x.Evidence, Evidence{Text: fmt.Sprintf("rdmactl doctor, %s: %s", f.Check, f.Summary)})
		if f.Check == "pcie-link" && x.Cause == CauseSlow && len(x.Where.Or) == 0 {
			x.Cause = CausePCIe
		}
	}
}

// loopbacks are the rates of cards to themselves and to their neighbours.
type loopbacks struct {
	y       []float64 // log of rate by line rate, NaN if unknown
	refs    [][]int
	deficit []float64 // against the class
}

// loopbacks compares loopbacks of each class.
func (v *view) loopbacks() loopbacks {
	l := loopbacks{make([]float64, len(v.cards)), make([][]int, len(v.cards)), make([]float64, len(v.cards))}
	for c := range l.y {
		l.y[c] = math.NaN()
	}
	for i := range v.run.Samples {
		s := &v.run.Samples[i]
		if v.stage(s) != plan.StageLoopback || s.From != s.To {
			continue
		}
		g, c := v.gbps(s), v.find(s.From)
		if g == 0 || c < 0 {
			continue
		}
		l.refs[c] = cite(l.refs[c], i)
		if y := math.Log(g / v.line(c, c)); math.IsNaN(l.y[c]) || y > l.y[c] {
			l.y[c] = y
		}
	}
	byClass := make([][]float64, len(v.classes))
	for c, y := range l.y {
		if !math.IsNaN(y) {
			byClass[v.cards[c].class] = append(byClass[v.cards[c].class], y)
		}
	}
	usual := make([]float64, len(v.classes))
	for k, y := range byClass {
		usual[k] = math.NaN()
		if len(y) >= fewPeers/2 {
			usual[k] = quantile(y, 0.75)
		}
	}
	for c, y := range l.y {
		if d := 1 - math.Exp(y-usual[v.cards[c].class]); !math.IsNaN(d) {
			l.deficit[c] = d
		}
	}
	return l
}

// slowLoop is the share that a loopback must lose: it uses the card and its slot twice, and varies
// more than a pair.
const slowLoop = 0.12

func (l *loopbacks) slow(c int32) bool { return l.deficit[c] > slowLoop }

func (l *loopbacks) evidence(c int32) (string, []int) {
	switch {
	case math.IsNaN(l.y[c]):
		return "", nil
	case l.slow(c):
		return fmt.Sprintf("its loopback is %.0f %% slower than those of its peers: the fault is in the host, "+
			"not in the cable", 100*l.deficit[c]), l.refs[c]
	}
	return "its loopback is as fast as those of its peers: cable, port of the leaf, or the card's port",
		slices.Clone(l.refs[c])
}
