package lint

import (
	"cmp"
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/k8s/source"
)

// sharedPF is a PF that two policies select.
type sharedPF struct {
	// about is the policy to report: the later one if both are to be checked.
	about, other *policy
	index        int  // of other
	card         card // the PF as about selects it; without a node if no nodes are known
	// disjoint reports whether they select different VFs on each PF that both select.
	disjoint bool
}

// maxOverlaps limits the policies that are reported to select the VFs of one policy: more of them
// have a single cause.
const maxOverlaps = 64

// findSharedPFs finds the pairs of policies that select the same PF, of which at least one is to be
// checked. The pairs of one policy are adjacent.
func (m *model) findSharedPFs() []sharedPF {
	f := sharedPFFinder{
		model: m, cards: make([][]card, len(m.policies)), claims: map[*source.PF][]claim{},
		seen: make([]int, len(m.policies)),
	}
	written := map[string]*source.PF{}
	for i, p := range m.policies {
		if f.cards[i] = m.cards(p); len(m.nodes) == 0 {
			f.cards[i] = writtenCards(p, written)
		}
		for _, c := range f.cards[i] {
			f.claims[c.PF] = append(f.claims[c.PF], claim{i, c.First, c.Last})
		}
	}
	var out []sharedPF
	for i, p := range m.policies {
		if m.checked[p.Object] {
			out = append(out, f.about(i)...)
		}
	}
	return out
}

// claim is the range of VFs of a PF that a policy selects.
type claim struct{ policy, first, last int }

type sharedPFFinder struct {
	*model
	cards  [][]card // by policy
	claims map[*source.PF][]claim
	seen   []int // by policy: its index in the result, from 1
}

// about returns the PFs that a policy shares with others, in the order of the others.
func (f *sharedPFFinder) about(i int) []sharedPF {
	var out []sharedPF
	clear(f.seen)
	p, whole := f.policies[i], 0
	for _, c := range f.cards[i] {
		for _, o := range f.claims[c.PF] {
			q, seen := f.policies[o.policy], f.seen[o.policy]
			if o.policy == i || f.checked[q.Object] && o.policy > i || seen > 0 && !out[seen-1].disjoint ||
				seen == 0 && !mayOverlap(p, q) {
				continue
			}
			found := sharedPF{
				about: p, other: q, index: o.policy, card: c, disjoint: c.Last < o.first || o.last < c.First,
			}
			if seen == 0 {
				out = append(out, found)
				seen = len(out)
				f.seen[o.policy] = seen
			}
			if !found.disjoint {
				out[seen-1] = found
				whole++
			}
			if whole > maxOverlaps {
				return out
			}
		}
	}
	slices.SortFunc(out, func(a, b sharedPF) int { return cmp.Compare(a.index, b.index) })
	return out
}

// mayOverlap reports whether two policies may select the same card, by their namespaces, node
// selectors, vendors and device IDs.
func mayOverlap(a, b *policy) bool {
	x, y := a.Value.Spec.NicSelector, b.Value.Spec.NicSelector
	return sameOperator(a, b) && !labelsExclude(a, b) &&
		(x.Vendor == "" || y.Vendor == "" || x.Vendor == y.Vendor) &&
		(x.DeviceID == "" || y.DeviceID == "" || x.DeviceID == y.DeviceID)
}

// sameOperator reports whether two different policies may belong to one operator.
func sameOperator(a, b *policy) bool {
	return a.String() != b.String() && // duplicate-object reports these
		(a.Namespace == b.Namespace || a.Namespace == "" || b.Namespace == "")
}

// labelsExclude reports whether the node selectors of two policies contradict each other.
func labelsExclude(a, b *policy) bool {
	for key, value := range a.Value.Spec.NodeSelector {
		if other, ok := b.Value.Spec.NodeSelector[key]; ok && other != value {
			return true
		}
	}
	return false
}

// writtenCards returns the PFs that a selector names, for use without nodes. Each entry of
// rootDevices or pfNames is one PF, and a device ID stands for one PF. known collects the PFs of
// all policies.
func writtenCards(p *policy, known map[string]*source.PF) []card {
	s := p.Value.Spec.NicSelector
	var out []card
	add := func(text string, first, last int) {
		pf := known[text]
		if pf == nil {
			pf = &source.PF{Address: text}
			known[text] = pf
		}
		out = append(out, card{PF: pf, First: first, Last: last})
	}
	for _, text := range s.PfNames {
		n, err := source.ParsePFName(text)
		switch {
		case err != nil:
		case n.Ranged:
			add(n.Name, n.First, n.Last)
		default:
			add(n.Name, 0, math.MaxInt)
		}
	}
	if len(s.PfNames) == 0 {
		for _, address := range s.RootDevices {
			add(address, 0, math.MaxInt)
		}
	}
	if len(s.PfNames)+len(s.RootDevices) == 0 && s.DeviceID != "" {
		add("cards with device ID "+s.DeviceID, 0, math.MaxInt)
	}
	return out
}
