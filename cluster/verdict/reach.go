package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// nodes accuses nodes that never reported or vanished.
func (v *view) nodes() {
	if len(v.run.Nodes) == 0 {
		v.gap("nodes", "the run has no reports of nodes")
		return
	}
	for i := range v.run.Cluster.Nodes {
		if i >= len(v.run.Nodes) {
			v.gap(v.nodeName(int32(i)), "the run has no report of the node")
			continue
		}
		n := &v.run.Nodes[i]
		x := Verdict{Severity: 1, Where: Where{Scope: ScopeNode, Nodes: []string{v.nodeName(int32(i))}}}
		switch n.State {
		case result.NodeAbsent:
			x.Cause, x.Confidence, x.Words = CauseAbsent, 0.98, "it never reported"
			if n.Cause != "" { // the node may be sound
				x.TakeOut = []string{}
				x.Next = "correct what kept its worker from starting, and repeat"
			}
		case result.NodeLost:
			x.Cause, x.Confidence, x.Words = CauseLost, 0.97, "it vanished during the run"
			if n.LostStage >= 0 && n.LostStage < len(v.run.Stages) {
				x.Words = fmt.Sprintf("it vanished in round %d of the stage %s", n.LostRound+1,
					v.run.Stages[n.LostStage].Name)
			}
		default:
			continue
		}
		text := x.Words
		if n.Cause != "" {
			text += ": " + n.Cause
		}
		x.Evidence = []Evidence{{Text: text}}
		v.verdicts = append(v.verdicts, x)
		v.out[i] = true
		v.explain(int32(i))
	}
}

// missingCards accuses nodes that have no card of a rail that two thirds of the nodes have. Two
// nodes don't show which of them is the exception.
func (v *view) missingCards() {
	present := func(i int) bool { return i < len(v.run.Nodes) && v.run.Nodes[i].State != result.NodeAbsent }
	nodes, with := 0, map[int][]int{} // nodes by rail
	for i, n := range v.run.Cluster.Nodes {
		if !present(i) {
			continue
		}
		nodes++
		for _, c := range n.Rails {
			with[c.Rail] = append(with[c.Rail], i)
		}
	}
	for _, rail := range slices.Sorted(maps.Keys(with)) {
		have := with[rail]
		if len(have) == nodes || nodes > 2 && 3*len(have) < 2*nodes {
			continue
		}
		for i := range v.run.Cluster.Nodes {
			if !present(i) || slices.Contains(have, i) {
				continue
			}
			text := fmt.Sprintf("%d of %d nodes have a card of rail %d", len(have), nodes, rail)
			if nodes < 3 { //nolint:mnd // a majority and an exception
				v.gap(v.nodeName(int32(i)), "it has no card of rail %d", rail)
				continue
			}
			v.verdicts = append(v.verdicts, Verdict{
				Cause: CauseMissingCard, Severity: 1 / float64(len(with)), Confidence: 0.9,
				Words:    fmt.Sprintf("it has no card of rail %d", rail),
				Where:    Where{Scope: ScopeNode, Nodes: []string{v.nodeName(int32(i))}, Rails: []int{rail}},
				Evidence: []Evidence{{Text: text}},
			})
		}
	}
}

// explain marks all cards of a node as explained.
func (v *view) explain(node int32) {
	a, b := v.nodeCards(node)
	for c := a; c < b; c++ {
		v.cards[c].known = [2]bool{true, true}
	}
}

// accuse adds a verdict about a card, and marks the card as explained.
func (v *view) accuse(c int32, x Verdict) {
	x.Where.Scope = ScopeCard
	if len(x.Where.Ends) == 0 {
		x.Where.Ends = ends(v, c)
	}
	if v.cards[c].known[tx] && v.cards[c].known[rx] { // one fault of a card explains the other ones
		v.addEvidence(c, x.Evidence)
		return
	}
	v.cards[c].known = [2]bool{true, true}
	for _, e := range x.Where.Or {
		if o := v.find(e); o >= 0 {
			v.cards[o].known = [2]bool{true, true}
		}
	}
	v.verdicts = append(v.verdicts, x)
}

// addEvidence adds to the verdict of a card, if there is one.
func (v *view) addEvidence(c int32, e []Evidence) {
	for i := range v.verdicts {
		if slices.Contains(v.verdicts[i].Where.Ends, v.cards[c].end) {
			v.verdicts[i].Evidence = append(v.verdicts[i].Evidence, e...)
			return
		}
	}
}

func ends(v *view, c int32) []plan.End { return []plan.End{v.cards[c].end} }

// deadCards accuses cards that can't be used, by their own reports.
func (v *view) deadCards() {
	for i := range v.cards {
		c := &v.cards[i]
		state := c.facts[result.FactState]
		switch {
		case c.known[tx] || c.fail == nil && (state == "" || active(c)):
		case c.fail != nil && c.fail.Code == "no-gid":
			v.accuse(int32(i), Verdict{
				Cause: CauseNoGID, Severity: 1, Confidence: 0.97, Words: "it has no usable GID",
				Evidence: []Evidence{{Text: c.fail.Text}},
			})
		case c.fail != nil && slices.Contains(unmeasured(), c.fail.Code):
			c.known = [2]bool{true, true}
			v.gap(v.run.Name(c.end), "the worker could not use it, which is no fault of the card (%s): %s",
				c.fail.Code, c.fail.Text)
		case c.fail != nil:
			v.accuse(int32(i), Verdict{
				Cause: CauseDeadCard, Severity: 1, Confidence: 0.97,
				Words:    "it can't be used: " + c.fail.Code,
				Evidence: []Evidence{{Text: c.fail.Text}},
			})
		default:
			v.accuse(int32(i), Verdict{
				Cause: CauseDeadCard, Severity: 1, Confidence: 0.97, Words: "its port is " +
					state,
				Evidence: []Evidence{{Text: "the state of its port is " + state + " instead of ACTIVE"}},
			})
		}
	}
}

// unmeasured are the codes of failures that say something of the worker's process: another program
// has its port, it lacks a privilege, or its build lacks a library.
func unmeasured() []string { return []string{"busy", "permission", "not-supported"} }

// active reports whether the port of a card has reported that it is up.
func active(c *card) bool { return strings.EqualFold(c.facts[result.FactState], "ACTIVE") }

// deadShare is the share of a card's measurements that must fail for it to be dead.
const deadShare = 0.8

// failures finds cards with which nothing works, and pairs of exchanged rails.
func (v *view) failures() {
	e := newEvents(len(v.cards), 1e-3) // connections of healthy cards don't fail
	e.both = true
	codes := map[int32]map[string]int{}
	for i := range v.run.Samples {
		s := &v.run.Samples[i]
		if s.From.Node == s.To.Node || v.stage(s) == plan.StageCollective || v.stage(s) == "" {
			continue
		}
		f, t := v.find(s.From), v.find(s.To)
		if f < 0 || t < 0 || v.out[s.From.Node] || v.out[s.To.Node] || v.cards[f].known[tx] || v.cards[t].known[rx] {
			continue
		}
		v.countSample(e, f, t, s.Attempt > 0)
		if s.Detail == nil || s.Detail.Failure == nil {
			continue
		}
		e.list = append(e.list, event{int32(i), f, t, 1, s.Attempt > 0})
		for _, c := range [2]int32{f, t} {
			if codes[c] == nil {
				codes[c] = map[string]int{}
			}
			codes[c][s.Detail.Failure.Code]++
		}
	}
	v.tests += len(v.cards)
	byNode := map[int32][]blame{}
	for _, b := range v.blamed(e, deadShare, "measurements failed") {
		node := v.cards[b.card].end.Node
		byNode[node] = append(byNode[node], b)
	}
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		v.deadOf(node, byNode[node], codes)
	}
	v.largeOnly()
	v.unsteady(e, codes)
}

// largeOnly finds cards that pass small messages and no large ones: packets of their own MTU are
// too long for a port on the way. A reliable connection repeats such a packet until it gives up.
func (v *view) largeOnly() {
	e := newEvents(len(v.cards), 1e-3)
	e.both = true
	small := make([]int, len(v.cards))
	for i := range v.run.Samples {
		s := &v.run.Samples[i]
		f, t := v.find(s.From), v.find(s.To)
		if s.From.Node == s.To.Node || f < 0 || t < 0 || v.cards[f].known[tx] || v.cards[t].known[rx] {
			continue
		}
		failure := s.Detail != nil && s.Detail.Failure != nil
		switch v.stage(s) {
		case plan.StageReach, plan.StageJitter:
			if !failure && !s.Load {
				small[f]++
				small[t]++
			}
		case plan.StagePairs, plan.StageIncast, plan.StagePermutation:
			v.countSample(e, f, t, s.Attempt > 0)
			if failure && s.Gbps == 0 && s.Detail.Failure.Code == "retry-exceeded" {
				e.list = append(e.list, event{int32(i), f, t, 1, s.Attempt > 0})
			}
		}
	}
	v.tests += len(v.cards)
	for _, b := range v.blamed(e, deadShare, "large messages failed") {
		if b.or >= 0 || small[b.card] < 2 {
			continue
		}
		v.accuse(b.card, Verdict{
			Cause: CauseMTU, Severity: 1, Confidence: 0.9,
			Words: "small messages pass and large ones don't: a port on its way has a smaller MTU",
			Evidence: []Evidence{{fmt.Sprintf("%d of %d measurements of bandwidth failed with retry-exceeded, and "+
				"%d of small messages succeeded", b.k, b.n, small[b.card]), b.refs}},
			p: b.p,
		})
	}
}

// deadOf makes the verdicts about the cards of a node with which nothing works.
func (v *view) deadOf(node int32, list []blame, codes map[int32]map[string]int) {
	slices.SortFunc(list, func(a, b blame) int { return int(a.card - b.card) })
	from, to := v.nodeCards(node)
	alone := to-from == int32(len(list))
	if len(list) == 2 && v.upBoth(list) && list[0].or < 0 && list[1].or < 0 {
		confidence := 0.75
		if alone {
			confidence = 0.5
		}
		v.exchanged(list[0].card, list[1].card, confidence, "both ports are up, and nothing reaches the cards "+
			"of their rails", list[0].refs)
		return
	}
	if alone && len(list) > 1 && list[0].or < 0 {
		x := Verdict{
			Cause: CauseDeadCard, Severity: 1, Confidence: 0.9, Words: "no card of the node has traffic",
			Where: Where{Scope: ScopeNode, Nodes: []string{v.nodeName(node)}},
		}
		for _, b := range list {
			x.Where.Ends = append(x.Where.Ends, v.cards[b.card].end)
		}
		x.Evidence = []Evidence{{fmt.Sprintf("all measurements of its %d cards failed: %s", len(list),
			commonest(codes[list[0].card])), list[0].refs}}
		v.verdicts = append(v.verdicts, x)
		v.explain(node)
		return
	}
	for _, b := range list {
		cause, words := CauseDeadCard, "no traffic"
		if commonest(codes[b.card]) == "no-gid" {
			cause, words = CauseNoGID, "it has no usable GID"
		}
		x := v.fromBlame(b, Verdict{Cause: cause, Severity: 1, Words: words, Evidence: []Evidence{{fmt.Sprintf(
			"%d of %d measurements with %s failed: %s", b.k, b.n, plural(float64(b.partners), "partner"),
			commonest(codes[b.card])), b.refs}}})
		x.Where.Direction = ""
		v.accuse(b.card, x)
	}
}

// upBoth reports whether all ports are active by their reports.
func (v *view) upBoth(list []blame) bool {
	return !slices.ContainsFunc(list, func(b blame) bool { return !active(&v.cards[b.card]) })
}

// exchanged accuses two cards of a node of being cabled to each other's rail.
func (v *view) exchanged(a, b int32, confidence float64, text string, refs []int) {
	x := Verdict{
		Cause: CauseRails, Severity: 1, Confidence: confidence, Words: "the cables of two cards are exchanged",
		Where:    Where{Scope: ScopeNode, Ends: []plan.End{v.cards[a].end, v.cards[b].end}},
		Evidence: []Evidence{{text, refs}},
	}
	v.verdicts = append(v.verdicts, x)
	v.cards[a].known, v.cards[b].known = [2]bool{true, true}, [2]bool{true, true}
}

// unsteady finds cards with which measurements fail now and then.
func (v *view) unsteady(e *events, codes map[int32]map[string]int) {
	e.list = slices.DeleteFunc(e.list, func(x event) bool {
		return v.cards[x.from].known[tx] ||
			v.cards[x.to].known[rx]
	})
	for _, b := range e.blames(0.1) {
		if b.k < 2 || b.n < 4 {
			continue
		}
		if codes[b.card]["port-down"] < 2 {
			v.gap(v.run.Name(v.cards[b.card].end), "%d of %d measurements failed (%s), too few to tell the cause",
				b.k, b.n, commonest(codes[b.card]))
			continue
		}
		x := v.fromBlame(b, Verdict{
			Cause: CauseFlapping, Severity: float64(b.k) / float64(b.n),
			Words: "its port is down now and then",
			Evidence: []Evidence{{fmt.Sprintf("%d of %d measurements failed: %s", b.k, b.n,
				commonest(codes[b.card])), b.refs}},
		})
		x.Confidence, x.Where.Direction = min(x.Confidence, 0.8), ""
		v.accuse(b.card, x)
	}
}

func commonest(count map[string]int) string {
	best := ""
	for _, code := range slices.Sorted(maps.Keys(count)) {
		if best == "" || count[code] > count[best] {
			best = code
		}
	}
	return best
}
