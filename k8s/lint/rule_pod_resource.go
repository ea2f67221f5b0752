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

func podResource() []Rule {
	return group("pod-resource", Rule{
		ID: "pod-resource-missing", Title: "a pod with an attachment and without its resource", Severity: SeverityError,
		Kinds: []string{k8s.KindPod},
		Explanation: prose.Join(`
			An attachment to a network of VFs without the resource fails with "VF pci addr is
			required". The network-resources-injector (enableInjector of SriovOperatorConfig) adds
			the resource: it is on by default on OpenShift and off elsewhere, and pods are admitted
			without it if it fails. Pods that claim their devices (resourceClaims) need no resource.
			The annotation v1.multus-cni.io/default-network is an attachment too.`),
		Remedy: "request the resource in limits and requests once for each attachment",
		Wrong:  "        nvidia.com/gpu: 1",
		Right:  "        nvidia.com/rail0: 1",
		Reports: []string{
			"k8snetworkplumbingwg/sriov-network-operator#767",
			"k8snetworkplumbingwg/sriov-network-device-plugin#258",
			"k8snetworkplumbingwg/sriov-network-device-plugin#310",
		},
		Sources: []string{srcMultus, srcPlugin, srcKubernetes},
		check: func(p *pass) {
			for _, pod := range p.pods {
				if pod.err == nil && pod.defaultErr == nil {
					checkPodResources(p, pod)
				}
				for _, c := range slices.Concat(pod.containers(), pod.initOnly) {
					checkRequests(p.as("pod-resource-request"), pod, c)
				}
			}
		},
	}, Rule{
		ID: "pod-resource-count", Title: "a pod with more or fewer attachments than VFs", Severity: SeverityError,
		Explanation: prose.Join(`
			N attachments to networks of the same resource need a quantity of N of it. With less the
			pod doesn't start; with more it has VFs without an interface. The limits of sidecars are
			included.`),
		Remedy: "request the resource once for each attachment",
		Wrong:  "        nvidia.com/rail0: 2",
		Right:  "        nvidia.com/rail0: 1",
	}, Rule{
		ID: "pod-resource-unattached", Title: "a pod with a VF and without an attachment", Severity: SeverityWarn,
		Explanation: prose.Join(`
			A resource without an attachment gives the pod a VF that no CNI plugin configures: it has
			no address, and with RDMA isolation no RDMA device.`),
		Remedy: "name a network of the resource in k8s.v1.cni.cncf.io/networks",
		Wrong:  "    example.com/networks: none",
		Right:  "    k8s.v1.cni.cncf.io/networks: rail0",
	}, Rule{
		ID: "pod-resource-request", Title: "requests and limits of a resource that the API server rejects",
		Severity: SeverityError,
		Explanation: prose.Join(`
			Extended resources are whole numbers, and requests equal limits. A request without a
			limit is rejected; a limit without a request is right.`),
		Remedy: "write the same whole number in limits and requests, or only in limits",
		Wrong:  "        nvidia.com/rail0: 500m",
		Right:  "        nvidia.com/rail0: 1",
	})
}

// sharedPrefix is the prefix of the shared device plugin, whose resources are not VFs.
const sharedPrefix = "rdma"

func checkPodResources(p *pass, pod *pod) {
	wanted := map[string]int{}        // attachments by resource without prefix
	networks := map[string][]string{} // their networks
	prefixes := map[string]string{}
	unknown := false
	for _, a := range pod.attachments() {
		t, ok := p.resolve(pod, a)
		if !ok || t.resource == "" {
			unknown = true // the resource of an unknown network is unknown, too
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
		if i := slices.IndexFunc(pod.containers(), has); i >= 0 {
			name = requestName(pod.containers()[i], resource)
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
	for _, c := range pod.containers() {
		for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
			if prefix, base := splitResource(name); prefix != "" && p.resource[base].networked && wanted[base] == 0 &&
				c.Resources.Limits[name].Count() > 0 {
				at := c.path("resources", "limits", name)
				p.as("pod-resource-unattached").warn(pod.Object, at,
					"the pod requests %s but is attached to no network of it: the VF has no address", base)
			}
		}
	}
}

// requests reports whether a container has a resource in its requests.
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

// requestName returns the full name of a resource in a container's limits, "" if it isn't there.
func requestName(c container, resource string) string {
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
func checkRequests(p *pass, pod *pod, c container) {
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Requests)) {
		if prefix, _ := splitResource(name); prefix == "" || strings.HasSuffix(prefix, "kubernetes.io") {
			continue
		}
		request := c.Resources.Requests[name]
		limit, limited := c.Resources.Limits[name]
		at := c.path("resources", "requests", name)
		switch {
		case !limited:
			p.error(pod.Object, at, "%s has a request but no limit: the API server rejects the pod", name).fix(
				"limits: {%s: %s}", name, request)
		case request.Count() != limit.Count():
			p.error(pod.Object, at, "%s: the request %s and the limit %s must be equal",
				name, request, limit)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
		if prefix, _ := splitResource(name); prefix == "" || strings.HasSuffix(prefix, "kubernetes.io") {
			continue
		}
		if v, ok := c.Resources.Limits[name].Value(); ok && v != math.Trunc(v) {
			p.error(pod.Object, c.path("resources", "limits", name),
				"%s: the limit %s must be a whole number",
				name, c.Resources.Limits[name])
		}
	}
}
