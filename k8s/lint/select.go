package lint

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// policy is a SriovNetworkNodePolicy.
type policy = typed[k8s.SriovNetworkNodePolicy]

// card is a PF of a node that a policy selects.
type card = source.Selection

// numVfs returns numVfs of a policy, 0 if it is absent.
func numVfs(p *policy) int { return k8s.ValueOf(p.Value.Spec.NumVfs) }

// cards returns the PFs that a policy selects, on the nodes that its nodeSelector selects or
// may select.
func (m *model) cards(p *policy) []card { return m.selected[p] }

// candidates returns the nodes that a policy's nodeSelector selects, or may select because their
// labels are unknown.
func (m *model) candidates(p *policy) []*source.Node {
	var nodes []*source.Node
	for i := range m.nodes {
		selected, perhaps := m.nodes[i].Selected(p.Value.Spec.NodeSelector)
		if selected || perhaps {
			nodes = append(nodes, &m.nodes[i])
		}
	}
	return nodes
}

// linkOf returns the link type of a policy's cards, and how it is known. Both are "" if the link
// type is unknown.
func (m *model) linkOf(p *policy) (link, reason string) {
	link, reason, undecided := m.linkByCards(p)
	if link != "" || !undecided {
		return link, reason
	}
	ib, eth := "", ""
	for _, n := range m.networksOf(p.Value.Spec.ResourceName) {
		if n.IB {
			ib = n.String() + " uses its resource"
		} else {
			eth = n.String() + " uses its resource"
		}
	}
	switch {
	case ib != "" && eth == "":
		return source.LinkIB, ib
	case eth != "" && ib == "":
		return source.LinkETH, eth
	}
	return "", ""
}

// linkByCards returns the link type by the policy and its cards alone. undecided reports whether
// neither of them has a link type; it is false if cards differ.
func (m *model) linkByCards(p *policy) (link, reason string, undecided bool) {
	switch strings.ToUpper(p.Value.Spec.LinkType) {
	case source.LinkIB:
		return source.LinkIB, "linkType of the policy", false
	case source.LinkETH:
		return source.LinkETH, "linkType of the policy", false
	}
	for _, c := range m.cards(p) {
		switch {
		case c.PF.LinkType == "":
		case link == "":
			link, reason = c.PF.LinkType, fmt.Sprintf("%s of node %s is %s", c, c.Node.Name, c.PF.LinkType)
		case link != c.PF.LinkType:
			return "", "", false
		}
	}
	return link, reason, link == ""
}
