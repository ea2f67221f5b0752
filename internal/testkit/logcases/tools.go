package logcases

import (
	"fmt"
	"strings"
)

// ucx adds a line of UCX: ts, host, pid, file, level, and the message after " | ".
func (x *expander) ucx(a args) error {
	file, line, ok := strings.Cut(a.get("file", ""), ":")
	if !ok {
		return fmt.Errorf("want file=FILE:LINE")
	}
	x.add(fmt.Sprintf("[%s] [%s:%s:0] %15s:%-4s UCX  %-5s %s", a.get("ts", "1719157763.321281"), a.get("host", "node1"),
		a.get("pid", "19381"), file, line, a.get("level", "ERROR"), a.text))
	return nil
}

// perftest adds the head of a perftest program: test, dev, mtu, link, index, local, remote, depth.
func (x *expander) perftest(a args) error {
	const dashes = "---------------------------------------------------------------------------------------"
	x.add(dashes, "                    "+strings.ReplaceAll(a.get("test", "RDMA_Write_BW"), "_BW", " BW")+" Test",
		fmt.Sprintf(" Dual-port       : OFF\t\tDevice         : %s", a.get("dev", "mlx5_0")),
		" Number of qps   : "+a.get("qps", "1")+"\t\tTransport type : "+a.get("transport", "IB"),
		" Connection type : "+a.get("connection", "RC")+"\t\tUsing SRQ      : OFF",
		" PCIe relax order: ON", " ibv_wr* API     : ON", " TX depth        : 128", " CQ Moderation   : 1",
		" Mtu             : "+a.get("mtu", "4096")+"[B]", " Link type       : "+a.get("link", "Ethernet"))
	if index, ok := a.words["index"]; ok {
		x.add(" GID index       : " + index)
	}
	x.add(" Max inline data : 0[B]", " rdma_cm QPs\t : "+a.get("cm", "OFF"),
		" Data ex. method : Ethernet", dashes)
	if _, ok := a.words["local"]; ok {
		x.add(fmt.Sprintf(" local address: LID %s QPN 0x%s PSN 0x416f84 RKey 0x1804c1 VAddr 0x007f8de93fe000",
			a.get("lid", "0000"), a.get("qpn", "00da")), " GID: "+a.get("local", ""))
		x.add(fmt.Sprintf(" remote address: LID %s QPN 0x0132 PSN 0xbaf42b RKey 0x181ddc VAddr 0x007fb24d4d1000",
			a.get("rlid", "0000")), " GID: "+a.get("remote", ""))
	}
	return nil
}

// devinfo adds a part of ibv_devinfo: dev, state, active, link, guid, fw.
func (x *expander) devinfo(a args) error {
	mtus := map[string]string{"256": "1", "512": "2", "1024": "3", "2048": "4", "4096": "5"}
	states := map[string]string{"DOWN": "1", "INIT": "2", "ARMED": "3", "ACTIVE": "4"}
	state, active := a.get("state", "ACTIVE"), a.get("active", "4096")
	if mtus[active] == "" || states[state] == "" {
		return fmt.Errorf("active=%s state=%s: unknown", active, state)
	}
	x.add("hca_id:\t"+a.get("dev", "mlx5_0"), "\ttransport:\t\t\tInfiniBand (0)",
		"\tfw_ver:\t\t\t\t"+a.get("fw", "28.39.1002"),
		"\tnode_guid:\t\t\t"+a.get("guid", "5c25:7303:0041:8a1a"), "\tvendor_id:\t\t\t0x02c9",
		"\tvendor_part_id:\t\t\t4129", "\tphys_port_cnt:\t\t\t1", "\t\tport:\t1",
		fmt.Sprintf("\t\t\tstate:\t\t\tPORT_%s (%s)", state, states[state]), "\t\t\tmax_mtu:\t\t4096 (5)",
		fmt.Sprintf("\t\t\tactive_mtu:\t\t%s (%s)", active, mtus[active]), "\t\t\tsm_lid:\t\t\t"+a.get("sm", "0"),
		"\t\t\tport_lid:\t\t"+a.get("lid", "0"), "\t\t\tport_lmc:\t\t0x00",
		"\t\t\tlink_layer:\t\t"+a.get("link", "Ethernet"), "")
	return nil
}

// boot adds harmless lines of the kernel: pci, dev.
func (x *expander) boot(a args) error {
	pci := a.get("pci", "0000:5e:00.0")
	x.add("[    4.118203] mlx5_core "+pci+": enabling device (0140 -> 0142)",
		"[    4.118611] mlx5_core "+pci+": firmware version: "+a.get("fw", "28.39.1002"),
		"[    4.118655] mlx5_core "+pci+": 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)",
		"[    4.402917] mlx5_core "+pci+": Rate limit: 127 rates are supported, range: 0Mbps to 97656Mbps",
		"[    4.410112] mlx5_core "+pci+": Port module event: module 0, Cable plugged",
		"[    4.866310] mlx5_core "+pci+": MLX5E: StrdRq(1) RqSz(8) StrdSz(2048) RxCqeCmprss(0 enhanced)",
		"[    9.220148] mlx5_core "+pci+" "+a.get("netdev", "ens5f0np0")+": Link up",
		"[   11.730021] IPv6: ADDRCONF(NETDEV_CHANGE): "+a.get("netdev", "ens5f0np0")+": link becomes ready")
	return nil
}

// podStart adds the events of a pod: pod, node.
func (x *expander) podStart(a args) error {
	pod, host := a.get("pod", "train-0"), a.get("node", "node-a")
	x.add("Events:", "  Type     Reason                  Age   From               Message",
		"  ----     ------                  ----  ----               -------",
		"  Normal   Scheduled               41s   default-scheduler  Successfully assigned default/"+pod+" to "+host,
		"  Normal   AddedInterface          39s   multus             Add eth0 [10.42.1.58/32] from k8s-pod-network")
	return nil
}
