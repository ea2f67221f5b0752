package consensus

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/launch"
)

// problemsKept limits the lists of ports in a GIDReport.
const (
	problemsKept = 8
	exampleKept  = 3
	partialKept  = 16
)

// portOf is a rail with its node.
type portOf struct {
	member *member
	rail   *rail
}

func (p portOf) String() string { return p.member.name + " " + p.rail.name() }

// gidReport finds the indices that every port has, and the settings that select the entry without
// an index.
func (c *comparison) gidReport() GIDReport {
	g := GIDReport{Common: []int{}}
	var ports []portOf
	other := false
	for _, m := range c.members {
		for i := range m.rails {
			if r := &m.rails[i]; r.roce() {
				ports = append(ports, portOf{m, r})
			} else {
				other = true
			}
		}
	}
	switch {
	case len(ports) == 0:
		g.Advice = "don't pin an index: on InfiniBand and EFA the libraries choose the entry, and UCX would " +
			"apply a pinned index there too"
		if len(c.members) == 0 {
			g.Advice = "no port is selected"
		}
		return g
	case other:
		g.Advice = "don't pin an index: some rails are not RoCE, and UCX would apply the number to them too"
		return g
	}
	g.Applies = true
	kind, ok := commonKind(ports)
	if !ok {
		g.Advice = "don't pin an index: the ports have no kind of GID in common (RoCE version and address family)"
		return g
	}
	g.Kind = kind.String()
	c.findCommon(&g, ports, kind)
	c.findInstead(&g, ports, kind)
	g.Advice = advice(&g)
	return g
}

// commonKind returns the best kind that every port has.
func commonKind(ports []portOf) (gidKind, bool) {
	for k := range kinds {
		if !slices.ContainsFunc(ports, func(p portOf) bool { return p.rail.best(k) == nil }) {
			return k, true
		}
	}
	return 0, false
}

// findCommon divides the indices into those that all ports have and the others.
func (c *comparison) findCommon(g *GIDReport, ports []portOf, kind gidKind) {
	have := map[int]int{}
	for _, p := range ports {
		for _, e := range p.rail.gids {
			if e.kind == kind {
				have[e.index]++
			}
		}
	}
	var indices []int
	for index := range have {
		indices = append(indices, index)
	}
	slices.Sort(indices)
	for _, index := range indices {
		if have[index] == len(ports) {
			g.Common = append(g.Common, index)
			if g.Pin == nil && c.fits(ports, index, kind) {
				g.Pin = new(index)
			}
			continue
		}
		if len(g.Partial) == partialKept {
			continue
		}
		cover := Coverage{Index: index, Ports: have[index], Of: len(ports)}
		for _, p := range ports {
			if len(cover.Example) < exampleKept && p.rail.at(index, kind) == nil {
				cover.Example = append(cover.Example, p.String())
			}
		}
		g.Partial = append(g.Partial, cover)
	}
	if g.Pin == nil {
		return
	}
	for _, s := range []Setting{
		{"NCCL_IB_GID_INDEX", "", launch.LibraryNCCL},
		{"NVSHMEM_IB_GID_INDEX", "", launch.LibraryNVSHMEM},
		{"UCX_IB_GID_INDEX", "", launch.LibraryUCX},
		{"MC_GID_INDEX", "", launch.LibraryMooncake},
	} {
		if s.Value = strconv.Itoa(*g.Pin); c.wants(s.Library) {
			g.PinSettings = append(g.PinSettings, s)
		}
	}
}

// fits reports whether each port's entry at an index is its chosen entry or another address in the
// same subnet, and not an address of a VLAN. Unless the fabric routes, the entries of a rail must
// be in the same subnet on all nodes.
func (c *comparison) fits(ports []portOf, index int, kind gidKind) bool {
	subnets := map[int]netip.Prefix{}
	for _, p := range ports {
		e, chosen := p.rail.at(index, kind), p.rail.best(kind)
		if e.index != chosen.index && (!e.subnet.IsValid() || e.subnet != chosen.subnet) {
			return false
		}
		if !e.subnet.IsValid() || c.opts.Routed {
			continue
		}
		if s, ok := subnets[p.rail.number]; ok && s != e.subnet {
			return false
		}
		subnets[p.rail.number] = e.subnet
	}
	return true
}

// findInstead derives the settings that select the entry on every port without an index: address
// family, RoCE version, and one network that contains all rails of all nodes.
func (c *comparison) findInstead(g *GIDReport, ports []portOf, kind gidKind) {
	cover := netip.Prefix{}
	for _, p := range ports {
		e := p.rail.best(kind)
		network := e.subnet
		if !network.IsValid() {
			network = netip.PrefixFrom(e.addr, e.addr.BitLen())
		}
		cover = widen(cover, network)
	}
	for _, l := range []launch.Library{launch.LibraryNCCL, launch.LibraryNVSHMEM} {
		if !c.wants(l) {
			continue
		}
		prefix := strings.ToUpper(string(l))
		g.Instead = append(g.Instead, Setting{prefix + "_IB_ADDR_FAMILY", kind.family(), l})
		if cover.Bits() > 0 {
			g.Instead = append(g.Instead, Setting{prefix + "_IB_ADDR_RANGE", cover.String(), l})
		}
		g.Instead = append(g.Instead, Setting{prefix + "_IB_ROCE_VERSION_NUM", strconv.Itoa(kind.version()), l})
	}
	missed := 0
	for _, p := range ports {
		want := p.rail.best(kind)
		for _, e := range p.rail.gids { // NCCL uses the lowest index of the kind and the range
			if e.kind != kind || cover.Bits() > 0 && !cover.Contains(e.addr) {
				continue
			}
			if e.index != want.index {
				if missed++; missed <= problemsKept {
					g.Problems = append(g.Problems,
						fmt.Sprintf("%s: NCCL would use %s at index %d instead of %s at %d",
							p, e.addr, e.index, want.addr, want.index))
				}
			}
			break
		}
	}
	if missed > problemsKept {
		g.Problems = append(g.Problems, fmt.Sprintf("and %d more ports", missed-problemsKept))
	}
}

// widen returns the smallest network that contains both; the zero value is the empty network.
func widen(a, b netip.Prefix) netip.Prefix {
	if !a.IsValid() {
		return b.Masked()
	}
	bits := min(a.Bits(), b.Bits())
	for ; bits > 0 && !netip.PrefixFrom(a.Addr(), bits).Contains(b.Addr()); bits-- {
	}
	return netip.PrefixFrom(a.Addr(), bits).Masked()
}

func advice(g *GIDReport) string {
	switch {
	case g.Pin != nil:
		return fmt.Sprintf(
			"index %d can be pinned: every port of every node has its address there; address family and range have "+
				"the same effect and remain correct if the tables change", *g.Pin)
	case len(g.Common) > 0:
		return fmt.Sprintf(
			"don't pin an index yet: every port has an address at %s, but not all are in the network of their rail",
			Ranges(g.Common))
	}
	return "don't pin an index: no index has an address on every port; use address family and range instead"
}
