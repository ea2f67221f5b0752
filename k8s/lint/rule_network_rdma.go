package lint

func checkNetworkRDMA(p *pass, n *network) {
	policies := p.policiesOf(n.Spec.ResourceName)
	if n.IB || len(policies) == 0 || !forRDMA(pluginsOf(metaPlugins(n))) {
		return
	}
	with := 0
	for _, pol := range policies {
		// Without isRdma the intention is unclear, and device-type reports vfio-pci.
		if s := pol.Value.Spec; s.IsRdma == nil || *s.IsRdma || s.DeviceType == "vfio-pci" {
			with++
		}
	}
	if with == 0 {
		f := p.error(n.Object, path{"spec", "metaPlugins"},
			"the rdma plugin, but %s has isRdma: false, so the pod gets no RDMA device", policies[0].Object)
		f.because(policies[0].At("spec", "isRdma"), "the policy")
		p.apart(f, n.Object, policies[0].Object)
	}
}
