package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func networkRDMA() Rule {
	return Rule{
		ID: "network-rdma", Title: "the rdma plugin for VFs without RDMA", Severity: SeverityError,
		Kinds: []string{k8s.KindNetwork},
		Explanation: prose.Join(`
			The rdma plugin moves the RDMA device of a VF into the pod. If the policy of the
			network's resource has isRdma: false, the device plugin doesn't give the pod the files
			in /dev/infiniband, and RDMA programs find no device.`),
		Remedy:  "set isRdma: true in the policy, or remove the rdma plugin",
		Wrong:   "  isRdma: false",
		Right:   "  isRdma: true",
		Sources: []string{srcRDMACNI, srcDevicePlugin},
		check: func(p *pass) {
			for _, n := range p.networks {
				policies := p.policiesOf(n.Spec.ResourceName)
				if n.IB || len(policies) == 0 || !forRDMA(pluginsOf(metaPlugins(n))) {
					continue
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
		},
	}
}
