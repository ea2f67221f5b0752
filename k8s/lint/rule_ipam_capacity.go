package lint

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func ipamCapacity() Rule {
	return Rule{
		ID: "ipam-capacity", Title: "fewer addresses than interfaces that may need one", Severity: SeverityError,
		Kinds: []string{k8s.KindNetwork, k8s.KindIBNetwork, k8s.KindNAD},
		Explanation: prose.Join(`
			Every VF in use has an address, so a network needs as many as its VFs on all nodes
			together. Then pods stay in ContainerCreating with "Could not allocate IP in range".
			Network and broadcast addresses and exclusions don't count; addresses of pods that died
			without a trace stay taken until whereabouts' reconciler runs. Where several ranges
			stand side by side, an interface gets an address of each. host-local counts on each node
			by itself, and keeps the gateway's address from pods; static gives the same address to
			all. Without nodes the pods of the manifests are counted.`),
		Remedy:  "take a wider range",
		Wrong:   "      \"range\": \"192.168.0.0/29\"",
		Right:   "      \"range\": \"192.168.0.0/24\"",
		Reports: []string{"k8snetworkplumbingwg/whereabouts#291", "k8snetworkplumbingwg/multus-cni#1442"},
		Sources: []string{srcWhereabouts, srcHostLocal},
		check: func(p *pass) {
			for _, ref := range p.ipams() {
				if have, least, ok := capacity(ref); ok {
					checkCapacity(p, ref, have, least)
				}
			}
		},
	}
}

// capacity counts the interfaces that a network has addresses for, and returns the range that has
// the fewest. An interface gets one of each set.
func capacity(ref ipamRef) (have int, least ipam.Range, ok bool) {
	for _, set := range ref.conf.Sets() {
		if len(set) == 0 || set[0].Of != ref.conf.Type {
			continue // an address that whereabouts adds to its own, or fields of another plugin
		}
		size := 0
		for _, r := range set {
			s, err := ipam.Parse(r)
			if err != nil {
				return 0, least, false // another rule's business
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

// localGateway returns the address that host-local keeps from pods: the gateway, by default the
// first of the subnet.
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
				"static gives its address to each of %d interfaces of the pods in these manifests", pods).place(
				ref.rangeAt(least))
			f.Remedy = "use whereabouts, or let each pod ask for its own: capabilities {\"ips\": true}, " +
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

// widen places a finding, and proposes the mask that has room where there is one range
// without bounds.
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

// vfsOf counts the VFs that the policies of a resource make, by node.
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

// interfacesOf counts the interfaces that pods ask for, by network.
func (m *model) interfacesOf() map[*manifest.Object]int {
	out := map[*manifest.Object]int{}
	for _, pod := range m.pods {
		for _, a := range pod.attachments() {
			if t, ok := m.attached(pod, a); ok {
				out[t.Object] += pod.Replicas
			}
		}
	}
	return out
}
