package lint

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkRoom(p *pass, pod *pod) {
	if !p.takesPart(pod.Object) {
		return
	}
	fitting := p.nodesFor(pod)
	complete := func(n *source.Node) bool { return n.Allocatable["cpu"] != "" }
	if len(fitting) == 0 || !slices.ContainsFunc(fitting, complete) ||
		slices.ContainsFunc(fitting, func(n *source.Node) bool { return !complete(n) }) {
		return // pod-selector reports the first, and of the others something isn't known
	}
	sums := map[string]float64{}
	for _, l := range pod.limits() {
		want, ok := l.Value()
		if !ok || !strings.HasSuffix(l.name, "/gpu") && !strings.HasPrefix(l.name, hugepages) {
			continue
		}
		if sums[l.name] += want; slices.ContainsFunc(fitting, func(n *source.Node) bool {
			has, ok := n.Allocatable[l.name].Value()
			return ok && has >= sums[l.name]
		}) {
			continue
		}
		f := p.error(pod.Object, l.at, "no node that the pod can run on has %s of %s",
			strconv.FormatFloat(sums[l.name], 'f', -1, 64), l.name)
		f.place(pod.KeyAt(l.at...))
		for _, n := range fitting[:min(len(fitting), cardsShown)] {
			f.onNode(n.Name, "allocatable has %s: %s", l.name, cmp.Or(n.Allocatable[l.name], "0"))
		}
		return
	}
}
