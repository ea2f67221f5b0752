package logcases

import (
	"fmt"
	"net/netip"
	"strings"
)

// statusNames are the names that NCCL prints since 2.28.7.
var statusNames = map[int]string{
	1: "IBV_WC_LOC_LEN_ERR", 2: "IBV_WC_LOC_QP_OP_ERR", 4: "IBV_WC_LOC_PROT_ERR", 5: "IBV_WC_WR_FLUSH_ERR",
	8: "IBV_WC_LOC_ACCESS_ERR", 9: "IBV_WC_REM_INV_REQ_ERR", 10: "IBV_WC_REM_ACCESS_ERR", 11: "IBV_WC_REM_OP_ERR",
	12: "IBV_WC_RETRY_EXC_ERR", 13: "IBV_WC_RNR_RETRY_EXC_ERR",
}

var opcodeNames = map[int]string{
	0: "IBV_WC_SEND", 1: "IBV_WC_RDMA_WRITE", 2: "IBV_WC_RDMA_READ", 128: "IBV_WC_RECV",
	129: "IBV_WC_RECV_RDMA_WITH_IMM",
}

// completion adds the WARN line of a completion with error, in the form of the rank's release.
//
//	status, opcode, len, vendor, type=Send|Recv, peer=NODE (index), dev (index), place
func (x *expander) completion(rank int, a args) error {
	var status, opcode, length, vendor, peer, dev int
	for key, field := range map[string]*int{
		"status": &status, "opcode": &opcode, "len": &length, "vendor": &vendor, "peer": &peer, "dev": &dev,
	} {
		n, err := a.number(key, 0)
		if err != nil {
			return err
		}
		*field = n
	}
	s := x.session
	i, n := s.nodeOf(rank)
	if peer >= len(s.nodes) || dev >= len(n.hcas) {
		return fmt.Errorf("no node %d or no device %d", peer, dev)
	}
	from := fmt.Sprintf("from peer %s<%d> ", s.nodes[peer].ip, 32768+(int(s.seed)+37*rank)%20000)
	local, remote := s.gidOf(i, dev), s.gidOf(peer, dev)
	gids := ""
	if n.link == "RoCE" {
		if n.version.since(18) {
			x.gids = append(x.gids, local, remote)
		}
		gids = fmt.Sprintf(" localGid %s remoteGids%s", local, remote)
	}
	kind := a.get("type", "Send")
	var text string
	switch v := n.version; {
	case v.since(29):
		text = fmt.Sprintf("NET/IB: Got completion %swith status=%s(%d) opcode=%s(%d) vendor_err=%d %s hca %s", from,
			statusNames[status], status, opcodeNames[opcode], opcode, vendor, gids, n.hcas[dev])
	case v.since(28, 7):
		text = fmt.Sprintf("NET/IB: Got completion %swith status=%s(%d) opcode=%s(%d) reqSize=%d vendor_err=%d "+
			"req_type=%s%s hca %s", from, statusNames[status], status, opcodeNames[opcode], opcode, length,
			vendor, kind, gids, n.hcas[dev])
	case v.since(22):
		text = fmt.Sprintf("NET/IB: Got completion %swith status=%d opcode=%d len=%d vendor err %d (%s)%s hca %s", from,
			status, opcode, length, vendor, kind, gids, n.hcas[dev])
	case v.since(20):
		text = fmt.Sprintf("NET/IB : Got completion %swith status=%d opcode=%d len=%d vendor err %d (%s)%s", from,
			status, opcode, length, vendor, kind, gids)
	case v.since(18):
		text = fmt.Sprintf("NET/IB : Got completion %swith error %d, opcode %d, len %d, vendor err %d (%s)%s", from,
			status, opcode, length, vendor, kind, strings.Replace(gids, "remoteGids", "remoteGid ", 1))
	case v.since(10):
		text = fmt.Sprintf("NET/IB : Got completion %swith error %d, opcode %d, len %d, vendor err %d", from, status,
			opcode, length, vendor)
	default:
		text = fmt.Sprintf("NET/IB : Got completion with error %d, opcode %d, len %d, vendor err %d", status, opcode,
			length, vendor)
	}
	x.add(s.warn(rank, x.clock, a.get("place", completionPlace(n.version)), text))
	x.add(s.chain(rank, "6", []string{"transport/net.cc:1298", "proxy.cc:694", "proxy.cc:874*"})...)
	return nil
}

// completionPlace is the line of the source that reports a completion with error.
func completionPlace(v version) string {
	switch {
	case v.since(30):
		return "transport/net_ib/p2p.cc:688 (ncclIbLogCompletionWithError)"
	case v.since(29):
		return "transport/net_ib/p2p.cc:550"
	case v.since(28):
		return "transport/net_ib.cc:2543"
	case v.since(26):
		return "transport/net_ib.cc:2358"
	case v.since(22):
		return "transport/net_ib.cc:2121"
	case v.since(21):
		return "transport/net_ib.cc:1909"
	case v.since(20):
		return "transport/net_ib.cc:1696"
	case v.since(18):
		return "transport/net_ib.cc:1295"
	case v.since(10):
		return "transport/net_ib.cc:1237"
	}
	return "transport/net_ib.cc:839"
}

// errnoTexts are the texts of strerror.
var errnoTexts = map[int]string{
	12: "Cannot allocate memory", 19: "No such device", 22: "Invalid argument", 61: "No data available",
	101: "Network is unreachable", 110: "Connection timed out", 113: "No route to host",
}

// modify adds the WARN line of a failed ibv_modify_qp: errno, dev (index), peer (node), index, and
// with retry=N/M the INFO line of a retry instead.
func (x *expander) modify(rank int, a args) error {
	errno, err := a.number("errno", 110)
	if err != nil {
		return err
	}
	dev, err := a.number("dev", 0)
	if err != nil {
		return err
	}
	peer, err := a.number("peer", 1)
	if err != nil {
		return err
	}
	peerDev, err := a.number("peer-dev", dev)
	if err != nil {
		return err
	}
	s := x.session
	i, n := s.nodeOf(rank)
	if dev >= len(n.hcas) || peer >= len(s.nodes) {
		return fmt.Errorf("no device %d or no node %d", dev, peer)
	}
	text := errnoTexts[errno]
	if text == "" {
		return fmt.Errorf("errno=%d: unknown", errno)
	}
	local, remote := a.get("local", s.gidOf(i, dev).String()), a.get("remote", s.gidOf(peer, peerDev).String())
	where := fmt.Sprintf("on dev %s:1, curr state INIT, next state RTR, local GID index %s, local GID %s, "+
		"remote GID %s",
		n.hcas[dev], a.get("index", n.gidIndex), local, remote)
	if retry, ok := a.words["retry"]; ok {
		x.add(s.info(rank, "Call to ibv_modify_qp failed with %d %s, %s, retrying %s after %s msec of sleep", errno,
			text, where, retry, a.get("msec", "100")))
		return nil
	}
	if n.version.since(24) {
		for _, text := range []string{local, remote} {
			gid, err := netip.ParseAddr(text)
			if err != nil {
				return fmt.Errorf("local or remote: %w", err)
			}
			x.gids = append(x.gids, gid)
		}
	}
	place, line := "misc/ibvwrap.cc:187", fmt.Sprintf("Call to ibv_modify_qp failed with error %s", text)
	switch v := n.version; {
	case v.since(30):
		place = "misc/ibvwrap.cc:376 (wrap_ibv_modify_qp)"
		line = fmt.Sprintf("Call to ibv_modify_qp failed with %d %s, %s", errno, text, where)
	case v.since(24):
		place = "misc/ibvwrap.cc:291"
		line = fmt.Sprintf("Call to ibv_modify_qp failed with %d %s, %s", errno, text, where)
	case v.since(19):
		place, line = "misc/ibvwrap.cc:206", fmt.Sprintf("%s errno %d", line, errno)
	}
	x.add(s.warn(rank, x.clock, a.get("place", place), line))
	x.add(s.chain(rank, "2", []string{
		"transport/net_ib.cc:579", "transport/net_ib.cc:786", "transport/net.cc:728", "proxy.cc:1306", "proxy.cc:1377",
	})...)
	x.add(s.warn(rank, x.clock, "proxy.cc:1519", fmt.Sprintf(
		"[Proxy Service %d] Failed to execute operation Connect from rank %d, retcode 2", rank%s.gpus, rank)))
	return nil
}

// asyncEvent returns the WARN line of an asynchronous event: dev=NAME and the event's text.
func (s *session) asyncEvent(rank int, at clock, a args) string {
	_, n := s.nodeOf(rank)
	dev := a.get("dev", "mlx5_0") + ":1"
	fatal := strings.Contains(a.text, "work queue")
	number := a.get("number", "10")
	var text string
	switch v := n.version; {
	case strings.HasPrefix(a.text, "unknown"), a.text == "GID table changed":
		text = fmt.Sprintf("NET/IB : %s %s", dev, a.text)
	case fatal && v.since(30, 7):
		text = fmt.Sprintf("NET/IB : %s async fatal event on QP (0x7f31d0%06x) qpn=%d handle=%d send_cq=4 recv_cq=4 "+
			"state=6 sq_psn=0 rq_psn=0: %s", dev, s.seed&0xffffff, 400+rank, 12+rank, a.text)
	case fatal && v.since(23):
		text = fmt.Sprintf("NET/IB : %s async fatal event on QP (0x7f31d0%06x): %s", dev, s.seed&0xffffff, a.text)
	case v.since(28, 7):
		text = fmt.Sprintf("NET/IB : %s Got non-fatal async event: %s(%s)", dev, a.text, number)
	case v.since(23):
		text = fmt.Sprintf("NET/IB : %s Got async error event: %s", dev, a.text)
	case v.since(20):
		text = fmt.Sprintf("NET/IB : %s Got async event : %s", dev, a.text)
	default:
		text = "NET/IB : Got async event : " + a.text
	}
	place := "transport/net_ib.cc:101"
	if n.version.since(29) {
		place = "transport/net_ib/common.cc:179 (ncclIbAsyncThreadMain)"
	}
	return s.warn(rank, at, place, text)
}

// closed adds what ranks print when a peer's process has gone: ranks=2,3 peer=NODE.
func (x *expander) closed(a args) error {
	s := x.session
	peer, err := a.number("peer", 0)
	if err != nil {
		return err
	}
	ranks, err := a.numbers("ranks", nil)
	if err != nil || peer >= len(s.nodes) {
		return fmt.Errorf("want ranks=LIST peer=NODE: %w", err)
	}
	for _, rank := range ranks {
		_, n := s.nodeOf(rank)
		text := fmt.Sprintf("socketProgress: Connection closed by remote peer %s<%d>", s.nodes[peer].name, 40000+rank)
		place := "misc/socket.cc:58"
		if !n.version.since(16) {
			text = fmt.Sprintf("Net : Connection closed by remote peer %s<%d>", s.nodes[peer].name, 40000+rank)
			place = "include/socket.h:523"
		}
		x.add(s.warn(rank, x.clock, place, text))
		x.add(s.chain(rank, "6", []string{"misc/socket.cc:749", "transport/net.cc:405"})...)
	}
	return nil
}

// abort adds the end of all communicators.
func (x *expander) abort(a args) error {
	s := x.session
	var all []int
	for r := range s.ranks() {
		all = append(all, r)
	}
	ranks, err := a.numbers("ranks", all)
	for _, r := range ranks {
		x.add(s.info(r, "comm %s rank %d nranks %d cudaDev %d busId %s - Abort COMPLETE", s.comm(r), r, s.ranks(),
			r%s.gpus, s.busID(r)))
	}
	return err
}
