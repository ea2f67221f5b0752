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
			The device plugin reports the NUMA node of each VF to the kubelet, whose topology
			manager aligns CPUs, GPUs and VFs on one NUMA node. With excludeTopology it doesn't, and
			a pod may get a GPU on one socket and a VF on the other. Device plugins can report only
			the NUMA node, not the PCIe switch: a separate resource for each rail selects the VFs
			that share a PCIe switch with a GPU.`),
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
						"the device plugin doesn't report the NUMA node of these VFs to the kubelet")
				}
			}
		},
	}
}
