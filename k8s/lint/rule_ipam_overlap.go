package lint

import (
	"net/netip"
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
)

func ipamOverlap() Rule {
	return Rule{
		ID: "ipam-overlap", Title: "addresses that another rail or the cluster uses", Severity: SeverityError,
		Kinds: []string{k8s.KindNetwork, k8s.KindIBNetwork, k8s.KindNAD},
		Explanation: prose.Join(`
			If two interfaces of a pod are in one subnet, each answers ARP requests for the other,
			and the first route wins, so traffic of one rail leaves through the other; on two
			fabrics it is lost. A range that overlaps with those of pods, services or hosts sends
			their traffic to the RDMA network. The cluster's ranges are taken from --reserved and
			from the podCIDRs of nodes, the addresses of hosts from nodes and snapshots.`),
		Remedy:  "give each rail a separate subnet outside of the cluster's ranges",
		Wrong:   "      \"range\": \"192.168.0.128/25\"",
		Right:   "      \"range\": \"192.168.1.0/24\"",
		Sources: []string{srcWhereabouts},
		check: func(p *pass) {
			refs, reserved := p.ipams(), p.reserved()
			for i, ref := range refs {
				for j, s := range ref.spans {
					checkReserved(p, reserved, ref, s)
					checkRailOverlap(p, refs[:i], ref, s)
					checkOwnOverlap(p, ref, ref.spans[:j], s)
				}
				checkReservedRoutes(p, reserved, ref)
			}
		},
	}
}

// checkOwnOverlap reports ranges of one network that overlap.
func checkOwnOverlap(p *pass, ref ipamRef, earlier []span, s span) {
	for _, o := range earlier {
		if o.First.BitLen() != s.First.BitLen() || o.First.Compare(s.Last) > 0 || s.First.Compare(o.Last) > 0 ||
			o.of.Of != s.of.Of {
			continue
		}
		f := p.warn(ref.Object, ref.at, "the ranges %s and %s of the network overlap", o.of.Range, s.of.Range)
		if s.of.Of == ipam.TypeHostLocal {
			f.Severity, f.Summary = SeverityError, f.Summary+": host-local rejects them, and no pod starts"
		}
		f.place(ref.rangeAt(s.of)).Remedy = "write ranges that don't overlap"
		return
	}
}

// checkReservedRoutes reports routes that send traffic of the cluster to the RDMA network, such as
// traffic to services.
func checkReservedRoutes(p *pass, reserved []Reserved, ref ipamRef) {
	for _, route := range ref.conf.Routes[:min(len(ref.conf.Routes), maxRanges)] {
		dst, err := netip.ParsePrefix(route.Dst)
		if err != nil || dst.Bits() == 0 || ref.use == rdmaNo {
			continue // ipam-gateway reports these
		}
		for _, r := range reserved {
			if r.Prefix.Overlaps(dst) {
				p.error(ref.Object, ref.at, "the route to %s overlaps with %s, the range of the %s",
					route.Dst, r.Prefix, r.Use).place(
					ref.keyOf("dst", route.Dst),
				).Remedy = "write routes only to the subnets of the other rails"
				return
			}
		}
	}
}

// reserved returns the reserved ranges, including the podCIDRs of nodes.
func (m *model) reserved() []Reserved {
	out := slices.Clone(m.in.Options.Reserved)
	for i := range m.nodes {
		for _, cidr := range m.nodes[i].PodCIDRs {
			out = append(out, Reserved{Use: "pods of node " + m.nodes[i].Name, Prefix: cidr})
		}
	}
	return out
}

func checkReserved(p *pass, reserved []Reserved, ref ipamRef, s span) {
	for _, r := range reserved {
		if r.Prefix.Overlaps(s.Prefix) {
			p.error(ref.Object, ref.at, "%s overlaps with %s, the range of the %s", s.Prefix, r.Prefix, r.Use).place(
				ref.rangeAt(s.of),
			).Value = s.Prefix.String()
			return
		}
	}
	for _, n := range p.nodes {
		for _, a := range n.Addresses {
			if s.Contains(a.Addr()) && !s.Excluded(a.Addr()) {
				p.error(ref.Object, ref.at, "a pod may get %s, an address of node %s", a.Addr(), n.Name).place(
					ref.rangeAt(s.of),
				).Value = s.Prefix.String()
				return
			}
		}
	}
}

func checkRailOverlap(p *pass, earlier []ipamRef, ref ipamRef, s span) {
	for i := range earlier {
		other := &earlier[i]
		if other.resource == ref.resource && other.conf.NetworkName == ref.conf.NetworkName {
			continue // the same rail in several namespaces
		}
		for _, o := range other.spans {
			if !o.Prefix.Overlaps(s.Prefix) {
				continue
			}
			report, a, b, mine, its := p.warn, ref, *other, s, o
			if o.Prefix != s.Prefix || ref.ib != other.ib {
				report = p.error
			}
			if !p.checked[a.Object] {
				a, b, mine, its = b, a, o, s
			}
			report(a.Object, a.at, "%s overlaps with %s of %s, another rail", mine.Prefix, its.Prefix, b.Object).place(
				a.rangeAt(mine.of),
			).because(b.rangeAt(its.of), "the other range").Value = mine.Prefix.String()
			return
		}
	}
}
