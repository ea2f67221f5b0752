package nccl

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// endRows are echoes, the end, and every other warning.
func endRows() []row {
	return []row{
		{
			name: "mismatch", kind: evidence.NCCLMismatch,
			anchor: "Mismatched NCCL version detected", since: "2.23", source: "init.cc",
			parse: func(m, _ string, f evidence.Fields) bool {
				words := strings.Fields(m)
				for i := 0; i+1 < len(words); i++ {
					switch {
					case words[i] == "rank" && f["rank"] == "":
						f["rank"] = words[i+1]
					case words[i] == "rank":
						f["peerRank"] = words[i+1]
					case words[i] == "version" && f["rank"] != "" && f["version"] == "":
						f["version"] = words[i+1]
					case words[i] == "version" && f["peerRank"] != "":
						f["peerVersion"] = words[i+1]
					}
				}
				return true
			},
		},
		{
			name: "hint", kind: evidence.NCCLHint,
			anchor: "HINT: ", since: "2.30.7",
			source: "transport/net_ib/common.h", parse: rest("HINT: ", "hint"),
		},
		{name: "proxy-execute", kind: evidence.NCCLProxy, anchor: "Failed to execute operation ", source: "proxy.cc"},
		{name: "proxy-call", kind: evidence.NCCLProxy, anchor: "Proxy Call to rank ", source: "proxy.cc"},
		{
			name: "proxy-progress", kind: evidence.NCCLProxy, anchor: "Error encountered progressing operation",
			source: "proxy.cc",
		},
		{
			name: "fatal", kind: evidence.NCCLEnd,
			anchor: "communicator encountered a fatal error", since: "2.23",
			source: "init.cc", parse: constant("what", "fatal"),
		},
		{
			name: "abort", kind: evidence.NCCLEnd,
			anchor: "Abort COMPLETE", source: "init.cc",
			parse: constant("what", "abort"),
		},
		{
			name: "destroy", kind: evidence.NCCLEnd,
			anchor: "Destroy COMPLETE", source: "init.cc",
			parse: constant("what", "destroy"),
		},
		{
			name: "revoke", kind: evidence.NCCLEnd,
			anchor: "Revoke COMPLETE", source: "init.cc",
			parse: constant("what", "revoke"),
		},
		{name: "return", kind: evidence.NCCLReturn, anchor: " -> ", source: "include/checks.h", parse: parseReturn},
		{name: "warn", kind: evidence.NCCLWarn, anchor: " NCCL WARN ", source: "debug.cc"},
	}
}

// parseReturn reads a line of a backtrace: "net_ib.cc:1615 -> 6[ (text)][ [Async thread]]", since
// 2.30.7 with the function: "net_ib.cc:1615 (ncclIbTest) -> 6".
func parseReturn(m, before string, f evidence.Fields) bool {
	place, _, _ := strings.Cut(strings.TrimSpace(before), " ")
	file, line, ok := strings.Cut(place, ":")
	if !ok || !digits(line) || !strings.ContainsRune(file, '.') {
		return false
	}
	f["code"], f["at"] = firstWord(m[len(" -> "):]), place
	return digits(f["code"])
}
