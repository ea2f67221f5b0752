package lint

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func podResource() Rule {
	return Rule{
		ID: "pod-resource", Title: "attachments and resources of a pod that differ in number", Severity: SeverityError,
		Kinds: []string{k8s.KindPod},
		Explanation: prose.Join(`
			Each attachment needs one VF: N attachments of networks of one resource need that
			resource N times, requests equal to limits. An attachment without the resource fails
			with "VF pci addr is required"; a resource without an attachment gives the pod a VF that
			nobody configures, and quantity N with one attachment gives one interface. The
			network-resources-injector would add the resource, but it is off by default and fails
			open. The annotation v1.multus-cni.io/default-network is an attachment as well, and
			sidecars ask as containers do.`),
		Remedy: "write the resource into limits and requests, as often as there are attachments",
		Wrong:  "        nvidia.com/rail0: 2",
		Right:  "        nvidia.com/rail0: 1",
		Reports: []string{
			"k8snetworkplumbingwg/sriov-network-operator#767",
			"k8snetworkplumbingwg/sriov-network-device-plugin#258",
			"k8snetworkplumbingwg/sriov-network-device-plugin#310",
		},
		Sources: []string{srcMultus, srcPlugin, srcKubernetes},
		check: func(p *pass) {
			for _, pod := range p.pods {
				if pod.err == nil && pod.insteadErr == nil {
					checkPodResources(p, pod)
				}
				for _, c := range slices.Concat(pod.containers(), pod.ending) {
					checkRequests(p, pod, c)
				}
			}
		},
	}
}

// sharedPrefix is that of the shared device plugin, whose resources are no VFs.
const sharedPrefix = "rdma"

func checkPodResources(p *pass, pod *pod) {
	wanted := map[string]int{} // attachments by resource without prefix
	prefixes := map[string]string{}
	unknown := false
	for _, a := range pod.attachments() {
		t, ok := p.attached(pod, a)
		if !ok || t.resource == "" {
			unknown = true // of a network that isn't known, the resource isn't either
			continue
		}
		wanted[t.resource]++
		prefixes[t.resource] = t.prefix
	}
	for _, resource := range slices.Sorted(maps.Keys(wanted)) {
		n, want := pod.asks("", resource), wanted[resource]
		name := resourceText(cmp.Or(prefixes[resource], p.prefixOf(resource)), resource)
		asks := func(c container) bool { return asksFor(c, resource) != "" }
		if i := slices.IndexFunc(pod.containers(), asks); i >= 0 {
			name = asksFor(pod.containers()[i], resource)
		}
		switch {
		case n == 0 && pod.requests(resource):
			// checkRequests tells of the limit that is missing
		case n == 0:
			p.error(pod.Object, pod.annotation(), "%s of %s, and no container asks for it: the VF is missing",
				attachmentsText(want), name).fix("limits: {%s: %d}", name, want)
		case prefixes[resource] == sharedPrefix:
			// one of it is the right to open the files of all its cards
		case n < want:
			p.error(pod.Object, pod.annotation(), "%s of %s, and the containers ask for %d",
				attachmentsText(want), name, n).fix("%s: %d", name, want)
		case n > want:
			p.warn(pod.Object, pod.annotation(),
				"the containers ask for %s %d times, and %s it: the pod gets no more interfaces than that",
				name, n, attachmentsOf(want))
		}
	}
	if unknown || len(pod.attachments()) > 0 && len(wanted) == 0 {
		return
	}
	for _, c := range pod.containers() {
		for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
			if prefix, base := splitResource(name); prefix != "" && p.resource[base].networked && wanted[base] == 0 &&
				c.Resources.Limits[name].Count() > 0 {
				at := c.path("resources", "limits", name)
				p.warn(pod.Object, at,
					"the pod asks for %s and names no network of it: it gets the VF without an address", base)
			}
		}
	}
}

// requests reports a container that has a resource among its requests.
func (p *pod) requests(resource string) bool {
	return slices.ContainsFunc(p.containers(), func(c container) bool {
		for name := range c.Resources.Requests {
			if prefix, base := splitResource(name); prefix != "" && base == resource {
				return true
			}
		}
		return false
	})
}

// asksFor returns the full name by which a container asks for a resource, "" if it doesn't.
func asksFor(c container, resource string) string {
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
		if prefix, base := splitResource(name); prefix != "" && base == resource {
			return name
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
		return "an attachment"
	}
	return fmt.Sprintf("%d attachments", n)
}

func attachmentsOf(n int) string {
	if n == 1 {
		return "one attachment uses"
	}
	return fmt.Sprintf("%d attachments use", n)
}

// checkRequests holds extended resources to the API server's rule: requests equal limits, and both
// are whole.
func checkRequests(p *pass, pod *pod, c container) {
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Requests)) {
		if prefix, _ := splitResource(name); prefix == "" || strings.HasSuffix(prefix, "kubernetes.io") {
			continue
		}
		request, limit := c.Resources.Requests[name], c.Resources.Limits[name]
		at := c.path("resources", "requests", name)
		switch {
		case limit == "":
			p.error(pod.Object, at, "%s has a request and no limit: the API server refuses the pod", name).fix(
				"limits: {%s: %s}", name, request)
		case request.Count() != limit.Count():
			p.error(pod.Object, at, "%s: the request is %s and the limit %s, and both must be equal",
				name, request, limit)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
		if prefix, _ := splitResource(name); prefix == "" || strings.HasSuffix(prefix, "kubernetes.io") {
			continue
		}
		if v, ok := c.Resources.Limits[name].Value(); ok && v != math.Trunc(v) {
			p.error(pod.Object, c.path("resources", "limits", name),
				"%s: a container can't have %s of it, the API server takes whole numbers only",
				name, c.Resources.Limits[name])
		}
	}
}
