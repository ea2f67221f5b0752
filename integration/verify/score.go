package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/sim/cluster"
	"github.com/rdmakit/rdmakit/internal/sim/truth"
)

// score counts the verdicts of scenarios.
type score struct {
	scenarios, faults, found, claims, correct int
	kinds                                     map[cluster.Kind]*kindScore
	confused                                  map[confusion]int
	bins                                      []bin
	mistakes                                  []string // one line for each missed fault and wrong claim
}

// kindScore are the counts of a kind.
type kindScore struct{ planted, found, claimed, correct int }

// confusion is a fault of a kind, "" if there is none, and what was claimed of its place, "" if
// nothing was.
type confusion struct {
	kind  cluster.Kind
	cause verdict.Cause
}

// bin counts claims of a range of confidence.
type bin struct {
	from, sum     float64
	claims, right int
}

func newScore() *score {
	s := &score{kinds: map[cluster.Kind]*kindScore{}, confused: map[confusion]int{}}
	for _, k := range cluster.Kinds() {
		s.kinds[k] = &kindScore{}
	}
	for _, from := range []float64{0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99} {
		s.bins = append(s.bins, bin{from: from})
	}
	return s
}

// add scores the report of a scenario. Each fault makes one claim true; a second one about it is
// wrong, as is one about anything else.
func (s *score) add(sc *cluster.Scenario, c *plan.Cluster, r *verdict.Report) {
	s.scenarios++
	m := truth.Match(sc, c, r)
	for i := range sc.Faults {
		s.fault(sc, i, &m)
	}
	for i := range m.Claims {
		s.claim(sc, &m.Claims[i])
	}
}

// fault counts a planted fault.
func (s *score) fault(sc *cluster.Scenario, i int, m *truth.Matching) {
	f := &sc.Faults[i]
	k := s.kinds[f.Kind]
	s.faults++
	k.planted++
	if m.Verdict[i] >= 0 {
		s.found++
		k.found++
		return
	}
	line := fmt.Sprintf("seed %d (%s): missed %s", sc.Seed, shape(sc), describe(sc, f))
	instead := verdict.Cause("")
	if k := slices.IndexFunc(m.Claims, func(c truth.Claim) bool { return c.Near == i }); k >= 0 {
		instead = m.Claims[k].Cause
		line += "; named " + string(instead)
	}
	s.confused[confusion{f.Kind, instead}]++
	s.mistakes = append(s.mistakes, line)
}

// claim counts a claim: for the kind of the fault that it names, or else for that of its cause.
func (s *score) claim(sc *cluster.Scenario, c *truth.Claim) {
	s.claims++
	b := &s.bins[0]
	for i := range s.bins {
		if c.Confidence >= s.bins[i].from {
			b = &s.bins[i]
		}
	}
	b.claims++
	b.sum += c.Confidence
	if c.Fault >= 0 {
		s.correct++
		b.right++
		k := s.kinds[sc.Faults[c.Fault].Kind]
		k.claimed++
		k.correct++
		return
	}
	if k := s.kinds[truth.KindOf(c.Cause)]; k != nil {
		k.claimed++
	}
	why := "nothing is planted there"
	if c.Near >= 0 {
		why = "planted is " + string(sc.Faults[c.Near].Kind)
	} else {
		s.confused[confusion{"", c.Cause}]++
	}
	s.mistakes = append(s.mistakes, fmt.Sprintf("seed %d (%s): wrong %s at %s (confidence %.2f): %s",
		sc.Seed, shape(sc), c.Cause, c.Place, c.Confidence, why))
}

func shape(sc *cluster.Scenario) string {
	leaf := "a leaf of all rails"
	if sc.LeafPerRail {
		leaf = "a leaf of each rail"
	}
	return fmt.Sprintf("%d nodes, %d rails, %d to %s", sc.Nodes, sc.Rails, sc.NodesPerLeaf, leaf)
}

// describe adds to the description of a fault what scenarios vary beside its severity.
func describe(sc *cluster.Scenario, f *cluster.Fault) string {
	s := truth.Describe(sc, f)
	if f.Loss != 0 {
		s += fmt.Sprintf(", loss %.2g", f.Loss)
	}
	if f.Hidden {
		s += ", hidden"
	}
	if f.Inside {
		s += ", inside"
	}
	return s
}

func ratio(a, b int) float64 {
	if b == 0 {
		return 1
	}
	return float64(a) / float64(b)
}

// precision is the share of claims that are true, recall that of faults that were found.
func (s *score) precision() float64 { return ratio(s.correct, s.claims) }
func (s *score) recall() float64    { return ratio(s.found, s.faults) }

// confusions returns them, the most frequent first.
func (s *score) confusions() []confusion {
	out := make([]confusion, 0, len(s.confused))
	for c := range s.confused {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b confusion) int {
		return cmp.Or(s.confused[b]-s.confused[a], cmp.Compare(a.kind, b.kind), cmp.Compare(a.cause, b.cause))
	})
	return out
}
