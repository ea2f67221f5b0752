package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func linkState() Rule {
	return Rule{
		ID: "link-state", Title: "a network whose VFs are switched off", Severity: SeverityWarn,
		Kinds: []string{k8s.KindNetwork, k8s.KindIBNetwork},
		Explanation: prose.Join(`
			linkState is the state that the PF gives the link of its VF: auto follows the port,
			enable is up, disable is down for good. On InfiniBand the port of a VF is up only if its
			link is, it has a GUID of its own, and the subnet manager supports virtualization.`),
		Remedy: "write linkState: auto or enable, or leave it out",
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
