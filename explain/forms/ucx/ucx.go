// Package ucx has the forms of lines of UCX and of what is built on it or beside it: NIXL,
// Mooncake, libfabric with its plugin for EFA, Open MPI.
//
//	matcher := forms.NewMatcher(ucx.Table(), ucx.Mooncake(), ucx.Libfabric())
package ucx

import (
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/posix"
)

// Table returns the forms of UCX.
func Table() forms.Table {
	return forms.Table{
		Program: "UCX",
		Markers: []string{
			" UCX ",
			"ib_mlx5_log.c",
			"NIXL",
			"nixl",
			"ucp_ep_create",
			"UD endpoint",
			"ep_cfg#", "inter-node cfg#",
			"# Library version: ", "UCX  INFO  Version ",
			"rqpn 0x",
		},
		Forms: forms.Rows("ucx", rows(), head),
	}
}

// completionTexts are the words of UCX for statuses of completions (ib_mlx5_log.c).
var completionTexts = []struct{ text, status string }{
	{
		"Transport retry count exceeded",
		"12",
	},
	{"Receive-no-ready retry count exceeded", "13"},
	{"Remote access", "10"},
	{"Remote QP", "11"},
	{"Local protection", "4"},
	{"Local QP operation", "2"},
	{"Local length", "1"},
	{"Invalid request", "9"},
	{"Local access", "8"},
	{"Bad response", "7"},
	{"WR flushed", "5"},
	{"Remote side aborted", "16"},
	{"Remote operation", "11"},
	{"Memory bind", "6"},
}

// Source files.
const (
	mlx5Log = "openucx/ucx, src/uct/ib/mlx5/ib_mlx5_log.c"
	ibBase  = "openucx/ucx, src/uct/ib/base"
)

func rows() []forms.Row { //nolint:funlen // a table
	return []forms.Row{
		{
			Name:   "completion",
			Kind:   evidence.UCXCompletion,
			Anchor: "(synd 0x",
			Source: mlx5Log,
			Parse:  parseCompletion,
		},
		{
			Name: "queue-pair", Kind: evidence.UCXPath, Anchor: "rqpn 0x", Source: mlx5Log,
			Parse: func(m, before string, f evidence.Fields) bool {
				f["remoteQPN"], f["gidIndex"] = forms.Word(m, "rqpn "), forms.Word(m, "sgix ")
				f["remoteGID"], f["tclass"] = forms.Word(m, "dgid "), forms.Word(m, "tc ")
				return f["gidIndex"] != "" || f["remoteGID"] != ""
			},
		},
		{
			Name:   "timeout",
			Kind:   evidence.UCXTimeout,
			Anchor: "ndpoint timeout",
			Source: "openucx/ucx, src/uct/ib/ud",
			Parse:  forms.Fixed(),
		},
		{
			Name:   "ud-unreachable",
			Kind:   evidence.UCXTimeout,
			Anchor: "unhandled timeout error",
			Source: "openucx/ucx, src/uct/ib/ud",
			Parse:  forms.Fixed(),
		},
		{
			Name: "address", Kind: evidence.UCXAddress, Anchor: "ibv_create_ah(", Source: ibBase,
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["remoteGID"], f["gidIndex"] = forms.Word(m, "dgid="), forms.Word(m, "sgid_index=")
				if i := strings.LastIndex(m, " on "); i >= 0 {
					f["device"], _, _ = strings.Cut(forms.Word(m[i:], " on "), ":")
				}
				f["errno"] = posix.Errno(m)
				return strings.Contains(m, "failed")
			},
		},
		{
			Name: "verb", Kind: evidence.UCXVerb, Anchor: "ibv_", Source: ibBase,
			Parse: func(m, _ string, f evidence.Fields) bool {
				end := strings.IndexAny(m, "( :")
				if end < 0 || !strings.Contains(m, "failed") {
					return false
				}
				f["call"], f["errno"] = m[:end], posix.Errno(m)
				f["size"] = forms.Word(m, "length=")
				f["limit"] = forms.Between(m, "(current: ", ")")
				return true
			},
		},
		{
			Name:   "devx",
			Kind:   evidence.UCXDevX,
			Anchor: "mlx5dv_devx_obj_create(",
			Source: "openucx/ucx, src/uct/ib/mlx5/dv",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["call"] = "mlx5dv_devx_obj_create(" + forms.Between(m, "(", ")") + ")"
				f["syndrome"], f["errno"] = forms.Word(m, "syndrome "), posix.Errno(m)
				return strings.Contains(m, "failed")
			},
		},
		{
			Name:   "device",
			Kind:   evidence.UCXNoDevice,
			Anchor: " not available, please use one or more of",
			Source: "openucx/ucx, src/ucp/core/ucp_context.c",
			Parse:  parseNoDevice,
		},
		{
			Name: "unreachable", Kind: evidence.UCXUnreachable, Anchor: "is unreachable",
			Source: "openucx/ucx, src/ucp/wireup",
		},
		{
			Name: "no-transport", Kind: evidence.UCXUnreachable,
			Anchor: "no remote registered memory access transport", Source: "openucx/ucx, src/ucp/wireup",
		},
		{
			Name: "no-transport-am", Kind: evidence.UCXUnreachable, Anchor: "no active messages transport",
			Source: "openucx/ucx, src/ucp/wireup",
		},
		{
			Name:   "version",
			Kind:   evidence.UCXVersion,
			Anchor: "Library version: ",
			Info:   true,
			Source: "openucx/ucx, ucx_info",
			Parse:  forms.Words("version", "Library version: "),
		},
		{
			Name:   "transports",
			Kind:   evidence.UCXTransports,
			Anchor: "cfg#",
			Info:   true,
			Source: "openucx/ucx, ucp_worker.c",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["transports"] = strings.TrimLeft(strings.TrimPrefix(m, "cfg#"), "0123456789: ")
				return f["transports"] != ""
			},
		},
		{Name: "nixl", Kind: evidence.NIXLError, Anchor: "NIXL_ERR_", Source: "ai-dynamo/nixl", Parse: parseNIXL},
	}
}

// head reads "[1719157763.321281] [node2:19381:0]       ib_device.c:1163 UCX  ERROR   message" and
// "[node2:19381:0:19381] ib_mlx5_log.c:143  message" (src/ucs/debug/log.c).
func head(text string, e *evidence.Event) {
	for part := range strings.SplitSeq(text, "[") {
		in, _, ok := strings.Cut(part, "]")
		if !ok {
			continue
		}
		if words := strings.Split(in, ":"); len(words) >= 3 {
			if pid, err := strconv.Atoi(words[1]); err == nil {
				e.Process.Host, e.Process.PID = words[0], pid
			}
			continue
		}
		if seconds, err := strconv.ParseFloat(in, 64); err == nil && seconds > 1e9 {
			e.Time = time.UnixMicro(int64(seconds * 1e6)).UTC()
		}
	}
	for _, level := range [...]string{" ERROR ", " WARN ", " FATAL "} {
		if _, message, ok := strings.Cut(text, " UCX "+level); ok {
			e.Text = strings.TrimSpace(message)
		} else if i := strings.Index(text, " UCX "); i >= 0 {
			if _, message, ok := strings.Cut(text[i:], level); ok {
				e.Text = strings.TrimSpace(message)
			}
		}
	}
}

// parseCompletion reads "Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81
// hw_synd 0/0)".
func parseCompletion(m, before string, f evidence.Fields) bool {
	for _, c := range completionTexts {
		if strings.Contains(before, c.text) {
			f["status"] = c.status
			break
		}
	}
	if n, err := strconv.ParseUint(strings.TrimPrefix(forms.Word(m, "vend "), "0x"), 16, 16); err == nil {
		f["vendor"] = strconv.FormatUint(n, 10)
	}
	port, link, _ := strings.Cut(forms.Word(before, " on "), "/")
	f["device"], f["port"], _ = strings.Cut(port, ":")
	f["link"] = link
	return f["status"] != ""
}

// parseNoDevice reads "network device 'mlx5_0:1' is not available, please use one or more of:
// 'eth0'(tcp), 'lo'(tcp)".
func parseNoDevice(m, before string, f evidence.Fields) bool {
	if parts := strings.Split(before, "'"); len(parts) > 1 {
		f["device"] = parts[len(parts)-2]
	}
	var names []string
	_, list, _ := strings.Cut(m, "of:")
	for word := range strings.SplitSeq(list, ",") {
		names = append(names, strings.ReplaceAll(strings.TrimSpace(word), "'", ""))
	}
	f["available"] = strings.Join(names, " ")
	return f["available"] != ""
}

func parseNIXL(m, _ string, f evidence.Fields) bool {
	end := 0
	for end < len(m) && (m[end] == '_' || m[end] >= 'A' && m[end] <= 'Z') {
		end++
	}
	f["error"] = m[:end]
	return true
}
