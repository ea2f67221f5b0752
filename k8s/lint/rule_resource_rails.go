package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkResourceRails(p *pass) {
	done := map[string]bool{}
	for _, pol := range p.policies {
		if r := pol.Value.Spec.ResourceName; r != "" && !done[r] {
			done[r] = true
			checkRails(p, p.policiesOf(r))
		}
	}
}

// checkRails checks the cards of one resource on each node.
func checkRails(p *pass, policies []*policy) {
	if len(p.nodes) == 0 {
		for _, pol := range policies {
			if names := pol.Value.Spec.NicSelector.PfNames; len(distinctPFs(names)) > 1 {
				p.warn(pol.Object, path{"spec", "nicSelector", "pfNames"},
					"%d PFs in one resource: a pod that requests several VFs may get all of them from one PF",
					len(distinctPFs(names)))
			}
		}
		return
	}
	last := policies[len(policies)-1]
	byNode := map[string][]card{}
	var order []string
	for _, pol := range policies {
		for _, c := range p.cards(pol) {
			if byNode[c.Node.Name] == nil {
				order = append(order, c.Node.Name)
			}
			byNode[c.Node.Name] = append(byNode[c.Node.Name], c)
		}
	}
	resource := last.Value.Spec.ResourceName
	at := path{"spec", "nicSelector"}
	for _, name := range order {
		cards := byNode[name]
		links, fabrics, names := differences(cards)
		switch {
		case len(links) > 1:
			p.error(last.Object, at, "resource %s mixes InfiniBand and Ethernet", resource).onNodeEach(name, names)
		case len(fabrics) > 1:
			p.error(last.Object, at, "resource %s mixes %d InfiniBand fabrics", resource, len(fabrics)).onNodeEach(name,
				names)
		case len(names) > 1:
			p.warn(last.Object, at, "resource %s has the VFs of %d cards: a pod can't choose the rail",
				resource, len(names)).onNodeEach(name, names)
		default:
			continue
		}
		return
	}
}

// differences returns the link types, the fabrics and the names of cards, each once.
func differences(cards []card) (links, fabrics, names []string) {
	add := func(list []string, s string) []string {
		if s == "" || slices.Contains(list, s) {
			return list
		}
		return append(list, s)
	}
	for _, c := range cards {
		text := c.String() + " " + c.PF.LinkType
		if f := c.PF.Fabric; f != nil {
			id := f.SubnetPrefix + ", no SM"
			if f.SMLID != 0 {
				// without an SM the port is down or not configured yet, and its fabric is unknown
				id = fmt.Sprintf("%s, SM at LID %d", f.SubnetPrefix, f.SMLID)
				fabrics = add(fabrics, id)
			}
			text += " in " + id
		}
		links = add(links, c.PF.LinkType)
		names = add(names, strings.TrimSpace(text))
	}
	return links, fabrics, names
}

// distinctPFs returns the names in pfNames without ranges, each once.
func distinctPFs(names []string) []string {
	var out []string
	for _, text := range names {
		if name := source.PFNameOf(text); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// onNodeEach adds each text as a fact about a node, up to a limit.
func (f *Finding) onNodeEach(node string, texts []string) {
	for i, text := range texts {
		if i == 2*cardsShown {
			f.onNode(node, "and %d more", len(texts)-i)
			return
		}
		f.onNode(node, "%s", text)
	}
}
