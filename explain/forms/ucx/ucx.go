// Package ucx has the forms of lines of UCX and of what is built on it or beside it: NIXL,
// Mooncake, libfabric with its plugin for EFA, Open MPI.
//
//	matcher := forms.NewMatcher(ucx.Table(), ucx.Mooncake(), ucx.Libfabric())
package ucx

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/posix"
	"github.com/rdmakit/rdmakit/explain/symptoms"
)

// Table returns the forms of UCX.
func Table() forms.Table {
	return forms.Table{
		Program: "UCX",
		Markers: []string{
			"UCX  ", "UCX ERROR ", "(Destination is unreachable)", " - Destination is unreachable", "UCX WARN ",
			"ib_mlx5_log.c", "NIXL_ERR_", "ucp_ep_create(", "UD endpoint 0x", "ep_cfg[", "inter-node cfg#",
			"# Library version: ", "# UCT version=", "[rqpn 0x", "ndpoint timeout", "mlx5dv_devx_",
		},
		Forms: forms.Rows("ucx", rows(), head),
	}
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
			Parse: parsePath,
		},
		{
			Name: "completion-verbs", Kind: evidence.UCXCompletion, Anchor: " with error on ",
			Source: ibBase + "/ib_iface.h",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["status"], f["device"] = StatusOf(m), forms.Between(m, " with error on ", "/")
				f["vendor"] = hexNumber(forms.Word(m, "vendor_err "))
				return f["status"] != "" && strings.Contains(before, " completion[")
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
				f["size"], f["memory"] = forms.Word(m, "length="), forms.Word(m, "(address=")
				f["limit"] = forms.Between(m, "(current: ", ")")
				return true
			},
		},
		{
			Name: "modify", Kind: evidence.UCXVerb, Anchor: "error modifying QP to ",
			Source: "openucx/ucx, src/uct/ib/rc",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["call"], f["next"] = "ibv_modify_qp", forms.Word(m, "QP to ")
				f["errno"] = posix.Errno(m)
				return true
			},
		},
		{
			Name:   "devx",
			Kind:   evidence.UCXDevX,
			Anchor: "mlx5dv_devx_",
			Source: "openucx/ucx, src/uct/ib/mlx5/dv",
			Parse: func(m, _ string, f evidence.Fields) bool {
				end := strings.IndexByte(m, ')')
				if end < 0 {
					return false
				}
				f["call"] = m[:end+1]
				f["syndrome"], f["errno"] = forms.Word(m, "syndrome "), posix.Errno(m)
				return strings.Contains(m, "failed")
			},
		},
		{
			Name:   "device",
			Kind:   evidence.UCXNoDevice,
			Anchor: " not available, please use one or more of: ",
			Source: "openucx/ucx, src/ucp/core/ucp_context.c",
			Parse:  parseNoDevice,
		},
		{
			Name: "no-transport", Kind: evidence.UCXUnreachable,
			Anchor: " transport to ", Source: "openucx/ucx, src/ucp/wireup/select.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				_, f["transports"], _ = strings.Cut(m, ": ")
				return strings.Contains(before, "UCX  ERROR no ")
			},
		},
		{
			Name: "transport-list", Kind: evidence.UCXUnreachable, Anchor: " - Destination is unreachable",
			Source: "openucx/ucx, src/ucp/wireup/select.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["transports"] = before + m
				return strings.Contains(before, "/")
			},
		},
		{
			Name: "unreachable", Kind: evidence.UCXUnreachable, Anchor: "is unreachable",
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
			Name: "version-uct", Kind: evidence.UCXVersion, Anchor: "# UCT version=", Info: true,
			Source: "openucx/ucx, ucx_info before 1.14", Parse: forms.Words("version", "version="),
		},
		{
			Name: "version-log", Kind: evidence.UCXVersion, Anchor: " Version ", Info: true,
			Source: "openucx/ucx, src/ucp/core/ucp_context.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["version"] = forms.Word(m, "Version ")
				return strings.HasSuffix(strings.TrimRight(before, " "), "INFO") && f["version"] != ""
			},
		},
		{
			Name: "environment", Kind: evidence.UCXEnvironment, Anchor: "UCX_* env variables: ", Info: true,
			Source: "openucx/ucx, src/ucs/config/parser.c",
			Parse: func(m, _ string, f evidence.Fields) bool {
				_, f["variables"], _ = strings.Cut(m, ": ")
				return true
			},
		},
		transports("transports", "ep_cfg["),
		transports("transports-1.13", "inter-node cfg#"),
		{Name: "fatal", Kind: evidence.UCXError, Anchor: " UCX  FATAL ", Source: "openucx/ucx, src/ucs/debug/log.c"},
		{Name: "nixl", Kind: evidence.NIXLError, Anchor: "NIXL_ERR_", Source: "ai-dynamo/nixl", Parse: parseNIXL},
		{Name: "error", Kind: evidence.UCXError, Anchor: " UCX  ERROR ", Source: "openucx/ucx, src/ucs/debug/log.c"},
	}
}

// transports is a form of what an endpoint uses: "ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)" and, since
// 1.13, "ucp_context_0 inter-node cfg#2 tag(rc_mlx5/mlx5_0:1)" (ucp_ep.c).
func transports(name, anchor string) forms.Row {
	return forms.Row{
		Name: name, Kind: evidence.UCXTransports, Anchor: anchor, Info: true,
		Source: "openucx/ucx, src/ucp/core/ucp_ep.c",
		Parse: func(m, _ string, f evidence.Fields) bool {
			m = strings.TrimPrefix(m, "inter-node ")
			_, f["transports"], _ = strings.Cut(strings.TrimSpace(m), " ")
			return strings.Contains(f["transports"], "(") && strings.Contains(f["transports"], "/")
		},
	}
}

// parsePath reads the second line of a completion: of DC and UD "[rqpn 0x2248a rmac … sgix 0 dgid
// fe80::1 tc 0]", of RC "[rqpn 0x62 dlid=49152 … dgid=fe80::1 flow_label=0x0 sgid_index=0
// traffic_class=0]", and on InfiniBand only the LID.
func parsePath(m, _ string, f evidence.Fields) bool {
	for field, marks := range map[string][2]string{
		"gidIndex": {"sgix ", "sgid_index="}, "remoteGID": {"dgid ", "dgid="}, "tclass": {" tc ", "traffic_class="},
		"remoteLID": {"rlid ", "dlid="},
	} {
		f[field] = cmp.Or(forms.Word(m, marks[0]), forms.Word(m, marks[1]))
	}
	f["remoteQPN"] = forms.Word(m, "rqpn ")
	return f["gidIndex"] != "" || f["remoteLID"] != ""
}

// hexNumber returns the decimal form of a hexadecimal number, "" if it isn't one.
func hexNumber(s string) string {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 32)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// head reads "[1719157763.321281] [node2:19381:0]       ib_device.c:1163 UCX  ERROR   message" and
// "[node2:19381:0:19381] ib_mlx5_log.c:143  message" (src/ucs/debug/log.c), also with the process
// ID padded as by older releases, "[node2:1938 :0]", and "[node2:19381] pml_ucx.c:424" of Open MPI.
func head(text string, e *evidence.Event) {
	for part := range strings.SplitSeq(text, "[") {
		in, _, ok := strings.Cut(part, "]")
		if !ok {
			continue
		}
		words := strings.Split(in, ":")
		if len(words) >= 3 || len(words) == 2 && strings.HasPrefix(text, "["+in+"] ") {
			if pid, err := strconv.Atoi(strings.TrimSpace(words[1])); err == nil && words[0] != "" {
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
	synd, err := strconv.ParseUint(forms.Word(m, "(synd 0x"), 16, 8)
	if err != nil {
		return false
	}
	f["status"] = strconv.Itoa(StatusOfSyndrome(byte(synd)))
	f["vendor"] = hexNumber(forms.Word(m, "vend "))
	port, link, _ := strings.Cut(forms.Word(before, " on "), "/")
	f["device"], f["port"], _ = strings.Cut(port, ":")
	f["link"] = link
	return true
}

// parseNoDevice reads "network device 'mlx5_0:1' is not available, please use one or more of:
// 'eth0'(tcp), 'lo'(tcp)".
func parseNoDevice(m, before string, f evidence.Fields) bool {
	var missing []string
	for i, part := range strings.Split(before, "'") {
		if i%2 == 1 {
			missing = append(missing, part)
		}
	}
	f["device"] = strings.Join(missing, " ")
	var names []string
	_, list, _ := strings.Cut(m, "of:")
	for word := range strings.SplitSeq(list, ",") {
		names = append(names, strings.ReplaceAll(strings.TrimSpace(word), "'", ""))
	}
	f["available"] = strings.Join(names, " ")
	return f["available"] != "" && strings.Contains(before, "device")
}

func parseNIXL(m, _ string, f evidence.Fields) bool {
	end := 0
	for end < len(m) && (m[end] == '_' || m[end] >= 'A' && m[end] <= 'Z') {
		end++
	}
	f["error"] = m[:end]
	return true
}

// Symptoms returns the lines of UCX and NIXL that package symptoms has.
func Symptoms() forms.Table { return forms.Symptoms(symptoms.UCX, head) }
