package lint

import (
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func networkKind() Rule {
	return Rule{
		ID: "network-kind", Title: "a SriovNetwork for InfiniBand, or a SriovIBNetwork for Ethernet",
		Severity: SeverityError,
		Kinds:    []string{k8s.KindNetwork, k8s.KindIBNetwork},
		Explanation: "The operator renders a SriovNetwork with the CNI plugin sriov, which sets MAC addresses and " +
			"VLANs, and a SriovIBNetwork with ib-sriov, which sets GUIDs. With the wrong kind, pods fail when the VF " +
			"is configured.",
		Remedy:  "use SriovIBNetwork for InfiniBand and SriovNetwork for Ethernet",
		Wrong:   "kind: SriovNetwork",
		Right:   "kind: SriovIBNetwork",
		Sources: []string{srcRender, srcIBCNI},
		check: func(p *pass) {
			for _, n := range p.networks {
				for _, pol := range p.policiesOf(n.Spec.ResourceName) {
					if link, why, _ := p.linkByCards(pol); link != "" && (link == source.LinkIB) != n.IB {
						want := k8s.KindNetwork
						if link == source.LinkIB {
							want = k8s.KindIBNetwork
						}
						p.error(n.Object, path{"kind"}, "the resource comes from %s, whose cards are %s (%s)",
							pol.Object, link, why).fix("kind: %s", want)
						break
					}
				}
			}
		},
	}
}
