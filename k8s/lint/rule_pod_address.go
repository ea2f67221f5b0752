package lint

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strings"
)

func checkPodAddresses(p *pass) {
	first := map[string]*pod{}
	for _, pod := range p.pods {
		for _, a := range pod.networks {
			checkPodAddress(p, pod, a, first)
		}
	}
}

func checkDefaultRoute(p *pass, pod *pod) {
	for _, a := range pod.networks {
		t, ok := p.resolve(pod, a)
		if len(a.Routes) > 0 && ok && p.useOf(t.prefix, t.resource) == rdmaYes {
			p.error(pod.Object, pod.annotation(), "default-route sends all traffic to network %s", a.Name).inAnnotation(
				pod, "default-route")
		}
	}
}

func checkPodAddress(p *pass, pod *pod, a attachment, first map[string]*pod) {
	at := pod.annotation()
	fixed := slices.Concat(a.IPs, []string{a.GUID, a.MAC})
	for _, address := range fixed {
		if address == "" {
			continue
		}
		host, _, _ := strings.Cut(address, "/")
		id := cmp.Or(a.Namespace, pod.Namespace) + "/" + a.Name + " " + strings.ToLower(host)
		other := cmp.Or(first[id], pod)
		first[id] = other
		switch {
		case pod.Kind == "DaemonSet":
			p.error(pod.Object, at, "the pods of all nodes get the same %s on network %s",
				address, a.Name).inAnnotation(pod, address)
		case pod.Replicas > 1:
			p.error(pod.Object, at, "%d pods get the same %s on network %s",
				pod.Replicas, address, a.Name).inAnnotation(pod, address)
		case other != pod:
			mine := pod
			if !p.checked[mine.Object] {
				mine, other = other, mine // the one to repair is the one to check
			}
			f := p.error(mine.Object, mine.annotation(), "%s requests the same %s on network %s", other, address,
				a.Name).inAnnotation(mine, address).because(other.At(other.annotation()...), "the other pod")
			p.apart(f, mine.Object, other.Object)
		}
	}
}

// checkAddressForms reports invalid addresses, for which multus rejects the whole annotation.
func checkAddressForms(p *pass, pod *pod) {
	address := func(s string) bool { _, err := netip.ParseAddr(s); return err == nil }
	prefix := func(s string) bool { _, err := netip.ParsePrefix(s); return err == nil || address(s) }
	mac := func(s string) bool { _, err := net.ParseMAC(s); return err == nil || s == "" }
	for _, a := range pod.networks {
		for _, field := range []struct {
			name  string
			texts []string
			valid func(string) bool
		}{{"ips", a.IPs, prefix}, {"default-route", a.Routes, address}, {"mac", []string{a.MAC}, mac}} {
			for _, text := range field.texts {
				if !field.valid(text) {
					p.error(pod.Object, pod.annotation(),
						"%s of network %s contains the invalid address %q: the pod doesn't start",
						field.name, a.Name, shorten(text)).inAnnotation(pod, `"`+text+`"`)
				}
			}
		}
	}
}
