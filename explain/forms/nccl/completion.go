package nccl

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// completionRows are completions with an error and asynchronous events. Opcode and length of a
// completion with an error are not valid (ibv_poll_cq(3)), so they are no fields.
func completionRows() []row {
	ib := "transport/net_ib.cc"
	done := func(name, anchor, source string) row {
		return row{
			name: "completion-" + name, kind: evidence.NCCLCompletion,
			anchor: anchor, source: source,
			parse: parseCompletion, dates: datesOfCompletion,
		}
	}
	return []row{
		done("gin", "NET/IB/GIN: Got completion ", "transport/net_ib/gin.cc"),
		done("ib", "Got completion ", ib),
		{
			name: "async-fatal", kind: evidence.NCCLAsync,
			anchor: "async fatal event", since: "2.23", source: ib,
			parse: parseAsync,
		},
		{
			name: "async-2.28.7", kind: evidence.NCCLAsync,
			anchor: "Got non-fatal async event: ", since: "2.28.7",
			source: ib, parse: parseAsync,
		},
		{
			name: "async-2.23", kind: evidence.NCCLAsync,
			anchor: "Got async error event: ", since: "2.23",
			until: "2.28.3", source: ib, parse: parseAsync,
		},
		{
			name: "async", kind: evidence.NCCLAsync, anchor: "Got async event : ", source: ib, parse: parseAsync,
			dates: func(_, before string) (since, until string) {
				if strings.Contains(strings.TrimPrefix(before, "NET/IB : "), ":") {
					return "2.20", "2.22.3"
				}
				return "", "2.19.4"
			},
		},
		{
			name: "async-gid", kind: evidence.NCCLAsync, anchor: "GID table changed", since: "2.28.3",
			source: "transport/net_ib/common.cc", parse: parseAsync,
		},
		{
			name: "async-speed", kind: evidence.NCCLAsync, anchor: "speed change detected", since: "2.30.7",
			source: "transport/net_ib/common.cc", parse: parseAsync,
		},
		{
			name: "async-unknown", kind: evidence.NCCLAsync, anchor: "unknown event type", since: "2.23",
			source: ib, parse: parseAsync,
		},
		{
			name: "cts-unused", kind: evidence.NCCLFault,
			anchor: "completion for a CTS but retrieved an 'unused' request",
			since:  "2.29.7", source: "transport/net_ib/p2p.cc", parse: constant("what", "cts-unused"),
		},
		{
			name: "recovery", kind: evidence.NCCLFault, anchor: "failed due to max attempts reached",
			since: "2.29.7", source: "transport/net_ib/p2p_resiliency.cc",
			parse: func(_, before string, f evidence.Fields) bool {
				f["what"] = "recovery"
				if dev, ok := between(before, "Recovery for device ", " "); ok {
					f["dev"] = dev
				}
				return true
			},
		},
		{
			name: "doca", kind: evidence.NCCLFault,
			anchor: "DOCA failure ", source: "transport/net_ib/gdaki",
			parse: func(m, _ string, f evidence.Fields) bool {
				f["what"], f["code"] = "doca", firstWord(m[len("DOCA failure "):])
				return digits(f["code"])
			},
		},
	}
}

// datesOfCompletion returns the releases that print a line with these parts.
func datesOfCompletion(m, _ string) (since, until string) {
	has := func(part string) bool { return strings.Contains(m, part) }
	switch {
	case strings.HasPrefix(m, "NET/IB/GIN"):
		return "2.28.7", ""
	case has("devIndex="):
		return "2.29.7", ""
	case has("reqSize="):
		return "2.28.7", "2.28.9"
	case has("vendor_err="):
		return "2.29.2", ""
	case has(" hca ") && has("status="):
		return "2.22", "2.28.3"
	case has("status="):
		return "2.20", "2.21.5"
	case has("localGid"), has(" (Send)"), has(" (Recv)"):
		return "2.18", "2.19.4"
	case has("from peer"):
		return "2.10", "2.17.1"
	default:
		return "", "2.9.9"
	}
}

// parseCompletion reads the values of all forms: "error 12, … vendor err 129", "status=12 …",
// "status=IBV_WC_RETRY_EXC_ERR(12) … vendor_err=129", "wc->status=(…)12".
func parseCompletion(m, _ string, f evidence.Fields) bool {
	for _, mark := range [...]string{"wc->status=", "status=", "with error "} {
		if s, ok := between(m, mark, ""); ok {
			f["status"] = statusNumber(s)
			break
		}
	}
	for _, mark := range [...]string{"vendor err ", "vendor_err="} {
		if s, ok := between(m, mark, ""); ok && digits(firstWord(s)) {
			f["vendor"] = firstWord(s)
		}
	}
	if s, ok := between(m, "from peer ", ""); ok {
		f["peer"], f["peerPort"], _ = socketAddress(s)
	}
	for mark, field := range map[string]string{"localGid": "localGID", "remoteGid": "remoteGID"} {
		if s, ok := between(m, mark, ""); ok {
			s = strings.TrimLeft(strings.TrimPrefix(s, "s"), " ")
			s, _, _ = strings.Cut(s, " ")
			f[field] = gid(strings.TrimRight(s, "]"))
		}
	}
	if s, ok := between(m, " hca ", " "); ok {
		f["device"] = s
	}
	f["link"] = linkOfCompletion(m)
	switch {
	case strings.Contains(m, "(Send)"), strings.Contains(m, "req_type=Send"):
		f["direction"] = "send"
	case strings.Contains(m, "(Recv)"), strings.Contains(m, "req_type=Recv"):
		f["direction"] = "receive"
	}
	for name, value := range f {
		if value == "" {
			delete(f, name)
		}
	}
	return f["status"] != ""
}

// linkOfCompletion returns the kind of the port: since 2.18 NCCL prints the GIDs of Ethernet ports,
// and only of those. "" for older forms, and for lines that are cut off.
func linkOfCompletion(m string) string {
	switch {
	case strings.Contains(m, "localGid"):
		return "RoCE"
	case strings.Contains(m, " hca "), strings.Contains(m, " (Send)"), strings.Contains(m, " (Recv)"):
		return "IB"
	}
	return ""
}

// statusNumber returns the decimal number of "12 …", "IBV_WC_RETRY_EXC_ERR(12)", "(name)12".
func statusNumber(s string) string {
	s, _, _ = strings.Cut(s, " ")
	s = strings.TrimRight(s, ",)")
	if i := strings.LastIndexAny(s, "()"); i >= 0 {
		s = s[i+1:]
	}
	if s = firstWord(s); digits(s) {
		return s
	}
	return ""
}

// parseAsync reads an asynchronous event, of which the device is named since 2.20: "NET/IB :
// mlx5_0:1 Got async event : port error".
func parseAsync(m, before string, f evidence.Fields) bool {
	for word := range strings.FieldsSeq(before) {
		if portOf(strings.TrimRight(word, ","), f) {
			break
		}
	}
	if strings.HasPrefix(m, "async fatal") {
		f["fatal"] = "yes"
		m, _ = between(m, ": ", "")
	}
	event := m
	for _, mark := range [...]string{"event : ", "event: "} {
		if _, after, ok := strings.Cut(m, mark); ok {
			event = after
		}
	}
	event, _, _ = strings.Cut(event, "(")
	f["event"] = strings.ToLower(strings.TrimSpace(event))
	return f["event"] != ""
}
