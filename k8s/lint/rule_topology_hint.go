package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func topologyHint() Rule {
	return Rule{
		ID: "topology-hint", Title: "RDMA devices without their NUMA node", Severity: SeverityNote,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			The device plugin tells the kubelet the NUMA node of each VF, by which the topology
			manager puts CPUs, GPUs and VFs on one socket. excludeTopology leaves that out, and a
			pod may get a GPU on one socket and the VF on the other. NUMA is all that device plugins
			can say: which PCIe switch a GPU and a VF share is decided by giving each rail a
			resource of its own.`),
		Remedy: "remove excludeTopology, unless the topology manager is off on purpose",
		Wrong:  "  excludeTopology: true",
		Right:  "  excludeTopology: false",
		Reports: []string{
			"k8snetworkplumbingwg/sriov-network-operator#736",
			"k8snetworkplumbingwg/sriov-network-device-plugin#574",
		},
		Sources: []string{srcPlugin, srcCRD},
		check: func(p *pass) {
			for _, pol := range p.policies {
				if s := pol.Value.Spec; k8s.ValueOf(s.ExcludeTopology) && k8s.ValueOf(s.IsRdma) {
					p.note(pol.Object, path{"spec", "excludeTopology"},
						"the kubelet doesn't learn the NUMA node of these VFs")
				}
			}
		},
	}
}
