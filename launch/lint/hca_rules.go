package lint

import (
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
)

// eightPorts is a list of the compute ports of a node that examples are for.
const eightPorts = "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1"

// The rules about lists of RDMA devices.
func hcaRules() []Rule { //nolint:funlen // a table
	return []Rule{
		{
			ID: "hca-syntax", Title: "list of devices in a syntax that the library doesn't know",
			Severity: SeverityError, Variables: listNames(), On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_HCA==^mlx5_0"}, Right: []string{"NCCL_IB_HCA=^=mlx5_0"},
			Explanation: prose.Join(`
				NCCL_IB_HCA takes one ^ (all but these) and then one = (whole names), in this order
				and in front of the whole list; a = or ^ anywhere else becomes part of a name, which
				no device has. NVSHMEM, UCX and Mooncake don't know =, for they compare whole names
				anyhow; Mooncake has no ^ either. Only UCX knows ranges, mlx5_[0-3], and none knows
				* or ?.`),
			Remedy: "write the list in the syntax of its library", Reports: []string{"NVIDIA/nccl-tests#150"},
			Sources: []string{srcNCCL, srcNVSHMEM, srcUCX, srcLaunch}, check: checkSyntax,
		},
		{
			ID: "hca-unknown", Title: "list names a device that this node doesn't have", Severity: SeverityError,
			Variables: listNames(), On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_HCA=mlx5_bond_0"}, Right: []string{"NCCL_IB_HCA=mlx5_0"},
			Explanation: prose.Join(`
				A name that no device has matches nothing, and no library says so. Where it is one
				of several, the job runs with fewer rails than it should; where it is the only one,
				NCCL falls back to TCP and UCX refuses to start.`),
			Remedy:  "name the devices of this node; rdmactl detect lists them",
			Reports: []string{"NVIDIA/nccl#941"}, Sources: []string{srcNCCL, srcNVSHMEM, srcUCX},
			check: checkUnknownDevice,
		},
		{
			ID: "hca-prefix", Title: "name that is the beginning of other devices' names", Severity: SeverityWarn,
			Variables: []string{"NCCL_IB_HCA"}, On: "07_sriov_vf_pod",
			Wrong: []string{"NCCL_IB_HCA=mlx5_1"}, Right: []string{"NCCL_IB_HCA==mlx5_12"},
			Explanation: "Without = NCCL takes an entry for the beginning of a name: mlx5_1 is mlx5_10 to mlx5_19 " +
				"too. With ^ in front, those are excluded as well.",
			Remedy: "put = in front of the list", Reports: []string{"NVIDIA/nccl#236"}, Sources: []string{srcNCCL},
			check: checkPrefix,
		},
		{
			ID: "hca-none", Title: "list excludes every device", Severity: SeverityError, Variables: listNames(),
			On:    "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_HCA=^mlx5"}, Right: []string{"NCCL_IB_HCA=^mlx5_7"},
			Explanation: "A list with ^ that covers all devices leaves none, and so does ^ alone. " +
				"NCCL then runs over TCP.",
			Remedy: "exclude less, or name what to use", Sources: []string{srcNCCL, srcNVSHMEM, srcUCX},
			check: checkNothingLeft,
		},
		{
			ID: "hca-limit", Title: "more entries than NCCL reads", Severity: SeverityWarn,
			Variables: []string{"NCCL_IB_HCA"}, On: "02_rocev2_8hca",
			Wrong:       []string{"NCCL_IB_HCA==" + strings.Repeat("mlx5_0,", 33) + "mlx5_1"},
			Right:       []string{"NCCL_IB_HCA==" + eightPorts},
			Explanation: "NCCL keeps the first 32 entries of the list and forgets the others.",
			Remedy:      "name 32 ports at most, or the beginning that they share", Sources: []string{srcNCCL},
			check: checkLimit,
		},
		{
			ID: "hca-port", Title: "port that the device doesn't have", Severity: SeverityError,
			Variables: append(listNames(), "MC_IB_PORT"), On: "02_rocev2_8hca",
			Wrong: []string{"UCX_NET_DEVICES=mlx5_0:0"}, Right: []string{"UCX_NET_DEVICES=mlx5_0:1"},
			Explanation: prose.Join(`
				Ports count from 1. An entry with another port, or with something that is no number
				(NCCL takes that for port 0), matches nothing, without a word. A card with two ports
				mostly is two devices with a port 1 each. Mooncake opens one port number on all its
				devices, MC_IB_PORT, 1 by default.`),
			Remedy: "name a port that is there", Reports: []string{"opendatahub-io/kserve PR#885"},
			Sources: []string{srcNCCL, srcNVSHMEM, srcUCX, srcMooncake}, check: checkPort,
		},
		{
			ID: "hca-down", Title: "listed port is not active", Severity: SeverityError, Variables: listNames(),
			On:    "20_states",
			Wrong: []string{"NCCL_IB_HCA==mlx5_0,mlx5_3"}, Right: []string{"NCCL_IB_HCA==mlx5_0"},
			Explanation: prose.Join(`
				Libraries use ports in state ACTIVE only (ACTIVE_DEFER is another state) and pass
				over the others in silence: this node runs with fewer rails than its peers, and
				ranks that disagree about rails hang. Where no listed port is active, NCCL runs over
				TCP. NVSHMEM and UCX refuse to start.`),
			Remedy:  "bring the port up, or take it out of the list",
			Reports: []string{"NVIDIA/nccl#2428", "NVIDIA/nccl#941"}, Sources: []string{srcNCCL}, check: checkDown,
		},
		{
			ID: "hca-iwarp", Title: "listed device speaks iWARP", Severity: SeverityError, Variables: listNames(),
			On:    "04_iwarp",
			Wrong: []string{"NCCL_IB_HCA=cxgb4_0"}, Right: []string{"NCCL_IB_DISABLE=1"},
			Explanation: "NCCL doesn't skip iWARP devices: it takes them and fails when it connects. NVSHMEM and UCX " +
				"need InfiniBand or RoCE too.",
			Remedy: "take the device out of the list", Sources: []string{srcNCCL}, check: checkIWARP,
		},
		{
			ID: "hca-role", Title: "list uses a port that is for storage or management", Severity: SeverityWarn,
			Variables: listNames(), On: "47_gpu_switches",
			Wrong: []string{"NCCL_IB_HCA=mlx5_"}, Right: []string{"NCCL_IB_HCA==" + eightPorts},
			Explanation: prose.Join(`
				A slow port, or one on another network, among the rails slows every collective down
				to its speed, and peers may not be reachable over it. Software devices and virtual
				functions that belong to others count as well where there are compute ports. What a
				port is for is judged by its rate, link layer, routes and distance to GPUs; rdmactl
				detect shows it with the reason.`),
			Remedy: "name the compute ports", Reports: []string{"NVIDIA/nccl#1412"}, Sources: []string{srcLaunch},
			check: checkRole,
		},
		{
			ID: "hca-unusable", Title: "listed port can't carry a job", Severity: SeverityWarn, Variables: listNames(),
			On:    "54_link_local_only",
			Wrong: []string{"NCCL_IB_HCA==mlx5_0"}, Right: []string{"NCCL_IB_DISABLE=1"},
			Explanation: prose.Join(`
				The port is active, and yet jobs can't use it: a RoCE port without an IP address
				has link-local GIDs only, which reach no other subnet; the slave of a bond has
				its addresses on the bond; a Data Direct function is matched under the name of
				its device.`),
			Remedy: "see the reason", Reports: []string{"NVIDIA/nccl#1796"}, Sources: []string{srcLaunch},
			check: checkUnusable,
		},
		{
			ID: "hca-mixed", Title: "list mixes kinds of networks", Severity: SeverityWarn, Variables: listNames(),
			On:    "10_mixed_ib_storage_roce",
			Wrong: []string{"NCCL_IB_HCA==mlx5_0,mlx5_1"}, Right: []string{"NCCL_IB_HCA==mlx5_0,mlx5_3"},
			Explanation: "InfiniBand and RoCE ports are no one network: a port of one can't reach a port of the " +
				"other, and a setting for GIDs that serves the one harms the other.",
			Remedy: "name ports of one kind", Sources: []string{srcNCCL, srcLaunch}, check: checkMixed,
		},
		{
			ID: "hca-left-out", Title: "list leaves out compute ports", Severity: SeverityNote, Variables: listNames(),
			On:    "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_HCA==mlx5_0:1,mlx5_1:1"}, Right: []string{"NCCL_IB_HCA==" + eightPorts},
			Explanation: "Other ports of this node could carry the job too. That may be meant; peers must then " +
				"leave out the same rails.",
			Remedy: "name all compute ports, or take the list away", Reports: []string{"NVIDIA/nccl#2428"},
			Sources: []string{srcLaunch}, check: checkLeftOut,
		},
	}
}
