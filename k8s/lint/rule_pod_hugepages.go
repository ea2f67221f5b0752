package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

// hugepages is the beginning of the names of resources of huge pages.
const hugepages = "hugepages-"

func podHugepages() Rule {
	return Rule{
		ID: "pod-hugepages", Title: "huge pages that the API server rejects", Severity: SeverityError,
		Kinds: []string{k8s.KindPod},
		Explanation: prose.Join(`
			Huge pages can't be overcommitted: requests equal limits, and a request without a limit
			is rejected. A container with huge pages also needs cpu or memory, or the API server
			rejects the pod.`),
		Remedy:  "write the same quantity in limits and requests, and memory or cpu beside it",
		Wrong:   "      limits:\n        memory: 4Gi",
		Right:   "      limits:\n        hugepages-2Mi: 1Gi\n        memory: 4Gi",
		Sources: []string{srcKubernetes},
		check: func(p *pass) {
			for _, pod := range p.pods {
				if !p.takesPart(pod.Object) {
					continue
				}
				for _, c := range slices.Concat(pod.containers(), pod.initOnly) {
					checkHugepages(p, pod, c)
				}
			}
		},
	}
}

func checkHugepages(p *pass, pod *pod, c container) {
	requests, limits := c.Resources.Requests, c.Resources.Limits
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if !strings.HasPrefix(name, hugepages) {
			continue
		}
		at := c.path("resources", "requests", name)
		want, _ := requests[name].Value()
		switch limit, ok := limits[name].Value(); {
		case !ok:
			p.error(pod.Object, at, "%s has a request but no limit", name).fix("limits: {%s: %s}", name, requests[name])
		case limit != want:
			p.error(pod.Object, at, "%s: the request %s and the limit %s must be equal",
				name, requests[name], limits[name])
		}
	}
	for _, list := range []map[string]k8s.Quantity{limits, requests} {
		if list["cpu"] != "" || list["memory"] != "" {
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if strings.HasPrefix(name, hugepages) {
			p.error(pod.Object, c.path("resources", "limits", name), "%s without cpu or memory", name).fix(
				"memory: 1Gi")
			return
		}
	}
}
