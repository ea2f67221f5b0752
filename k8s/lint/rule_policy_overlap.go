package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkPolicyOverlap(p *pass) {
	reported := map[*policy]int{}
	for _, shared := range p.sharedPFs {
		about := shared.about
		if reported[about]++; reported[about] <= overlapsShown {
			checkSharedPF(p, shared)
		} else if reported[about] == overlapsShown+1 {
			p.note(about.Object, path{"spec", "nicSelector"},
				"more policies select cards of this policy; only the first %d are shown", overlapsShown)
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(p.ofPolicy)) {
		checkTopology(p, p.ofPolicy[resource])
	}
}

// overlapsShown is the maximum number of other policies that are reported for a policy.
const overlapsShown = 8

func checkSharedPF(p *pass, shared sharedPF) {
	a, b, at := shared.other, shared.about, path{"spec", "nicSelector"}
	switch what := disagreement(a, b); {
	case !shared.disjoint && deliberate(a, b):
		winner, loser := a, b
		if *b.Value.Spec.Priority < *a.Value.Spec.Priority {
			winner, loser = b, a
		}
		p.note(b.Object, at, "%s overrides %s on %s by its priority: resource %s has no VFs there",
			winner, loser, shared.card, loser.Value.Spec.ResourceName).
			because(a.At(at...), "the other policy").Remedy = "nothing, if this is intended"
	case !shared.disjoint:
		report := p.error
		apart := p.nodesApart(a, b)
		if apart {
			report = p.warn
		}
		f := report(b.Object, at, "%s selects the same VFs of %s", a, shared.card).because(a.At(at...),
			"the other policy")
		if shared.card.Node != nil {
			f.onNode(shared.card.Node.Name, "has the card")
		}
		if apart {
			f.Summary += " on nodes with the labels of both"
		}
		p.apart(f, a.Object, b.Object)
	case what != "":
		report := p.warn
		if what == "externallyManaged" {
			report = p.error
		}
		f := report(b.Object, path{"spec", what}, "%s shares %s but has a different %s", a, shared.card, what)
		f.because(a.At("spec", what), "%s of the other policy", what).Remedy = "write the same " + what + " in both"
		p.apart(f, a.Object, b.Object)
	}
}

// checkTopology reports policies of one resource that may apply to the same node and differ in
// excludeTopology. Each policy is reported once.
func checkTopology(p *pass, policies []*policy) {
	for i, b := range policies {
		for _, a := range policies[:i] {
			if k8s.ValueOf(a.Value.Spec.ExcludeTopology) == k8s.ValueOf(b.Value.Spec.ExcludeTopology) ||
				!p.onOneNode(a, b) {
				continue
			}
			about, other := b, a
			if !p.checked[b.Object] {
				about, other = a, b
			}
			f := p.error(about.Object, path{"spec", "excludeTopology"},
				"%s has the same resource but a different excludeTopology", other)
			p.apart(f.because(other.At("spec"), "the other policy"), about.Object, other.Object)
			break
		}
	}
}

// deliberate reports whether one policy is meant to override the other, because both have explicit
// priorities that differ. It is false if a policy for all cards wins over one that names cards, or
// if the webhook would reject the two for a common name or address.
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

// onOneNode reports whether two policies of one operator may select the same node.
func (m *model) onOneNode(a, b *policy) bool {
	both := func(n source.Node) bool {
		x, maybeX := n.Selected(a.Value.Spec.NodeSelector)
		y, maybeY := n.Selected(b.Value.Spec.NodeSelector)
		return (x || maybeX) && (y || maybeY)
	}
	return sameOperator(a, b) && !labelsExclude(a, b) && (len(m.nodes) == 0 || slices.ContainsFunc(m.nodes, both))
}

// disagreement returns the first field that must be equal in policies that share a PF and differs,
// "" for none.
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

// nodesApart reports whether the nodeSelectors of two policies have no label in common and no nodes
// are known, so that it is open whether any node has the labels of both.
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
