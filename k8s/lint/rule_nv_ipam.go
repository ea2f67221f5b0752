package lint

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkNVIPAM(p *pass) {
	pools, refs := p.nvPools(), p.nvRefs()
	for _, pool := range pools {
		checkPoolSubnet(p, pool)
		checkPoolBlock(p.as("nv-ipam-block"), pool)
		checkPoolGateway(p.as("nv-ipam-gateway"), pool)
		checkPoolExclusions(p.as("nv-ipam-exclusion"), pool)
		checkStaticAllocations(p.as("nv-ipam-exclusion"), pool)
	}
	checkPoolOverlaps(p.as("nv-ipam-overlap"), pools)
	index := p.indexPools(pools)
	for _, ref := range refs {
		checkPoolNames(p.as("nv-ipam-pool"), ref, &index)
		for _, name := range ref.names {
			for _, pool := range index.byName[name] {
				if pool.poolType == ref.poolType && p.together(pool.Object, ref.Object) {
					checkPoolUse(p, pool, ref)
				}
			}
		}
	}
}

// poolIndex finds pools by name, and the names that an object of a unit can mean.
type poolIndex struct {
	byName map[string][]*nvPool
	inUnit map[string][]string // names of pools, also of those that belong to no unit
	all    []string
	// elsewhere are the configurations of NicClusterPolicies: earlier versions had pools there.
	elsewhere string
}

func (m *model) indexPools(pools []*nvPool) poolIndex {
	x := poolIndex{byName: map[string][]*nvPool{}, inUnit: map[string][]string{}}
	for _, pool := range pools {
		x.byName[pool.Name] = append(x.byName[pool.Name], pool)
		x.all = append(x.all, pool.Name)
		unit := pool.Unit
		if !m.checked[pool.Object] {
			unit = ""
		}
		x.inUnit[unit] = append(x.inUnit[unit], pool.Name)
	}
	for _, o := range m.objects {
		if v := o.Find("spec", "nvIpam", "config"); o.Kind == "NicClusterPolicy" && v != nil {
			x.elsewhere += v.Text
		}
	}
	return x
}

// names returns the names of the pools that are known to be meant for one cluster with an object.
func (x *poolIndex) names(o *manifest.Object) []string {
	if o.Unit == "" {
		return x.all
	}
	return slices.Concat(x.inUnit[o.Unit], x.inUnit[""])
}

// maxSimilar limits the names that a wrong one is compared with.
const maxSimilar = 200

func checkPoolSubnet(p *pass, pool *nvPool) {
	at := path{"spec", pool.field}
	if pool.text == "" && pool.Find(at...) == nil {
		return // nv-object-field reports it
	}
	prefix, err := netip.ParsePrefix(pool.text)
	switch {
	case err != nil:
		p.error(pool.Object, at, "%s %q is not ADDRESS/LENGTH", pool.field, pool.text)
	case !pool.subnet.IsValid():
		p.error(pool.Object, at, "cidr %s is an address in %s, but must be the subnet itself", prefix,
			prefix.Masked()).fix("cidr: %s", prefix.Masked())
	}
}

func checkPoolBlock(p *pass, pool *nvPool) {
	if pool.poolType == "ippool" {
		at := path{"spec", "perNodeBlockSize"}
		switch size := pool.ip.PerNodeBlockSize; {
		case pool.Find(at...) == nil:
		case size < 1:
			p.error(pool.Object, at, "perNodeBlockSize is %d, but must be at least 1", size)
		case pool.subnet.IsValid() && pool.blocks == 0:
			p.error(pool.Object, at, "perNodeBlockSize is %d, but %s has only %s", size, pool.subnet,
				english.Count(usable(pool.subnet), "address"))
		}
		return
	}
	at := path{"spec", "perNodeNetworkPrefix"}
	if !pool.subnet.IsValid() || pool.nodePrefix().IsValid() || pool.Find(at...) == nil {
		return
	}
	p.error(pool.Object, at, "perNodeNetworkPrefix is %d, but must be %d to %d with cidr %s",
		pool.cidr.PerNodeNetworkPrefix, max(pool.subnet.Bits(), 1), pool.subnet.Addr().BitLen(), pool.subnet)
}

func checkPoolGateway(p *pass, pool *nvPool) {
	field, has := "gateway", pool.ip.Gateway != ""
	if pool.poolType == "cidrpool" {
		field, has = "gatewayIndex", pool.cidr.GatewayIndex != nil
	}
	at := path{"spec", field}
	switch subnet := pool.nodePrefix(); {
	case !has:
	case field == "gatewayIndex" && subnet.IsValid():
		if !hasGateway(subnet, *pool.cidr.GatewayIndex) {
			p.error(pool.Object, at, "gatewayIndex %d is outside of a node's subnet: %s has the positions 1 to %d",
				*pool.cidr.GatewayIndex, subnet, usable(subnet))
		}
	case field == "gateway":
		gateway, err := netip.ParseAddr(pool.ip.Gateway)
		if err != nil {
			p.error(pool.Object, at, "gateway %q is not an IP address", pool.ip.Gateway)
		} else if pool.subnet.IsValid() && !pool.subnet.Contains(gateway) {
			p.error(pool.Object, at, "gateway %s is not in the subnet %s", gateway, pool.subnet)
		}
	}
	if !has && pool.toAll {
		p.error(pool.Object, path{"spec", "defaultGateway"}, "defaultGateway is true, but the pool has no %s", field)
	}
	if !has && len(pool.routes) > 0 {
		p.error(pool.Object, path{"spec", "routes"}, "the pool has routes, but no %s", field)
	}
	for i, r := range pool.routes[:min(len(pool.routes), maxRanges)] {
		way := path{"spec", "routes", i, "dst"}
		dst, err := netip.ParsePrefix(r.Dst)
		switch {
		case err != nil:
			p.error(pool.Object, way, "the destination %q is not ADDRESS/LENGTH", r.Dst)
		case pool.subnet.IsValid() && dst.Addr().Is4() != pool.subnet.Addr().Is4():
			p.error(pool.Object, way, "the destination %s is of another address family than %s", dst, pool.subnet)
		case pool.toAll && dst.Bits() == 0:
			p.error(pool.Object, way, "the route to %s is not allowed with defaultGateway, which adds it", dst)
		}
	}
}

func checkPoolExclusions(p *pass, pool *nvPool) {
	for i, r := range pool.exclusions[:min(len(pool.exclusions), maxRanges)] {
		at := path{"spec", "exclusions", i}
		for _, end := range [][2]string{{"startIP", r.StartIP}, {"endIP", r.EndIP}} {
			name, text := end[0], end[1]
			way := append(slices.Clone(at), name)
			if a, err := netip.ParseAddr(text); err != nil {
				p.error(pool.Object, way, "%s %q is not an IP address", name, text)
			} else if pool.subnet.IsValid() && !pool.subnet.Contains(a) {
				p.error(pool.Object, way, "%s %s is not in %s", name, a, pool.subnet)
			}
		}
		if first, last, ok := addressesOf(r); ok && last.Less(first) {
			p.error(pool.Object, append(slices.Clone(at), "endIP"), "endIP %s is lower than startIP %s", last, first)
		}
	}
	most := pool.perNode - 1
	if each := pool.nodePrefix(); each.IsValid() {
		most = 1<<min(each.Addr().BitLen()-each.Bits(), 30) - 1
	}
	for i, r := range pool.positions[:min(len(pool.positions), maxRanges)] {
		at := path{"spec", "perNodeExclusions", i, "endIndex"}
		switch {
		case r.EndIndex < r.StartIndex:
			p.error(pool.Object, at, "endIndex %d is lower than startIndex %d", r.EndIndex, r.StartIndex)
		case pool.perNode > 0 && r.EndIndex > most:
			p.error(pool.Object, at, "endIndex %d is outside of a node's addresses, which are 0 to %d", r.EndIndex,
				most)
		}
	}
}

func checkStaticAllocations(p *pass, pool *nvPool) {
	nodes, prefixes := map[string]bool{}, map[netip.Prefix]bool{}
	for i, s := range pool.cidr.StaticAllocations[:min(len(pool.cidr.StaticAllocations), maxRanges)] {
		at := func(name string) path { return path{"spec", "staticAllocations", i, name} }
		prefix, err := netip.ParsePrefix(s.Prefix)
		gateway, gwErr := netip.ParseAddr(s.Gateway)
		switch {
		case err != nil:
			p.error(pool.Object, at("prefix"), "prefix %q is not ADDRESS/LENGTH", s.Prefix)
		case prefix != prefix.Masked():
			p.error(pool.Object, at("prefix"), "prefix %s is an address in %s, but must be the subnet itself", prefix,
				prefix.Masked()).fix("%s", prefix.Masked())
		case pool.subnet.IsValid() && !pool.subnet.Contains(prefix.Addr()):
			p.error(pool.Object, at("prefix"), "prefix %s is not in %s", prefix, pool.subnet)
		case pool.nodePrefix().IsValid() && prefix.Bits() != pool.cidr.PerNodeNetworkPrefix:
			p.error(pool.Object, at("prefix"), "prefix %s has another length than perNodeNetworkPrefix, %d", prefix,
				pool.cidr.PerNodeNetworkPrefix)
		case prefixes[prefix]:
			p.error(pool.Object, at("prefix"), "prefix %s is allocated twice", prefix)
		case s.NodeName != "" && nodes[s.NodeName]:
			p.error(pool.Object, at("nodeName"), "node %s has two static allocations", s.NodeName)
		case s.Gateway != "" && (gwErr != nil || !prefix.Contains(gateway)):
			p.error(pool.Object, at("gateway"), "gateway %q is not an address of %s", s.Gateway, prefix)
		}
		nodes[s.NodeName], prefixes[prefix] = true, err == nil
	}
}

// checkPoolOverlaps reports pools that overlap with an earlier one, or with the cluster's ranges.
// Pools with node selectors may be for different fabrics.
func checkPoolOverlaps(p *pass, pools []*nvPool) {
	reserved := p.reserved()
	for i, b := range pools {
		at := path{"spec", b.field}
		if !b.subnet.IsValid() {
			continue
		}
		if i := slices.IndexFunc(reserved, func(r Reserved) bool { return r.Prefix.Overlaps(b.subnet) }); i >= 0 {
			r := reserved[i]
			p.error(b.Object, at, "%s overlaps with %s, the range of the %s", b.subnet, r.Prefix, r.Use)
			continue
		}
		for _, a := range pools[:min(i, maxRanges)] {
			if !a.subnet.IsValid() || !a.subnet.Overlaps(b.subnet) || a.Name == b.Name && a.poolType == b.poolType ||
				a.selective && b.selective {
				continue
			}
			first, second := a, b
			if !p.checked[second.Object] {
				first, second = b, a
			}
			f := p.error(second.Object, path{"spec", second.field}, "%s overlaps with %s of %s", second.subnet,
				first.subnet, first.Object).because(first.At("spec", first.field), "the other pool")
			p.apart(f, first.Object, second.Object)
			break
		}
	}
}

func checkPoolNames(p *pass, ref nvRef, pools *poolIndex) {
	if ref.poolType != "ippool" && ref.poolType != "cidrpool" {
		p.error(ref.Object, ref.at, "poolType %q is neither ippool nor cidrpool", ref.poolType).place(
			ref.place(`"poolType"`))
		return
	}
	if len(ref.names) > 2 || slices.Contains(ref.names, "") {
		p.error(ref.Object, ref.at, "poolName %q must name one pool, or two separated by a comma",
			strings.Join(ref.names, ",")).place(ref.place(`"poolName"`))
		return
	}
	near := pools.names(ref.Object)
	for _, name := range ref.names {
		if len(near) == 0 || strings.Contains(pools.elsewhere, `"`+name+`"`) {
			return
		}
		named := pools.byName[name]
		if slices.ContainsFunc(named, func(pool *nvPool) bool { return pool.poolType == ref.poolType }) {
			continue
		}
		if len(named) > 0 {
			p.error(ref.Object, ref.at, "pool %s is a %s, and without poolType %s it isn't found", name, named[0].Kind,
				named[0].poolType).place(ref.place(name)).fix(`"poolType": %q`, named[0].poolType)
			continue
		}
		f := p.warn(ref.Object, ref.at, "no manifest has the pool %q", name).place(ref.place(fmt.Sprintf("%q", name)))
		if right := spelling.Nearest(name, near[:min(len(near), maxSimilar)], spelling.Strict); right != "" &&
			ref.written {
			f.Severity = SeverityError
			f.fix(`"poolName": %q`, right)
		}
	}
}

// checkPoolUse checks a pool against a network that uses it.
func checkPoolUse(p *pass, pool *nvPool, ref nvRef) {
	if ref.use == rdmaYes {
		wide := slices.IndexFunc(pool.routes, func(r k8s.NVIPAMRoute) bool { return strings.HasSuffix(r.Dst, "/0") })
		q := p.as("nv-ipam-default-route")
		switch {
		case pool.toAll:
			q.error(pool.Object, path{"spec", "defaultGateway"},
				"pods of %s send all traffic to the RDMA network", ref.Object)
		case wide >= 0:
			q.error(pool.Object, path{"spec", "routes", wide, "dst"},
				"pods of %s send all traffic to the RDMA network", ref.Object)
		}
	}
	if pool.perNode < 1 || pool.blocks < 1 || ref.resource == "" {
		return
	}
	p = p.as("nv-ipam-capacity")
	field := "perNodeBlockSize"
	if pool.poolType == "cidrpool" {
		field = "perNodeNetworkPrefix"
	}
	perNode := p.vfsOf(ref.resource)
	have := pool.perNode - pool.excluded()
	worst, nodes := "", 0
	for node, n := range perNode {
		if n > 0 {
			nodes++
		}
		if n > perNode[worst] || n == perNode[worst] && node < worst {
			worst = node
		}
	}
	switch {
	case perNode[worst] > have:
		p.error(pool.Object, path{"spec", field}, "%s on each node for %s on node %s",
			english.Count(max(have, 0), "address"), english.Count(perNode[worst], "VF"), worst).because(
			ref.Object.At(ref.at...), "the network")
	case nodes > pool.blocks:
		p.error(pool.Object, path{"spec", field}, "%s has addresses for %s, but %d have VFs of %s", pool.subnet,
			english.Count(pool.blocks, "node"), nodes, ref.resource).because(ref.Object.At(ref.at...), "the network")
	}
}
