package lint

import (
	"github.com/rdmakit/rdmakit/k8s"
)

func checkTopologyHint(p *pass, pol *policy) {
	if s := pol.Value.Spec; k8s.ValueOf(s.ExcludeTopology) && k8s.ValueOf(s.IsRdma) {
		p.note(pol.Object, path{"spec", "excludeTopology"},
			"the device plugin doesn't report the NUMA node of these VFs to the kubelet")
	}
}
