package lint

import (
	"cmp"
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/k8s/source"
)

// meeting is a PF that two policies select.
type meeting struct {
	// about is judged; of two that are, it is the later one.
	about, other *policy
	index        int  // of other
	card         card // of about; without a node where none is known
	// shared tells that they mean different VFs of each PF that both select.
	shared bool
}

// maxMeetings bounds the policies that one is found to meet on the same VFs: with more it is one
// fault and not many.
const maxMeetings = 64

// findMeetings finds the pairs of policies that select one PF, of which at least one is judged.
// Those about one policy stand together.
func (m *model) findMeetings() []meeting {
	f := meetingFinder{
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
	var out []meeting
	for i, p := range m.policies {
		if m.judged[p.Object] {
			out = append(out, f.about(i)...)
		}
	}
	return out
}

// claim is what a policy wants of a PF.
type claim struct{ policy, first, last int }

type meetingFinder struct {
	*model
	cards  [][]card // by policy
	claims map[*source.PF][]claim
	seen   []int // by policy: the meeting with it, from 1
}

// about returns the meetings that are about a policy, in the order of the others.
func (f *meetingFinder) about(i int) []meeting {
	var out []meeting
	clear(f.seen)
	p, whole := f.policies[i], 0
	for _, c := range f.cards[i] {
		for _, o := range f.claims[c.PF] {
			q, seen := f.policies[o.policy], f.seen[o.policy]
			if o.policy == i || f.judged[q.Object] && o.policy > i || seen > 0 && !out[seen-1].shared ||
				seen == 0 && !mayMeet(p, q) {
				continue
			}
			found := meeting{about: p, other: q, index: o.policy, card: c, shared: c.Last < o.first || o.last < c.First}
			if seen == 0 {
				out = append(out, found)
				seen = len(out)
				f.seen[o.policy] = seen
			}
			if !found.shared {
				out[seen-1] = found
				whole++
			}
			if whole > maxMeetings {
				return out
			}
		}
	}
	slices.SortFunc(out, func(a, b meeting) int { return cmp.Compare(a.index, b.index) })
	return out
}

// mayMeet judges what two policies say apart from their cards. Where labels of nodes aren't known,
// the selectors tell that no node has the labels of both.
func mayMeet(a, b *policy) bool {
	x, y := a.Value.Spec.NicSelector, b.Value.Spec.NicSelector
	return neighbours(a, b) && !labelsExclude(a, b) &&
		(x.Vendor == "" || y.Vendor == "" || x.Vendor == y.Vendor) &&
		(x.DeviceID == "" || y.DeviceID == "" || x.DeviceID == y.DeviceID)
}

// neighbours reports two policies that one operator sees.
func neighbours(a, b *policy) bool {
	return a.String() != b.String() && // an object twice is another rule's business
		(a.Namespace == b.Namespace || a.Namespace == "" || b.Namespace == "")
}

// labelsExclude reports that no node can be selected by both.
func labelsExclude(a, b *policy) bool {
	for key, value := range a.Value.Spec.NodeSelector {
		if other, ok := b.Value.Spec.NodeSelector[key]; ok && other != value {
			return true
		}
	}
	return false
}

// writtenCards are the PFs that a selector names, where no node tells which there are: an entry
// of rootDevices or pfNames is one, and so are all cards of a device ID. known has those of
// other policies.
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
