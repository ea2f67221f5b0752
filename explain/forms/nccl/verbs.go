package nccl

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms/posix"
)

// verbRows are calls of libibverbs that failed, and devices that don't fit together.
func verbRows() []row {
	ib, wrap := "transport/net_ib.cc", "misc/ibvwrap.cc"
	return []row{
		{
			name: "verb-retry", kind: evidence.NCCLVerbRetry,
			anchor: ", retrying ", since: "2.24", source: wrap,
			parse: parseRetry,
		},
		{name: "verb-skipped", kind: evidence.NCCLHarmless, anchor: " skipped", source: wrap, parse: parseProbe},
		{
			name: "verb-unsupported", kind: evidence.NCCLHarmless,
			anchor: " not supported", source: wrap,
			parse: parseProbe,
		},
		{name: "verb", kind: evidence.NCCLVerb, anchor: "Call to ibv_", source: wrap, parse: parseVerb},
		{
			name: "verb-post", kind: evidence.NCCLVerb,
			anchor: "ibv_post_send() failed", source: "include/ibvwrap.h",
			parse: parseVerb,
		},
		{
			name: "gid-version", kind: evidence.NCCLFault,
			anchor: "failed in ncclIbRoceGetVersionNum", since: "2.23",
			source: ib, parse: func(m, _ string, f evidence.Fields) bool {
				f["what"], f["errno"] = "gid-version", posix.Errno(m)
				return true
			},
		},
		{
			name: "merge", kind: evidence.NCCLMerge,
			anchor: "incompatible devices", since: "2.26", source: ib,
			parse: parseDevicesNamed,
		},
		{
			name: "merge-remote", kind: evidence.NCCLMerge,
			anchor: " is incompatible with the local", since: "2.26", source: ib,
			parse: parseDevicesNamed,
		},
		{
			name: "merge-2.20", kind: evidence.NCCLMerge,
			anchor: "Can't merge net devices", since: "2.20", until: "2.23.4",
			source: ib, parse: parseDevicesNamed,
		},
		{
			name: "merge-2.24", kind: evidence.NCCLMerge,
			anchor: "together with different link_layer properties", since: "2.24", until: "2.25.1",
			source: ib, parse: parseDevicesNamed,
		},
		{
			name: "connect-2.24", kind: evidence.NCCLMerge,
			anchor: "Can't connect net devices with different link_layer", since: "2.24", until: "2.25.1",
			source: ib, parse: parseDevicesNamed,
		},
		{
			name: "unequal", kind: evidence.NCCLUnequal,
			anchor: "has a different number of devices=", source: ib,
			since: "2.20", parse: func(m, _ string, f evidence.Fields) bool {
				f["local"] = firstWord(m[len("has a different number of devices="):])
				words := strings.Fields(m)
				if n := strings.TrimPrefix(words[len(words)-1], "nRemDevs="); digits(n) {
					f["remote"] = n
				}
				return true
			},
		},
		{
			name: "unequal-physical", kind: evidence.NCCLUnequal,
			anchor: "mismatched physical devices", since: "2.24", source: ib,
		},
		{
			name: "flid", kind: evidence.NCCLFault,
			anchor: "remote FLID configured as zero", since: "2.22", source: ib,
			parse: constant("what", "flid"),
		},
	}
}

// parseVerb reads "Call to ibv_modify_qp failed with error Connection timed out[ errno 110]" (until
// 2.23) and "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_1:1, curr
// state INIT, next state RTR, local GID index 3, local GID …, remote GID …" (since 2.24).
func parseVerb(m, _ string, f evidence.Fields) bool {
	if !strings.Contains(m, "failed") {
		return false
	}
	_, call, _ := strings.Cut(m, "ibv_")
	f["call"] = "ibv_" + firstWord(call)
	with, ok := between(m, "failed with ", "")
	if !ok {
		return true
	}
	if n := firstWord(with); digits(n) {
		f["errno"] = n
	} else if n := posix.Errno(m); n != "" {
		f["errno"] = n
	}
	if s, ok := between(m, "on dev ", ","); ok {
		portOf(s, f)
	}
	for mark, field := range map[string]string{
		"curr state ": "state", "next state ": "next", "local GID index ": "gidIndex",
	} {
		if s, ok := between(m, mark, ""); ok {
			f[field] = firstWord(s)
		}
	}
	for mark, field := range map[string]string{", local GID ": "localGID", "remote GID ": "remoteGID"} {
		for _, part := range strings.Split(m, mark)[1:] {
			s, _, _ := strings.Cut(part, " ")
			if g := gid(s); g != "" {
				f[field] = g
			}
		}
	}
	return true
}

// parseRetry reads the retries of a call that failed: "…, retrying 3/35 after 300 msec of sleep".
func parseRetry(m, before string, f evidence.Fields) bool {
	_, call, ok := strings.Cut(before, "Call to ")
	if !ok || !strings.HasPrefix(call, "ibv_") || !parseVerb("Call to "+call, "", f) {
		return false
	}
	f["try"], f["tries"], _ = strings.Cut(strings.Fields(m[len(", retrying "):] + " ")[0], "/")
	return true
}

// parseProbe reads "Call to ibv_X skipped" and "… not supported", which are probes of features: at
// level WARN the call was needed, and its text is that of an error number.
func parseProbe(_, before string, f evidence.Fields) bool {
	_, call, ok := strings.Cut(before, "Call to ")
	if !ok || !strings.HasPrefix(call, "ibv_") || strings.Contains(call, "failed with error") {
		return false
	}
	f["what"], f["call"] = "probe", firstWord(call)
	return true
}

// parseDevicesNamed takes the ports that a line names as "[0]mlx5_0:1/IB".
func parseDevicesNamed(m, before string, f evidence.Fields) bool {
	return parseDevices("NET/IB : Using "+before+" "+m, "", f)
}
