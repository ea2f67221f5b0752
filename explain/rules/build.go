package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// Weights of evidence. A cause begins with how often it is the cause of the symptom, and gains or
// loses by what the inputs show.
const (
	common   = 20 // causes that are found most often
	usual    = 12
	rare     = 5
	hint     = 10 // fits, as other causes do
	strong   = 25 // hardly fits anything else
	decisive = 60 // fits nothing else, short of a proof
)

// likely is the weight from which a cause is likely.
const likely = 40

// maxCauses is how many causes of a finding are reported.
const maxCauses = 6

// candidates collects the possible causes of a finding.
type candidates struct {
	list []*candidate
}

// candidate is a cause whose weight is not final.
type candidate struct {
	Cause
	proven bool
}

// add adds a cause with its weight before any evidence.
func (c *candidates) add(slug, title string, weight int) *candidate {
	x := &candidate{Cause: Cause{Slug: slug, Title: title, Weight: weight}}
	c.list = append(c.list, x)
	return x
}

// supports adds evidence for the cause.
func (c *candidate) supports(weight int, text string, places ...evidence.Place) *candidate {
	c.Weight += weight
	if !slices.ContainsFunc(c.For, func(e Evidence) bool { return e.Text == text && slices.Equal(e.Places, places) }) {
		c.For = append(c.For, Evidence{Text: text, Places: places})
	}
	return c
}

// supportsIf is supports if the condition holds.
func (c *candidate) supportsIf(ok bool, weight int, text string, places ...evidence.Place) *candidate {
	if ok {
		c.supports(weight, text, places...)
	}
	return c
}

// opposes adds evidence against the cause.
func (c *candidate) opposes(weight int, text string, places ...evidence.Place) {
	c.Weight -= weight
	c.Against = append(c.Against, Evidence{Text: text, Places: places})
}

// opposesIf is opposes if the condition holds.
func (c *candidate) opposesIf(ok bool, weight int, text string, places ...evidence.Place) *candidate {
	if ok {
		c.opposes(weight, text, places...)
	}
	return c
}

// proves adds a fact that decides for the cause.
func (c *candidate) proves(text string, places ...evidence.Place) *candidate {
	c.proven = true
	return c.supports(decisive, text, places...)
}

// todo sets the command or look that decides, and the remedy.
func (c *candidate) todo(decide, remedy string) *candidate {
	c.Decide, c.Remedy = decide, remedy
	return c
}

// from sets the sources.
func (c *candidate) from(sources ...string) { c.Sources = sources }

// causes returns the causes with their confidence, those that the evidence speaks against left out.
// [Judge] ranks them and keeps the first ones.
func (c *candidates) causes() []Cause {
	var list []Cause
	for _, x := range c.list {
		if x.Weight <= 0 {
			continue
		}
		x.Confidence = Possible
		switch {
		case x.proven && len(x.Against) == 0:
			x.Confidence = Proven
		case x.Weight >= likely:
			x.Confidence = Likely
		}
		list = append(list, x.Cause)
	}
	return list
}

// of returns the failures of a kind.
func of(f *facts.Facts, kinds ...evidence.Kind) []*facts.Failure {
	var list []*facts.Failure
	for _, x := range f.Failures {
		if slices.Contains(kinds, x.Event.Kind) {
			list = append(list, x)
		}
	}
	return list
}

// with returns the failures whose event has one of the values of a field.
func with(list []*facts.Failure, field string, values ...string) []*facts.Failure {
	var out []*facts.Failure
	for _, x := range list {
		if slices.Contains(values, x.Event.Fields[field]) {
			out = append(out, x)
		}
	}
	return out
}

// events returns the events of failures, the first of each.
func events(list []*facts.Failure) []*evidence.Event {
	var out []*evidence.Event
	for _, x := range list {
		out = append(out, x.Event)
	}
	return out
}

// places returns the places of failures.
func places(list []*facts.Failure) []evidence.Place {
	var out []evidence.Place
	for _, x := range list {
		out = append(out, x.Event.Place)
	}
	return out
}

// firstOf returns the first event of a kind with one of the values of a field, nil if there is
// none; without a field, the first of the kind.
func firstOf(f *facts.Facts, kind evidence.Kind, field string, values ...string) *evidence.Event {
	for e := range f.Store.Of(kind) {
		if field == "" || slices.Contains(values, e.Fields[field]) {
			return e
		}
	}
	return nil
}

// placeOf returns the place of an event as a list, empty for nil.
func placeOf(e *evidence.Event) []evidence.Place {
	if e == nil {
		return nil
	}
	return []evidence.Place{e.Place}
}

// where names the device and node of a failure: "mlx5_1 of node2".
func where(x *facts.Failure) string {
	switch {
	case x.Device != "" && x.Node != nil:
		return x.Device + " of " + x.Node.Name
	case x.Node != nil:
		return x.Node.Name
	}
	return "a node"
}

// cardOf names the card of a failure: "the card mlx5_1 of node2", "the card of node2".
func cardOf(x *facts.Failure) string {
	if x.Device == "" {
		return "the card of " + where(x)
	}
	return "the card " + where(x)
}

// toward names the peer of a failure: "node3", an address, or "its peer".
func toward(x *facts.Failure) string {
	switch {
	case x.Peer != nil && x.PeerAddress != "" && x.Peer.Name != x.PeerAddress:
		return fmt.Sprintf("%s (%s)", x.Peer.Name, x.PeerAddress)
	case x.Peer != nil:
		return x.Peer.Name
	case x.PeerAddress != "":
		return x.PeerAddress
	}
	return "its peer"
}

// link returns the kind of port of a failure, as far as it is known.
func link(x *facts.Failure) facts.Link {
	if x.Node == nil {
		return facts.LinkUnknown
	}
	found := facts.LinkUnknown
	for _, d := range x.Node.Devices {
		if d.Link == facts.LinkUnknown || x.Device != "" && d.Name != x.Device {
			continue
		}
		if found != facts.LinkUnknown && found != d.Link {
			return facts.LinkUnknown
		}
		found = d.Link
	}
	if p := x.Node.Recorded.Port(x.Device); p != nil && found == facts.LinkUnknown {
		found = p.Link
	}
	if found == facts.LinkUnknown {
		switch x.Event.Fields["link"] {
		case "IB", "InfiniBand":
			return facts.LinkInfiniBand
		case "RoCE", "Ethernet":
			return facts.LinkRoCE
		}
		if x.Node.LIDs {
			return facts.LinkInfiniBand
		}
		for _, g := range [...]string{x.Event.Fields["localGID"], x.Event.Fields["remoteGID"]} {
			if strings.HasPrefix(g, "::ffff:") {
				return facts.LinkRoCE
			}
		}
	}
	return found
}

// variable returns the first value of a variable on any node, with its place.
func variable(f *facts.Facts, name string) (string, []evidence.Place, bool) {
	for _, n := range f.Nodes {
		for _, v := range n.Variable(name) {
			return v.Text, v.Places, true
		}
	}
	return "", nil, false
}

// difference returns the difference with that name.
func difference(f *facts.Facts, what string) (facts.Difference, bool) {
	for _, d := range f.Differences {
		if d.What == what {
			return d, true
		}
	}
	return facts.Difference{}, false
}

// between reports whether two nodes have different values.
func between(d facts.Difference, a, b *facts.Node) bool {
	if a == nil || b == nil {
		return false
	}
	for _, v := range d.Values {
		if slices.Contains(v.Nodes, a) != slices.Contains(v.Nodes, b) {
			return true
		}
	}
	return false
}

// mtuDifference returns a difference of the MTUs that connections used, or else of those of
// recorded ports.
func mtuDifference(f *facts.Facts) (facts.Difference, bool) {
	if d, ok := difference(f, "MTU"); ok {
		return d, true
	}
	return difference(f, "active MTU")
}

// placesIn returns the first place of each value.
func placesIn(d facts.Difference) []evidence.Place {
	var list []evidence.Place
	for _, v := range d.Values {
		list = append(list, v.Places[:min(1, len(v.Places))]...)
	}
	return list
}

// values returns "2.18 on node1, 2.20 on node2".
func values(d facts.Difference) string {
	var parts []string
	for _, v := range d.Values {
		var names []string
		for _, n := range v.Nodes[:min(len(v.Nodes), 3)] {
			names = append(names, n.Name)
		}
		if more := len(v.Nodes) - len(names); more > 0 {
			names = append(names, fmt.Sprintf("and %d more", more))
		}
		parts = append(parts, fmt.Sprintf("%s on %s", v.Text, strings.Join(names, ", ")))
	}
	return strings.Join(parts, "; ")
}
