// Package nvshmem has the forms of lines of NVSHMEM and DeepEP.
//
//	matcher := forms.NewMatcher(nvshmem.Table())
package nvshmem

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/posix"
)

// Table returns the forms.
func Table() forms.Table {
	return forms.Table{
		Program: "NVSHMEM and DeepEP",
		Trouble: []string{"failed", "ERROR"},
		Markers: []string{
			"nvshmem", "NVSHMEM v", "NVSHMEM WARN", "ibgda.cpp", "ibrc.cpp", "ibdevx.cpp", "non-zero status: ",
			": NULL value ", "DeepEP", "cannot allocate buffer on the specified memory type",
			"neither nv_peer_mem", "failed for transport: ",
		},
		Forms: forms.Rows("nvshmem", append(transportRows(), otherRows()...), nil),
	}
}

// transportRows are failures of the transports of NVSHMEM.
func transportRows() []forms.Row {
	ibgda := "NVIDIA/nvshmem, src/modules/transport/ibgda/ibgda.cpp"
	call := func(name, anchor, verb string) forms.Row {
		return forms.Row{
			Name: name, Kind: evidence.NVSHMEMError, Anchor: anchor, Source: ibgda,
			Parse: func(m, before string, f evidence.Fields) bool {
				f["call"], f["status"] = verb, forms.Word(before, "non-zero status: ")
				f["syndrome"], f["errno"] = forms.Word(m, "syndrome "), posix.Errno(m)
				return true
			},
		}
	}
	return []forms.Row{
		{
			Name:   "peermem",
			Kind:   evidence.NVSHMEMPeermem,
			Anchor: "neither nv_peer_mem, or nvidia_peermem detected",
			Source: ibgda,
		},
		{
			Name:   "memory",
			Kind:   evidence.NVSHMEMPeermem,
			Anchor: "cannot allocate buffer on the specified memory type",
			Source: ibgda,
			Parse: func(_, before string, f evidence.Fields) bool {
				f["device"] = forms.Word(before, "device ")
				return true
			},
		},
		call("uar", "cannot allocate mlx5dv_devx_uar", "mlx5dv_devx_alloc_uar"),
		call("uar-fail", "mlx5dv_devx_alloc_uar", "mlx5dv_devx_alloc_uar"),
		call("umem", "mlx5dv_devx_umem_reg", "mlx5dv_devx_umem_reg"),
		call("modify", "mlx5dv_devx_obj_modify", "mlx5dv_devx_obj_modify"),
		call("ah", "nable to create ah", "ibv_create_ah"),
		{
			Name: "verbs", Kind: evidence.NVSHMEMError, Anchor: " ibv_",
			Source: "NVIDIA/nvshmem, src/modules/transport/ibrc/ibrc.cpp",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["call"], f["status"] = forms.Word(m, " "), forms.Word(before, "non-zero status: ")
				if f["call"] == "ibv_modify_qp" { // returns the error number, the others -1
					f["errno"] = f["status"]
				}
				return strings.Contains(m, "failed") &&
					(f["status"] != "" || strings.Contains(before, "NULL value"))
			},
		},
		{
			Name:   "init",
			Kind:   evidence.NVSHMEMInit,
			Anchor: "init failed for transport: ",
			Source: "NVIDIA/nvshmem, src/host/transport",
			Parse:  forms.Words("transport", "init failed for transport: "),
		},
	}
}

// otherRows are lines of DeepEP, versions, and all other failures.
func otherRows() []forms.Row {
	return []forms.Row{
		{
			Name:   "deepep-timeout",
			Kind:   evidence.DeepEPTimeout,
			Anchor: "timeout (dispatch CPU)",
			Source: "deepseek-ai/DeepEP, csrc/legacy/buffer.hpp",
			Parse:  forms.Fixed("where", "dispatch CPU"),
		},
		{
			Name:   "deepep-timeout-gpu",
			Kind:   evidence.DeepEPTimeout,
			Anchor: "DeepEP",
			Source: "deepseek-ai/DeepEP, csrc/kernels",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["where"] = forms.Between(m, "DeepEP ", " timeout")
				return strings.Contains(m, " timeout,") || strings.Contains(m, " timeout (")
			},
		},
		{
			Name:   "version",
			Kind:   evidence.NVSHMEMVersion,
			Anchor: "NVSHMEM v",
			Info:   true,
			Source: "NVIDIA/nvshmem, src/host/init",
			Parse:  forms.Words("version", "NVSHMEM v"),
		},
		{
			Name:   "package",
			Kind:   evidence.NVSHMEMVersion,
			Anchor: "nvidia-nvshmem-cu",
			Info:   true,
			Source: "pip list, pip freeze",
			Parse: func(m, _ string, f evidence.Fields) bool {
				words := strings.FieldsFunc(m, func(r rune) bool { return r == ' ' || r == '=' })
				if len(words) < 2 {
					return false
				}
				f["version"] = words[1]
				return words[1][0] >= '0' && words[1][0] <= '9'
			},
		},
		{
			Name:   "status",
			Kind:   evidence.NVSHMEMError,
			Anchor: "non-zero status: ",
			Source: "NVIDIA/nvshmem, src/include/non_abi/nvshmemx_error.h",
			Parse:  forms.Words("status", "non-zero status: "),
		},
	}
}
