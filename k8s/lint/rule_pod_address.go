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
		ID: "pod-address", Title: "a fixed address that several pods get, or a default route over RDMA",
		Severity: SeverityError,
		Kinds:    []string{k8s.KindPod},
		Explanation: prose.Join(`
			An address, a GUID or a MAC in the annotation of a template is that of each of its pods:
			on a network all but one of them are unreachable, or don't start. default-route in an
			attachment sends the pod's traffic to services and the API server into the RDMA network.`),
		Remedy:  "leave fixed addresses out of templates: whereabouts and the operator give each pod its own",
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
		p.error(pod.Object, at, "default-route sends everything into network %s", a.Name).inAnnotation(
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
			p.error(pod.Object, at, "%s asks for the same %s on network %s", other, address, a.Name).inAnnotation(
				pod, address,
			).because(other.At(other.annotation()...), "the other pod")
		}
		first[id] = pod
	}
}

// checkAddressForms looks for addresses for which multus refuses the whole annotation.
func checkAddressForms(p *pass, pod *pod, a attachment) {
	tell := func(what, text string) {
		f := p.error(
			pod.Object, pod.annotation(), "%s of network %s has %q, which is no address: the pod doesn't start",
			what, a.Name, shorten(text),
		).inAnnotation(pod, `"`+text+`"`)
		f.Remedy = "write it right, or leave it out"
	}
	for _, text := range a.IPs {
		if _, err := netip.ParseAddr(text); err != nil {
			if _, err := netip.ParsePrefix(text); err != nil {
				tell("ips", text)
			}
		}
	}
	for _, text := range a.Routes {
		if _, err := netip.ParseAddr(text); err != nil {
			tell("default-route", text)
		}
	}
	if _, err := net.ParseMAC(a.MAC); a.MAC != "" && err != nil {
		tell("mac", a.MAC)
	}
}
