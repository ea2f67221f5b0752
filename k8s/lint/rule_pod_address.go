package lint

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func podAddress() Rule {
	return Rule{
		ID: "pod-address", Title: "a fixed address for several pods, or a default route over RDMA",
		Severity: SeverityError,
		Kinds:    []string{k8s.KindPod},
		Explanation: prose.Join(`
			All pods of a template get the IP address, GUID or MAC address in its annotation, so all
			but one of them are unreachable or don't start. default-route in an attachment sends the
			pod's traffic to services and the API server to the RDMA network.`),
		Remedy:  "remove fixed addresses from templates: whereabouts and the operator assign unique ones",
		Wrong:   "\"ips\": [\"192.168.0.7\"]",
		Right:   "\"interface\": \"net1\"",
		Sources: []string{srcMultus},
		check: func(p *pass) {
			first := map[string]*pod{}
			for _, pod := range p.pods {
				for _, a := range pod.networks {
					checkPodAddress(p, pod, a, first)
				}
			}
		},
	}
}

func checkPodAddress(p *pass, pod *pod, a attachment, first map[string]*pod) {
	at := pod.annotation()
	if len(a.Routes) > 0 {
		p.error(pod.Object, at, "default-route sends all traffic to network %s", a.Name).inAnnotation(
			pod, "default-route",
		).Remedy = "remove default-route"
	}
	checkAddressForms(p, pod, a)
	fixed := slices.Concat(a.IPs, []string{a.GUID, a.MAC})
	for _, address := range fixed {
		if address == "" {
			continue
		}
		host, _, _ := strings.Cut(address, "/")
		id := a.Name + " " + strings.ToLower(host)
		switch other := first[id]; {
		case pod.Kind == "DaemonSet":
			p.error(pod.Object, at, "the pods of all nodes get the same %s on network %s",
				address, a.Name).inAnnotation(pod, address)
		case pod.Replicas > 1:
			p.error(pod.Object, at, "%d pods get the same %s on network %s",
				pod.Replicas, address, a.Name).inAnnotation(pod, address)
		case other != nil && other.Object != pod.Object:
			p.error(pod.Object, at, "%s requests the same %s on network %s", other, address, a.Name).inAnnotation(
				pod, address,
			).because(other.At(other.annotation()...), "the other pod")
		}
		first[id] = pod
	}
}

// checkAddressForms reports invalid addresses, for which multus rejects the whole annotation.
func checkAddressForms(p *pass, pod *pod, a attachment) {
	report := func(what, text string) {
		f := p.error(
			pod.Object, pod.annotation(), "%s of network %s contains the invalid address %q: the pod doesn't start",
			what, a.Name, shorten(text),
		).inAnnotation(pod, `"`+text+`"`)
		f.Remedy = "correct the address, or remove it"
	}
	for _, text := range a.IPs {
		if _, err := netip.ParseAddr(text); err != nil {
			if _, err := netip.ParsePrefix(text); err != nil {
				report("ips", text)
			}
		}
	}
	for _, text := range a.Routes {
		if _, err := netip.ParseAddr(text); err != nil {
			report("default-route", text)
		}
	}
	if _, err := net.ParseMAC(a.MAC); a.MAC != "" && err != nil {
		report("mac", a.MAC)
	}
}
