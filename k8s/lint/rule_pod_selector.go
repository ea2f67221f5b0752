package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func podSelector() Rule {
	return Rule{
		ID: "pod-selector", Title: "a pod that no node has room for", Severity: SeverityError, Nodes: true,
		Kinds: []string{k8s.KindPod},
		Explanation: prose.Join(`
			A pod goes to a node that has all labels of its nodeSelector and enough of every
			resource: in allocatable, or by the policies whose cards the node has. Where no node has
			both it stays pending ("Insufficient ...", "didn't match Pod's node affinity/selector").
			What other pods have taken is not counted, and neither are affinities and taints.`),
		Remedy:  "ask for no more than one node has, on nodes that the policy gives VFs",
		Wrong:   "        nvidia.com/rail0: 9",
		Right:   "        nvidia.com/rail0: 8",
		Sources: []string{srcKubernetes},
		check: func(p *pass) {
			for _, pod := range p.pods {
				checkPodSelector(p, pod)
			}
		},
	}
}

func checkPodSelector(p *pass, pod *pod) {
	fitting := p.fitting(pod)
	if len(fitting) == 0 && slices.ContainsFunc(p.nodes, func(n source.Node) bool { return n.Allocatable == nil }) {
		return // a node of which nothing is known may be the one
	}
	for _, c := range pod.containers() {
		for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
			prefix, base := splitResource(name)
			use := p.resource[base]
			if prefix == "" || !use.made && !use.networked || !p.allocated(name) && len(p.policiesOf(base)) == 0 {
				continue // nobody has it, which is pod-prefix's business
			}
			want, promised := pod.asks(prefix, base), p.vfsOf(base)
			if want <= 0 ||
				slices.ContainsFunc(fitting, func(n *source.Node) bool { return p.mayHave(n, name, want, promised) }) {
				continue
			}
			tellNoRoom(p, pod, c.path("resources", "limits", name), name, want, fitting, promised)
			return
		}
	}
}

// fitting returns the nodes that a pod may go to, by its nodeSelector and nodeName.
func (m *model) fitting(pod *pod) []*source.Node {
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

// mayHave reports a node that has a resource, gets it by a policy, or of which too little is known
// to deny it.
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
		slices.ContainsFunc(policies, func(pol *policy) bool { return slices.Contains(m.takes(pol), n) })
}

func tellNoRoom(p *pass, pod *pod, at path, name string, want int, fitting []*source.Node, promised map[string]int) {
	who, verb := "no node", "has"
	if pod.Value.Spec.NodeName != "" || len(pod.Value.Spec.NodeSelector) > 0 {
		who = "no node that the pod may go to"
	}
	if !p.allocated(name) {
		verb = "gets"
	}
	f := p.error(pod.Object, at, "%s %s %s %s", who, verb, name, english.Count(want, "time")).place(pod.KeyAt(at...))
	for _, n := range p.nodes[:min(len(p.nodes), cardsShown)] {
		text := fmt.Sprintf("policies make %s of it", english.Count(promised[n.Name], "VF"))
		if n.Allocatable != nil {
			text = fmt.Sprintf("allocatable has %s: %d", name, n.Allocatable[name].Count())
		}
		f.onNode(n.Name, "%s%s", text, notSelected(fitting, n.Name))
	}
}

// allocated reports that some node has a resource.
func (m *model) allocated(name string) bool {
	return slices.ContainsFunc(m.nodes, func(n source.Node) bool { return n.Allocatable[name].Count() > 0 })
}

func notSelected(fitting []*source.Node, name string) string {
	if slices.ContainsFunc(fitting, func(n *source.Node) bool { return n.Name == name }) {
		return ""
	}
	return ", and the pod's nodeSelector doesn't take it"
}
