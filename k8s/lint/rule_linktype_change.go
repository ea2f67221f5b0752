package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkLinkTypeChange(p *pass, pol *policy) {
	s := pol.Value.Spec
	// the API server rejects other values
	known := slices.Contains([]string{source.LinkETH, source.LinkIB}, strings.ToUpper(s.LinkType))
	if known && !k8s.ValueOf(s.ExternallyManaged) {
		checkLinkChange(p, pol)
	}
}

func checkLinkChange(p *pass, pol *policy) {
	s := pol.Value.Spec
	var changing, fixed []card
	for _, c := range p.cards(pol) {
		switch {
		case c.PF.LinkType == "" || strings.EqualFold(s.LinkType, c.PF.LinkType):
		case c.PF.Vendor == k8s.VendorMellanox && !p.mellanoxDisabled():
			changing = append(changing, c)
		default:
			fixed = append(fixed, c)
		}
	}
	at := path{"spec", "linkType"}
	if len(changing) > 0 {
		f := p.warn(pol.Object, at, "the operator changes %s to %s in the firmware and reboots %s",
			english.Count(len(changing), "port"), strings.ToUpper(s.LinkType), english.Count(nodesOf(changing), "node"))
		f.onCards(changing)
	}
	if len(fixed) > 0 {
		p.error(pol.Object, at, "linkType is %s, but no VF of these cards has it", s.LinkType).onCards(fixed)
	}
}

// mellanoxDisabled reports whether the plugin mellanox, which changes the firmware of NVIDIA cards,
// is disabled.
func (m *model) mellanoxDisabled() bool {
	return slices.ContainsFunc(m.configs, func(c *typed[k8s.SriovOperatorConfig]) bool {
		return c.Name == "default" && slices.Contains(c.Value.Spec.DisablePlugins, "mellanox")
	})
}

// nodesOf returns the number of nodes of the cards.
func nodesOf(cards []card) int {
	seen := map[string]bool{}
	for _, c := range cards {
		seen[c.Node.Name] = true
	}
	return len(seen)
}

// cardsShown is the maximum number of cards in a finding.
const cardsShown = 8

// onCards adds cards as evidence.
func (f *Finding) onCards(cards []card) {
	for i, c := range cards {
		if i == cardsShown {
			f.Evidence = append(f.Evidence,
				Evidence{Place: "nodes", Text: "and " + english.Count(len(cards)-i, "more card")})
			return
		}
		f.onNode(c.Node.Name, "%s: %s:%s, %s, %s now, %s", c, c.PF.Vendor, c.PF.DeviceID,
			cmp.Or(c.PF.LinkType, "link type unknown"), english.Count(c.PF.NumVFs, "VF"), firmwareText(c.PF))
	}
}
