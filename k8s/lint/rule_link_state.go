package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func linkState() Rule {
	return Rule{
		ID: "link-state", Title: "a network whose VFs have their link disabled", Severity: SeverityWarn,
		Kinds: []string{k8s.KindNetwork, k8s.KindIBNetwork},
		Explanation: prose.Join(`
			linkState sets the VF's link state through the PF: auto follows the port, enable is
			always up, disable is always down. On InfiniBand the port of a VF becomes active only if
			the VF's link is up, the VF has its own GUID, and the subnet manager supports
			virtualization.`),
		Remedy: "write linkState: auto or enable, or remove it",
		Wrong:  "  linkState: disable",
		Right:  "  linkState: enable",
		Reports: []string{
			"k8snetworkplumbingwg/sriov-network-operator#382",
			"k8snetworkplumbingwg/sriov-network-device-plugin#269",
		},
		Sources: []string{srcCRD, srcIBCNI},
		check: func(p *pass) {
			for _, n := range p.networks {
				if n.Spec.LinkState == "disable" {
					p.warn(n.Object, path{"spec", "linkState"}, "the link of every VF on this network is down")
				}
			}
		},
	}
}
