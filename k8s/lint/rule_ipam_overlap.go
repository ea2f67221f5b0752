package lint

import (
	"net/netip"
	"slices"

	"github.com/rdmakit/rdmakit/k8s/ipam"
)

func checkIPAMOverlap(p *pass) {
	refs, reserved := p.ipams(), p.reserved()
	earlier := networkRanges{newRailRanges(railOf), newRailRanges(masterOf)}
	for i, ref := range refs {
		for j, s := range ref.spans {
			checkReserved(p, reserved, ref, s)
			checkRailOverlap(p, earlier, ref, s)
			checkOwnOverlap(p, ref, ref.spans[:j], s)
		}
		for _, s := range ref.spans {
			earlier.add(&refs[i], s)
		}
		checkReservedRoutes(p, reserved, ref)
	}
	checkPoolRanges(p, refs)
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

// checkRailOverlap reports the first range of another rail that overlaps.
func checkRailOverlap(p *pass, earlier networkRanges, ref ipamRef, s span) {
	found, ok := earlier.first(s.Prefix, ref)
	if !ok {
		return
	}
	report, a, b, mine, its := p.warn, ref, *found.ref, s, found.span
	if its.Prefix != s.Prefix || ref.ib != b.ib {
		report = p.error
	}
	if !p.checked[a.Object] {
		a, b, mine, its = b, a, its, s
	}
	f := report(a.Object, a.at, "%s overlaps with %s of %s, another network", mine.Prefix, its.Prefix, b.Object)
	f.place(a.rangeAt(mine.of)).because(b.rangeAt(its.of), "the other range").Value = mine.Prefix.String()
	p.apart(f, a.Object, b.Object)
}

// rail identifies the networks of a rail: the same rail may have a network in several namespaces.
type rail struct{ resource, network string }

func railOf(ref ipamRef) rail { return rail{ref.resource, ref.conf.NetworkName} }

// masterOf identifies the rail of a MacvlanNetwork or IPoIBNetwork by the interface, in place of
// the resource that these don't have.
func masterOf(ref ipamRef) rail { return rail{ref.master, ref.conf.NetworkName} }

// networkRanges are the ranges by resource, and those of networks with a master by that.
type networkRanges struct{ byResource, byMaster *railRanges }

func (r networkRanges) add(ref *ipamRef, s span) {
	r.byResource.add(ref, s)
	if ref.master != "" {
		r.byMaster.add(ref, s)
	}
}

// first returns the first range of another rail that overlaps with a prefix of a network.
func (r networkRanges) first(prefix netip.Prefix, ref ipamRef) (railRange, bool) {
	found, ok := r.byResource.first(prefix, railOf(ref))
	if !ok && ref.master != "" {
		found, ok = r.byMaster.first(prefix, masterOf(ref))
	}
	return found, ok
}

// railRange is a range of a rail, with its position among all ranges.
type railRange struct {
	rail     rail
	position int
	ref      *ipamRef
	span     span
}

// railRanges finds ranges that overlap without comparing all pairs: two prefixes overlap if one of
// them is among the prefixes that contain the other.
type railRanges struct {
	railOf func(ipamRef) rail
	added  int
	// equal has the ranges by prefix, below those that a prefix contains. Each list has the first
	// range, and the first of another rail.
	equal, below map[netip.Prefix][]railRange
}

func newRailRanges(of func(ipamRef) rail) *railRanges {
	return &railRanges{railOf: of, equal: map[netip.Prefix][]railRange{}, below: map[netip.Prefix][]railRange{}}
}

func (r *railRanges) add(ref *ipamRef, s span) {
	entry := railRange{r.railOf(*ref), r.added, ref, s}
	r.added++
	keep := func(in map[netip.Prefix][]railRange, at netip.Prefix) {
		if list := in[at]; len(list) == 0 || len(list) == 1 && list[0].rail != entry.rail {
			in[at] = append(list, entry)
		}
	}
	prefix := s.Prefix.Masked()
	keep(r.equal, prefix)
	for bits := range prefix.Bits() {
		keep(r.below, netip.PrefixFrom(prefix.Addr(), bits).Masked())
	}
}

// first returns the first range of another rail that overlaps with a prefix.
func (r *railRanges) first(prefix netip.Prefix, of rail) (best railRange, ok bool) {
	prefix = prefix.Masked()
	look := func(list []railRange) {
		for _, entry := range list {
			if entry.rail != of && (!ok || entry.position < best.position) {
				best, ok = entry, true
			}
		}
	}
	look(r.below[prefix])
	for bits := range prefix.Bits() + 1 {
		look(r.equal[netip.PrefixFrom(prefix.Addr(), bits).Masked()])
	}
	return best, ok
}
