package lint

import (
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkInvisible(p *pass, pol *policy) {
	spec := pol.Value.Spec
	if len(spec.NicSelector.PfNames) > 0 {
		return // a card without a network device has no name
	}
	var f *Finding
	for _, n := range p.candidates(pol) {
		for _, pf := range n.PFs {
			if pf.Netdev != "" || !matchesUnnamed(pf, spec) {
				continue
			}
			if f == nil {
				f = p.warn(pol.Object, path{"spec", "nicSelector"},
					"a card that matches the policy has no network device, so the operator doesn't see it")
			}
			f.onNode(n.Name, "%s: %s:%s, %s", pf.Address, pf.Vendor, pf.DeviceID, whyInvisible(pf))
		}
	}
}

// matchesUnnamed reports whether a policy would select a PF if it had a network device.
func matchesUnnamed(pf source.PF, spec k8s.PolicySpec) bool {
	pf.Netdev = "unnamed"
	_, _, ok := pf.Matches(spec)
	return ok
}

func whyInvisible(pf source.PF) string {
	switch {
	case pf.Driver == "":
		return "no driver"
	case pf.Driver == "vfio-pci":
		return "bound to vfio-pci"
	case pf.LinkType == source.LinkIB:
		return "InfiniBand without ib_ipoib"
	}
	return "driver " + pf.Driver
}
