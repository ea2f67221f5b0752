package lint

import "slices"

func checkDHCP(p *pass, ref ipamRef) {
	if ref.ib && ref.conf.Type == "dhcp" {
		p.atField(ref, "type", "ib-sriov rejects dhcp")
	}
}

const noRDMAPlugin = "the rdma plugin is for Ethernet only: it removes the interface that ib-sriov gave the pod"

func checkMetaPlugins(p *pass, n *network) {
	if n.IB && hasPlugin(metaPlugins(n), "rdma") {
		p.error(n.Object, path{"spec", "metaPlugins"}, noRDMAPlugin)
	}
}

func checkIBChain(p *pass, nad *nad) {
	if config := nad.Value.Spec.Config; hasPlugin(config, "ib-sriov") && hasPlugin(config, "rdma") {
		p.error(nad.Object, path{"spec", "config"}, noRDMAPlugin).Remedy = "remove the rdma plugin, and set " +
			"rdmaIsolation of ib-sriov"
	}
}

// hasPlugin reports whether a configuration has a CNI plugin.
func hasPlugin(config, name string) bool {
	return slices.ContainsFunc(pluginsOf(config), func(p cniPlugin) bool { return p.Type == name })
}
