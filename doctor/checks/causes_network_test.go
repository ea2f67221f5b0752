package checks_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// networkReports are reports on links, priorities and addresses, with the values that they quote.
func networkReports() []reportCase {
	counted := func(list ...two) change { return readings(portReadings("mlx5_1:1", list...)) }
	flap := counted( // each port error, and the completion with error 12 (retries exceeded) that follows
		two{"counters", "link_downed", 3, 5}, two{"hw_counters", "req_transport_retries_exceeded", 0, 1},
	)
	return []reportCase{
		{
			"NVIDIA/nccl 905: async event port error again and again: a link that flaps", "01_ib_8hca", flap,
			"link-downed", "mlx5_1:1", doctor.OutcomeFail, "link_downed rose by 2",
		},
		{
			"NVIDIA/nccl 905: error 12 in the job", "01_ib_8hca", flap,
			"retries-exceeded", "mlx5_1:1", doctor.OutcomeFail, "req_transport_retries_exceeded rose by 1",
		},
		{
			"NVIDIA/NVSentinel 1236: a link that flaps between the tests of it", "02_rocev2_8hca",
			readings(netReadings("ens1np0", two{facts.CountersNetdev, "carrier_down_count", 4, 5})),
			"carrier-lost", "ens1np0", doctor.OutcomeWarn, "lost carriers rose by 1",
		},
		{
			"NVIDIA/NVSentinel 1236: a link that degrades", "01_ib_8hca",
			readings(readingsOf("mlx5_1:1", time.Minute, two{"counters", "link_error_recovery", 0, 6})),
			"link-recoveries", "mlx5_1:1", doctor.OutcomeWarn, "link_error_recovery",
		},
		{
			"NVIDIA/NVSentinel 1236: symbol errors", "01_ib_8hca",
			counted(two{"counters", "symbol_error", 0, 101}),
			"symbol-errors", "mlx5_1:1", doctor.OutcomeWarn, "symbol_error rose by 101",
		},
		{ // the counters of a port in production
			"leptonai/gpud 943: link_downed is 255", "01_ib_8hca", gpudCounters,
			"link-downed", "mlx5_1:1", doctor.OutcomeInfo, "255 times or more",
		},
		{
			"leptonai/gpud 943: and others are at their end", "01_ib_8hca", gpudCounters,
			"counter-saturated", "mlx5_1:1", doctor.OutcomeInfo, "port_xmit_discards is saturated at 65535",
		},
		{
			"NVIDIA/nccl 426 and 769: index 0, the default of NCCL before 2.21", "02_rocev2_8hca",
			recorded(facts.Facts{Environment: known(map[string]string{"NCCL_IB_GID_INDEX": "0"})}),
			"gid-index", "mlx5_0:1", doctor.OutcomeFail, "that entry is link-local; 3 fits",
		},
		{ // NCCL_IB_SL=3 without VLANs; "typical of a RoCE fabric not having proper flow control"
			"NVIDIA/nccl 378: no flow control", qosTree, factoryWith(map[string]string{"NCCL_IB_SL": "3"}),
			"pfc-priority", "node", doctor.OutcomeInfo, "PFC is off on 8 RoCE ports",
		},
		{
			"NVIDIA/nccl 2383: the driver's class does not reach queue pairs of GPUs", qosTree, lossless59,
			"traffic-class", "node", doctor.OutcomeInfo, "only the driver gives RoCE packets DSCP 59",
		},
		{
			"NVIDIA/nccl 2383: and what libraries send without it", qosTree,
			all(lossless59, tclasses(""), set("etc/nccl.conf", "NCCL_IB_TC=0")),
			"dscp-lossless", "mlx5_1:1", doctor.OutcomeFail, "DSCP 0",
		},
		{
			"NVIDIA/nccl 1957: GIN takes an MTU of 4096 for granted, the device has 1500", "49_bond",
			set("sys/class/net/ens2np0/mtu", "1500"),
			"mtu", "mlx5_1:1", doctor.OutcomeWarn, "active MTU 1024",
		},
		{ // mlx5_3 of another kind among eight rails of 400 Gb/s
			"NVIDIA/nccl 1363: a stray card among the rails", "10_mixed_ib_storage_roce", nil,
			"role", "mlx5_1:1", doctor.OutcomeInfo, "unlike the compute ports",
		},
	}
}

// gpudCounters are the counters of mlx5_1 that gpud's pull request 943 quotes.
func gpudCounters(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	for name, value := range map[string]string{
		"link_downed": "255", "port_xmit_discards": "65535", "port_xmit_wait": "4294967295",
		"excessive_buffer_overrun_errors": "15", "port_rcv_switch_relay_errors": "2", "symbol_error": "0",
		"link_error_recovery": "0", "port_rcv_errors": "0", "local_link_integrity_errors": "0",
	} {
		port("mlx5_1", "counters/"+name, value)(t, tree)
	}
}

// factoryWith is a node that nobody has set up for lossless RoCE, and the environment of a job.
func factoryWith(vars map[string]string) change {
	var list []facts.DCB
	for i := range 8 {
		list = append(list, factoryDCB(fmt.Sprintf("ens%dnp0", i)))
	}
	return recorded(facts.Facts{DCB: known(list), Environment: known(vars)})
}

// lossless59 has PFC on priority 5, to which DSCP 59 alone is mapped; the driver forces class 236
// on all devices.
func lossless59(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	dcbOf(losslessDCB, func(_ int, d *facts.DCB) {
		for i := range d.Apps {
			d.Apps[i].Priority = 0
		}
		d.Apps[59].Priority, d.PFC.Enabled, d.Buffer.Priority = 5, 1<<5, [8]uint8{5: 1}
	})(t, tree)
	all(tclasses("Global tclass=236"), onPorts("qos/trust", "dscp"))(t, tree)
}
