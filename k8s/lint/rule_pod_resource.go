package lint

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// sharedPrefix is the prefix of the shared device plugin, whose resources are not VFs.
const sharedPrefix = "rdma"

func checkPodResource(p *pass, pod *pod) {
	if pod.err != nil || pod.defaultErr != nil {
		return
	}
	wanted := map[string]int{}        // attachments by resource without prefix
	networks := map[string][]string{} // their networks
	prefixes := map[string]string{}
	unknown := false
	for _, a := range pod.attachments() {
		t, ok := p.resolve(pod, a)
		if !ok || t.resource == "" {
			unknown = unknown || !ok // the resource of an unknown network is unknown, too
			continue
		}
		wanted[t.resource]++
		if !slices.Contains(networks[t.resource], a.Name) {
			networks[t.resource] = append(networks[t.resource], a.Name)
		}
		prefixes[t.resource] = t.prefix
	}
	for _, resource := range slices.Sorted(maps.Keys(wanted)) {
		n, want := pod.requested("", resource), wanted[resource]
		name := resourceText(cmp.Or(prefixes[resource], p.prefixOf(resource)), resource)
		has := func(c container) bool { return requestName(c, resource) != "" }
		if i := slices.IndexFunc(pod.running, has); i >= 0 {
			name = requestName(pod.running[i], resource)
		}
		switch {
		case n == 0 && pod.requests(resource):
			// checkRequests reports the missing limit
		case n == 0 && (pod.claims() || p.injector() == settingOn):
			// the device comes from a claim, or the injector adds the resource
		case n == 0:
			f := p.error(pod.Object, pod.annotation(), "%s attached but no container requests %s",
				networksText(networks[resource]), name).fix("limits: {%s: %d}", name, want)
			if p.injector() == settingUnknown {
				f.Severity = SeverityWarn
				f.Summary += ": right only where network-resources-injector adds it"
			}
		case prefixes[resource] == sharedPrefix:
			// one unit gives access to all cards of the resource
		case n < want:
			p.as("pod-resource-count").error(pod.Object, pod.annotation(), "%s of %s, but the containers request %d",
				attachmentsText(want), name, n).fix("%s: %d", name, want)
		case n > want:
			p.as("pod-resource-count").warn(pod.Object, pod.annotation(),
				"the containers request %d of %s, but the pod has %s and gets no more interfaces",
				n, name, attachmentsText(want))
		}
	}
	if unknown || len(pod.attachments()) > 0 && len(wanted) == 0 {
		return
	}
	for _, l := range pod.limits() {
		if l.prefix != "" && p.resource[l.base].networked && wanted[l.base] == 0 && l.Count() > 0 {
			p.as("pod-resource-unattached").warn(pod.Object, l.at,
				"the pod requests %s but is attached to no network of it: the VF has no address", l.base)
		}
	}
}

// requests reports whether a container has a resource in its requests.
func (p *pod) requests(resource string) bool {
	return slices.ContainsFunc(p.running, func(c container) bool {
		for name := range c.Resources.Requests {
			if prefix, base := splitResource(name); prefix != "" && base == resource {
				return true
			}
		}
		return false
	})
}

// requestName returns the full name of a resource in a container's limits, "" if it isn't there.
func requestName(c container, resource string) string {
	for _, l := range c.limits() {
		if l.prefix != "" && l.base == resource {
			return l.name
		}
	}
	return ""
}

func resourceText(prefix, resource string) string {
	if prefix == "" {
		return "PREFIX/" + resource
	}
	return prefix + "/" + resource
}

func attachmentsText(n int) string {
	if n == 1 {
		return "one attachment"
	}
	return fmt.Sprintf("%d attachments", n)
}

// networksText returns "network rail0 is", "networks rail0, rail1 are".
func networksText(names []string) string {
	if len(names) == 1 {
		return fmt.Sprintf("network %s is", shorten(names[0]))
	}
	return fmt.Sprintf("networks %s are", shorten(strings.Join(names, ", ")))
}

// checkRequests checks extended resources by the rules of the API server: requests equal limits,
// and both are whole numbers.
func checkRequests(p *pass, c container) {
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Requests)) {
		if prefix, _ := splitResource(name); prefix == "" || strings.HasSuffix(prefix, "kubernetes.io") {
			continue
		}
		request := c.Resources.Requests[name]
		limit, limited := c.Resources.Limits[name]
		at := c.path("resources", "requests", name)
		switch {
		case !limited:
			p.error(c.pod.Object, at, "%s has a request but no limit: the API server rejects the pod", name).fix(
				"limits: {%s: %s}", name, request)
		case request.Count() != limit.Count():
			p.error(c.pod.Object, at, "%s: the request %s and the limit %s must be equal",
				name, request, limit)
		}
	}
	for _, l := range c.limits() {
		if v, ok := l.Value(); ok && v != math.Trunc(v) && l.prefix != "" &&
			!strings.HasSuffix(l.prefix, "kubernetes.io") {
			p.error(c.pod.Object, l.at, "%s: the limit %s must be a whole number", l.name, l.Quantity)
		}
	}
}
