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
		ID: "ipam-overlap", Title: "addresses that another rail or the cluster has", Severity: SeverityError,
		Kinds: []string{k8s.KindNetwork, k8s.KindIBNetwork, k8s.KindNAD},
		Explanation: prose.Join(`
			Two interfaces of a pod in one subnet answer for each other and route by whichever comes
			first, so traffic of one rail leaves by another; on two fabrics it goes nowhere. A range
			that meets those of pods, services or hosts takes their traffic out of the cluster's
			network. Ranges of the cluster come from --reserved and from the podCIDRs of nodes,
			addresses of hosts from nodes and snapshots.`),
		Remedy:  "give each rail a subnet of its own, outside of the cluster's ranges",
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

// checkOwnOverlap holds the ranges of one network against each other.
func checkOwnOverlap(p *pass, ref ipamRef, earlier []span, s span) {
	for _, o := range earlier {
		if o.First.BitLen() != s.First.BitLen() || o.First.Compare(s.Last) > 0 || s.First.Compare(o.Last) > 0 ||
			o.of.Of != s.of.Of {
			continue
		}
		f := p.warn(ref.Object, ref.at, "the ranges %s and %s of one network meet", o.of.Range, s.of.Range)
		if s.of.Of == ipam.TypeHostLocal {
			f.Severity, f.Summary = SeverityError, f.Summary+": host-local refuses them, and no pod starts"
		}
		f.place(ref.rangeAt(s.of)).Remedy = "write ranges that have no address in common"
		return
	}
}

// checkReservedRoutes looks for routes that take traffic of the cluster: into its services, say.
func checkReservedRoutes(p *pass, reserved []Reserved, ref ipamRef) {
	for _, route := range ref.conf.Routes[:min(len(ref.conf.Routes), maxRanges)] {
		dst, err := netip.ParsePrefix(route.Dst)
		if err != nil || dst.Bits() == 0 || !ref.rdma {
			continue // ipam-gateway's business
		}
		for _, r := range reserved {
			if r.Prefix.Overlaps(dst) {
				p.error(ref.Object, ref.at, "the route to %s takes %s, the range of the %s, to the RDMA network",
					route.Dst, r.Prefix, r.Use).place(
					ref.keyOf("dst", route.Dst),
				).Remedy = "write routes to the other rails only"
				return
			}
		}
	}
}

// reserved lists the ranges that others have, those of the nodes' pods included.
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
			p.error(ref.Object, ref.at, "%s meets %s, the range of the %s", s.Prefix, r.Prefix, r.Use).place(
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
			continue // one rail, offered in several namespaces
		}
		for _, o := range other.spans {
			if !o.Prefix.Overlaps(s.Prefix) {
				continue
			}
			report, a, b, mine, its := p.warn, ref, *other, s, o
			if o.Prefix != s.Prefix || ref.ib != other.ib {
				report = p.error
			}
			if !p.judged[a.Object] {
				a, b, mine, its = b, a, o, s
			}
			report(a.Object, a.at, "%s meets %s of %s, another rail", mine.Prefix, its.Prefix, b.Object).place(
				a.rangeAt(mine.of),
			).because(b.rangeAt(its.of), "the other range").Value = mine.Prefix.String()
			return
		}
	}
}
