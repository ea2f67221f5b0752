// Package truth compares the verdicts about an emulated cluster with the faults that were planted.
//
//	m := truth.Match(&scenario, &run.Cluster, &report)
//	for i, f := range scenario.Faults {
//		fmt.Println(f.Kind, m.Verdict[i] >= 0)
//	}
package truth

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/sim/cluster"
)

// place is where a fault is, or where a verdict says that it is. Fields that don't apply are empty.
type place struct {
	scope verdict.Scope
	end   plan.End // of a card; of a node only Node
	leaf  string   // its name
	rail  int      // of a leaf that has one rail of its group; -1: all
}

func (p place) String() string {
	switch p.scope {
	case verdict.ScopeCard:
		return fmt.Sprintf("card %d.%d", p.end.Node, p.end.Rail)
	case verdict.ScopeNode:
		return fmt.Sprintf("node %d", p.end.Node)
	case verdict.ScopeLeaf:
		if p.rail >= 0 {
			return fmt.Sprintf("%s rail %d", p.leaf, p.rail)
		}
		return p.leaf
	}
	return string(p.scope)
}

// truth is a planted fault, as a verdict should name it.
type truth struct {
	fault  cluster.Fault
	causes []verdict.Cause // the first is that of the kind
	places []place         // equal ones: a cluster of one leaf is the fabric
}

// truths returns what verdicts should say about a scenario.
func truths(s *cluster.Scenario) []truth {
	var out []truth
	for _, f := range s.Faults {
		t := truth{fault: f, causes: causes(&f)}
		switch cluster.PlaceOf(f.Kind) {
		case cluster.PlaceCard:
			t.places = []place{{
				scope: verdict.ScopeCard, end: plan.End{Node: int32(f.Node), Rail: int16(f.Rail)}, rail: -1,
			}}
		case cluster.PlaceNode:
			t.places = []place{{scope: verdict.ScopeNode, end: plan.End{Node: int32(f.Node)}, rail: -1}}
		case cluster.PlaceLeaf, cluster.PlaceUplink:
			t.places = leafPlaces(s, f.Leaf)
		case cluster.PlaceFabric:
			t.places = []place{{scope: verdict.ScopeFabric, rail: -1}}
		}
		t.sole(s)
		out = append(out, t)
	}
	return out
}

// leafPlaces returns the place of a leaf. Of a cluster with one group of nodes, a leaf without a
// rail is the fabric; so are all leaves together.
func leafPlaces(s *cluster.Scenario, leaf int) []place {
	fabric := place{scope: verdict.ScopeFabric, rail: -1}
	if leaf < 0 {
		if s.Groups() > 1 {
			return []place{fabric}
		}
		return []place{fabric, {scope: verdict.ScopeLeaf, leaf: cluster.GroupName(0), rail: -1}}
	}
	p := place{scope: verdict.ScopeLeaf, rail: -1}
	group := leaf
	if s.LeafPerRail {
		group, p.rail = leaf/s.Rails, leaf%s.Rails
		if s.Rails == 1 {
			p.rail = -1
		}
	}
	p.leaf = cluster.GroupName(group)
	if s.Groups() == 1 && p.rail < 0 {
		return []place{p, fabric}
	}
	return []place{p}
}

// sole makes the card and the node one place where a node has one card.
func (t *truth) sole(s *cluster.Scenario) {
	slow := map[verdict.Cause]verdict.Cause{
		verdict.CauseSlow: verdict.CauseSlowNode, verdict.CauseSlowNode: verdict.CauseSlow,
	}
	other, ok := slow[t.causes[0]]
	if s.Rails > 1 || !ok {
		return
	}
	end := plan.End{Node: int32(t.fault.Node)}
	t.causes = append(t.causes, other)
	t.places = []place{
		{scope: verdict.ScopeCard, end: end, rail: -1}, {scope: verdict.ScopeNode, end: end, rail: -1},
	}
}

// causes returns the causes that are right for a fault, the kind's own first. There is a second one
// only where the run has nothing to tell the two by:
//
//   - A slot of half its width without a fact or finding is a card that is slow, also with itself.
//   - A card that is slow with itself, both ways, may be limited by its slot for the same reason.
//   - A slow node with one card is a slow card; see sole.
func causes(f *cluster.Fault) []verdict.Cause {
	directed := func(send, receive verdict.Cause) []verdict.Cause {
		if f.Direction == cluster.Send {
			return []verdict.Cause{send}
		}
		return []verdict.Cause{receive}
	}
	switch f.Kind {
	case cluster.SlowCard:
		if f.Inside {
			return []verdict.Cause{verdict.CauseSlow, verdict.CausePCIe}
		}
	case cluster.HalfPCIe:
		if f.Hidden {
			return []verdict.Cause{verdict.CausePCIe, verdict.CauseSlow}
		}
	case cluster.SlowOneWay:
		return directed(verdict.CauseSlowSend, verdict.CauseSlowReceive)
	case cluster.LossyOneWay:
		return directed(verdict.CauseLossSend, verdict.CauseLossReceive)
	}
	return []verdict.Cause{map[cluster.Kind]verdict.Cause{
		cluster.SlowCard: verdict.CauseSlow, cluster.SlowNode: verdict.CauseSlowNode,
		cluster.LossyCable: verdict.CauseLoss, cluster.BitErrors: verdict.CauseBitErrors,
		cluster.DeadCard: verdict.CauseDeadCard, cluster.DeadNode: verdict.CauseAbsent,
		cluster.DyingNode: verdict.CauseLost, cluster.JitteryHost: verdict.CauseJitter,
		cluster.PausingHost: verdict.CausePauses, cluster.WrongMTU: verdict.CauseMTU,
		cluster.MissingGID: verdict.CauseNoGID, cluster.OtherGIDType: verdict.CauseGIDType,
		cluster.WrongPKey: verdict.CausePKey, cluster.ExchangedRails: verdict.CauseRails,
		cluster.HalfUplinks: verdict.CauseUplinks, cluster.BadUplink: verdict.CauseUplink,
		cluster.Oversubscribed: verdict.CauseOversubscribed, cluster.NoPFC: verdict.CauseIncast,
		cluster.WrongClass: verdict.CauseClass, cluster.HalfPCIe: verdict.CausePCIe,
		cluster.OtherFirmware: verdict.CauseFirmware, cluster.FlappingLink: verdict.CauseFlapping,
		cluster.WrongClock: verdict.CauseClock,
	}[f.Kind]}
}

// KindOf returns the kind of fault that a cause stands for, "" if there is none.
func KindOf(c verdict.Cause) cluster.Kind {
	for _, k := range cluster.Kinds() {
		for _, d := range []cluster.Direction{cluster.Send, cluster.Receive} {
			if causes(&cluster.Fault{Kind: k, Direction: d})[0] == c {
				return k
			}
		}
	}
	return ""
}

// Claim is a verdict about one place: a verdict about several cards makes several claims.
type Claim struct {
	Verdict    int // its index in the report
	Cause      verdict.Cause
	Confidence float64
	Place      string // for people
	// Fault is the index of the fault that it names, -1 for none. Near is then that of a fault in
	// the same place, in a card of the same node, or in the node of the same card; -1 for none.
	Fault, Near int

	place place
}

// claims returns those of a report.
func claims(r *verdict.Report, c *plan.Cluster) []Claim {
	index := map[string]int32{}
	for i, n := range c.Nodes {
		index[n.Name] = int32(i)
	}
	var out []Claim
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		for _, p := range places(&v.Where, index) {
			out = append(out, Claim{
				Verdict: i, Cause: v.Cause, Confidence: v.Confidence, Place: p.String(), Fault: -1, Near: -1, place: p,
			})
		}
	}
	return out
}

func places(w *verdict.Where, index map[string]int32) []place {
	var out []place
	switch w.Scope {
	case verdict.ScopeCard:
		for _, e := range w.Ends {
			out = append(out, place{scope: w.Scope, end: e, rail: -1})
		}
	case verdict.ScopeNode:
		for _, name := range w.Nodes {
			out = append(out, place{scope: w.Scope, end: plan.End{Node: index[name]}, rail: -1})
		}
	case verdict.ScopeLeaf:
		for _, rail := range w.Rails {
			out = append(out, place{scope: w.Scope, leaf: w.Leaf, rail: rail})
		}
		if len(w.Rails) == 0 {
			out = append(out, place{scope: w.Scope, leaf: w.Leaf, rail: -1})
		}
	case verdict.ScopeFabric:
		out = append(out, place{scope: w.Scope, rail: -1})
	}
	return out
}

// at reports whether a claim is about a place. A leaf of all rails may be named with its rails.
func (c *Claim) at(list []place, rails int) bool {
	return slices.ContainsFunc(list, func(p place) bool {
		if p.scope == verdict.ScopeLeaf && c.place.scope == verdict.ScopeLeaf && p.leaf == c.place.leaf {
			return p.rail == c.place.rail || p.rail < 0 || rails == 1
		}
		return p == c.place
	})
}

// near reports whether a claim is about the place of a fault, or about a part of it.
func (c *Claim) near(t *truth, rails int) bool {
	if c.at(t.places, rails) {
		return true
	}
	inNode := func(s verdict.Scope) bool { return s == verdict.ScopeCard || s == verdict.ScopeNode }
	p := t.places[0]
	return inNode(p.scope) && inNode(c.place.scope) && p.scope != c.place.scope && p.end.Node == c.place.end.Node
}

// Matching says which verdict names which fault.
type Matching struct {
	Verdict []int // by fault: index of its verdict, -1 for none
	Extra   []int // verdicts, or parts of them, that name no fault
	// Claims are all parts of verdicts. Those about several rails of one leaf are one.
	Claims []Claim
}

// Match compares the verdicts of a report with the faults of a scenario. Each fault makes one
// verdict about its place true; a second one is extra, unless it is about another rail of the same
// leaf.
func Match(s *cluster.Scenario, c *plan.Cluster, r *verdict.Report) Matching {
	var m Matching
	list := claims(r, c)
	planted := truths(s)
	again := make([]bool, len(list)) // about a leaf that another claim has named
	for i, t := range planted {
		found := -1
		for k := range list {
			x := &list[k]
			if x.Fault >= 0 || again[k] || !slices.Contains(t.causes, x.Cause) || !x.at(t.places, s.Rails) {
				continue
			}
			if found < 0 {
				found, x.Fault = x.Verdict, i
			} else if t.places[0].scope == verdict.ScopeLeaf {
				again[k] = true
			}
		}
		m.Verdict = append(m.Verdict, found)
	}
	for k := range list {
		x := &list[k]
		if again[k] {
			continue
		}
		if x.Fault < 0 {
			x.Near = nearest(x, planted, m.Verdict, s.Rails)
			if !slices.Contains(m.Extra, x.Verdict) {
				m.Extra = append(m.Extra, x.Verdict)
			}
		}
		m.Claims = append(m.Claims, *x)
	}
	return m
}

// nearest returns the index of a fault in the place of a claim, one that no verdict names before
// one that has its verdict, or -1.
func nearest(c *Claim, planted []truth, found []int, rails int) int {
	near := -1
	for i := range planted {
		if c.near(&planted[i], rails) && (near < 0 || found[near] >= 0 && found[i] < 0) {
			near = i
		}
	}
	return near
}
