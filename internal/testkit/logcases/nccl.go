package logcases

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"strings"
)

// The forms of this file are those of NVIDIA/nccl at the release tags: src/debug.cc (prefixes),
// src/init.cc, src/bootstrap.cc, src/net.cc, src/plugin, src/transport/net_ib.cc, net_ib/*.cc,
// src/transport/net.cc, src/misc/ibvwrap.cc.

// clock is the time in a log, as offset from the session's start.
type clock struct{ seconds int }

func (s *session) info(rank int, format string, args ...any) string {
	_, n := s.nodeOf(rank)
	return fmt.Sprintf("%s:%d:%d [%d] NCCL INFO %s", n.name, s.pid(rank), s.tid(rank), rank%s.gpus,
		fmt.Sprintf(format, args...))
}

// warn returns a WARN line with the empty line in front of it. where is FILE:LINE, or FILE:LINE (F)
// for the releases that print the function.
func (s *session) warn(rank int, at clock, where, message string) string {
	_, n := s.nodeOf(rank)
	stamp := ""
	if n.version.since(26) {
		stamp = s.at(at).Format("[2006-01-02 15:04:05] ")
	}
	file, _, _ := strings.Cut(where, ":")
	switch _, function, known := strings.Cut(where, " ("); {
	case !n.version.since(30, 7):
		where, _, _ = strings.Cut(where, " ("+function)
	case !known:
		where += " (" + functionOf(file) + ")"
	}
	return fmt.Sprintf("\n%s%s:%d:%d [%d] %s NCCL WARN %s", stamp, n.name, s.pid(rank), s.tid(rank), rank%s.gpus,
		where, message)
}

// chain returns the lines of a backtrace: each "FILE:LINE" becomes a line "FILE:LINE -> CODE". A
// trailing "*" marks the progress thread, "+" the asynchronous thread.
func (s *session) chain(rank int, code string, places []string) (lines []string) {
	for _, place := range places {
		suffix := ""
		if p, ok := strings.CutSuffix(place, "*"); ok {
			place, suffix = p, " [Progress Thread]"
		} else if p, ok := strings.CutSuffix(place, "+"); ok {
			place, suffix = p, " [Async thread]"
		}
		if _, n := s.nodeOf(rank); n.version.since(30, 7) {
			file, _, _ := strings.Cut(place, ":")
			place += " (" + functionOf(file) + ")"
		}
		lines = append(lines, s.info(rank, "%s -> %s%s", place, code, suffix))
	}
	return lines
}

// functionOf names a function of a source file, as 2.30.7 prints it in a backtrace.
func functionOf(file string) string {
	function, ok := map[string]string{
		"transport/net.cc": "sendProxyProgress", "proxy.cc": "progressOps", "init.cc": "ncclCommInitRankFunc",
		"group.cc": "ncclAsyncJobMain", "bootstrap.cc": "bootstrapInit", "misc/socket.cc": "ncclSocketWait",
		"gin/gin_host.cc": "ncclGinConnectOnce",
	}[file]
	if !ok {
		return "ncclIbConnect"
	}
	return function
}

// versionLine is printed by rank 0 until 2.21, without prefix; later by each process.
func (s *session) versionLine(rank int) (string, bool) {
	_, n := s.nodeOf(rank)
	text := fmt.Sprintf("NCCL version %s+cuda%s", n.version, s.cuda)
	switch {
	case s.library == "RCCL" && n.version.since(24):
		text = fmt.Sprintf("RCCL version : %s-HEAD:%07x\nHIP version  : %s.60850-0000000", n.version,
			s.seed&0xfffffff, s.cuda)
	case s.library == "RCCL":
		text = fmt.Sprintf("RCCL version %s+hip%s HEAD:%06x+", n.version, s.cuda, s.seed&0xffffff)
	}
	if n.version.since(22) {
		return s.info(rank, "%s", text), true
	}
	return text, rank == 0 || (rank%s.gpus == 0 && n.version != s.nodes[0].version)
}

// pluginLines are the search for a network plugin.
func (s *session) pluginLines(rank int) []string {
	_, n := s.nodeOf(rank)
	v := n.version
	switch {
	case s.plugin == "IBext_v8":
		const path = "/opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so"
		return []string{s.info(rank, "Plugin Path : %s", path), s.info(rank, "P2P plugin %s", s.plugin)}
	case s.plugin == "AWS Libfabric":
		return []string{
			s.info(rank, "NET/OFI Initializing aws-ofi-nccl 1.9.1-aws"),
			s.info(rank, "NET/OFI Using Libfabric version 1.20"),
			s.info(rank, "NET/OFI Using CUDA driver version %s", s.driver),
			s.info(rank, "NET/OFI Selected Provider is efa (found %d nics)", len(n.hcas)),
		}
	case v.since(28):
		return []string{s.info(rank, "NET/Plugin: Could not find: libnccl-net.so")}
	case v.since(26):
		return []string{s.info(rank, "NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.")}
	case v.since(22):
		return []string{s.info(rank, "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.")}
	case v.since(21):
		return []string{
			s.info(rank, "NET/Plugin: No plugin found (libnccl-net.so)"),
			s.info(rank, "NET/Plugin: Plugin load returned 2 : libnccl-net.so: cannot open shared object file: "+
				"No such file or directory : when loading libnccl-net.so"),
			s.info(rank, "NET/Plugin: Using internal network plugin."),
		}
	case v.since(18):
		return []string{
			s.info(rank, "NET/Plugin : Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: cannot open "+
				"shared object file: No such file or directory"),
			s.info(rank, "NET/Plugin : No plugin found, using internal implementation"),
		}
	}
	return []string{s.info(rank, "NET/Plugin : No plugin found (libnccl-net.so), using internal implementation")}
}

// deviceLines are the list of devices and the choice of the network.
func (s *session) deviceLines(rank int) (lines []string) {
	_, n := s.nodeOf(rank)
	v := n.version
	oob := fmt.Sprintf("%s:%s<0>", s.oob, n.ip)
	switch {
	case n.net == "Socket":
		if len(n.hcas) == 0 && !s.hasEnv("NCCL_IB_DISABLE", "1") {
			lines = append(lines, s.info(rank, "NET/IB : No device found."))
			if v.since(24) {
				lines = append(lines, s.info(rank, "NET/IB : Using %s; OOB %s", s.relaxed(), oob))
			}
		}
		lines = append(lines, s.info(rank, "NET/Socket : Using [0]%s", oob))
	case s.plugin == "AWS Libfabric":
	default:
		var list strings.Builder
		for i, h := range n.hcas {
			fmt.Fprintf(&list, " [%d]%s:1/%s", i, h, n.link)
		}
		lines = append(lines, s.info(rank, "NET/IB : Using%s %s; OOB %s", list.String(), s.relaxed(), oob))
	}
	if v.since(27) {
		lines = append(lines, s.info(rank, "Initialized NET plugin %s", n.net),
			s.info(rank, "Assigned NET plugin %s to comm", n.net))
	} else if v.since(20) && !v.since(23) {
		lines = append(lines, s.info(rank, "Using non-device net plugin version 0"))
	}
	return append(lines, s.info(rank, "Using network %s", n.net))
}

func (s *session) relaxed() string {
	if s.ro && s.nodes[0].version.since(12) {
		return "[RO]"
	}
	return ""
}

func (s *session) hasEnv(name, value string) bool {
	return slices.Contains(s.env, name+"="+value)
}

// envLine is how NCCL reports a variable: numbers with a dot at the end, texts in two forms.
func envLine(assignment string) string {
	name, value, _ := strings.Cut(assignment, "=")
	switch name {
	case "NCCL_IB_HCA":
		return "NCCL_IB_HCA set to " + value
	case "NCCL_SOCKET_IFNAME", "NCCL_NET", "NCCL_PROTO", "NCCL_ALGO", "NCCL_NET_PLUGIN", "NCCL_IB_ADDR_FAMILY",
		"NCCL_SOCKET_FAMILY", "NCCL_NET_GDR_LEVEL", "NCCL_P2P_LEVEL":
		return name + " set by environment to " + value
	}
	return name + " set by environment to " + value + "."
}

// rankPrefix is the word in front of "comm" since 2.21, and "[Rank N]" since 2.29.
func (s *session) rankPrefix(rank int, starting bool) string {
	_, n := s.nodeOf(rank)
	prefix := ""
	if n.version.since(29) && starting {
		prefix = fmt.Sprintf("[Rank %d] ", rank)
	}
	if n.version.since(21) {
		prefix += "ncclCommInitRank "
	}
	return prefix
}

func (s *session) comm(rank int) string {
	return fmt.Sprintf("0x%x", 0x55c0a0000000+uint64(s.seed%4096)<<16+uint64(rank)*0x9d40)
}

func (s *session) busID(rank int) string {
	gpus := []string{"1b000", "43000", "52000", "61000", "9d000", "c3000", "d1000", "df000"}
	return gpus[rank%s.gpus%len(gpus)]
}

func (s *session) commLine(rank int, state string) string {
	_, n := s.nodeOf(rank)
	line := fmt.Sprintf("%scomm %s rank %d nranks %d cudaDev %d", s.rankPrefix(rank, state == "START"),
		s.comm(rank), rank, s.ranks(), rank%s.gpus)
	if n.version.since(18) {
		line += fmt.Sprintf(" nvmlDev %d", rank%s.gpus)
	}
	line += " busId " + s.busID(rank)
	if n.version.since(18) {
		line += fmt.Sprintf(" commId 0x%016x", uint64(s.seed)*0x9e3779b97f4a7c15)
	}
	return s.info(rank, "%s - Init %s", line, state)
}

// halves prints a GID as NCCL does on a little-endian machine: two hexadecimal numbers.
func halves(gid netip.Addr) string {
	b := gid.As16()
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	return fmt.Sprintf("%X/%X", bits.ReverseBytes64(hi), bits.ReverseBytes64(lo))
}

// qpLine is what NET shows when a queue pair is made.
func (s *session) qpLine(rank, device int) string {
	i, n := s.nodeOf(rank)
	v := n.version
	qpn := 100 + int(s.seed%900) + 4*rank + device
	head := fmt.Sprintf("NET/IB: Dev %d Port 1 qpn %d mtu %d", device, qpn, n.mtu)
	if v.since(20) {
		head = fmt.Sprintf("NET/IB: NCCL Dev %d IbDev %d Port 1 qpn %d mtu %d", device, device, qpn, n.mtu)
	}
	if v.since(29, 7) {
		head = fmt.Sprintf("NET/IB: ncclIbConnect: NCCL Dev %d IbDev %d Port 1 qp_num %d mtu %d", device, device, qpn,
			n.mtu)
	}
	keys := ""
	if v.since(29) {
		keys = fmt.Sprintf(" ctsFifoRkey=0x%x ctsFifoLkey=0x%x", 0x1809ff+rank, 0x1809ff+rank)
	} else if v.since(20) {
		keys = fmt.Sprintf(" fifoRkey=0x%x fifoLkey=0x%x", 0x1809ff+rank, 0x1809ff+rank)
	}
	if n.link == "IB" {
		lid := fmt.Sprintf(" LID %d", 20+int(s.seed%50)+2*i+device)
		if v.since(22) {
			lid += " subnet-prefix 33022  FLID 0"
		}
		return head + lid + keys
	}
	ece := ""
	if v.since(20) && !v.since(27) {
		ece = " query_ece={supported=1, vendor_id=0x15b3, options=0x30000002, comp_mask=0x0}"
	}
	return fmt.Sprintf("%s%s GID %s (%s)%s", head, ece, n.gidIndex, halves(s.gidOf(i, device)), keys)
}
