package nccl

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// pluginRows are what becomes of network plugins.
func pluginRows() []row {
	core := "plugin/net.cc"
	return []row{
		plugin("initialized", "Initialized NET plugin ", "loaded", "2.27", core),
		plugin("not-initialized", "Failed to initialize NET plugin ", "failed", "2.28", core),
		plugin("gin", "Assigned GIN plugin ", "loaded", "2.28", core),
		plugin("path", "Plugin Path : ", "loaded", "", "net.cc"),
		plugin("p2p", "P2P plugin ", "loaded", "", "net.cc"),
		plugin("loaded", "Loaded net plugin ", "loaded", "", "net.cc"),
		plugin("external", "Successfully loaded external network plugin ", "loaded", "2.28", core),
		plugin("not-found", "Could not find:", "missing", "2.22", "net.cc"),
		plugin("symbol", "Failed to find ncclNetPlugin", "probe", "", "net.cc"),
		plugin("load", "Plugin load (", "missing", "2.17", "net.cc"),
		{
			name: "plugin-load-old", kind: evidence.NCCLPlugin, anchor: "lugin load returned ", until: "2.21.5",
			source: "net.cc", parse: constant("state", "missing"),
		},
		{
			name: "network-missing", kind: evidence.NCCLNoNetwork, anchor: "Error: network ", since: "2.10",
			until: "2.26.6", source: "net.cc",
			parse: func(m, _ string, f evidence.Fields) bool {
				name, rest, ok := strings.Cut(m[len("Error: network "):], " not found")
				f["network"] = name
				return ok && strings.TrimSpace(rest) == "."
			},
		},
		plugin("none", "No plugin found", "missing", "", "net.cc"),
	}
}

// networkRows are devices, and the network that is used.
func networkRows() []row {
	ib, core := "transport/net_ib.cc", "plugin/net.cc"
	return []row{
		{
			name: "network", kind: evidence.NCCLNetwork,
			anchor: "Using network ", source: "init.cc",
			parse: rest("Using network ", "network"),
		},
		{
			name: "network-assigned", kind: evidence.NCCLNetwork,
			anchor: "Assigned NET plugin ", since: "2.27", source: core,
			parse: func(m, _ string, f evidence.Fields) bool {
				f["network"], _ = between(m, "Assigned NET plugin ", " to comm")
				return f["network"] != ""
			},
		},
		{
			name: "network-none", kind: evidence.NCCLNoNetwork, anchor: "Failed to initialize any NET plugin",
			since: "2.27", source: core,
		},
		{
			name: "ib-virtual", kind: evidence.NCCLVirtual,
			anchor: "Made virtual device [", since: "2.24", source: ib,
			parse: func(m, _ string, f evidence.Fields) bool {
				f["index"], _ = between(m, "[", "]")
				f["name"], _ = between(m, "name=", " ")
				f["devices"] = strings.ReplaceAll(f["name"], "+", " ")
				return digits(f["index"]) && f["name"] != ""
			},
		},
		{
			name: "ib-device", kind: evidence.NCCLDevice,
			anchor: " provider=", since: "2.24", source: ib,
			parse: parseDevice,
		},
		{name: "ib-using", kind: evidence.NCCLDevices, anchor: "NET/IB : Using ", source: ib, parse: parseDevices},
		{name: "ib-none", kind: evidence.NCCLNoDevice, anchor: "NET/IB : No device found", source: ib},
		{
			name: "libibverbs", kind: evidence.NCCLNoLibrary,
			anchor: "Failed to open libibverbs.so", until: "2.29.99",
			source: "misc/ibvsymbols.cc", parse: constant("library", "libibverbs"),
		},
		{
			name: "libibverbs-2.30", kind: evidence.NCCLNoLibrary,
			anchor: "not open libibverbs", since: "2.30",
			source: "misc/ibvsymbols.cc", parse: constant("library", "libibverbs"),
		},
		{
			name: "dlvsym", kind: evidence.NCCLHarmless,
			anchor: "dlvsym failed on mlx5dv_", since: "2.27.5",
			source: "misc/mlx5dvsymbols.cc", parse: constant("what", "dlvsym"),
		},
		{
			name: "libmlx5", kind: evidence.NCCLHarmless,
			anchor: "Failed to open libmlx5.so", since: "2.27",
			source: "misc/mlx5dvsymbols.cc", parse: constant("what", "libmlx5"),
		},
		refused("open", "Unable to open device "),
		refused("query", "Unable to query device "),
		refused("port", "Unable to query port_num "),
		refused("port-2.19", "NET/IB : Unable to query port "),
		{
			name: "no-ip", kind: evidence.NCCLFault,
			anchor: "No IP interface found", source: ib,
			parse: constant("what", "no-ip"),
		},
		{
			name: "sockets", kind: evidence.NCCLSockets,
			anchor: "NET/Socket : Using ", source: "transport/net_socket.cc",
			parse: func(m, _ string, f evidence.Fields) bool {
				f["devices"] = strings.Join(interfaces(m), " ")
				return f["devices"] != ""
			},
		},
		{
			name: "sockets-none", kind: evidence.NCCLSockets, anchor: "NET/Socket : no interface found",
			source: "transport/net_socket.cc", parse: constant("devices", ""),
		},
		{
			name: "ofi-error", kind: evidence.EFAError,
			anchor: "ompleted with error", source: "of aws/aws-ofi-nccl: include/nccl_ofi_platform.h",
			parse: parseOFI,
		},
		{
			name: "ofi-insert", kind: evidence.EFAError,
			anchor: "Unable to insert remote address", source: "of aws/aws-ofi-nccl: nccl_ofi_rdma.cpp",
			parse: constant("text", "address not inserted"),
		},
		{
			name: "ofi-provider", kind: evidence.NCCLPlugin,
			anchor: "NET/OFI Selected ", source: "of aws/aws-ofi-nccl: nccl_ofi_net.cpp",
			parse: parseOFIProvider,
		},
	}
}

// parseOFIProvider reads "Selected Provider is tcp (found 1 nics)", and since 1.14 "Selected
// provider is efa, fabric is efa (found 4 nics)".
func parseOFIProvider(m, _ string, f evidence.Fields) bool {
	f["name"], f["state"] = "AWS Libfabric", "loaded"
	if s, ok := between(m, "rovider is ", ""); ok {
		f["provider"] = strings.TrimRight(firstWord(s), ",.")
	}
	return true
}

// parseOFI reads the provider's status of "Request … completed with error: err: 113, …, prov_errno:
// 15, strerror: …", and of older plugins ".. RC: 113. Error: 15 (Unreachable remote).".
func parseOFI(m, before string, f evidence.Fields) bool {
	for _, mark := range [...]string{"prov_errno: ", "Error: "} {
		if s, ok := between(m, mark, ""); ok && digits(firstWord(s)) {
			f["status"] = firstWord(s)
			break
		}
	}
	return strings.Contains(before, "NET/OFI")
}

// rest returns a parser that takes everything behind the anchor as a field.
func rest(anchor, field string) func(m, before string, f evidence.Fields) bool {
	return func(m, _ string, f evidence.Fields) bool {
		f[field] = strings.TrimSpace(m[len(anchor):])
		return f[field] != ""
	}
}

// constant returns a parser for forms without values.
func constant(field, value string) func(m, before string, f evidence.Fields) bool {
	return constants(field, value)
}

func constants(fields ...string) func(m, before string, f evidence.Fields) bool {
	return func(_, _ string, f evidence.Fields) bool {
		for i := 0; i < len(fields); i += 2 {
			f[fields[i]] = fields[i+1]
		}
		return true
	}
}

func plugin(name, anchor, state, since, source string) row {
	return row{
		name: "plugin-" + name, kind: evidence.NCCLPlugin, anchor: anchor, since: since, source: source,
		parse: func(m, _ string, f evidence.Fields) bool {
			f["state"] = state
			if name := strings.TrimLeft(m[len(anchor):], " ("); name != "" && name[0] != '(' {
				name, _, _ = strings.Cut(name, " ")
				f["name"] = strings.TrimRight(name, "),.")
			}
			return true
		},
	}
}

func refused(name, anchor string) row {
	return row{
		name: "device-" + name, kind: evidence.NCCLVerb, anchor: anchor, source: "transport/net_ib.cc",
		parse: func(m, _ string, f evidence.Fields) bool {
			f["call"] = map[string]string{
				"open": "ibv_open_device", "query": "ibv_query_device",
				"port": "ibv_query_port", "port-2.19": "ibv_query_port",
			}[name]
			if strings.HasPrefix(name, "port") {
				f["port"] = firstWord(m[len(anchor):])
				return true
			}
			f["device"] = firstWord(m[len(anchor):])
			return f["device"] != ""
		},
	}
}

// parseDevices reads the list of ports: "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:1.2.3.4<",
// with merged ports as "[0]={[0] mlx5_0:1/IB, [1] mlx5_1:1/IB}" (2.20 to 2.23), and with rail and
// plane as "[0]mlx5_0:1:0:0/IB" (2.30.7). The list can be empty.
func parseDevices(m, _ string, f evidence.Fields) bool {
	list, oob, _ := strings.Cut(m[len("NET/IB : Using "):], "; OOB ")
	var devices []string
	for word := range strings.FieldsFuncSeq(list, func(r rune) bool { return strings.ContainsRune(" ,{}=[]", r) }) {
		name, link, ok := strings.Cut(word, "/")
		parts := strings.Split(name, ":")
		if !ok || len(parts) < 2 || parts[0] == "" || !digits(parts[1]) {
			continue
		}
		devices = append(devices, parts[0]+":"+parts[1]+"/"+strings.TrimRight(link, "."))
	}
	f["devices"] = strings.Join(devices, " ")
	if list := interfaces(oob); len(list) > 0 {
		f["oob"] = list[0]
	}
	return true
}

// parseDevice reads "NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=400000 …".
func parseDevice(m, before string, f evidence.Fields) bool {
	words := strings.Fields(before)
	if len(words) == 0 {
		return false
	}
	name, link, ok := strings.Cut(words[len(words)-1], "/")
	parts := strings.Split(name, ":")
	if !ok || len(parts) != 3 {
		return false
	}
	f["device"], f["port"], f["link"] = parts[0], parts[2], link
	f["provider"], _ = between(m, "provider=", " ")
	f["speed"], _ = between(m, "speed=", " ")
	return true
}
