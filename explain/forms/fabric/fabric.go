// Package fabric has the forms of lines of OpenSM and of what gives RDMA to pods, and of the output
// of commands that people add to a report.
//
//	matcher := forms.NewMatcher(fabric.OpenSM(), fabric.Kubernetes(), fabric.Commands())
package fabric

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
)

// OpenSM returns the forms of OpenSM's log.
func OpenSM() forms.Table {
	return forms.Table{
		Program: "OpenSM",
		Markers: []string{
			"osm_", "SUBNET UP", "SM port is down", "OpenSM ", "_mcmr_", "NO_RESOURCES", ": ERR ",
		},
		Forms: forms.Rows("opensm", []forms.Row{
			{
				Name: "error", Kind: evidence.OpenSMError, Anchor: ": ERR ", Source: "linux-rdma/opensm, osm_log.h",
				Parse: func(m, before string, f evidence.Fields) bool {
					f["code"] = forms.Word(m, "ERR ")
					words := strings.Fields(before)
					if len(words) > 0 {
						f["what"] = words[len(words)-1]
					}
					return len(f["code"]) == 4
				},
			},
			{
				Name: "no-resources", Kind: evidence.OpenSMError, Anchor: "NO_RESOURCES",
				Source: "linux-rdma/opensm, osm_sa_mcmember_record.c",
			},
			{
				Name: "event", Kind: evidence.OpenSMEvent, Anchor: "SUBNET UP", Info: true,
				Source: "linux-rdma/opensm, osm_state_mgr.c",
			},
		}, nil),
	}
}

// Kubernetes returns the forms of device plugins, CNIs and operators.
func Kubernetes() forms.Table {
	return forms.Table{
		Program: "Kubernetes networking",
		Trouble: []string{"failed", "Failed", "error"},
		Markers: []string{
			"SRIOV-CNI failed", "SRI-OV CNI failed", "failed to configure VF", "GUID is not valid", "RDMA subsystem",
			"RDMA Shared Device Plugin", "missing RDMA device spec", "RDMA modules are not loaded",
		},
		Forms: forms.Rows("k8s", []forms.Row{
			{
				Name:   "vf-guid",
				Kind:   evidence.K8sVF,
				Anchor: "GUID is not valid",
				Source: "k8snetworkplumbingwg/ib-sriov-cni",
				Parse:  forms.Fixed("what", "guid"),
			},
			{
				Name: "netns", Kind: evidence.K8sNamespace, Anchor: "incorrect RDMA subsystem network namespace",
				Source: "Mellanox/k8s-rdma-shared-dev-plugin",
			},
			{
				Name: "no-rdma", Kind: evidence.K8sOperator, Anchor: "missing RDMA device spec for device ",
				Source: "Mellanox/k8s-rdma-shared-dev-plugin, pkg/resources/pci_net_device.go",
				Parse:  forms.Fixed("what", "no RDMA device"),
			},
			{
				Name: "modules", Kind: evidence.K8sOperator, Anchor: "RDMA modules are not loaded",
				Source: "k8snetworkplumbingwg/sriov-network-operator, pkg/host/internal/kernel/kernel.go",
				Parse:  forms.Fixed("what", "modules"),
			},
			{
				Name:   "vf-configure",
				Kind:   evidence.K8sOperator,
				Anchor: "failed to configure VF",
				Source: "k8snetworkplumbingwg/sriov-cni",
			},
		}, nil),
	}
}
