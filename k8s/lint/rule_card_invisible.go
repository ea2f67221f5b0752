package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func cardInvisible() Rule {
	return Rule{
		ID: "card-invisible", Title: "a card that the operator can't see", Severity: SeverityWarn, Nodes: true,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			The operator's daemon lists network cards of supported models that have a driver and a
			network device. An InfiniBand card has a network device only if ib_ipoib is loaded; a PF
			bound to vfio-pci has none. No policy selects such a card, and the SriovNetworkNodeState
			doesn't list it. rdmactl detect and rdmactl snapshot do.`),
		Remedy:  "load ib_ipoib on the node, or bind the PF to its network driver",
		Wrong:   "    rootDevices: [\"0000:3b:00.0\", \"0000:5e:00.0\"]",
		Right:   "    rootDevices: [\"0000:3b:00.0\"]",
		Reports: []string{"kubernetes-sigs/node-feature-discovery#812"},
		Sources: []string{srcDaemon},
		check: func(p *pass) {
			for _, pol := range p.policies {
				checkInvisible(p, pol)
			}
		},
	}
}

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
