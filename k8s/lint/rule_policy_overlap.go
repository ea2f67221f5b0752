package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func policyOverlap() Rule {
	return Rule{
		ID: "policy-overlap", Title: "two policies for the same VFs, or for one PF with different settings",
		Severity: SeverityError,
		Kinds:    []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			Policies are applied by descending priority number, so of two for one PF the one with
			the lower number wins, and the resource of the other has no VFs. The webhook finds the
			same name in pfNames and the same entry of rootDevices; it does not find one policy that
			selects by name and another that selects the same card by address, vendor or device.
			Written priorities that differ are taken as meant so, unless a policy for all cards wins
			over one that names cards, or the webhook would refuse the two. Policies may share a PF
			by ranges in pfNames. The PF still has one number of VFs, one mtu and one link type, so
			of different ones some do not count; different externallyManaged, and different
			excludeTopology for one resource, are refused by the webhook.`),
		Remedy:  "give the policies different cards, or ranges of VFs in pfNames that don't meet",
		Wrong:   "    pfNames: [\"ens1f0np0#0-3\"]",
		Right:   "    pfNames: [\"ens1f0np0#4-7\"]",
		Sources: []string{srcWebhook, srcSelector},
		check: func(p *pass) {
			told := map[*policy]int{}
			for _, m := range p.meetings {
				if told[m.about]++; told[m.about] <= overlapsShown {
					checkMeeting(p, m)
				} else if told[m.about] == overlapsShown+1 {
					p.note(m.about.Object, path{"spec", "nicSelector"},
						"and more policies select cards of this one: %d are told", overlapsShown)
				}
			}
			for _, resource := range slices.Sorted(maps.Keys(p.ofPolicy)) {
				checkTopology(p, p.ofPolicy[resource])
			}
		},
	}
}

// overlapsShown is how many policies one is told to meet.
const overlapsShown = 8

func checkMeeting(p *pass, m meeting) {
	a, b, at := m.other, m.about, path{"spec", "nicSelector"}
	switch what := disagreement(a, b); {
	case !m.shared && deliberate(a, b):
		winner, loser := a, b
		if *b.Value.Spec.Priority < *a.Value.Spec.Priority {
			winner, loser = b, a
		}
		p.note(b.Object, at, "%s overrides %s on %s by its priority: there are no VFs of resource %s there",
			winner, loser, m.card, loser.Value.Spec.ResourceName).
			because(a.At(at...), "the other policy").Remedy = "nothing, if it is meant so"
	case !m.shared:
		report := p.error
		if p.nodesApart(a, b) {
			report = p.warn
		}
		f := report(b.Object, at, "%s selects the same VFs of %s", a, m.card).because(a.At(at...), "selected here too")
		if m.card.Node != nil {
			f.onNode(m.card.Node.Name, "has the card")
		}
	case what != "":
		report := p.warn
		if what == "externallyManaged" {
			report = p.error
		}
		report(b.Object, path{"spec", what}, "%s shares %s and has another %s", a, m.card, what).because(
			a.At("spec", what), "%s there", what,
		).Remedy = "write the same " + what + " in both"
	}
}

// checkTopology holds the policies of one resource to one excludeTopology, on each node. One that
// differs is told once.
func checkTopology(p *pass, policies []*policy) {
	for i, b := range policies {
		for _, a := range policies[:i] {
			if k8s.ValueOf(a.Value.Spec.ExcludeTopology) == k8s.ValueOf(b.Value.Spec.ExcludeTopology) ||
				!p.onOneNode(a, b) {
				continue
			}
			about, other := b, a
			if !p.judged[b.Object] {
				about, other = a, b
			}
			p.error(about.Object, path{"spec", "excludeTopology"},
				"%s has the same resource and another excludeTopology", other).because(other.At("spec"),
				"the other policy")
			break
		}
	}
}

// deliberate reports policies with priorities that are written and differ, so that one is meant to
// override the other: unless one for all cards wins over one that names cards, or the webhook
// refuses the two for a name or an address that both have.
func deliberate(a, b *policy) bool {
	x, y := a.Value.Spec, b.Value.Spec
	if x.Priority == nil || y.Priority == nil || *x.Priority == *y.Priority {
		return false
	}
	if *y.Priority < *x.Priority {
		a, b = b, a
	}
	both := func(xs, ys []string) bool {
		return slices.ContainsFunc(xs, func(s string) bool { return slices.Contains(ys, s) })
	}
	refused := both(distinctPFs(x.NicSelector.PfNames), distinctPFs(y.NicSelector.PfNames)) ||
		both(x.NicSelector.RootDevices, y.NicSelector.RootDevices)
	return !refused && (specific(a) || !specific(b))
}

// onOneNode reports that a node may be selected by two policies of the operator's namespace.
func (m *model) onOneNode(a, b *policy) bool {
	both := func(n source.Node) bool {
		x, maybeX := n.Selected(a.Value.Spec.NodeSelector)
		y, maybeY := n.Selected(b.Value.Spec.NodeSelector)
		return (x || maybeX) && (y || maybeY)
	}
	return neighbours(a, b) && !labelsExclude(a, b) && (len(m.nodes) == 0 || slices.ContainsFunc(m.nodes, both))
}

// disagreement returns the first field in which policies that share a PF differ and must not.
func disagreement(a, b *policy) string {
	x, y := a.Value.Spec, b.Value.Spec
	switch {
	case k8s.ValueOf(x.ExternallyManaged) != k8s.ValueOf(y.ExternallyManaged):
		return "externallyManaged"
	case numVfs(a) != numVfs(b):
		return "numVfs"
	case x.LinkType != "" && y.LinkType != "" && !strings.EqualFold(x.LinkType, y.LinkType):
		return "linkType"
	case x.MTU != nil && y.MTU != nil && *x.MTU != *y.MTU:
		return "mtu"
	}
	return ""
}

// nodesApart reports that the nodeSelectors of two policies share no label, so that without nodes
// nobody knows whether a node has the labels of both.
func (m *model) nodesApart(a, b *policy) bool {
	x, y := a.Value.Spec.NodeSelector, b.Value.Spec.NodeSelector
	if len(m.nodes) > 0 || len(x) == 0 || len(y) == 0 {
		return false
	}
	for key := range x {
		if _, shared := y[key]; shared {
			return false
		}
	}
	return true
}
