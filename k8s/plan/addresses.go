package plan

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// pools returns the private ranges of IPv4 (RFC 1918). The one that clusters use least comes first.
func pools() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("172.16.0.0/12"),
		netip.MustParsePrefix("10.0.0.0/8"),
	}
}

// address assigns a subnet to each rail. All subnets have the same size and come from the first
// pool that is large enough for all of them.
func (m *maker) address(rails []*rail) error {
	need := 0
	for _, r := range rails {
		need = max(need, r.need(m.opts.Nodes))
	}
	from := m.opts.Pools
	if len(from) == 0 {
		from = pools()
	}
	taken := m.taken(rails)
	for _, pool := range from {
		if subnets := carve(pool, need, len(rails), taken); subnets != nil {
			for i, r := range rails {
				r.out.Subnet = subnets[i]
				r.out.Addresses = ipam.Count(ipam.Hosts(subnets[i]))
			}
			if !pool.Addr().IsPrivate() || !ipam.Last(pool).IsPrivate() {
				m.poolNote = fmt.Sprintf(
					"%s is not a private range (RFC 1918, RFC 4193): if others own its addresses, the pods can't "+
						"reach them", pool)
			}
			return nil
		}
	}
	var texts []string
	for _, p := range from {
		texts = append(texts, p.String())
	}
	return fmt.Errorf("plan addresses: %w: no room for %s of %s in %s besides the reserved ranges",
		ErrOptions, english.Count(len(rails), "subnet"), english.Count(need, "address"), strings.Join(texts, ", "))
}

// need returns the number of addresses of a rail: one for each VF, on the given number of nodes.
func (r *rail) need(nodes int) int {
	most := 0
	for _, c := range r.members {
		most = max(most, c.vfs.n)
	}
	return max(r.vfs(), r.vfs()+most*(nodes-len(r.members)))
}

// carve returns n free subnets of a pool, nil if the pool is too small.
func carve(pool netip.Prefix, need, n int, taken []netip.Prefix) []netip.Prefix {
	bits, ok := ipam.Bits(need, pool.Addr().BitLen())
	if !ok {
		return nil
	}
	taken = slices.Clone(taken)
	var out []netip.Prefix
	for range n {
		next, ok := ipam.Free(pool, bits, taken)
		if !ok {
			return nil
		}
		out, taken = append(out, next), append(taken, next)
	}
	return out
}

// taken returns the ranges in use: the reserved ones, those of pods and hosts, and those of the
// cluster's other networks.
func (m *maker) taken(rails []*rail) []netip.Prefix {
	var out []netip.Prefix
	for _, r := range m.opts.Reserved {
		out = append(out, r.Prefix.Masked())
	}
	for _, n := range m.cluster.Nodes {
		out = append(out, n.PodCIDRs...)
		for _, p := range n.Addresses {
			out = append(out, p.Masked())
		}
	}
	ours := func(name string) bool {
		return slices.ContainsFunc(rails, func(r *rail) bool { return r.name == name })
	}
	for _, o := range m.cluster.Objects {
		if ours(o.Name) && slices.Contains([]string{m.plan.OperatorNamespace, m.plan.Namespace}, o.Namespace) {
			continue // this plan replaces it
		}
		for _, r := range rangesOf(o) {
			if s, err := ipam.Parse(r); err == nil {
				out = append(out, s.Prefix)
			}
		}
	}
	slices.SortFunc(out, netip.Prefix.Compare)
	return slices.Compact(out) // hosts share networks
}

// rangesOf returns the ranges of a network or a NetworkAttachmentDefinition.
func rangesOf(o *manifest.Object) []ipam.Range {
	var conf ipam.Config
	switch o.Kind {
	case k8s.KindNetwork, k8s.KindIBNetwork:
		var n k8s.SriovIBNetwork
		o.Decode(&n)
		if json.Unmarshal([]byte(n.Spec.IPAM), &conf) != nil {
			return nil // k8s lint reports it
		}
	case k8s.KindNAD:
		var nad k8s.NetworkAttachmentDefinition
		o.Decode(&nad)
		var cni struct {
			IPAM    ipam.Config `json:"ipam"`
			Plugins []struct {
				IPAM ipam.Config `json:"ipam"`
			} `json:"plugins"`
		}
		if json.Unmarshal([]byte(nad.Spec.Config), &cni) != nil {
			return nil
		}
		out := cni.IPAM.Ranges()
		for _, p := range cni.Plugins {
			out = append(out, p.IPAM.Ranges()...)
		}
		return out
	}
	return conf.Ranges()
}
