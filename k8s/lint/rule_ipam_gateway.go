package lint

import (
	"net/netip"
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
)

func ipamGateway() []Rule {
	return group("ipam-gateway", Rule{
		ID: "ipam-default-route", Title: "a default route through an RDMA network", Severity: SeverityError,
		Kinds: []string{k8s.KindNetwork, k8s.KindIBNetwork, k8s.KindNAD},
		Explanation: prose.Join(`
			A default route through the RDMA network sends the pod's traffic to services and the API
			server there too, and so do two routes that cover half of the addresses each. It is
			reported only if the network is known to be for RDMA: by its policy (isRdma), its
			plugins, or the name of its resource. Another network may be meant as the pod's way out.`),
		Remedy:  "write routes only to the subnets of the other rails",
		Wrong:   "      \"routes\": [{\"dst\": \"0.0.0.0/0\"}]",
		Right:   "      \"routes\": [{\"dst\": \"192.168.0.0/16\"}]",
		Sources: []string{srcWhereabouts, srcHostLocal},
		check: func(p *pass) {
			for _, ref := range p.ipams() {
				if ref.use != rdmaNo {
					checkRoutes(p, ref)
					checkGateway(p, ref)
				}
			}
		},
	}, Rule{
		ID: "ipam-route", Title: "a route that the kernel or the plugin rejects", Severity: SeverityError,
		Explanation: prose.Join(`
			A route needs dst as ADDRESS/LENGTH, and gw within the network's range: the kernel
			rejects a route over a gateway that it can't reach, and no pod starts.`),
		Remedy: "write dst as 192.168.0.0/16, and gw as an address of the range",
		Wrong:  "      \"routes\": [{\"dst\": \"192.168.0.0\"}]",
		Right:  "      \"routes\": [{\"dst\": \"192.168.0.0/16\"}]",
	}, Rule{
		ID: "ipam-gateway-address", Title: "a gateway that the pod can't reach", Severity: SeverityError,
		Explanation: prose.Join(`
			A gateway is an address of the network's range. host-local rejects another one, and no
			pod starts; with whereabouts the pod can't reach it.`),
		Remedy: "write an address of the range",
		Wrong:  "      \"gateway\": \"192.168.100.1\"",
		Right:  "      \"gateway\": \"192.168.0.1\"",
	}, Rule{
		ID: "ipam-gateway-unused", Title: "a gateway on an RDMA network that no route uses", Severity: SeverityWarn,
		Explanation: prose.Join(`
			Hosts in the subnet of an RDMA network need no gateway. It is harmless if rails are
			routed on purpose, with routes to the subnets of the other rails.`),
		Remedy: "remove it, or add the routes that need it",
		Wrong:  "      \"routes\": []",
		Right:  "      \"routes\": [{\"dst\": \"192.168.0.0/16\"}]",
	}, Rule{
		ID: "ipam-gateway-taken", Title: "a gateway whose address a pod may get", Severity: SeverityWarn,
		Explanation: prose.Join(`
			whereabouts doesn't reserve the gateway's address, so it must be outside of range_start
			to range_end, or in exclude.`),
		Remedy: "add it to exclude, or choose one outside of range_start to range_end",
		Wrong:  "      \"range_start\": \"192.168.0.1\"",
		Right:  "      \"range_start\": \"192.168.0.10\"",
	})
}

func checkGateway(p *pass, ref ipamRef) {
	first := true
	warn := func(rule, gateway string, format string, args ...any) *Finding {
		f := p.as(rule).warn(ref.Object, ref.at, format, args...).place(ref.keyOf("gateway", gateway))
		f.Value = gateway
		return f
	}
	for _, g := range ref.gateways() {
		gateway, err := netip.ParseAddr(g.text)
		switch {
		case err != nil:
			p.as("ipam-gateway-address").error(ref.Object, ref.at, "gateway %q is not an IP address", g.text).place(
				ref.keyOf("gateway", g.text))
			continue
		case len(g.spans) > 0 && !reachable(g.spans, gateway) && ref.conf.Type == ipam.TypeHostLocal:
			f := warn("ipam-gateway-address", g.text,
				"gateway %s is not in %s: host-local rejects it, and no pod starts", gateway, g.spans[0].Prefix)
			f.Severity = SeverityError
			continue
		case len(g.spans) > 0 && !reachable(g.spans, gateway):
			warn("ipam-gateway-address", g.text, "gateway %s is not in %s: the pod can't reach it",
				gateway, g.spans[0].Prefix)
		}
		if len(ref.conf.Routes) == 0 && first && ref.use == rdmaYes {
			warn("ipam-gateway-unused", g.text, "a gateway on an RDMA network, but no route needs it")
		}
		first = false
		for _, s := range g.spans {
			if ref.conf.Type == ipam.TypeWhereabouts && s.Contains(gateway) {
				warn("ipam-gateway-taken", g.text,
					"a pod may get the gateway's address %s: whereabouts doesn't reserve it", gateway)
			}
		}
	}
}

// gateway is a gateway with its ranges.
type gateway struct {
	text  string
	spans []span
}

// gateways returns the gateway of the configuration and those of its ranges.
func (r ipamRef) gateways() []gateway {
	var out []gateway
	if r.conf.Gateway != "" && r.conf.Subnet == "" {
		out = append(out, gateway{r.conf.Gateway, r.spans})
	}
	for _, s := range r.spans {
		if s.of.Gateway != "" {
			out = append(out, gateway{s.of.Gateway, []span{s}})
		}
	}
	return out
}

// reachable reports whether an address is in the network of a range, or link-local.
func reachable(spans []span, a netip.Addr) bool {
	return a.IsLinkLocalUnicast() || slices.ContainsFunc(spans, func(s span) bool { return s.Prefix.Contains(a) })
}

func checkRoutes(p *pass, ref ipamRef) {
	routes := ref.conf.Routes[:min(len(ref.conf.Routes), maxRanges)]
	var all []netip.Prefix
	wide, bad := false, p.as("ipam-route")
	for _, r := range routes {
		dst, err := netip.ParsePrefix(r.Dst)
		switch {
		case err != nil:
			bad.error(ref.Object, ref.at, "the destination %q of a route is not ADDRESS/LENGTH: no pod starts",
				r.Dst).place(ref.keyOf("dst", r.Dst))
			continue
		case dst.Bits() == 0:
			if ref.use == rdmaYes {
				p.error(ref.Object, ref.at, "the route to %s sends all traffic to the RDMA network", r.Dst).place(
					ref.key("routes"),
				).Value = r.Dst
			}
			wide = true
		}
		all = append(all, dst.Masked())
		if r.GW == "" {
			continue
		}
		if gw, err := netip.ParseAddr(r.GW); err != nil {
			bad.error(ref.Object, ref.at, "gw %q of the route to %s is not an IP address", r.GW, r.Dst).place(
				ref.keyOf("gw", r.GW))
		} else if len(ref.spans) > 0 && !reachable(ref.spans, gw) {
			bad.error(ref.Object, ref.at,
				"gw %s of the route to %s is not in %s: the kernel rejects the route, and no pod starts", gw, r.Dst,
				ref.spans[0].Prefix).place(ref.keyOf("gw", r.GW))
		}
	}
	for _, family := range []string{"0.0.0.0/0", "::/0"} {
		if everything := netip.MustParsePrefix(family); !wide && ref.use == rdmaYes && covered(everything, all) {
			p.error(ref.Object, ref.at, "the routes together cover %s and send all traffic to the RDMA network",
				family).place(ref.key("routes"))
			return
		}
	}
}

// covered reports whether prefixes together contain all addresses of another, as 0.0.0.0/1 and
// 128.0.0.0/1 contain those of IPv4.
func covered(whole netip.Prefix, parts []netip.Prefix) bool {
	inside := false
	for _, p := range parts {
		switch {
		case !p.Overlaps(whole):
		case p.Bits() <= whole.Bits():
			return true
		default:
			inside = true
		}
	}
	if !inside {
		return false
	}
	low := netip.PrefixFrom(whole.Addr(), whole.Bits()+1)
	high := netip.PrefixFrom(ipam.Last(low).Next(), whole.Bits()+1)
	return covered(low, parts) && covered(high, parts)
}
