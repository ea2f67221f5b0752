package nccl

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// startRows are versions, settings and initialization.
func startRows() []row {
	return []row{
		{
			name:   "version",
			kind:   evidence.NCCLVersion,
			anchor: "NCCL version ",
			source: "init.cc",
			parse:  parseVersion,
		},
		{
			name: "version-rccl", kind: evidence.NCCLVersion, anchor: "RCCL version", source: "init.cc",
			parse: parseVersion,
		},
		{
			name: "env", kind: evidence.NCCLEnv, anchor: " set by environment to ", source: "misc/param.cc",
			parse: parseEnv(" set by environment to "),
		},
		{
			name: "env-set", kind: evidence.NCCLEnv, anchor: " set to ", source: "transport/net_ib.cc",
			parse: parseEnv(" set to "),
		},
		{
			name: "env-invalid", kind: evidence.NCCLEnvInvalid, anchor: "Invalid value ", source: "misc/param.cc",
			parse: func(m, _ string, f evidence.Fields) bool {
				f["value"], _ = between(m, "Invalid value ", " for ")
				f["name"], _ = between(m, " for ", ",")
				f["default"], _ = between(m, "using default ", "")
				f["default"] = strings.TrimSuffix(f["default"], ".")
				return strings.HasPrefix(f["name"], "NCCL_")
			},
		},
		{
			name: "bootstrap-2.24", kind: evidence.NCCLBootstrap, anchor: "Bootstrap: Using ", since: "2.24",
			source: "bootstrap.cc", parse: parseBootstrap,
		},
		{
			name: "bootstrap", kind: evidence.NCCLBootstrap, anchor: "Bootstrap : Using ", until: "2.23.4",
			source: "bootstrap.cc", parse: parseBootstrap,
		},
		{
			name: "bootstrap-none", kind: evidence.NCCLBootstrap, anchor: "no socket interface found",
			source: "bootstrap.cc",
		},
		{
			name: "bootstrap-unusable", kind: evidence.NCCLBootstrap, anchor: "No usable listening interface found",
			source: "bootstrap.cc",
		},
		{name: "init-start", kind: evidence.NCCLInitStart, anchor: "Init START", source: "init.cc", parse: parseInit},
		{
			name: "init-complete", kind: evidence.NCCLInitComplete, anchor: "Init COMPLETE", source: "init.cc",
			parse: parseInit,
		},
		{
			name: "ranks", kind: evidence.NCCLRanks, anchor: " nNodes ", since: "2.20", source: "init.cc",
			parse: func(m, before string, f evidence.Fields) bool {
				pairs(before+m, f, map[string]string{
					"comm":       "comm",
					"rank":       "rank",
					"nRanks":     "nranks",
					"nNodes":     "nnodes",
					"localRanks": "localranks",
				})
				return digits(f["nnodes"])
			},
		},
	}
}

func parseVersion(m, _ string, f evidence.Fields) bool {
	words := strings.Fields(strings.Replace(m, " version : ", " version ", 1))
	if len(words) < 3 || partOf(words[2:], 0) == 0 {
		return false
	}
	number, cuda, _ := strings.Cut(words[2], "+cuda")
	number, _, _ = strings.Cut(number, "+")
	number, _, _ = strings.Cut(number, "-")
	f["library"], f["version"] = strings.ToLower(words[0]), decodedVersion(number)
	if cuda != "" {
		f["cuda"] = cuda
	}
	return strings.Contains(number, ".")
}

// decodedVersion returns the version meant by old releases of PyTorch, which took the code of a
// version apart as NCCL before 2.9 composed it: 21.0.3 is the code 21003, release 2.10.3 (source:
// pytorch/pytorch, torch/csrc/distributed/c10d/NCCLUtils.cpp).
func decodedVersion(s string) string {
	parts := strings.Split(s, ".")
	if partOf(parts, 0) < 10 {
		return s
	}
	code := partOf(parts, 0)*1000 + partOf(parts, 1)*100 + partOf(parts, 2)
	return fmt.Sprintf("%d.%d.%d", code/10000, code/100%100, code%100)
}

// parseEnv reads "NAME set by environment to VALUE": numbers have a full stop behind them.
func parseEnv(link string) func(m, before string, f evidence.Fields) bool {
	return func(m, before string, f evidence.Fields) bool {
		words := strings.Fields(before)
		if len(words) == 0 {
			return false
		}
		name := words[len(words)-1]
		if !strings.HasPrefix(name, "NCCL_") && !strings.HasPrefix(name, "RCCL_") &&
			!strings.HasPrefix(name, "OFI_") {
			return false
		}
		value := m[len(link):]
		if number := strings.TrimSuffix(value, "."); number != value && digits(strings.TrimPrefix(number, "-")) {
			value = number
		}
		f["name"], f["value"] = name, value
		return true
	}
}

func parseBootstrap(m, _ string, f evidence.Fields) bool {
	_, rest, _ := strings.Cut(m, "Using ")
	if list := interfaces(rest); len(list) > 0 {
		f["interface"], f["address"], _ = strings.Cut(list[0], ":")
		return true
	}
	f["interface"] = strings.TrimSpace(rest) // a device of the network: NCCL_OOB_NET_ENABLE
	return f["interface"] != ""
}

func parseInit(m, before string, f evidence.Fields) bool {
	names := map[string]string{
		"comm": "comm", "rank": "rank", "nranks": "nranks", "cudaDev": "cudadev", "busId": "busid",
		"commId": "commid", "parent": "parent",
	}
	pairs(before, f, names)
	pairs(m, f, names)
	return digits(f["rank"])
}
