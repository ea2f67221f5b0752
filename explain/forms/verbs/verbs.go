// Package verbs has the forms of lines of programs that use verbs directly: perftest, rdma_cm's
// programs, and what libibverbs' providers and other programs print of completions and calls.
//
//	matcher := forms.NewMatcher(verbs.Perftest(), verbs.Other())
package verbs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/posix"
	"github.com/rdmakit/rdmakit/explain/forms/ucx"
)

// Source files of perftest.
const (
	resources  = "linux-rdma/perftest, src/perftest_resources.c"
	parameters = "linux-rdma/perftest, src/perftest_parameters.c"
)

// Perftest returns the forms of perftest.
func Perftest() forms.Table { //nolint:funlen // a table
	return forms.Table{
		Program: "perftest",
		Trouble: []string{"Couldn't", "Failed", "failed", "Unable to"},
		Markers: []string{
			" address: LID ", " GID: 00:", " GID: 254:", " GID: 32:", " GID: 253:", " syndrom 0x",
			"Completion with error at ", "Failed to modify QP", "HCA's through the link", "allocate MR",
			"Device         : ", "GID index       : ", "Gid index       : ", "Link type       : ", "Mtu             : ",
			"BW average", "t_avg[usec]", "IB device ", "No IB devices found", "Couldn't connect to ",
			"Failed to create AH", "Did not detect devices", "Couldn't create CQ", "Unable to create QP.",
			"OFED stack does not support DMA-BUF", "allocated GPU buffer",
		},
		Forms: forms.Rows("perftest", []forms.Row{
			{
				Name: "status", Kind: evidence.PerftestCompletion, Anchor: " syndrom 0x",
				Source: "linux-rdma/perftest, src/perftest_resources.h",
				Parse: func(m, before string, f evidence.Fields) bool {
					f["status"] = forms.Word(before, "Failed status ")
					if strings.Contains(before, "Failed status-") { // since 2025, with the text
						f["status"] = forms.Word(lastPart(before, "("), "")
					}
					if n, err := strconv.ParseUint(
						strings.TrimPrefix(forms.Word(m, "syndrom "), "0x"),
						16,
						32,
					); err == nil {
						f["vendor"] = strconv.FormatUint(n, 10)
					}
					return f["status"] != ""
				},
			},
			{
				Name: "modify", Kind: evidence.PerftestModify, Anchor: "Failed to modify QP", Source: resources,
				Parse: func(m, before string, f evidence.Fields) bool {
					f["qpn"], f["next"] = forms.Word(m, "modify QP "), forms.Word(m[len("Failed to"):], " to ")
					f["errno"] = cmp.Or(strings.TrimLeft(forms.Word(m, "ret="), "-"), posix.Errno(before+m))
					if f["qpn"] == "to" {
						f["qpn"] = ""
					}
					return true
				},
			},
			{Name: "link", Kind: evidence.PerftestModify, Anchor: "HCA's through the link", Source: resources},
			{
				Name: "ah", Kind: evidence.PerftestModify, Anchor: "Failed to create AH", Source: resources,
				Parse: func(m, _ string, f evidence.Fields) bool {
					f["call"], f["errno"] = "ibv_create_ah", posix.Errno(m)
					return true
				},
			},
			{
				Name: "memory", Kind: evidence.PerftestMemory, Anchor: "allocate MR", Source: resources,
				Parse: func(m, before string, f evidence.Fields) bool {
					f["errno"] = posix.Errno(m)
					if strings.Contains(before+m, "cuda") || strings.Contains(before+m, "GPU") {
						f["gpu"] = "yes"
					}
					return true
				},
			},
			{
				Name: "device-missing", Kind: evidence.PerftestDevice, Anchor: "IB device", Source: resources,
				Parse: func(m, _ string, f evidence.Fields) bool {
					f["device"] = forms.Word(m, "IB device ")
					return strings.Contains(m, "not found") || strings.Contains(m, "No IB devices")
				},
			},
			{
				Name: "cq", Kind: evidence.VerbsError, Anchor: "Couldn't create CQ", Source: resources,
				Parse: forms.Fixed("call", "ibv_create_cq"),
			},
			{
				Name: "qp", Kind: evidence.VerbsError, Anchor: "Unable to create QP.", Source: resources,
				Parse: forms.Fixed("call", "ibv_create_qp"),
			},
			{
				Name: "dmabuf", Kind: evidence.PerftestMemory, Anchor: "OFED stack does not support DMA-BUF",
				Source: resources, Parse: forms.Fixed("errno", "95", "gpu", "yes"),
			},
			{
				Name: "gpu", Kind: evidence.Setting, Anchor: "allocated GPU buffer", Info: true,
				Source: "linux-rdma/perftest, src/cuda_memory.c",
				Parse:  forms.Fixed("name", "GPU memory", "value", "yes"),
			},
			{Name: "no-device", Kind: evidence.PerftestDevice, Anchor: "No IB devices found", Source: resources},
			{Name: "no-detect", Kind: evidence.PerftestDevice, Anchor: "Did not detect devices", Source: resources},
			{
				Name:   "connect",
				Kind:   evidence.PerftestConnect,
				Anchor: "Couldn't connect to ",
				Source: "linux-rdma/perftest, src/perftest_communication.c",
				Parse: func(m, _ string, f evidence.Fields) bool {
					f["address"], f["port"], _ = strings.Cut(forms.Word(m, "connect to "), ":")
					return true
				},
			},
			{
				Name:   "device",
				Kind:   evidence.PerftestPort,
				Anchor: "Device         : ",
				Info:   true,
				Source: parameters,
				Parse:  forms.Words("device", "Device         : "),
			},
			{
				Name:   "link-type",
				Kind:   evidence.PerftestPort,
				Anchor: "Link type       : ",
				Info:   true,
				Source: parameters,
				Parse:  forms.Words("link", "Link type       : "),
			},
			{
				Name:   "gid-index-old",
				Kind:   evidence.PerftestPort,
				Anchor: "Gid index       : ",
				Info:   true,
				Source: parameters,
				Parse:  forms.Words("gidIndex", "Gid index       : "),
			},
			{
				Name:   "gid-index",
				Kind:   evidence.PerftestPort,
				Anchor: "GID index       : ",
				Info:   true,
				Source: parameters,
				Parse:  forms.Words("gidIndex", "GID index       : "),
			},
			{
				Name:   "mtu",
				Kind:   evidence.PerftestPort,
				Anchor: "Mtu             : ",
				Info:   true,
				Source: parameters,
				Parse: func(m, _ string, f evidence.Fields) bool {
					f["mtu"] = strings.TrimSuffix(forms.Word(m, "Mtu             : "), "[B]")
					f["mtu"], _, _ = strings.Cut(f["mtu"], "[")
					return f["mtu"] != ""
				},
			},
			{
				Name:   "address",
				Kind:   evidence.PerftestAddress,
				Anchor: " address: LID ",
				Info:   true,
				Source: parameters,
				Parse: func(m, before string, f evidence.Fields) bool {
					f["side"] = strings.ToLower(strings.TrimSpace(before))
					f["lid"], f["qpn"], f["psn"] = forms.Word(m, "LID "), forms.Word(m, "QPN "), forms.Word(m, "PSN ")
					return true
				},
			},
			{
				Name: "gid", Kind: evidence.PerftestAddress, Anchor: " GID: ", Info: true, Source: parameters,
				Parse: func(m, before string, f evidence.Fields) bool {
					f["gid"] = decimalGID(forms.Word(m, "GID: "))
					return f["gid"] != "" && strings.TrimSpace(before) == ""
				},
			},
			{Name: "result", Kind: evidence.PerftestResult, Anchor: "BW average", Info: true, Source: parameters},
			{Name: "latency", Kind: evidence.PerftestResult, Anchor: "t_avg[usec]", Info: true, Source: parameters},
		}, nil),
	}
}

// decimalGID turns "00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:01" (each byte in decimal, as
// perftest prints it) into a GID; "" if it isn't one.
func decimalGID(s string) string {
	parts := strings.Split(s, ":")
	if len(parts) != 16 {
		return ""
	}
	var b strings.Builder
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil {
			return ""
		}
		if i > 0 && i%2 == 0 {
			b.WriteByte(':')
		}
		b.WriteString(strconv.FormatUint(n|0x100, 16)[1:])
	}
	return b.String()
}

// Other returns the forms of other programs: completions by number or text, calls that failed,
// events of rdma_cm, and dumps of completion queue entries.
func Other() forms.Table {
	return forms.Table{
		Program: "verbs programs",
		Follow:  FollowCQE,
		Not:     []string{": undefined: ", "undefined reference", " undeclared", "implicit declaration"},
		Markers: []string{
			"RDMA_CM_EVENT_", "rdma_resolve_", "rdma_connect", "rdma_bind_addr", "rdma_create_", "rdma_accept",
			"ibv_reg_", "ibv_modify_", "ibv_create_", "ibv_open_device", "ibv_alloc_", "ibv_post_", "ibv_poll_cq",
			"ibv_query_", "ibv_get_", "ibv_fork_init", "IBV_WC_", "IBV_EVENT_", "wc status", "wc.status",
			"retry counter exceeded", "local protection error", "remote access error",
			"remote invalid request error", "remote operation error", "local length error", "local access error",
			"local QP operation error", "Work Request Flushed", ": got completion with error:",
			"MLX5 Error CQE: at [", "dump error cqe", "cqe_dump: ",
			"odify QP", "odify qp", "egister MR", "reate CQ", "reate cq", "reate qp", "llocate pd",
			"vend_err", "reate completion queue", "reate QP", "reate queue pair",
			"llocate PD", "llocate protection domain", "change QP", "change qp",
		},
		Forms: forms.Rows("verbs", slices.Concat([]forms.Row{
			{
				Name: "cm-event", Kind: evidence.CMAEvent, Anchor: "RDMA_CM_EVENT_", Source: "rdma-core, librdmacm",
				Parse: func(m, _ string, f evidence.Fields) bool {
					f["event"] = strings.TrimPrefix(forms.Word(m, ""), "RDMA_CM_EVENT_")
					f["error"] = strings.TrimLeft(forms.Word(m, "error "), "-")
					switch f["event"] {
					case "ADDR_ERROR", "ROUTE_ERROR", "CONNECT_ERROR", "UNREACHABLE", "REJECTED", "DEVICE_REMOVAL":
						return true
					}
					return false
				},
			},
			{
				Name:   "status-text",
				Kind:   evidence.VerbsCompletion,
				Anchor: "e",
				Source: "rdma-core, libibverbs/enum_strs.c",
				Parse: func(m, before string, f evidence.Fields) bool {
					f["status"] = ucx.StatusOf(before + m)
					return f["status"] != "" && !code(before, m)
				},
			},
			{
				Name: "call", Kind: evidence.VerbsError, Anchor: "ibv_", Source: "ibv_*(3)",
				Parse: func(m, before string, f evidence.Fields) bool {
					end := strings.IndexAny(m, " (:,;.")
					if end < 0 || !failed(m) && posix.FromText(m) == "" || code(before, m) {
						return false
					}
					f["call"], f["errno"] = m[:end], posix.Errno(m)
					if f["call"] == modifyQP {
						f["next"] = nextState(before + m)
					}
					return true
				},
			},
			{
				Name: "cm-create-qp", Kind: evidence.VerbsError, Anchor: "rdma_create_qp", Source: "rdma_create_qp(3)",
				Parse: func(m, before string, f evidence.Fields) bool {
					f["call"], f["errno"] = "ibv_create_qp", posix.Errno(m)
					return (failed(m) || f["errno"] != "") && !code(before, m)
				},
			},
			{
				Name: "status-number", Kind: evidence.VerbsCompletion, Anchor: "status", Source: "ibv_poll_cq(3)",
				Parse: func(m, before string, f evidence.Fields) bool {
					rest := strings.TrimLeft(strings.TrimPrefix(m, "status"), " =:(")
					n := 0
					for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
						n++
					}
					f["status"] = rest[:n]
					if v := forms.Word(m, "vendor_err"); v != "" {
						f["vendor"] = strings.Trim(v, "=: ")
					}
					return n > 0 && n < 3 && rest[:n] != "0" && (strings.Contains(before, "wc") ||
						strings.Contains(before, "WC") || strings.Contains(m, " vend_err "))
				},
			},
		}, wordings()), nil),
	}
}

// modifyQP is the call that changes a queue pair's state.
const modifyQP = "ibv_modify_qp"

// wordings returns rows of failures that programs report without the name of the call.
func wordings() []forms.Row {
	var rows []forms.Row
	for _, w := range [...]struct{ anchor, call string }{
		{"odify QP", modifyQP},
		{"odify qp", modifyQP},
		{"change QP", modifyQP},
		{"change qp", modifyQP},
		{"egister MR", "ibv_reg_mr"},
		{"reate CQ", "ibv_create_cq"},
		{"reate cq", "ibv_create_cq"},
		{"reate completion queue", "ibv_create_cq"},
		{"reate QP", "ibv_create_qp"},
		{"reate qp", "ibv_create_qp"},
		{"reate queue pair", "ibv_create_qp"},
		{"llocate PD", "ibv_alloc_pd"},
		{"llocate pd", "ibv_alloc_pd"},
		{"llocate protection domain", "ibv_alloc_pd"},
	} {
		rows = append(rows, forms.Row{
			Name: strings.ReplaceAll(w.anchor, " ", "-"), Kind: evidence.VerbsError, Anchor: w.anchor,
			Source: "programs in general",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["call"], f["errno"] = w.call, cmp.Or(posix.Errno(m), posix.Errno(before))
				f["next"] = nextState(m)
				return saysFailed(before) && wordEnds(m[len(w.anchor):]) && !code(before, m)
			},
		})
	}
	return rows
}

// wordEnds reports whether a name of verbs, or its plural, ends before a text.
func wordEnds(after string) bool {
	after = strings.TrimPrefix(after, "s")
	return after == "" || after[0] != '_' && (after[0]|0x20 < 'a' || after[0]|0x20 > 'z')
}

// saysFailed reports whether the text before what a program wanted to do says that it failed.
func saysFailed(before string) bool {
	for _, word := range [...]string{"ailed to ", "ouldn't ", "ould not ", "annot ", "an't ", "nable to ", "rror "} {
		if strings.HasSuffix(strings.TrimRight(before, "MmCcRrAa"), word) {
			return true
		}
	}
	return false
}

func lastPart(s, mark string) string { return s[strings.LastIndex(s, mark)+len(mark):] }

// code reports whether a line is part of a program's source.
func code(before, m string) bool {
	m = strings.TrimSpace(m)
	if strings.HasSuffix(m, ";") || strings.HasSuffix(m, "{") || strings.Contains(before, "printf") {
		return true
	}
	i := strings.LastIndexAny(before, "\"`")
	for _, mark := range [...]string{"(", ", ", "<< ", "= ", "\t"} {
		if i >= 0 && strings.HasSuffix(before[:i], mark) {
			return true
		}
	}
	return false
}

// failed reports whether a message about a call says that it failed.
func failed(m string) bool {
	for _, word := range [...]string{"fail", "Fail", "error", "Error", "unable", "cannot", " err,", " err:"} {
		if strings.Contains(m, word) {
			return true
		}
	}
	return false
}
