package lint

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
)

// rdmaUse is whether the interfaces of a network carry RDMA.
type rdmaUse int

const (
	rdmaUnknown rdmaUse = iota // neither a policy nor a name tells: SR-IOV alone may be for DPDK, or for TCP
	rdmaNo
	rdmaYes
)

// useOf determines the use of a resource's VFs: from its policies and networks, or without any from
// names that say it.
func (m *model) useOf(prefix, resource string) rdmaUse {
	switch {
	case m.forRDMA(resource):
		return rdmaYes
	case m.withoutRDMA(resource):
		return rdmaNo
	case m.rdmaNetworks[resource]:
		return rdmaYes
	case len(m.policiesOf(resource)) > 0:
		return rdmaUnknown
	case saysRDMA(prefix), m.isRDMA(prefix, resource):
		return rdmaYes
	}
	return rdmaUnknown
}

// findRDMANetworks returns the resources of networks whose plugins are for RDMA.
func (m *model) findRDMANetworks() map[string]bool {
	out := map[string]bool{}
	for _, n := range m.networks {
		if n.IB || forRDMA(pluginsOf(metaPlugins(n))) {
			out[n.Spec.ResourceName] = true
		}
	}
	for _, nad := range m.nads {
		_, resource := splitResource(nad.Value.Metadata.Annotations[k8s.AnnotationResourceName])
		if forRDMA(pluginsOf(nad.Value.Spec.Config)) {
			out[resource] = true
		}
	}
	delete(out, "")
	return out
}

// forRDMA reports whether a plugin of a list is only for RDMA or InfiniBand.
func forRDMA(list []cniPlugin) bool {
	return slices.ContainsFunc(list,
		func(c cniPlugin) bool { return slices.Contains([]string{"ib-sriov", "ipoib", "rdma"}, c.Type) })
}

// metaPlugins returns the plugins after sriov as a list of plugins.
func metaPlugins(n *network) string { return `{"plugins": [` + n.Spec.MetaPlugins + `]}` }

// isRDMA reports whether a resource stands for RDMA devices, by its name or by the options.
func (m *model) isRDMA(prefix, base string) bool {
	return prefix == sharedPrefix || saysRDMA(base) || m.configuredRDMA(prefix, base)
}

// configuredRDMA reports whether the options say that a resource stands for RDMA devices.
func (m *model) configuredRDMA(prefix, base string) bool {
	return slices.ContainsFunc(m.in.Options.RDMAResources, func(pattern string) bool {
		ok, err := filepath.Match(pattern, prefix+"/"+base)
		return ok && err == nil
	})
}

// saysRDMA reports whether a name or prefix of a resource stands for RDMA.
func saysRDMA(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"rdma", "roce", "nvidia.com", "mellanox.com", "infiniband", "hca"},
		func(word string) bool { return strings.Contains(name, word) })
}

// forRDMA reports whether a policy creates a resource with RDMA devices.
func (m *model) forRDMA(resource string) bool {
	return slices.ContainsFunc(m.policiesOf(resource), func(p *policy) bool { return k8s.ValueOf(p.Value.Spec.IsRdma) })
}

// withoutRDMA reports whether all policies of a resource create VFs without RDMA devices. isRdma is
// false by default; on NVIDIA's cards it may just have been forgotten.
func (m *model) withoutRDMA(resource string) bool {
	policies := m.policiesOf(resource)
	return len(policies) > 0 && !slices.ContainsFunc(policies, func(p *policy) bool {
		spec := &p.Value.Spec
		if spec.DeviceType == "vfio-pci" {
			return false
		}
		if spec.IsRdma == nil {
			return spec.NicSelector.Vendor == "" || spec.NicSelector.Vendor == k8s.VendorMellanox
		}
		return *spec.IsRdma
	})
}
