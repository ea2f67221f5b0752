package ucx

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/posix"
)

// statusTexts are the texts of ibv_wc_status_str (rdma-core, libibverbs/enum_strs.c) that programs
// print instead of the number.
var statusTexts = []struct{ text, status string }{
	{"transport retry counter exceeded", "12"},
	{"RNR retry counter exceeded", "13"},
	{"local length error", "1"},
	{"local QP operation error", "2"},
	{"local protection error", "4"},
	{"Work Request Flushed Error", "5"},
	{"bad response error", "7"},
	{"local access error", "8"},
	{"remote invalid request error", "9"},
	{"remote access error", "10"},
	{"remote operation error", "11"},
	{"aborted error", "16"},
	{"general error", "21"},
}

// StatusOf returns the number of the status whose text is in s, "" if there is none.
func StatusOf(s string) string {
	for _, t := range statusTexts {
		if strings.Contains(s, t.text) {
			return t.status
		}
	}
	return ""
}

// syndromes are the statuses of syndromes (rdma-core, providers/mlx5/cq.c).
var syndromes = map[byte]int{
	0x01: 1, 0x02: 2, 0x04: 4, 0x05: 5, 0x06: 6, 0x10: 7, 0x11: 8, 0x12: 9, 0x13: 10, 0x14: 11,
	0x15: 12, 0x16: 13, 0x22: 16,
}

const statusGeneral = 21 // of all other syndromes

// StatusOfSyndrome returns the status (ibv_wc_status) of a syndrome of mlx5.
func StatusOfSyndrome(syndrome byte) int {
	if status, ok := syndromes[syndrome]; ok {
		return status
	}
	return statusGeneral
}

// Mooncake returns the forms of Mooncake's transfer engine.
func Mooncake() forms.Table {
	const (
		folder   = "kvcache-ai/Mooncake, mooncake-transfer-engine/src/transport/rdma_transport/"
		endpoint = folder + "rdma_endpoint.cpp"
		worker   = folder + "worker_pool.cpp"
		context  = folder + "rdma_context.cpp"
	)
	call := func(name, anchor, verb string) forms.Row {
		return forms.Row{
			Name: name, Kind: evidence.MooncakeVerb, Anchor: anchor, Source: endpoint,
			Parse: func(m, before string, f evidence.Fields) bool {
				f["call"], f["errno"] = verb, bracketErrno(m)
				f["next"], f["gidIndex"] = forms.Word(m, "QP to "), forms.Word(m, "local_gid_index=")
				f["memory"] = forms.Word(m, "register memory ")
				f["device"] = lastPart(forms.Word(m, ": local="), "@")
				f["localGID"], f["remoteGID"] = compactGID(gidAt(m, "local_gid=")), compactGID(gidAt(m, "peer_gid="))
				if f["device"] == "" && verb == "ibv_open_device" {
					f["device"] = forms.Word(m, "device ")
				}
				return true
			},
		}
	}
	return forms.Table{
		Program: "Mooncake",
		Markers: []string{
			"rdma_endpoint.cpp",
			"worker_pool.cpp",
			"rdma_context.cpp",
			"rdma_transport.cpp",
			", LID: ", "Process failed for slice", "remote mooncake session ",
		},
		Forms: forms.Rows("mooncake", []forms.Row{
			call("modify", "Failed to modify QP to ", "ibv_modify_qp"),
			call("register", "Failed to register memory ", "ibv_reg_mr"),
			call("create-cq", "Failed to create completion queue", "ibv_create_cq"),
			call("create-qp", "Failed to create QP", "ibv_create_qp"),
			call("open", "Failed to open device ", "ibv_open_device"),
			{
				Name: "failed", Kind: evidence.MooncakeFailed, Anchor: "Process failed for slice", Source: worker,
				Parse: func(m, _ string, f evidence.Fields) bool {
					f["status"], f["device"] = StatusOf(m), forms.Word(m, "local_nic: ")
					f["device"], _, _ = strings.Cut(lastPart(f["device"], "@"), ":")
					f["peer"], f["retries"] = forms.Word(m, "peer_nic: "), forms.Word(m, "retry_cnt: ")
					return true
				},
			},
			{
				Name: "null-gid", Kind: evidence.MooncakeVerb, Anchor: "GID is NULL, please check your GID index",
				Source: context, Parse: forms.Fixed("call", "ibv_query_gid"),
			},
			{
				Name: "inactive", Kind: evidence.MooncakeVerb, Anchor: " port not active", Source: context,
				Parse: func(_, before string, f evidence.Fields) bool {
					f["call"], f["device"] = "ibv_query_port", forms.Word(before, "Device ")
					return f["device"] != ""
				},
			},
			{
				Name: "async", Kind: evidence.VerbsAsync, Anchor: "Received context async event ", Source: worker,
				Parse: func(m, _ string, f evidence.Fields) bool {
					f["event"] = forms.Between(m, "async event ", " for context")
					f["device"] = forms.Word(m, " for context ")
					return f["event"] != ""
				},
			},
			{
				Name: "connection", Kind: evidence.MooncakeFailed, Anchor: "Cannot make connection for endpoint: ",
				Source: worker, Parse: forms.Words("peer", "endpoint: "),
			},
			{
				Name: "session", Kind: evidence.MooncakeFailed, Anchor: "remote mooncake session ",
				Source: "sgl-project/sglang, disaggregation/mooncake", Parse: forms.Words("peer", "session "),
			},
			{
				Name:   "device",
				Kind:   evidence.MooncakeDevice,
				Anchor: "RDMA device: ",
				Info:   true,
				Source: context,
				Parse: func(m, _ string, f evidence.Fields) bool {
					f["device"], f["lid"] = forms.Word(m, "RDMA device: "), forms.Word(m, "LID: ")
					_, gid, _ := strings.Cut(m, "(GID_Index ")
					f["gidIndex"], gid, _ = strings.Cut(gid, ")")
					gid, _, _ = strings.Cut(gid, ",")
					f["gid"] = compactGID(strings.TrimSpace(gid))
					return f["device"] != "" && f["lid"] != ""
				},
			},
			{
				Name: "error", Kind: evidence.MooncakeError, Anchor: ".cpp:", Source: "glog, of Mooncake's files",
				Parse: func(_, before string, _ evidence.Fields) bool {
					head, _, _ := strings.Cut(strings.TrimSpace(before), " ")
					return len(head) == 5 && head[0] == 'E' && strings.Trim(head[1:], "0123456789") == ""
				},
			},
		}, nil),
	}
}

// bracketErrno returns the number at the end of "…: Connection timed out [110]".
func bracketErrno(s string) string {
	if i := strings.LastIndex(s, " ["); i >= 0 {
		n := strings.TrimSuffix(strings.TrimSpace(s[i+2:]), "]")
		if n != "" && strings.Trim(n, "0123456789") == "" {
			return n
		}
	}
	return posix.Errno(s)
}

// gidAt returns the word behind a mark, which can end in a colon.
func gidAt(s, mark string) string {
	_, rest, _ := strings.Cut(s, mark)
	rest, _, _ = strings.Cut(rest, ",")
	return rest
}

func lastPart(s, mark string) string {
	if i := strings.LastIndex(s, mark); i >= 0 {
		return s[i+len(mark):]
	}
	return s
}

// compactGID turns "fe:80:00:…" with 16 groups of one byte into 8 groups of two.
func compactGID(s string) string {
	parts := strings.Split(strings.TrimRight(s, ", "), ":")
	if len(parts) != 16 {
		return s
	}
	var groups []string
	for i := 0; i < 16; i += 2 {
		groups = append(groups, parts[i]+parts[i+1])
	}
	return strings.Join(groups, ":")
}

// efaRow is an error of libfabric's provider for EFA, with the card's status in parentheses at the
// end.
func efaRow(name, anchor string) forms.Row {
	return forms.Row{
		Name: name, Kind: evidence.EFAError, Anchor: anchor, Source: "ofiwg/libfabric, prov/efa",
		Parse: func(m, before string, f evidence.Fields) bool {
			f["status"] = forms.Word(lastPart(m, "("), "")
			return strings.Contains(before, ":efa:") && strings.Contains(before, "err: ") &&
				strings.Trim(f["status"], "0123456789") == ""
		},
	}
}

// mpiCompletions returns the forms of completions that Open MPI, PSM3 and MVAPICH report.
func mpiCompletions() []forms.Row {
	return []forms.Row{
		{
			Name: "openib-completion", Kind: evidence.VerbsCompletion, Anchor: " with status ",
			Source: "open-mpi/ompi 4.1, btl_openib_component.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["status"], f["vendor"] = forms.Word(m, "status number "), forms.Word(m, "vendor error ")
				f["peer"] = forms.Word(before, " to: ")
				return strings.Contains(before, "error polling ") && f["status"] != ""
			},
		},
		{
			Name: "psm3-completion", Kind: evidence.VerbsCompletion, Anchor: " status: '",
			Source: "ofiwg/libfabric, prov/psm3/psm3/hal_verbs/verbs_ep.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["status"], f["device"] = forms.Word(m, "' ("), forms.Word(before, " on ")
				return strings.Contains(before, " epid ") &&
					strings.Contains(before, "failed ") && f["status"] != ""
			},
		},
		{
			Name: "openib-retry", Kind: evidence.VerbsCompletion,
			Anchor: "The InfiniBand retry count between two MPI processes has been",
			Source: "open-mpi/ompi 4.1, help-mpi-btl-openib.txt", Parse: forms.Fixed("status", "12"),
		},
		{
			Name: "openib-rnr", Kind: evidence.VerbsCompletion,
			Anchor: `The OpenFabrics "receiver not ready" retry count on a `,
			Source: "open-mpi/ompi 4.1, help-mpi-btl-openib.txt", Parse: forms.Fixed("status", "13"),
		},
		{
			Name: "mvapich-completion", Kind: evidence.VerbsCompletion, Anchor: "Got completion with error ",
			Source: "MVAPICH2, src/mpid/ch3/channels/mrail/src/gen2/ibv_channel_manager.c",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["status"], f["peer"] = forms.Word(m, "with error "), forms.Word(m, "dest rank=")
				f["vendor"] = hexNumber(forms.Word(m, "vendor code="))
				return f["status"] != "" && strings.Trim(f["status"], "0123456789") == ""
			},
		},
	}
}

// Libfabric returns the forms of libfabric, its plugin for NCCL, and Open MPI.
func Libfabric() forms.Table {
	return forms.Table{
		Program: "libfabric and MPI",
		Trouble: []string{"<warn>"},
		Markers: []string{
			"libfabric:", "NET/OFI ", "MPI_ABORT was invoked", "exited on signal ", "IBV_EVENT_PORT_ERR", "btl_openib_",
			"Unresponsive remote", "Unreachable remote", "Unable to insert remote address", "error polling ", " epid ",
			"The InfiniBand retry count between", `The OpenFabrics "receiver not ready"`, "Got completion with error ",
		},
		Forms: forms.Rows("libfabric", append(mpiCompletions(), []forms.Row{
			{
				Name:   "efa-insert",
				Kind:   evidence.EFAError,
				Anchor: "Unable to insert remote address",
				Source: "aws/aws-ofi-nccl",
			},
			efaRow("efa-message", ", message: "),
			efaRow("efa-provider", ", prov_err: "),
			efaRow("efa-provider-number", ", prov_errno: "),
			{
				Name:   "efa-status",
				Kind:   evidence.EFAError,
				Anchor: "Unresponsive remote",
				Source: "ofiwg/libfabric, prov/efa",
				Parse:  forms.Fixed("status", "13"),
			},
			{
				Name:   "efa-unreachable",
				Kind:   evidence.EFAError,
				Anchor: "Unreachable remote",
				Source: "ofiwg/libfabric, prov/efa",
				Parse:  forms.Fixed("status", "15"),
			},
			{
				Name:   "completion",
				Kind:   evidence.LibfabricError,
				Anchor: "ompletion with error",
				Source: "aws/aws-ofi-nccl",
				Parse: func(m, before string, f evidence.Fields) bool {
					f["status"] = strings.TrimRight(forms.Word(m, "error "), ".")
					return strings.Contains(before, "OFI") || strings.Contains(before, "libfabric")
				},
			},
			{
				Name:   "port-error",
				Kind:   evidence.VerbsAsync,
				Anchor: "IBV_EVENT_PORT_ERR",
				Source: "open-mpi/ompi, btl_openib_async.c",
				Parse:  forms.Fixed("event", "port error"),
			},
			{
				Name: "mpi-abort", Kind: evidence.MPIError, Anchor: "MPI_ABORT was invoked", Source: "open-mpi/ompi",
			},
			{
				Name:   "signal",
				Kind:   evidence.ProgramKilled,
				Anchor: "exited on signal ",
				Source: "open-mpi/ompi, orterun",
				Parse: func(m, before string, f evidence.Fields) bool {
					f["signal"], f["host"] = forms.Word(m, "on signal "), forms.Word(before, "on node ")
					return true
				},
			},
		}...), nil),
	}
}
