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
	requests, limits := c.Resources.Requests, c.Resources.Limits
	huge := func(name string) bool { return strings.HasPrefix(name, hugepages) }
	if !anyKey(requests, huge) && !anyKey(limits, huge) || !p.takesPart(pod.Object) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if !strings.HasPrefix(name, hugepages) {
			continue
		}
		at := c.path("resources", "requests", name)
		want, _ := requests[name].Value()
		limit, _ := limits[name].Value()
		switch _, has := limits[name]; {
		case !has:
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

// anyKey reports whether a key of a map satisfies a condition.
func anyKey[V any](m map[string]V, is func(string) bool) bool {
	for k := range m {
		if is(k) {
			return true
		}
	}
	return false
}
