package lint

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// nvPool is a pool of nv-ipam.
type nvPool struct {
	*manifest.Object
	poolType string // ippool or cidrpool, the word in the IPAM configuration
	// field is the name of the field with the subnet, text its value.
	field, text string
	// subnet is invalid if the text isn't ADDRESS/LENGTH, or if the text has a host's address where
	// the API doesn't allow one.
	subnet netip.Prefix
	// perNode is the number of addresses of a node, and blocks the number of nodes for which there
	// are enough.
	perNode, blocks int

	ip   k8s.IPPoolSpec
	cidr k8s.CIDRPoolSpec
	// The fields that both kinds have.
	exclusions []k8s.AddressRange
	positions  []k8s.IndexRange
	routes     []k8s.NVIPAMRoute
	toAll      bool // defaultGateway
	selective  bool // it has a nodeSelector
}

// nvPools returns the pools of nv-ipam.
func (m *model) nvPools() []*nvPool {
	var out []*nvPool
	for _, o := range m.objects {
		if o.APIVersion != k8s.NVIPAMVersion {
			continue
		}
		pool := &nvPool{Object: o}
		switch o.Kind {
		case k8s.KindIPPool:
			o.Find("spec").Decode(&pool.ip)
			s := pool.ip
			pool.poolType, pool.field, pool.text = "ippool", "subnet", s.Subnet
			pool.exclusions, pool.positions, pool.routes = s.Exclusions, s.PerNodeExclusions, s.Routes
			pool.toAll, pool.selective = s.DefaultGateway, s.NodeSelector != nil
			if prefix, err := netip.ParsePrefix(s.Subnet); err == nil {
				pool.subnet = prefix.Masked()
				if pool.perNode = s.PerNodeBlockSize; pool.perNode > 0 {
					pool.blocks = usable(pool.subnet) / pool.perNode
				}
			}
		case k8s.KindCIDRPool:
			o.Find("spec").Decode(&pool.cidr)
			s := pool.cidr
			pool.poolType, pool.field, pool.text = "cidrpool", "cidr", s.CIDR
			pool.exclusions, pool.positions, pool.routes = s.Exclusions, s.PerNodeExclusions, s.Routes
			pool.toAll, pool.selective = s.DefaultGateway, s.NodeSelector != nil
			if prefix, err := netip.ParsePrefix(s.CIDR); err == nil && prefix == prefix.Masked() {
				pool.subnet = prefix
				if each := pool.nodePrefix(); each.IsValid() {
					pool.perNode = usable(each)
					pool.blocks = 1 << min(each.Bits()-prefix.Bits(), 30)
				}
			}
		default:
			continue
		}
		out = append(out, pool)
	}
	return out
}

// nodePrefix returns the subnet of the first node of a CIDRPool. It is invalid if
// perNodeNetworkPrefix is.
func (p *nvPool) nodePrefix() netip.Prefix {
	bits := p.cidr.PerNodeNetworkPrefix
	if !p.subnet.IsValid() || bits <= 0 || bits < p.subnet.Bits() || bits > p.subnet.Addr().BitLen() {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(p.subnet.Addr(), bits)
}

// usable returns the number of addresses that nv-ipam assigns in a subnet: without the first and on
// IPv4 the last, except in the smallest subnets (api/v1alpha1/helpers.go, GetPossibleIPCount).
func usable(p netip.Prefix) int {
	switch host := p.Addr().BitLen() - p.Bits(); {
	case host == 0:
		return 1
	case host == 1:
		return 2
	case host > 30:
		return 1 << 30
	case p.Addr().Is4():
		return 1<<host - 2
	default:
		return 1<<host - 1
	}
}

// nvRef is a use of nv-ipam by a network.
type nvRef struct {
	*manifest.Object
	at       path // of the text with the configuration
	resource string
	use      rdmaUse
	names    []string // of the pools
	poolType string   // in lower case
	written  bool     // poolName is in the configuration
}

// nvConfig is the IPAM configuration of nv-ipam (pkg/cni/types/types.go).
type nvConfig struct {
	Type     string `json:"type"`
	PoolName string `json:"poolName"`
	PoolType string `json:"poolType"`
}

// nvRefs returns the networks that use nv-ipam, as far as their configuration can be decoded.
func (m *model) nvRefs() []nvRef {
	var out []nvRef
	add := func(o *manifest.Object, at path, text []byte, network, prefix, resource string) {
		c := nvConfig{PoolType: "ippool"}
		if json.Unmarshal(text, &c) != nil || c.Type != "nv-ipam" {
			return
		}
		ref := nvRef{
			Object: o, at: at, resource: resource, use: m.useOf(prefix, resource), written: c.PoolName != "",
			poolType: strings.ToLower(c.PoolType),
		}
		if ref.written {
			ref.names = strings.Split(c.PoolName, ",")
		} else {
			ref.names = []string{network}
		}
		out = append(out, ref)
	}
	inSpec := path{"spec", "ipam"}
	for _, n := range m.networks {
		add(n.Object, inSpec, lenient(n.Spec.IPAM), n.Name, "", n.Spec.ResourceName)
	}
	for _, o := range m.nvNetworks() {
		if v := o.Find(inSpec...); v != nil {
			add(o, inSpec, lenient(v.Text), o.Name, "", m.nvResource(o))
		}
	}
	for _, nad := range m.handwritten() {
		config := nad.Value.Spec.Config
		var named struct {
			Name string `json:"name"`
		}
		_ = json.Unmarshal([]byte(config), &named) // another rule reports it
		prefix, resource := splitResource(nad.Value.Metadata.Annotations[k8s.AnnotationResourceName])
		for _, plugin := range pluginsOf(config) {
			if plugin.IPAM.Type == "nv-ipam" {
				add(nad.Object, path{"spec", "config"}, plugin.keys["ipam"], named.Name, prefix, resource)
				break
			}
		}
	}
	return out
}

// nvNetworks returns the networks of NVIDIA's network operator.
func (m *model) nvNetworks() []*manifest.Object {
	return slices.DeleteFunc(slices.Clone(m.objects), func(o *manifest.Object) bool {
		return o.APIVersion != k8s.NVIDIAVersion || k8s.NVIDIASchema(o.APIVersion, o.Kind) == nil
	})
}

// nvResource returns the resource of a HostDeviceNetwork without its prefix, "" for other kinds.
func (m *model) nvResource(o *manifest.Object) string {
	if v := o.Find("spec", "resourceName"); v != nil && o.Kind == k8s.KindHostDeviceNetwork {
		return strings.TrimPrefix(v.Text, nvPrefix+"/")
	}
	return ""
}

// nvPrefix is the prefix that the operator gives the resource of a HostDeviceNetwork
// (pkg/state/state_hostdevice_network.go, resourceNamePrefix).
const nvPrefix = "nvidia.com"

// nvAttachables returns the networks of NVIDIA's network operator that pods can name.
func (m *model) nvAttachables() []attachable {
	var out []attachable
	for _, o := range m.nvNetworks() {
		a := attachable{Object: o, namespace: nvNamespace(o)}
		if resource := m.nvResource(o); resource != "" && !strings.Contains(resource, "/") {
			a.prefix, a.resource = nvPrefix, resource
		}
		out = append(out, a)
	}
	return out
}

// nvNamespace returns the namespace of the NetworkAttachmentDefinition of a network. Without
// networkNamespace it is default, except for a HostDeviceNetwork, where it is unknown
// (pkg/state/state_macvlan_network.go, state_ipoib_network.go).
func nvNamespace(o *manifest.Object) string {
	var namespace string
	if v := o.Find("spec", "networkNamespace"); v != nil {
		namespace = v.Text
	}
	if namespace == "" && o.Kind != k8s.KindHostDeviceNetwork {
		return "default"
	}
	return namespace
}

// nvMaster returns the interface of the host that a MacvlanNetwork or IPoIBNetwork uses, "" for the
// one with the default route and for other kinds.
func nvMaster(o *manifest.Object) string {
	if v := o.Find("spec", "master"); v != nil && o.Kind != k8s.KindHostDeviceNetwork {
		return v.Text
	}
	return ""
}

// place returns the place of a text in the configuration of a network.
func (r nvRef) place(text string) manifest.Region {
	v := r.Find(r.at...)
	if v == nil {
		return r.Object.At(r.at...)
	}
	i := strings.Index(v.Text, text)
	if i < 0 || text == "" {
		return r.Object.At(r.at...)
	}
	at := r.Inside(v, i)
	if at.Length == 1 {
		at.Length = len(text)
	}
	return at
}

// addressesOf returns the first and the last address of a range, and whether both are valid.
func addressesOf(r k8s.AddressRange) (first, last netip.Addr, ok bool) {
	first, err := netip.ParseAddr(r.StartIP)
	last, lastErr := netip.ParseAddr(r.EndIP)
	return first, last, err == nil && lastErr == nil
}

// excluded returns the number of a node's addresses that pods don't get, as far as it is the same
// for all nodes.
func (p *nvPool) excluded() int {
	ranges := slices.Clone(p.positions)
	if p.poolType == "cidrpool" && p.cidr.GatewayIndex != nil {
		ranges = append(ranges, k8s.IndexRange{StartIndex: *p.cidr.GatewayIndex, EndIndex: *p.cidr.GatewayIndex})
	}
	slices.SortFunc(ranges, func(a, b k8s.IndexRange) int { return cmp.Compare(a.StartIndex, b.StartIndex) })
	n, next := 0, 0
	for _, r := range ranges {
		n += max(0, r.EndIndex-max(r.StartIndex, next)+1)
		next = max(next, r.EndIndex+1)
	}
	return n
}

// hasGateway reports whether a position in a node's subnet can be its gateway
// (api/v1alpha1/helpers.go, GetGatewayForSubnet).
func hasGateway(subnet netip.Prefix, index int) bool {
	if small := subnet.Bits() >= subnet.Addr().BitLen()-1; small {
		return index >= 0 && index < usable(subnet)
	}
	return index >= 1 && index <= usable(subnet)
}
