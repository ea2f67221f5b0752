package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
)

// hugepages is the beginning of the names of resources of huge pages.
const hugepages = "hugepages-"

func checkHugepages(p *pass, c container) {
	pod := c.pod
	if !p.takesPart(pod.Object) {
		return
	}
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
	for _, l := range c.limits() {
		if strings.HasPrefix(l.name, hugepages) {
			p.error(pod.Object, l.at, "%s without cpu or memory", l.name).fix("memory: 1Gi")
			return
		}
	}
}
