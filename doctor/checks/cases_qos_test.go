package checks_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// qosTree has eight compute ports mlx5_0 to mlx5_7 of 400 Gb/s on ens0np0 to ens7np0.
const qosTree = "02_rocev2_8hca"

// losslessDCB is the state of a port after NVIDIA's guide for lossless RoCE: trust DSCP, PFC on
// priority 3.
func losslessDCB(netdev string) facts.DCB {
	mode := uint8(9)
	d := facts.DCB{
		Netdev: netdev, DCBX: &mode, PFC: &facts.PFC{Enabled: 1 << 3, Capacity: 8, Delay: 7},
		ETS:    &facts.ETS{PriorityTC: [8]uint8{0, 1, 2, 3, 4, 5, 6, 7}},
		Buffer: &facts.Buffer{Priority: [8]uint8{3: 1}, Bytes: [8]uint32{19872, 243072}, Total: 2069280},
	}
	for dscp := range 64 {
		d.Apps = append(d.Apps, facts.DCBApp{Selector: 5, Protocol: uint16(dscp), Priority: uint8(dscp / 8)})
	}
	return d
}

// factoryDCB is the state of a ConnectX that nobody has set up: trust pcp, no PFC, one buffer.
func factoryDCB(netdev string) facts.DCB {
	d := losslessDCB(netdev)
	d.Apps, d.PFC.Enabled = nil, 0
	d.Buffer = &facts.Buffer{Bytes: [8]uint32{262016}, Total: 262016}
	return d
}

// dcbOf records the DCB state of all eight ports; alter may be nil.
func dcbOf(base func(netdev string) facts.DCB, alter func(i int, d *facts.DCB)) change {
	var list []facts.DCB
	for i := range 8 {
		d := base(fmt.Sprintf("ens%dnp0", i))
		if alter != nil {
			alter(i, &d)
		}
		list = append(list, d)
	}
	return recorded(facts.Facts{DCB: known(list)})
}

// onPort sets a file of one of the eight network devices.
func onPort(i int, file, value string) change {
	return set(fmt.Sprintf("sys/class/net/ens%dnp0/%s", i, file), value)
}

// onPorts sets a file of all eight network devices.
func onPorts(file, value string) change {
	var list []change
	for i := range 8 {
		list = append(list, onPort(i, file, value))
	}
	return all(list...)
}

// tclass sets the class that the driver forces on a device.
func tclass(i int, value string) change {
	return set(fmt.Sprintf("sys/class/infiniband/mlx5_%d/tc/1/traffic_class", i), value)
}

func tclasses(value string) change {
	var list []change
	for i := range 8 {
		list = append(list, tclass(i, value))
	}
	return all(list...)
}

// ecn sets congestion control of all ports and priorities.
func ecn(value string) change {
	var list []change
	for _, side := range []string{"roce_np", "roce_rp"} {
		for prio := range 8 {
			list = append(list, onPorts(fmt.Sprintf("ecn/%s/enable/%d", side, prio), value))
		}
	}
	return all(list...)
}

// rdmaCM sets the defaults of rdma_cm of a device.
func rdmaCM(i int, tos, mode string) change {
	dir := fmt.Sprintf("sys/kernel/config/rdma_cm/mlx5_%d/ports/1/", i)
	return all(set(dir+"default_roce_tos", tos), set(dir+"default_roce_mode", mode))
}

// rdmaCMs sets the type of service of all devices, with RoCE v2.
func rdmaCMs(tos string) change {
	var list []change
	for i := range 8 {
		list = append(list, rdmaCM(i, tos, "RoCE v2"))
	}
	return all(list...)
}

// broadcom sets a file of congestion control of Broadcom's driver, of all devices.
func broadcom(file, value string) change {
	var list []change
	for i := range 8 {
		list = append(list, broadcomOn(i, file, value))
	}
	return all(list...)
}

func broadcomOn(i int, file, value string) change {
	return set(fmt.Sprintf("sys/kernel/config/bnxt_re/mlx5_%d/ports/1/cc/%s", i, file), value)
}

// peers adds what the switches announce.
func peers(alter func(i int, pfc *facts.PFC, ets *facts.ETS)) func(i int, d *facts.DCB) {
	return func(i int, d *facts.DCB) {
		pfc, ets := *d.PFC, *d.ETS
		if alter != nil {
			alter(i, &pfc, &ets)
		}
		d.PeerPFC, d.PeerETS = &pfc, &ets
	}
}

// qosCases are those of flow control and priorities.
func qosCases() []numberCase {
	lossless := dcbOf(losslessDCB, nil)
	unknown := recorded(facts.Facts{DCB: failed[[]facts.DCB]()})
	ecnOn := all(onPorts("ecn/roce_np/enable/3", "1"), onPorts("ecn/roce_rp/enable/3", "1"))
	ecnOff := all(ecnOn, onPort(1, "ecn/roce_rp/enable/3", "0"))
	return []numberCase{
		{
			48, "roce-trust", qosTree, lossless,
			onPorts("qos/trust", "dscp"), all(onPorts("qos/trust", "dscp"), onPort(4, "qos/trust", "pcp")),
			all(onPorts("qos/trust", "dscp"), onPort(4, "qos/trust", "neither")),
			doctor.OutcomeWarn, "mlx5_4:1", doctor.OutcomeUnknown,
		},
		{
			49, "dscp-lossless", qosTree, tclasses("Global tclass=106"),
			lossless, dcbOf(losslessDCB, func(i int, d *facts.DCB) {
				if i == 2 {
					d.Apps[26].Priority = 4
				}
			}), unknown,
			doctor.OutcomeFail, "mlx5_2:1", doctor.OutcomeUnknown,
		},
		{
			50, "pfc-priority", qosTree, nil,
			lossless, dcbOf(losslessDCB, func(i int, d *facts.DCB) {
				if i == 7 {
					d.PFC.Enabled = 1 << 4
				}
			}), unknown,
			doctor.OutcomeFail, "mlx5_7:1", doctor.OutcomeUnknown,
		},
		{
			52, "roce-ecn", qosTree, all(lossless, ecn("0")),
			ecnOn, ecnOff, noFiles("ecn"),
			doctor.OutcomeWarn, "mlx5_1:1", doctor.OutcomeNotApplicable,
		},
		{
			52, "roce-ecn", qosTree, all(lossless, ecn("0")),
			ecnOn, ecnOff, all(ecnOn, fail("sys/class/net/ens1np0/ecn/roce_rp/enable/3", syscall.EIO)),
			doctor.OutcomeWarn, "mlx5_1:1", doctor.OutcomeUnknown,
		},
		{
			53, "cnp-class", qosTree, lossless,
			onPorts("ecn/roce_np/cnp_dscp", "48"),
			all(onPorts("ecn/roce_np/cnp_dscp", "48"), onPort(0, "ecn/roce_np/cnp_dscp", "24")),
			onPorts("ecn/roce_np/cnp_dscp", "high"),
			doctor.OutcomeWarn, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		{
			54, "rdma-cm-class", qosTree, lossless,
			rdmaCMs("106"), all(rdmaCMs("106"), rdmaCM(5, "106", "IB/RoCE v1")), nil,
			doctor.OutcomeWarn, "mlx5_5:1", doctor.OutcomeNotApplicable,
		},
		{
			54, "rdma-cm-class", qosTree, lossless, rdmaCMs("106"), all(rdmaCMs("106"), rdmaCM(5, "0", "RoCE v2")),
			all(rdmaCMs("106"), rdmaCM(5, "many", "RoCE v2")),
			doctor.OutcomeWarn, "mlx5_5:1", doctor.OutcomeUnknown,
		},
		{
			55, "traffic-class", qosTree, nil,
			all(tclasses("Global tclass=106"), set("etc/nccl.conf", "NCCL_IB_TC=106")),
			all(tclasses("Global tclass=106"), set("etc/nccl.conf", "NCCL_IB_TC=160")),
			all(tclasses("Global tclass=many"), set("etc/nccl.conf", "NCCL_IB_TC=106")),
			doctor.OutcomeWarn, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		{
			58, "pfc-buffer", qosTree, nil,
			lossless, dcbOf(losslessDCB, func(i int, d *facts.DCB) {
				if i == 6 {
					d.Buffer.Bytes[1] = 130944
				}
			}), unknown,
			doctor.OutcomeWarn, "mlx5_6:1", doctor.OutcomeUnknown,
		},
		{
			59, "cc-algorithm", qosTree, nil,
			broadcom("cc_mode", "0x1"), all(broadcom("cc_mode", "0x1"), broadcomOn(2, "cc_mode", "0x0")), nil,
			doctor.OutcomeWarn, "mlx5_2:1", doctor.OutcomeNotApplicable,
		},
		{
			59, "cc-algorithm", qosTree, nil,
			broadcom("cc_mode", "0x1"), all(broadcom("cc_mode", "0x1"), broadcomOn(2, "cc_mode", "0x0")),
			all(broadcom("cc_mode", "0x1"), broadcomOn(2, "cc_mode", "on")),
			doctor.OutcomeWarn, "mlx5_2:1", doctor.OutcomeUnknown,
		},
		{
			60, "dcbx-peer", qosTree, nil,
			dcbOf(losslessDCB, peers(nil)), dcbOf(losslessDCB, peers(func(i int, pfc *facts.PFC, _ *facts.ETS) {
				if i == 3 {
					pfc.Enabled = 1 << 4
				}
			})), unknown,
			doctor.OutcomeFail, "mlx5_3:1", doctor.OutcomeUnknown,
		},
	}
}

// noFiles removes a folder of all eight network devices.
func noFiles(folder string) change {
	var list []change
	for i := range 8 {
		list = append(list, remove(fmt.Sprintf("sys/class/net/ens%dnp0/%s", i, folder)))
	}
	return all(list...)
}

// qosFindings returns the outcome, object and summary of what a check finds beside passes.
func qosFindings(t *testing.T, tree *nodetree.Tree, id string) string {
	t.Helper()
	var out []string
	for _, f := range diagnose(t, tree, id).Findings {
		if f.Outcome != doctor.OutcomePass {
			out = append(out, fmt.Sprintf("%s %s: %s", f.Outcome, f.Object, f.Summary))
		}
	}
	return strings.Join(out, "\n")
}
