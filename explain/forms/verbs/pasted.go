package verbs

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
)

// names are the names of statuses (enum ibv_wc_status).
var names = map[string]string{
	"IBV_WC_LOC_LEN_ERR":       "1",
	"IBV_WC_LOC_QP_OP_ERR":     "2",
	"IBV_WC_LOC_PROT_ERR":      "4",
	"IBV_WC_WR_FLUSH_ERR":      "5",
	"IBV_WC_MW_BIND_ERR":       "6",
	"IBV_WC_BAD_RESP_ERR":      "7",
	"IBV_WC_LOC_ACCESS_ERR":    "8",
	"IBV_WC_REM_INV_REQ_ERR":   "9",
	"IBV_WC_REM_ACCESS_ERR":    "10",
	"IBV_WC_REM_OP_ERR":        "11",
	"IBV_WC_RETRY_EXC_ERR":     "12",
	"IBV_WC_RNR_RETRY_EXC_ERR": "13",
	"IBV_WC_REM_ABORT_ERR":     "16",
	"IBV_WC_FATAL_ERR":         "19",
	"IBV_WC_GENERAL_ERR":       "21",
}

// Pasted returns the forms of lines that programs and people add to reports: statuses by name,
// ports that are down, missing drivers of libibverbs, timers, counters of cards, failed pings.
func Pasted() forms.Table {
	return forms.Table{
		Program: "verbs values",
		Markers: []string{
			"IBV_WC_",
			"IBV_EVENT_",
			"port error event",
			"state is Down",
			"libibverbs: Warning",
			"min_rnr_timer",
			"local_ack_timeout_err",
			"out_of_sequence",
			"Destination Host Unreachable",
			"local QP operation error",
			"GRH_REQUIRED",
			"Port GUID: 0x0000000000000000",
			"NODE_GUID 00:00:00:00:00:00:00:00",
			"\t0000000000000000",
			"unsupported transition",
			"Responder error cqe",
			"switchport mode access",
			"#      Transport: ",
			" address:  LID ",
			"Global tclass=", "ncclCommRegister",
		},
		Forms: forms.Rows("pasted", append(statusRows(), pastedRows()...), nil),
	}
}

func statusRows() []forms.Row {
	return []forms.Row{
		{
			Name:   "status-name",
			Kind:   evidence.VerbsCompletion,
			Anchor: "IBV_WC_",
			Source: "rdma-core, libibverbs/verbs.h",
			Parse: func(m, _ string, f evidence.Fields) bool {
				end := 0
				for end < len(m) && (m[end] == '_' || m[end] >= 'A' && m[end] <= 'Z') {
					end++
				}
				f["status"] = names[m[:end]]
				f["vendor"] = strings.TrimLeft(forms.Word(m, "vendor_err"), "=: ")
				return f["status"] != ""
			},
		},
		{
			Name: "local-qp", Kind: evidence.VerbsCompletion, Anchor: "local QP operation error",
			Source: "rdma-core, libibverbs/enum_strs.c", Parse: forms.Fixed("status", "2"),
		},
		{
			Name: "responder-cqe", Kind: evidence.KernelCQE, Anchor: "Responder error cqe",
			Source: "Linux, drivers/infiniband/hw/mlx5/cq.c", Parse: forms.Fixed("status", "5"),
		},
		{
			Name:   "event-port",
			Kind:   evidence.VerbsAsync,
			Anchor: "IBV_EVENT_PORT_ERR",
			Source: "rdma-core, libibverbs/verbs.h",
			Parse:  forms.Fixed("event", "port error"),
		},
		{
			Name:   "openib-port",
			Kind:   evidence.VerbsAsync,
			Anchor: "port error event on port ",
			Source: "open-mpi/ompi, btl_openib_async.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["event"], f["port"] = "port error", forms.Word(m, "on port ")
				words := strings.Fields(before)
				if len(words) > 0 {
					f["device"] = strings.TrimRight(words[len(words)-1], ":")
				}
				return true
			},
		},
	}
}

func pastedRows() []forms.Row {
	setting := func(name, value string) func(m, before string, f evidence.Fields) bool {
		return forms.Fixed("name", name, "value", value)
	}
	return []forms.Row{
		{
			Name:   "no-driver",
			Kind:   evidence.NCCLNoLibrary,
			Anchor: "libibverbs: Warning",
			Source: "rdma-core, libibverbs/init.c",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["library"] = "libibverbs"
				return strings.Contains(m, "couldn't load driver") ||
					strings.Contains(m, "no userspace device-specific driver")
			},
		},
		{
			Name:   "port-down",
			Kind:   evidence.Setting,
			Anchor: "state is Down",
			Info:   true,
			Source: "linux-rdma/perftest",
			Parse:  setting("port state", "down"),
		},
		{
			Name:   "rnr-timer",
			Kind:   evidence.Setting,
			Anchor: "min_rnr_timer 0",
			Info:   true,
			Source: "ibv_modify_qp(3)",
			Parse:  setting("min_rnr_timer", "0"),
		},
		{
			Name: "grh", Kind: evidence.Setting, Anchor: "GRH_REQUIRED", Info: true, Source: "ibv_devinfo -v",
			Parse: setting("GRH required", "yes"),
		},
		{
			Name: "transition", Kind: evidence.Setting, Anchor: "unsupported transition", Info: true,
			Source: "Linux, drivers of cards", Parse: setting("transition", "unsupported"),
		},
		{
			Name: "access-port", Kind: evidence.Setting, Anchor: "switchport mode access", Info: true,
			Source: "configuration of switches", Parse: setting("switch port", "access"),
		},
		{
			Name:   "ping-unreachable",
			Kind:   evidence.Setting,
			Anchor: "Destination Host Unreachable",
			Info:   true,
			Source: "ping(8)",
			Parse:  setting("ping", "unreachable"),
		},
		{
			Name:   "ucx-transport",
			Kind:   evidence.UCXTransports,
			Anchor: "#      Transport: ",
			Info:   true,
			Source: "ucx_info -d",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["transports"], f["available"] = forms.Word(m, "Transport: "), "yes"
				return true
			},
		},
		{
			Name:   "pingpong",
			Kind:   evidence.PerftestAddress,
			Anchor: " address:  LID ",
			Info:   true,
			Source: "rdma-core, rc_pingpong.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["side"], f["lid"] = strings.ToLower(strings.TrimSpace(before)), forms.Word(m, "LID ")
				return true
			},
		},
		{
			Name:   "global-tclass",
			Kind:   evidence.Setting,
			Anchor: "Global tclass=",
			Info:   true,
			Source: "sysfs, tc/PORT/traffic_class",
			Parse:  setting("global traffic class", "set"),
		},
		zeroGUID("ibstat", "Port GUID: 0x0000000000000000"),
		zeroGUID("ip-link", "NODE_GUID 00:00:00:00:00:00:00:00"),
		{
			Name: "zero-guid-ibv-devices", Kind: evidence.K8sVF, Anchor: "\t0000000000000000", Source: "ibv_devices",
			Parse: func(_, before string, f evidence.Fields) bool {
				f["what"], f["device"] = "guid", strings.TrimSpace(before)
				return !strings.ContainsAny(f["device"], ": ") && f["device"] != ""
			},
		},
		{
			Name: "registered", Kind: evidence.Setting, Anchor: "ncclCommRegister", Info: true,
			Source: "NVIDIA/nccl, user buffers",
			Parse:  setting("registered buffers", "yes"),
		},
		counter("out_of_sequence"),
		counter("local_ack_timeout_err"),
	}
}

func zeroGUID(name, anchor string) forms.Row {
	return forms.Row{
		Name:   name,
		Kind:   evidence.K8sVF,
		Anchor: anchor,
		Source: "output of " + name,
		Parse:  forms.Fixed("what", "guid"),
	}
}

// counter is a counter of a card that isn't 0, as "name:12", "name 12" or "name=12".
func counter(name string) forms.Row {
	return forms.Row{
		Name: "counter-" + name, Kind: evidence.Setting, Anchor: name, Info: true, Source: "hw_counters of sysfs",
		Parse: func(m, _ string, f evidence.Fields) bool {
			value := strings.TrimLeft(m[len(name):], ":= \t")
			value, _, _ = strings.Cut(value, " ")
			f["name"], f["value"] = name, value
			return strings.Trim(value, "0123456789") == "" && strings.Trim(value, "0") != ""
		},
	}
}
