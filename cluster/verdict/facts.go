package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// comparison is a fact that cards have in common.
type comparison struct {
	fact  string
	cause Cause
	// class compares cards of one board and rate only; otherwise cards of a rail are compared.
	class bool
	// better orders values if there is no majority: the larger is right.
	better func(a, b string) int
	words  string
}

func comparisons() []comparison {
	number := func(a, b string) int { return cmp.Compare(parse(a), parse(b)) }
	return []comparison{
		{result.FactGIDType, CauseGIDType, false, strings.Compare, "type of its GID"}, // RoCE v2 after RoCE v1
		{result.FactPKey, CausePKey, false, strings.Compare, "P_Key"},
		{result.FactMTU, CauseMTU, false, number, "MTU"},
		{result.FactRate, CauseSlow, true, number, "rate of its port in Gb/s"},
		{result.FactPCIe, CausePCIe, true, func(a, b string) int {
			return cmp.Compare(pcieGbps(a),
				pcieGbps(b))
		}, "PCI Express link"},
		{result.FactClass, CauseClass, false, number, "traffic class"},
		{result.FactFirmware, CauseFirmware, true, strings.Compare, "firmware"},
	}
}

// parse returns a number, 0 if there is none.
func parse(s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// pcieGbps returns the rate of a PCI Express link such as "32.0 GT/s x16", without its encoding.
func pcieGbps(s string) float64 {
	var speed float64
	var width int
	if _, err := fmt.Sscanf(s, "%f GT/s x%d", &speed, &width); err != nil || !(speed > 0) || width < 0 {
		return 0
	}
	return speed * float64(width)
}

// facts accuses cards whose properties differ from those of their peers.
func (v *view) facts() {
	v.missingGIDs()
	v.subnets()
	for _, x := range comparisons() {
		v.differing(x)
	}
}

// differing accuses cards with another value of a fact than most of their peers.
func (v *view) differing(x comparison) {
	groups := map[[2]int32][]int32{}
	wide := map[int32][]int32{}
	for i := range v.cards {
		c := &v.cards[i]
		if _, ok := c.facts[x.fact]; !ok || c.fail != nil || v.out[c.end.Node] || c.facts[x.fact] == "" {
			continue
		}
		k := [2]int32{c.class, int32(c.end.Rail)}
		if x.class {
			k[1] = -1
		}
		groups[k] = append(groups[k], int32(i))
		wide[c.class] = append(wide[c.class], int32(i))
	}
	var odd []int32
	usualOf := map[int32]string{}
	sure := true
	for _, k := range slices.SortedFunc(maps.Keys(groups), func(a, b [2]int32) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	}) {
		usual, ok := v.usual(groups[k], x)
		if !ok {
			usual, ok = v.usual(wide[k[0]], x)
		}
		sure = sure && ok
		for _, c := range groups[k] {
			if v.cards[c].facts[x.fact] != usual && !sameKey(x.fact, v.cards[c].facts[x.fact], usual) {
				odd = append(odd, c)
				usualOf[c] = usual
			}
		}
	}
	v.tests += len(v.cards)
	v.oddCards(x, odd, usualOf, sure)
}

// sameKey reports whether two P_Keys are of one partition in which both can talk: the upper bit is
// full membership (IBTA 10.9.3), and two limited members can't talk to each other.
func sameKey(fact, a, b string) bool {
	if fact != result.FactPKey {
		return false
	}
	x, err := strconv.ParseUint(a, 0, 16)
	y, err2 := strconv.ParseUint(b, 0, 16)
	return err == nil && err2 == nil && x&0x7fff == y&0x7fff && (x|y)&0x8000 != 0
}

// usual returns the value that most cards of a group have, and whether more than half have it.
func (v *view) usual(group []int32, x comparison) (string, bool) {
	count := map[string]int{}
	for _, c := range group {
		count[v.cards[c].facts[x.fact]]++
	}
	best := ""
	for _, value := range slices.Sorted(maps.Keys(count)) {
		if best == "" || count[value] > count[best] || count[value] == count[best] && x.better(value, best) > 0 {
			best = value
		}
	}
	return best, 2*count[best] > len(group)
}

// oddShare is the share of cards beyond which a difference is one of the whole cluster, such as an
// update under way, and gets one verdict.
const oddShare = 0.2

func (v *view) oddCards(x comparison, odd []int32, usual map[int32]string, sure bool) {
	if len(odd) > 8 && float64(len(odd)) > oddShare*float64(len(v.cards)) {
		v.oddVerdict(x, odd, usual[odd[0]], 0.6)
		return
	}
	for i := 0; i < len(odd); {
		node := v.cards[odd[i]].end.Node
		j := i
		for j < len(odd) && v.cards[odd[j]].end.Node == node {
			j++
		}
		from, to := v.nodeCards(node)
		confidence := 0.96
		if !sure {
			confidence = 0.5
		}
		if int32(j-i) == to-from { // all cards of the node
			v.oddVerdict(x, odd[i:j], usual[odd[i]], confidence)
		} else {
			for _, c := range odd[i:j] {
				v.oddVerdict(x, []int32{c}, usual[c], confidence)
			}
		}
		i = j
	}
}

func (v *view) oddVerdict(x comparison, list []int32, usual string, confidence float64) {
	value := v.cards[list[0]].facts[x.fact]
	text := fmt.Sprintf("%s %s instead of %s", x.words, value, usual)
	y := Verdict{Cause: x.cause, Confidence: confidence, Words: text, Evidence: []Evidence{{Text: text}}}
	if x.cause == CausePCIe && pcieGbps(usual) > 0 {
		if pcieGbps(value) > pcieGbps(usual) {
			return // more than others have harms nobody
		}
		y.Severity = 1 - pcieGbps(value)/pcieGbps(usual)
	}
	if x.cause == CauseSlow && parse(usual) > 0 {
		y.Severity = min(max(0, 1-parse(value)/parse(usual)), 1)
	}
	if x.cause != CausePCIe && x.cause != CauseSlow {
		y.Severity = v.lostShare(list[0])
	}
	var fresh []int32
	for _, c := range list {
		if v.cards[c].known[tx] && v.cards[c].known[rx] {
			v.addEvidence(c, y.Evidence)
			continue
		}
		fresh = append(fresh, c)
		y.Where.Ends = append(y.Where.Ends, v.cards[c].end)
	}
	if len(fresh) == 0 {
		return
	}
	y.Where.Scope = ScopeCard
	for _, c := range fresh {
		// Firmware explains no symptom by itself.
		if x.cause != CauseFirmware {
			v.cards[c].known = [2]bool{true, true}
		}
	}
	v.verdicts = append(v.verdicts, y)
}

// missingGIDs accuses cards without a usable GID.
func (v *view) missingGIDs() {
	var none []int32
	have := 0
	for i := range v.cards {
		gid, ok := v.cards[i].facts[result.FactGID]
		switch {
		case ok && gid == "" && !v.cards[i].known[tx]:
			none = append(none, int32(i))
		case gid != "":
			have++
		}
	}
	if have == 0 && len(none) > 0 {
		v.gap("GIDs", "no card has reported a usable GID")
		return
	}
	for _, c := range none {
		v.accuse(c, Verdict{
			Cause: CauseNoGID, Severity: 1, Confidence: 0.96, Words: "it has no usable GID",
			Evidence: []Evidence{{Text: "the port has no usable GID"}},
		})
	}
}

// subnets finds cards with an address of another rail's subnet: exchanged cables, or an address
// that is wrong.
func (v *view) subnets() {
	usual := v.usualSubnets()
	var failing []bool
	for i := range v.cards {
		a := &v.cards[i]
		subnet := a.facts[result.FactSubnet]
		want, ok := v.subnetOf(usual, a.end)
		if !ok || subnet == "" || subnet == want || a.known[tx] {
			continue
		}
		if b := v.counterpart(int32(i), subnet, want, usual); b >= 0 {
			v.exchanged(int32(i), b, 0.96, fmt.Sprintf("each has the subnet of the other's rail: %s and %s", subnet,
				want), nil)
			continue
		}
		if failing == nil {
			failing = v.failing()
		}
		if !failing[i] {
			continue // it is routed
		}
		v.accuse(int32(i), Verdict{
			Cause: CauseSubnet, Severity: v.lostShare(int32(i)), Confidence: 0.9,
			Words:    fmt.Sprintf("its subnet is %s instead of %s", subnet, want),
			Evidence: []Evidence{{Text: "its subnet is " + subnet + ", that of its rail is " + want}},
		})
	}
}

// usualSubnets returns the subnet that most cards of a rail have: of each leaf, for a routed fabric
// has a subnet for each; and of the whole rail, by leaf -1, if it is that of most leaves.
func (v *view) usualSubnets() map[leafRail]string {
	lists := map[leafRail][]int32{}
	for i := range v.cards {
		if c := &v.cards[i]; c.facts[result.FactSubnet] != "" {
			rail := int32(c.end.Rail)
			lists[leafRail{-1, rail}] = append(lists[leafRail{-1, rail}], int32(i))
			if l := v.leaf[c.end.Node]; l >= 0 {
				lists[leafRail{l, rail}] = append(lists[leafRail{l, rail}], int32(i))
			}
		}
	}
	usual := map[leafRail]string{}
	x := comparison{fact: result.FactSubnet, better: strings.Compare}
	for k, list := range lists {
		if value, ok := v.usual(list, x); ok && len(list) > 2 {
			usual[k] = value
		}
	}
	return usual
}

// subnetOf returns the subnet that a card should have.
func (v *view) subnetOf(usual map[leafRail]string, e plan.End) (string, bool) {
	if l := v.leaf[e.Node]; l >= 0 {
		if subnet, ok := usual[leafRail{l, int32(e.Rail)}]; ok {
			return subnet, true
		}
	}
	subnet, ok := usual[leafRail{-1, int32(e.Rail)}]
	return subnet, ok
}

// failing returns of each card whether most of its measurements with others failed.
func (v *view) failing() []bool {
	n, failed := make([]int, len(v.cards)), make([]int, len(v.cards))
	for i := range v.run.Samples {
		s := &v.run.Samples[i]
		for _, e := range [2]plan.End{s.From, s.To} {
			c := v.find(e)
			if c < 0 || s.From.Node == s.To.Node {
				continue
			}
			n[c]++
			if s.Detail != nil && s.Detail.Failure != nil {
				failed[c]++
			}
		}
	}
	out := make([]bool, len(v.cards))
	for c := range out {
		out[c] = 2*failed[c] > n[c]
	}
	return out
}

// counterpart returns the card of the same node that has a's subnet as its rail's and the other way
// round, -1 for none.
func (v *view) counterpart(a int32, subnet, want string, usual map[leafRail]string) int32 {
	from, to := v.nodeCards(v.cards[a].end.Node)
	for b := from; b < to; b++ {
		c := &v.cards[b]
		if other, _ := v.subnetOf(usual, c.end); b != a && !c.known[tx] && other == subnet &&
			c.facts[result.FactSubnet] == want {
			return b
		}
	}
	return -1
}

// flowControl compares the priorities with flow control: a difference is a fault of its own only if
// no incast shows what it does.
func (v *view) flowControl() {
	for _, x := range v.verdicts {
		if x.Cause == CauseIncast {
			return
		}
	}
	v.differing(comparison{result.FactPFC, CausePFC, false, strings.Compare, "priorities with flow control"})
}

// clockStep is the offset in seconds beyond which ntpd steps a clock instead of slewing it (RFC
// 5905, STEPT): synchronised clocks stay within it.
const clockStep = 0.128

// clocks accuses nodes whose clock differs from that of most nodes.
func (v *view) clocks() {
	var all []float64
	var nodes []int32
	for i := range v.run.Nodes {
		n := &v.run.Nodes[i]
		if i >= len(v.run.Cluster.Nodes) || n.State != result.NodeReady || n.Clock == 0 && n.Uncertainty == 0 {
			continue
		}
		all = append(all, n.Clock.Seconds())
		nodes = append(nodes, int32(i))
	}
	if len(all) == 0 {
		v.gap("clocks", "no node has reported the offset of its clock")
		return
	}
	v.tests += len(all)
	middle := 0.0 // the leader's clock
	if len(all) > 2 {
		middle = median(slices.Clone(all))
	}
	for i, offset := range all {
		limit := clockStep + math.Abs(v.run.Nodes[nodes[i]].Uncertainty.Seconds())
		if off := offset - middle; math.Abs(off) > limit {
			text := fmt.Sprintf("its clock is %s by %s", aheadOrBehind(off), seconds(math.Abs(off)))
			v.verdicts = append(v.verdicts, Verdict{
				Cause: CauseClock, Where: Where{Scope: ScopeNode, Nodes: []string{v.nodeName(nodes[i])}},
				Confidence: 0.96, Words: text, Evidence: []Evidence{{Text: text + " against most nodes"}},
			})
		}
	}
}

func aheadOrBehind(x float64) string {
	if x > 0 {
		return "ahead"
	}
	return "behind"
}

// lostShare returns the share of its rate that a card loses against its peers, by all its pairs; 1
// if all of them failed.
func (v *view) lostShare(c int32) float64 {
	worst, measured := 0.0, false
	for d := range 2 {
		var y []float32
		for _, i := range v.rate.pairs.by[d].of(c) {
			y = append(y, v.rate.pairs.y[i])
		}
		if len(y) > 0 {
			measured = true
			worst = max(worst, 1-math.Exp(float64(median(y))))
		}
	}
	if !measured && len(v.rate.pairs.y) > 0 {
		return 1
	}
	return min(max(worst, 0), 1)
}
