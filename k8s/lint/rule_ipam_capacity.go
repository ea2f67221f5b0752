package lint

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s/ipam"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkIPAMCapacity(p *pass, ref ipamRef) {
	if have, least, ok := capacity(ref); ok {
		checkCapacity(p, ref, have, least)
	}
}

// capacity returns the number of interfaces that a network has addresses for, and the first range
// of the smallest set. An interface gets an address from each set.
func capacity(ref ipamRef) (have int, least ipam.Range, ok bool) {
	for _, set := range ref.conf.Sets() {
		if len(set) == 0 || set[0].Of != ref.conf.Type {
			continue // a static address that whereabouts adds, or fields of another plugin
		}
		size := 0
		for _, r := range set {
			s, err := ipam.Parse(r)
			if err != nil {
				return 0, least, false // ipam-mask reports it
			}
			size += s.Size()
			if r.Of == ipam.TypeHostLocal && s.Contains(localGateway(r, s)) {
				size--
			}
		}
		if !ok || size < have {
			have, least, ok = size, set[0], true
		}
	}
	return have, least, ok
}

// localGateway returns the address that host-local reserves: the gateway, by default the first
// address of the subnet.
func localGateway(r ipam.Range, s ipam.Span) netip.Addr {
	if gw, err := netip.ParseAddr(r.Gateway); err == nil {
		return gw
	}
	return s.Prefix.Addr().Next()
}

func checkCapacity(p *pass, ref ipamRef, have int, least ipam.Range) {
	perNode := p.vfsOf(ref.resource)
	vfs, worst, most := 0, "", 0
	for _, node := range slices.Sorted(maps.Keys(perNode)) {
		n := perNode[node]
		vfs += n
		if n > most {
			worst, most = node, n
		}
	}
	addresses := english.Count(have, "address")
	switch pods := p.interfaces[ref.Object]; {
	case ref.conf.Type == ipam.TypeHostLocal:
		if most > have {
			ref.widen(p.error(ref.Object, ref.at, "%s for %s on node %s", addresses, english.Count(most, "VF"), worst),
				least, most)
		}
	case ref.conf.Type == ipam.TypeStatic:
		if pods > 1 {
			f := p.error(ref.Object, ref.at,
				"static assigns the same address to %d interfaces of the pods in these manifests", pods).place(
				ref.rangeAt(least))
			f.Remedy = "use whereabouts, or let each pod request its own address: capabilities {\"ips\": true}, " +
				"and ips in its annotation"
		}
	case vfs > have:
		nodes := english.Count(len(perNode), "node")
		f := p.error(ref.Object, ref.at, "%s for %s on %s", addresses, english.Count(vfs, "VF"), nodes)
		ref.widen(f, least, vfs)
	case vfs == 0 && pods > have:
		f := p.error(ref.Object, ref.at, "%s for %s of the pods in these manifests",
			addresses, english.Count(pods, "interface"))
		ref.widen(f, least, pods)
	}
}

// widen sets the place of a finding. If the network has a single range without bounds, it proposes
// a prefix with enough addresses.
func (r ipamRef) widen(f *Finding, of ipam.Range, want int) {
	name, _, _ := rangeKeys(of)
	f.place(r.rangeAt(of))
	if len(r.spans) != 1 || of.RangeStart != "" || of.RangeEnd != "" || strings.Contains(of.Range, "-") {
		return
	}
	s := r.spans[0]
	for bits := s.Prefix.Bits() - 1; bits >= 8; bits-- {
		wider := netip.PrefixFrom(s.Prefix.Addr(), bits).Masked()
		first, last := ipam.Hosts(wider)
		if ipam.Count(first, last)-(ipam.Count(s.First, s.Last)-s.Size()) >= want {
			f.fix("%s: %s", name, wider)
			return
		}
	}
}

// vfsOf returns the number of VFs that the policies of a resource create, by node.
func (m *model) vfsOf(resource string) map[string]int {
	seen := map[string]int{} // the VFs of a PF by node and address: policies may share it
	vfs := map[string]int{}
	for _, pol := range m.policiesOf(resource) {
		for _, c := range m.cards(pol) {
			key := c.Node.Name + " " + c.PF.Address
			n := max(0, c.Last-c.First+1)
			if seen[key]+n > max(numVfs(pol), n) {
				n = 0
			}
			seen[key] += n
			vfs[c.Node.Name] += n
		}
	}
	return vfs
}

// interfacesOf returns the number of interfaces that pods request, by network.
func (m *model) interfacesOf() map[*manifest.Object]int {
	out := map[*manifest.Object]int{}
	for _, pod := range m.pods {
		for _, a := range pod.attachments() {
			if t, ok := m.resolve(pod, a); ok {
				out[t.Object] += pod.Replicas
			}
		}
	}
	return out
}
