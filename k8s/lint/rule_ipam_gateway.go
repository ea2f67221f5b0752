package lint

import (
	"net/netip"
	"slices"

	"github.com/rdmakit/rdmakit/k8s/ipam"
)

func checkIPAMGateway(p *pass, ref ipamRef) {
	if ref.use != rdmaNo {
		checkRoutes(p, ref)
		checkGateway(p, ref)
	}
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
				p.atField(ref, "routes", "the route to %s sends all traffic to the RDMA network", r.Dst).Value = r.Dst
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
			p.atField(ref, "routes", "the routes together cover %s and send all traffic to the RDMA network",
				family)
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
