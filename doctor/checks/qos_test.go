package checks_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// qosIDs are the checks of flow control and priorities that this file tests.
func qosIDs() []string {
	return []string{
		"roce-trust", "dscp-lossless", "pfc-priority", "roce-ecn", "cnp-class", "rdma-cm-class", "traffic-class",
		"pfc-buffer", "cc-algorithm", "dcbx-peer",
	}
}

// qosEdge is a state of the eight ports, and what a check says of it: each part of want must be in
// the findings beside passes, "" means that there is none.
type qosEdge struct {
	name  string
	id    string
	state change
	want  string
}

func (e qosEdge) test(t *testing.T) {
	got := qosFindings(t, load(t, qosTree, e.state), e.id)
	for part := range strings.SplitSeq(e.want, "|") {
		if !strings.Contains(got, part) || e.want == "" && got != "" {
			t.Errorf("findings of %s:\n%s\nwant %q", e.id, got, e.want)
		}
	}
}

func TestTrust(t *testing.T) {
	pfcOn := func(mask uint8) change {
		return dcbOf(factoryDCB, func(_ int, d *facts.DCB) { d.PFC.Enabled = mask })
	}
	for _, e := range []qosEdge{
		{"APP table", "roce-trust", dcbOf(losslessDCB, nil), ""},
		{"file says both", "roce-trust", onPorts("qos/trust", "both"), ""},
		{
			"APP table without DSCP", "roce-trust", pfcOn(1 << 3),
			"warn mlx5_0:1: ens0np0 trusts the VLAN's priority (pcp), not DSCP: untagged RoCE packets use " +
				"priority 0, " +
				"but PFC is on priority 3|warn mlx5_7:1",
		},
		{"factory settings", "roce-trust", pfcOn(0), "info mlx5_0:1|RoCE runs lossy"},
		{"untagged packets are lossless", "roce-trust", pfcOn(1), "info mlx5_0:1|priority 0, which is lossless"},
		{"file only", "roce-trust", onPorts("qos/trust", "pcp"), "info mlx5_0:1|whether PFC is on is not known"},
		{
			"a VLAN on the port", "roce-trust", all(pfcOn(1<<3), vlan(2)),
			"info mlx5_2:1: ens2np0 trusts the VLAN's priority (pcp): only packets of a VLAN, such as ens2np0.7|" +
				"warn mlx5_3:1",
		},
		{"nothing", "roce-trust", nil, "not-applicable node: mlx5_0:1, mlx5_1:1, mlx5_2:1, mlx5_3:1, and 4 more: "},
		{
			"file denied", "roce-trust", all(onPorts("qos/trust", "dscp"), failOn(1, "qos/trust", syscall.EACCES)),
			"needs-privilege mlx5_1:1",
		},
	} {
		t.Run(e.name, e.test)
	}
}

// vlan adds a VLAN device to a port.
func vlan(i int) change {
	name := fmt.Sprintf("ens%dnp0.7", i)
	dir := "sys/devices/virtual/net/" + name + "/"
	return all(set(dir+"type", "1"), set(dir+"uevent", "DEVTYPE=vlan"), set(dir+fmt.Sprintf("lower_ens%dnp0", i), ""),
		func(t *testing.T, tree *nodetree.Tree) {
			t.Helper()
			if err := tree.Link("sys/class/net/"+name, "../../devices/virtual/net/"+name); err != nil {
				t.Fatal(err)
			}
		})
}

// failOn makes a file of a network device unreadable.
func failOn(i int, file string, errno syscall.Errno) change {
	return fail(fmt.Sprintf("sys/class/net/ens%dnp0/%s", i, file), errno)
}

func TestDSCPLossless(t *testing.T) {
	lossless := dcbOf(losslessDCB, nil)
	for _, e := range []qosEdge{
		{"assumed DSCP 26", "dscp-lossless", lossless, ""},
		{
			"PFC on 5, DSCP assumed", "dscp-lossless",
			dcbOf(losslessDCB, func(_ int, d *facts.DCB) { d.PFC.Enabled = 1 << 5 }),
			"info mlx5_0:1: RoCE packets with DSCP 26 (assumed) have priority 3 on ens0np0, which is lossy: PFC " +
				"is on " +
				"priority 5, for DSCP 40 to 47",
		},
		{
			"NCCL's file", "dscp-lossless",
			all(lossless, set("etc/nccl.conf", "# all jobs\nNCCL_IB_HCA==mlx5\nNCCL_IB_TC = 0x80")),
			"fail mlx5_0:1: RoCE packets with DSCP 32 (NCCL_IB_TC=128 in /etc/nccl.conf) have priority 4",
		},
		{
			"no number in the files", "dscp-lossless",
			all(lossless, set("etc/nccl.conf", "NCCL_IB_TC=-1"),
				set("etc/ucx/ucx.conf", "UCX_IB_TRAFFIC_CLASS=auto")), "",
		},
		{
			"UCX's file", "dscp-lossless", all(lossless, set("etc/ucx/ucx.conf", "UCX_IB_TRAFFIC_CLASS=0")),
			"fail mlx5_0:1|DSCP 0 (UCX_IB_TRAFFIC_CLASS=0 in /etc/ucx/ucx.conf) have priority 0",
		},
		{
			"the driver's class before the files", "dscp-lossless",
			all(lossless, tclasses("Global tclass=106"), set("etc/nccl.conf", "NCCL_IB_TC=0")), "",
		},
		{
			"map of the driver's file", "dscp-lossless",
			all(lossless, onPorts("qos/dscp2prio", "dscp2prio mapping:\n26 4\n27 3\n26 3 old")),
			"info mlx5_0:1|have priority 4|for DSCP 27; jobs must set one of these",
		},
		{"broken map", "dscp-lossless", all(lossless, onPorts("qos/dscp2prio", "none")), "unknown mlx5_0:1"},
		{
			"no entry: default priority", "dscp-lossless", dcbOf(losslessDCB, func(_ int, d *facts.DCB) {
				d.Apps = []facts.DCBApp{
					{Selector: 5, Protocol: 46, Priority: 5},
					{Selector: 1, Protocol: 0, Priority: 3},
					{Selector: 1, Protocol: 0x8906, Priority: 0},
				}
			}), "",
		},
		{
			"no DSCP is lossless", "dscp-lossless", dcbOf(losslessDCB, func(_ int, d *facts.DCB) {
				d.Apps = []facts.DCBApp{{Selector: 5, Protocol: 26, Priority: 4}}
			}), "info mlx5_0:1|no DSCP has a lossless priority",
		},
		{
			"class 0 forced", "dscp-lossless", all(lossless, tclasses("Global tclass=0")),
			"fail mlx5_0:1: RoCE packets with DSCP 0 (Global tclass=0) have priority 0",
		},
		{
			"Broadcom's DSCP", "dscp-lossless", all(lossless, broadcom("roce_dscp", "0x28")),
			"fail mlx5_0:1: RoCE packets with DSCP 40 (roce_dscp=40 of the driver) have priority 5",
		},
		{"Broadcom's DSCP is lossless", "dscp-lossless", all(lossless, broadcom("roce_dscp", "0x1a")), ""},
		{"Broadcom's DSCP is not set", "dscp-lossless", all(lossless, broadcom("roce_dscp", "0x0")), ""},
		{"PFC off", "dscp-lossless", dcbOf(factoryDCB, nil), "not-applicable node|check pfc-priority"},
		{
			"trusts pcp", "dscp-lossless", all(lossless, onPorts("qos/trust", "pcp")),
			"not-applicable node|check roce-trust",
		},
	} {
		t.Run(e.name, e.test)
	}
}

// TestSiteDSCP changes the DSCP that jobs are assumed to use.
func TestSiteDSCP(t *testing.T) {
	tree := load(t, qosTree, dcbOf(losslessDCB, nil))
	for dscp, want := range map[float64]doctor.Outcome{31: doctor.OutcomePass, 32: doctor.OutcomeInfo} {
		snap := scan(t, tree)
		in := doctor.Input{Snapshot: &snap, Facts: factsOf(t, tree)}
		r, err := doctor.Run(t.Context(), checks.All(), in, doctor.Options{
			Only: []string{"dscp-lossless"}, Thresholds: map[string]float64{"roce-dscp": dscp},
		})
		if err != nil || r.Verdict != want {
			t.Errorf("with DSCP %v: %s, %v, want %s", dscp, r.Verdict, err, want)
		}
	}
}

func TestPFCPriority(t *testing.T) {
	masks := func(mask func(i int) uint8) change {
		return dcbOf(losslessDCB, func(i int, d *facts.DCB) { d.PFC.Enabled = mask(i) })
	}
	for _, e := range []qosEdge{
		{"off", "pfc-priority", dcbOf(factoryDCB, nil), "info node: PFC is off on 8 RoCE ports: RoCE runs lossy"},
		{
			"two", "pfc-priority", masks(func(int) uint8 { return 0x18 }),
			"info mlx5_0:1: PFC of ens0np0 is on priorities 3 and 4",
		},
		{
			"three", "pfc-priority", masks(func(int) uint8 { return 0x58 }),
			"warn mlx5_0:1: PFC of ens0np0 is on priorities 3, 4 and 6",
		},
		{
			"one port without", "pfc-priority",
			masks(func(i int) uint8 { return map[bool]uint8{true: 0, false: 8}[i == 1] }),
			"fail mlx5_1:1: PFC of ens1np0 is on no priority, but on priority 3 on 7 others of this node",
		},
		{
			"half and half", "pfc-priority",
			masks(func(i int) uint8 { return map[bool]uint8{true: 16, false: 8}[i < 4] }),
			"fail mlx5_0:1: PFC of ens0np0 is on priority 4, but other compute ports of this node differ|fail mlx5_7:1",
		},
		{
			"driver without PFC", "pfc-priority", dcbOf(losslessDCB, func(_ int, d *facts.DCB) { d.PFC = nil }),
			"not-applicable node|the driver has no PFC",
		},
		{
			"driver without DCB", "pfc-priority",
			recorded(facts.Facts{DCB: known([]facts.DCB{losslessDCB("ens0np0")})}),
			"not-applicable node: mlx5_1:1, mlx5_2:1, mlx5_3:1, mlx5_4:1, and 3 more: the driver has no DCB",
		},
		{
			"answer lost", "pfc-priority", dcbOf(losslessDCB, func(i int, d *facts.DCB) {
				if i == 3 {
					d.PFC, d.Errors = nil, []string{"broken framing"}
				}
			}), "unknown mlx5_3:1: broken framing",
		},
		{
			"not privileged", "pfc-priority",
			recorded(facts.Facts{DCB: &facts.Datum[[]facts.DCB]{Denied: "not permitted"}}),
			"needs-privilege node",
		},
	} {
		t.Run(e.name, e.test)
	}
}

func TestECN(t *testing.T) {
	off := all(dcbOf(factoryDCB, nil), ecn("0"))
	for _, e := range []qosEdge{
		{"on everywhere, nothing else known", "roce-ecn", ecn("1"), ""},
		{
			"off everywhere, nothing else known", "roce-ecn", ecn("0"),
			"warn mlx5_0:1: congestion control is off on ens0np0: for priority 0 it doesn't answer marks " +
				"(roce_np) or slow",
		},
		{
			"one priority off, nothing else known", "roce-ecn", all(ecn("1"), onPort(0, "ecn/roce_np/enable/2", "0")),
			"info mlx5_0:1",
		},
		{
			"receiver off", "roce-ecn",
			all(dcbOf(losslessDCB, nil), ecn("1"), onPort(2, "ecn/roce_np/enable/3", "0")),
			"warn mlx5_2:1: congestion control is off on ens2np0: for priority 3 it doesn't answer marks (roce_np) " +
				"(lossless)",
		},
		{
			"another priority off", "roce-ecn",
			all(dcbOf(losslessDCB, nil), ecn("1"), onPort(2, "ecn/roce_np/enable/4", "0")), "",
		},
		{
			"lossy: untagged packets", "roce-ecn",
			all(off, onPorts("ecn/roce_np/enable/0", "1"), onPorts("ecn/roce_rp/enable/0", "1")), "",
		},
		{"Broadcom's switch on", "roce-ecn", broadcom("ecn_enable", "0x1"), ""},
		{
			"Broadcom's switch off", "roce-ecn", all(broadcom("ecn_enable", "0x1"), broadcomOn(3, "ecn_enable", "0x0")),
			"warn mlx5_3:1: congestion control is off on ens3np0, for all priorities",
		},
		{
			"lossy: priority of the DSCP", "roce-ecn",
			all(ecn("1"), dcbOf(losslessDCB, func(_ int, d *facts.DCB) { d.PFC.Enabled = 0 }),
				tclasses("Global tclass=160"), onPort(6, "ecn/roce_rp/enable/5", "0")),
			"warn mlx5_6:1|for priority 5 it doesn't slow down (roce_rp) (of DSCP 40, Global tclass=160)",
		},
		{
			"denied", "roce-ecn",
			all(dcbOf(losslessDCB, nil), ecn("1"), failOn(0, "ecn/roce_np/enable/3", syscall.EACCES)),
			"needs-privilege mlx5_0:1",
		},
		{"no files", "roce-ecn", dcbOf(losslessDCB, nil), "not-applicable node|DOCA-OFED"},
	} {
		t.Run(e.name, e.test)
	}
}

func TestCNP(t *testing.T) {
	const debug = "sys/kernel/debug/mlx5/0000:18:00.0/cc_params/np_cnp_dscp"
	for _, e := range []qosEdge{
		{"best effort", "cnp-class", onPorts("ecn/roce_np/cnp_dscp", "0"), "warn mlx5_0:1|best effort"},
		{"another DSCP", "cnp-class", onPorts("ecn/roce_np/cnp_dscp", "46"), "info mlx5_0:1|DSCP 46, not 48"},
		{
			"on a lossless priority", "cnp-class",
			all(dcbOf(losslessDCB, func(_ int, d *facts.DCB) { d.PFC.Enabled = 0x48 }),
				onPorts("ecn/roce_np/cnp_dscp", "48")),
			"warn mlx5_0:1: congestion notifications of ens0np0 (DSCP 48) are on priority 6, which is lossless",
		},
		{
			"that of the data", "cnp-class", all(tclasses("Global tclass=192"), onPorts("ecn/roce_np/cnp_dscp", "48")),
			"warn mlx5_0:1: congestion notifications of ens0np0 have the DSCP of the data: 48",
		},
		{
			"debugfs", "cnp-class", all(dcbOf(losslessDCB, nil), set(debug, "24")),
			"warn mlx5_0:1|not-applicable node: mlx5_1:1",
		},
		{
			"debugfs denied", "cnp-class", all(set(debug, "48"), fail(debug, syscall.EACCES)),
			"needs-privilege mlx5_0:1: /" + debug,
		},
		{
			"Broadcom's file", "cnp-class", all(dcbOf(losslessDCB, nil), broadcom("cnp_dscp", "0x1a")),
			"warn mlx5_0:1: congestion notifications of ens0np0 (DSCP 26) are on priority 3, which is lossless",
		},
		{"no DSCP", "cnp-class", broadcom("cnp_dscp", "64"), "unknown mlx5_0:1|64 is not a DSCP"},
	} {
		t.Run(e.name, e.test)
	}
}

func TestRDMACM(t *testing.T) {
	lossless := dcbOf(losslessDCB, nil)
	for _, e := range []qosEdge{
		{
			"default beside the lossless priority", "rdma-cm-class", all(lossless, rdmaCMs("0")),
			"warn mlx5_0:1: connections of rdma_cm have DSCP 0 and priority 0 on ens0np0, which is lossy: PFC is on " +
				"priority 3",
		},
		{
			"default, and the driver forces one", "rdma-cm-class",
			all(lossless, tclasses("Global tclass=106"), rdmaCMs("0")), "",
		},
		{
			"other than the driver's", "rdma-cm-class", all(tclasses("Global tclass=160"), rdmaCMs("106")),
			"warn mlx5_0:1: rdma_cm is set to DSCP 26, but the driver forces DSCP 40 (Global tclass=160)",
		},
		{"lossy fabric", "rdma-cm-class", all(dcbOf(factoryDCB, nil), rdmaCMs("0")), ""},
		{"no number", "rdma-cm-class", rdmaCMs("many"), "unknown mlx5_0:1"},
	} {
		t.Run(e.name, e.test)
	}
}

func TestTrafficClass(t *testing.T) {
	for _, e := range []qosEdge{
		{"none forced", "traffic-class", tclasses(""), ""},
		{
			"forced, and no file for libraries", "traffic-class", tclasses("Global tclass=106"),
			"info node: only the driver gives RoCE packets DSCP 26",
		},
		{"class 0 forced", "traffic-class", tclasses("Global tclass=0"), ""},
		{
			"ECN bits", "traffic-class", all(tclasses("Global tclass=107"), set("etc/nccl.conf", "NCCL_IB_TC=106")),
			"warn mlx5_0:1: the driver forces class 107, whose ECN bits",
		},
		{
			"same DSCP", "traffic-class",
			all(tclasses("Global tclass=106"), set("etc/ucx/ucx.conf", "UCX_IB_TRAFFIC_CLASS=104")), "",
		},
		{
			"one port differs", "traffic-class",
			all(tclasses("Global tclass=106"), set("etc/nccl.conf", "NCCL_IB_TC=106"), tclass(5, "")),
			"warn mlx5_5:1: the driver forces no class on mlx5_5:1, but class 106 (DSCP 26) on 7 other compute ports",
		},
		{"in-tree driver", "traffic-class", nil, "not-applicable node|DOCA-OFED"},
	} {
		t.Run(e.name, e.test)
	}
}

// TestHeadroom compares the need with sums by hand of mlx5's formula (calculate_xoff), to the byte.
func TestHeadroom(t *testing.T) {
	for _, c := range []struct {
		rate, mtu string
		meters    uint16
		need      uint32
	}{
		{"100 Gb/sec (4X EDR)", "1500", 7, (301+15)*100 + 4080 + 1500},
		{"400 Gb/sec (4X NDR)", "9000", 7, (301+15)*400 + 24480 + 9000},
		{"400 Gb/sec (4X NDR)", "9000", 100, (301+216)*400 + 24480 + 9000},
		{"25 Gb/sec (1X EDR)", "1500", 0, 301*40 + 4080 + 1500},
	} {
		for _, size := range []uint32{c.need, c.need - 1} {
			tree := load(t, qosTree, onPort(0, "mtu", c.mtu), port("mlx5_0", "rate", c.rate),
				dcbOf(losslessDCB, func(_ int, d *facts.DCB) {
					d.PFC.Delay = c.meters
					d.Buffer.Bytes[1] = 1 << 20
					if d.Netdev == "ens0np0" {
						d.Buffer.Bytes[1] = size
					}
				}))
			got := qosFindings(t, tree, "pfc-buffer")
			if want := size < c.need; strings.Contains(got, "warn mlx5_0:1") != want {
				t.Errorf("%s, MTU %s, %d m, a buffer of %d bytes: warning %t, want %t: %s",
					c.rate, c.mtu, c.meters, size, !want, want, got)
			}
		}
	}
	for _, e := range []qosEdge{
		{
			"no buffers", "pfc-buffer", dcbOf(losslessDCB, func(_ int, d *facts.DCB) { d.Buffer = nil }),
			"not-applicable node",
		},
		{"PFC off", "pfc-buffer", dcbOf(factoryDCB, nil), "not-applicable node|no priority is lossless"},
	} {
		t.Run(e.name, e.test)
	}
}

func TestCCAlgorithm(t *testing.T) {
	for _, e := range []qosEdge{
		{"all alike", "cc-algorithm", broadcom("cc_mode", "0x0"), ""},
		{
			"half and half", "cc-algorithm", all(broadcom("cc_mode", "1"), broadcomOn(0, "cc_mode", "0"),
				broadcomOn(1, "cc_mode", "0"), broadcomOn(2, "cc_mode", "0"), broadcomOn(3, "cc_mode", "0")),
			"warn mlx5_0:1: cc_mode of mlx5_0:1 is 0, that of mlx5_4:1 is 1|warn mlx5_4:1: cc_mode of mlx5_4:1 " +
				"is 1, that " +
				"of mlx5_0:1 is 0",
		},
		{"no number", "cc-algorithm", broadcom("cc_mode", "fast"), "unknown mlx5_0:1"},
	} {
		t.Run(e.name, e.test)
	}
}

func TestDCBXPeer(t *testing.T) {
	for _, e := range []qosEdge{
		{"no peer", "dcbx-peer", dcbOf(losslessDCB, nil), "not-applicable node|lldptool"},
		{
			"nothing announced", "dcbx-peer",
			dcbOf(losslessDCB, peers(func(_ int, pfc *facts.PFC, _ *facts.ETS) { *pfc = facts.PFC{} })),
			"not-applicable node|lldptool",
		},
		{
			"the switch has none", "dcbx-peer",
			dcbOf(losslessDCB, peers(func(_ int, pfc *facts.PFC, _ *facts.ETS) { pfc.Enabled = 0 })),
			"fail mlx5_0:1: PFC of ens0np0 is on priority 3, but the switch has it on no priority",
		},
		{
			"the switch only", "dcbx-peer",
			dcbOf(factoryDCB, peers(func(_ int, pfc *facts.PFC, _ *facts.ETS) { pfc.Enabled = 8 })),
			"fail mlx5_0:1: PFC of ens0np0 is on no priority, but the switch has it on priority 3",
		},
		{
			"other bandwidth", "dcbx-peer",
			dcbOf(losslessDCB, peers(func(_ int, _ *facts.PFC, ets *facts.ETS) { ets.Bandwidth[1] = 50 })), "",
		},
		{
			"other numbers of traffic classes", "dcbx-peer",
			dcbOf(losslessDCB, peers(func(_ int, _ *facts.PFC, ets *facts.ETS) {
				ets.PriorityTC = [8]uint8{7, 6, 5, 4, 3, 2, 1, 0}
			})), "",
		},
		{
			"lossless with lossy on the switch", "dcbx-peer",
			dcbOf(losslessDCB, peers(func(_ int, _ *facts.PFC, ets *facts.ETS) { ets.PriorityTC[5] = 3 })),
			"warn mlx5_0:1: the switch puts priority 5 into the traffic class of the lossless priority 3",
		},
	} {
		t.Run(e.name, e.test)
	}
}
