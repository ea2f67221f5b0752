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
		Markers: []string{"osm_", "SUBNET UP", "SM port", "OpenSM", "opensm", ": ERR ", "NO_RESOURCES"},
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
		Markers: []string{"CNI", "cni", "sriov", "device plugin", "RDMA subsystem", "rdma-shared", "node_guid"},
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
				Name:   "vf-configure",
				Kind:   evidence.K8sOperator,
				Anchor: "failed to configure VF",
				Source: "k8snetworkplumbingwg/sriov-cni",
			},
		}, nil),
	}
}

// Commands returns the forms of output of commands.
func Commands() forms.Table {
	setting := func(name, value string) func(m, before string, f evidence.Fields) bool {
		return func(_, _ string, f evidence.Fields) bool {
			f["name"], f["value"] = name, value
			return true
		}
	}
	return forms.Table{
		Program: "output of commands",
		Markers: []string{
			"ACSCtl:",
			"max locked memory",
			"CmaTotal:",
			"aarch64",
			"BOOT_IMAGE=",
			"node_guid",
			"link_layer",
			"active_mtu",
		},
		Forms: forms.Rows("command", []forms.Row{
			{
				Name: "acs", Kind: evidence.Setting, Anchor: "ACSCtl:", Info: true, Source: "lspci -vvv",
				Parse: func(m, _ string, f evidence.Fields) bool {
					f["name"], f["value"] = "ACSCtl", strings.TrimSpace(strings.TrimPrefix(m, "ACSCtl:"))
					return strings.Contains(m, "ReqRedir+")
				},
			},
			{
				Name: "memlock", Kind: evidence.Setting, Anchor: "max locked memory", Info: true, Source: "ulimit -a",
				Parse: func(m, _ string, f evidence.Fields) bool {
					words := strings.Fields(m)
					f["name"], f["value"] = "memlock", words[len(words)-1]
					return strings.Trim(f["value"], "0123456789") == "" || f["value"] == "unlimited"
				},
			},
			{
				Name: "cma", Kind: evidence.Setting, Anchor: "CmaTotal:", Info: true, Source: "/proc/meminfo",
				Parse: func(m, _ string, f evidence.Fields) bool {
					f["name"], f["value"] = "CmaTotal", forms.Word(m, "CmaTotal:")
					return f["value"] != ""
				},
			},
			{
				Name: "machine", Kind: evidence.Setting, Anchor: "aarch64", Info: true, Source: "uname -a",
				Parse: setting("machine", "aarch64"),
			},
			{
				Name: "vf-zero-guid", Kind: evidence.K8sVF, Anchor: "node_guid", Source: "ibv_devinfo",
				Parse: func(m, _ string, f evidence.Fields) bool {
					f["what"] = "guid"
					return strings.HasSuffix(strings.TrimSpace(m), "0000:0000:0000:0000")
				},
			},
		}, nil),
	}
}
