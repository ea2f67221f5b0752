package nccl

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// pathRows are queue pairs, channels, and GPU Direct.
func pathRows() []row {
	return []row{
		{
			name: "gdr", kind: evidence.NCCLGDR, anchor: "GPU Direct RDMA ", source: "graph/paths.cc, graph/topo.cc",
			parse: parseGDR,
		},
		{
			name: "dmabuf", kind: evidence.NCCLDMABuf,
			anchor: "DMA-BUF is available on GPU device ", since: "2.13",
			source: "init.cc", parse: rest("DMA-BUF is available on GPU device ", "gpu"),
		},
		{
			name: "qp-2.29.7", kind: evidence.NCCLQP,
			anchor: " qp_num ", since: "2.29.7", source: "transport/net_ib/connect.cc",
			parse: parseQP,
		},
		{
			name: "qp-2.20", kind: evidence.NCCLQP,
			anchor: " IbDev ", since: "2.20", until: "2.29.3",
			source: "transport/net_ib.cc", parse: parseQP,
		},
		{
			name: "qp", kind: evidence.NCCLQP,
			anchor: "NET/IB: Dev ", until: "2.19.4", source: "transport/net_ib.cc",
			parse: parseQP,
		},
		{
			name:   "channel",
			kind:   evidence.NCCLChannel,
			anchor: " via ",
			source: "transport/net.cc",
			parse:  parseChannel,
		},
		{
			name: "connected", kind: evidence.NCCLConnected,
			anchor: "Connected ", source: "transport/generic.cc",
			parse: func(m, _ string, f evidence.Fields) bool {
				what, details, _ := strings.Cut(m[len("Connected "):], ",")
				f["what"] = strings.TrimSpace(what)
				pairs(details, f, map[string]string{"PXN": "pxn", "GDR": "gdr"})
				what = strings.TrimSuffix(f["what"], "s")
				return strings.HasSuffix(what, "ring") || strings.HasSuffix(what, "tree")
			},
		},
	}
}

// parseGDR reads "GPU Direct RDMA Enabled for HCA 0 'mlx5_0'" and "GPU Direct RDMA Disabled for GPU
// 1 / HCA 0 (distance 8 > 5), read 0".
func parseGDR(m, _ string, f evidence.Fields) bool {
	words := strings.Fields(m)
	if len(words) < 4 {
		return false
	}
	switch words[3] {
	case "Enabled":
		f["enabled"] = "yes"
	case "Disabled":
		f["enabled"] = "no"
	default:
		return false
	}
	if device, ok := between(m, "'", "'"); ok {
		f["device"] = device
	}
	if gpu, ok := between(m, "for GPU ", " "); ok {
		f["gpu"] = strings.TrimRight(gpu, ",")
	}
	if distance, ok := between(m, "(distance ", ")"); ok {
		words := strings.Fields(distance)
		if len(words) == 3 {
			f["distance"], f["limit"] = words[0], words[2]
		}
	}
	if strings.Contains(m, "(no module)") {
		f["reason"] = "no module"
	}
	return true
}

// parseQP reads the line of a queue pair: "… Dev 0 [IbDev 0 ]Port 1 qpn 40 mtu 5 LID 12 …" on
// InfiniBand, "… mtu 3 … GID 3 (0/A10B0A0AFFFF0000) …" on all others.
func parseQP(m, before string, f evidence.Fields) bool {
	pairs(before+m, f, map[string]string{
		"Dev": "dev", "MergedDev": "dev", "IbDev": "ibdev", "Port": "port", "qpn": "qpn", "qp_num": "qpn",
		"mtu": "mtu", "LID": "lid", "GID": "gidIndex",
	})
	f["mtu"] = mtuBytes(f["mtu"])
	if f["mtu"] == "" || f["qpn"] == "" {
		return false
	}
	halves, ok := between(before+m, " GID ", ")")
	switch {
	case ok:
		_, halves, _ = strings.Cut(halves, "(")
		high, low, _ := strings.Cut(halves, "/")
		f["link"], f["gid"] = "RoCE", gidHalves(high, low)
		return f["gid"] != ""
	case f["lid"] != "":
		f["link"] = "IB"
	}
	return f["lid"] != ""
}

// parseChannel reads "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(1)/GDRDMA/Shared", and the
// same of "via P2P/IPC" and "via SHM/direct/direct".
func parseChannel(m, before string, f evidence.Fields) bool {
	if !strings.Contains(before, "Channel ") && !strings.Contains(before, "CollNet ") &&
		!strings.HasPrefix(before, "Ring ") { // until 2.6
		return false
	}
	from, to, ok := strings.Cut(before, " -> ")
	if ok {
		words := strings.Fields(from)
		f["from"], _, _ = strings.Cut(words[len(words)-1], "[")
		f["to"] = firstWord(strings.TrimSpace(to))
	}
	if channel, ok := between(before, "Channel ", " "); ok {
		f["channel"] = channel
	}
	for _, direction := range [...]string{"send", "receive"} {
		if strings.Contains(before, "["+direction+"]") {
			f["direction"] = direction
		}
	}
	path, _, _ := strings.Cut(m[len(" via "):], " comm ")
	path = strings.TrimSpace(path)
	parts := strings.Split(path, "/")
	f["transport"] = parts[0]
	if parts[0] != "NET" && parts[0] != "COLLNET" {
		return true
	}
	if len(parts) < 3 {
		return false
	}
	f["network"], f["nic"] = parts[1], parts[2]
	if nic, proxy, ok := strings.Cut(parts[2], "("); ok {
		f["nic"], f["proxy"] = nic, strings.TrimSuffix(proxy, ")")
	}
	f["gdr"] = "no"
	for _, p := range parts[3:] {
		if strings.HasPrefix(p, "GDRDMA") {
			f["gdr"] = "yes"
		}
	}
	return true
}
