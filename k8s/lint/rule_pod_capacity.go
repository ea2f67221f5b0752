package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func podCapacity() Rule {
	return Rule{
		ID: "pod-capacity", Title: "a pod with more GPUs or huge pages than any node has", Severity: SeverityError,
		Kinds: []string{k8s.KindPod},
		Nodes: true,
		Explanation: prose.Join(`
			A pod runs on one node, which must have all that it requests. The rule compares GPUs and
			huge pages with the allocatable resources of the nodes that the pod may run on; VFs are
			compared by pod-selector.`),
		Remedy:  "request at most what a node has, and use more pods",
		Wrong:   "        nvidia.com/gpu: 16",
		Right:   "        nvidia.com/gpu: 8",
		Sources: []string{srcKubernetes},
		check: func(p *pass) {
			for _, pod := range p.pods {
				if p.takesPart(pod.Object) {
					checkRoom(p, pod)
				}
			}
		},
	}
}

func checkRoom(p *pass, pod *pod) {
	fitting := p.nodesFor(pod)
	complete := func(n *source.Node) bool { return n.Allocatable["cpu"] != "" }
	if len(fitting) == 0 || !slices.ContainsFunc(fitting, complete) ||
		slices.ContainsFunc(fitting, func(n *source.Node) bool { return !complete(n) }) {
		return // pod-selector reports the first, and of the others something isn't known
	}
	sums := map[string]float64{}
	for _, c := range pod.containers() {
		for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
			want, ok := c.Resources.Limits[name].Value()
			if !ok || !strings.HasSuffix(name, "/gpu") && !strings.HasPrefix(name, hugepages) {
				continue
			}
			if sums[name] += want; slices.ContainsFunc(fitting, func(n *source.Node) bool {
				has, ok := n.Allocatable[name].Value()
				return ok && has >= sums[name]
			}) {
				continue
			}
			at := c.path("resources", "limits", name)
			f := p.error(pod.Object, at, "no node that the pod can run on has %s of %s", c.Resources.Limits[name], name)
			f.place(pod.KeyAt(at...))
			for _, n := range fitting[:min(len(fitting), cardsShown)] {
				f.onNode(n.Name, "allocatable has %s: %s", name, k8s.Quantity(orZero(string(n.Allocatable[name]))))
			}
			return
		}
	}
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}
