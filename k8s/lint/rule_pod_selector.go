package lint

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkPodSelector(p *pass, pod *pod) {
	fitting := p.nodesFor(pod)
	if len(fitting) == 0 && slices.ContainsFunc(p.nodes, func(n source.Node) bool { return n.Allocatable == nil }) {
		return // the pod may fit on a node about which nothing is known
	}
	for _, l := range pod.limits() {
		if l.prefix == "" || !p.ours(l.base) || !p.allocated(l.name) && len(p.policiesOf(l.base)) == 0 {
			continue // no node has the resource, which pod-prefix reports
		}
		want, promised := pod.requested(l.prefix, l.base), p.vfsOf(l.base)
		if want <= 0 ||
			slices.ContainsFunc(fitting, func(n *source.Node) bool { return p.mayHave(n, l.name, want, promised) }) {
			continue
		}
		reportNoRoom(p, pod, l.at, l.name, want, fitting, promised)
		return
	}
}

// nodesFor returns the nodes on which a pod may run, by its nodeSelector and nodeName.
func (m *model) nodesFor(pod *pod) []*source.Node {
	spec := pod.Value.Spec
	var fitting []*source.Node
	for i := range m.nodes {
		n := &m.nodes[i]
		selected, perhaps := n.Selected(spec.NodeSelector)
		if (selected || perhaps) && (spec.NodeName == "" || spec.NodeName == n.Name) {
			fitting = append(fitting, n)
		}
	}
	return fitting
}

// mayHave reports whether a node has enough of a resource, gets enough from policies, or is not
// known well enough to rule it out.
func (m *model) mayHave(n *source.Node, name string, want int, promised map[string]int) bool {
	_, base := splitResource(name)
	if n.Allocatable[name].Count() >= want || promised[n.Name] >= want {
		return true
	}
	policies := m.policiesOf(base)
	if len(policies) == 0 {
		return n.Allocatable == nil
	}
	_, has := n.Allocatable[name]
	return !n.CardsKnown && !has &&
		slices.ContainsFunc(policies, func(pol *policy) bool { return slices.Contains(m.candidates(pol), n) })
}

func reportNoRoom(p *pass, pod *pod, at path, name string, want int, fitting []*source.Node, promised map[string]int) {
	where, verb := "no node", "has"
	if pod.Value.Spec.NodeName != "" || len(pod.Value.Spec.NodeSelector) > 0 {
		where = "no node that the pod can run on"
	}
	if !p.allocated(name) {
		verb = "gets"
	}
	f := p.error(pod.Object, at, "%s %s %d of %s", where, verb, want, name).place(pod.KeyAt(at...))
	for _, n := range p.nodes[:min(len(p.nodes), cardsShown)] {
		text := fmt.Sprintf("policies create %s of it", english.Count(promised[n.Name], "VF"))
		if n.Allocatable != nil {
			text = fmt.Sprintf("allocatable has %s: %d", name, n.Allocatable[name].Count())
		}
		f.onNode(n.Name, "%s%s", text, notSelected(fitting, n.Name))
	}
}

// allocated reports whether a node has a resource in allocatable.
func (m *model) allocated(name string) bool {
	return slices.ContainsFunc(m.nodes, func(n source.Node) bool { return n.Allocatable[name].Count() > 0 })
}

func notSelected(fitting []*source.Node, name string) string {
	if slices.ContainsFunc(fitting, func(n *source.Node) bool { return n.Name == name }) {
		return ""
	}
	return "; the pod can't run there"
}
