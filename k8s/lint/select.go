package lint

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// policy is short for what most rules handle.
type policy = typed[k8s.SriovNetworkNodePolicy]

// card is a PF of a node that a policy selects.
type card = source.Selection

// numVfs is that of a policy, 0 where it is absent.
func numVfs(p *policy) int { return k8s.ValueOf(p.Value.Spec.NumVfs) }

// cards returns the PFs that a policy selects, on the nodes that its nodeSelector takes or
// may take.
func (m *model) cards(p *policy) []card { return m.selected[p] }

// nodesOf returns the nodes on which policies select cards for a resource, one that several
// policies or cards have as often.
func (m *model) nodesOf(resource string) []*source.Node {
	var nodes []*source.Node
	for _, pol := range m.policiesOf(resource) {
		for _, c := range m.cards(pol) {
			nodes = append(nodes, c.Node)
		}
	}
	return nodes
}

// takes returns the nodes that a policy's nodeSelector takes, or may take where labels
// aren't known.
func (m *model) takes(p *policy) []*source.Node {
	var nodes []*source.Node
	for i := range m.nodes {
		selected, perhaps := m.nodes[i].Selected(p.Value.Spec.NodeSelector)
		if selected || perhaps {
			nodes = append(nodes, &m.nodes[i])
		}
	}
	return nodes
}

// linkOf tells whether the cards of a policy are on InfiniBand or Ethernet, and how that is known;
// "" where nothing tells.
func (m *model) linkOf(p *policy) (link, reason string) {
	link, reason, open := m.linkByCards(p)
	if link != "" || !open {
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

// linkByCards is linkOf without what networks say; open is false where cards differ.
func (m *model) linkByCards(p *policy) (link, reason string, open bool) {
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
