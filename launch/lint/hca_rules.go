package lint

import (
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
)

// eightPorts is the list of the compute ports of the node in the examples.
const eightPorts = "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1"

// The rules about lists of RDMA devices.
func hcaRules() []Rule { //nolint:funlen // a table
	return []Rule{
		{
			ID: "hca-syntax", Title: "device list with a syntax that the library doesn't support",
			Severity: SeverityError, Variables: listNames(), On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_HCA==^mlx5_0"}, Right: []string{"NCCL_IB_HCA=^=mlx5_0"},
			Explanation: prose.Join(`
				NCCL_IB_HCA accepts one ^ (all but these) followed by one = (whole names) before the
				whole list; a = or ^ anywhere else becomes part of a device name, and no device has
				that name. NVSHMEM, UCX and Mooncake don't support =, because they always compare
				whole names; Mooncake doesn't support ^ either. Only UCX supports ranges such as
				mlx5_[0-3], and no library supports * or ?.`),
			Remedy: "write the list in the syntax of its library", Reports: []string{"NVIDIA/nccl-tests#150"},
			Sources: []string{srcNCCL, srcNVSHMEM, srcUCX, srcLaunch}, check: checkSyntax,
		},
		{
			ID: "hca-unknown", Title: "list names a device that this node doesn't have", Severity: SeverityError,
			Variables: listNames(), On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_HCA=mlx5_bond_0"}, Right: []string{"NCCL_IB_HCA=mlx5_0"},
			Explanation: prose.Join(`
				An unknown name matches nothing, and no library prints an error. If it is one of
				several, the job runs with fewer rails than intended; if it is the only one, NCCL
				falls back to TCP and UCX fails to start.`),
			Remedy:  "use the device names of this node; rdmactl detect lists them",
			Reports: []string{"NVIDIA/nccl#941"}, Sources: []string{srcNCCL, srcNVSHMEM, srcUCX},
			check: checkUnknownDevice,
		},
		{
			ID: "hca-prefix", Title: "name that is also the prefix of other devices' names", Severity: SeverityWarn,
			Variables: []string{"NCCL_IB_HCA"}, On: "07_sriov_vf_pod",
			Wrong: []string{"NCCL_IB_HCA=mlx5_1"}, Right: []string{"NCCL_IB_HCA==mlx5_12"},
			Explanation: "Without = NCCL matches an entry as a prefix: mlx5_1 also matches mlx5_10 to mlx5_19. " +
				"With ^ they are excluded as well.",
			Remedy: "put = in front of the list", Reports: []string{"NVIDIA/nccl#236"}, Sources: []string{srcNCCL},
			check: checkPrefix,
		},
		{
			ID: "hca-none", Title: "list excludes every device", Severity: SeverityError, Variables: listNames(),
			On:    "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_HCA=^mlx5"}, Right: []string{"NCCL_IB_HCA=^mlx5_7"},
			Explanation: "A list with ^ that matches all devices excludes all of them, and so does ^ alone. " +
				"NCCL then runs over TCP.",
			Remedy: "exclude fewer devices, or list the devices to use", Sources: []string{srcNCCL, srcNVSHMEM, srcUCX},
			check: checkNothingLeft,
		},
		{
			ID: "hca-limit", Title: "more entries than NCCL reads", Severity: SeverityWarn,
			Variables: []string{"NCCL_IB_HCA"}, On: "02_rocev2_8hca",
			Wrong:       []string{"NCCL_IB_HCA==" + strings.Repeat("mlx5_0,", 33) + "mlx5_1"},
			Right:       []string{"NCCL_IB_HCA==" + eightPorts},
			Explanation: "NCCL reads the first 32 entries of the list and ignores the others.",
			Remedy:      "list at most 32 ports, or their common prefix", Sources: []string{srcNCCL},
			check: checkLimit,
		},
		{
			ID: "hca-port", Title: "port that the device doesn't have", Severity: SeverityError,
			Variables: append(listNames(), "MC_IB_PORT"), On: "02_rocev2_8hca",
			Wrong: []string{"UCX_NET_DEVICES=mlx5_0:0"}, Right: []string{"UCX_NET_DEVICES=mlx5_0:1"},
			Explanation: prose.Join(`
				Ports are numbered from 1. An entry with another port, or with a port that is not a
				number (NCCL reads it as 0), matches nothing, without an error. A card with two
				ports is usually two devices with one port each, port 1. Mooncake opens the same
				port number, MC_IB_PORT (1 by default), on all its devices.`),
			Remedy: "use a port that exists", Reports: []string{"opendatahub-io/kserve PR#885"},
			Sources: []string{srcNCCL, srcNVSHMEM, srcUCX, srcMooncake}, check: checkPort,
		},
		{
			ID: "hca-down", Title: "listed port is not active", Severity: SeverityError, Variables: listNames(),
			On:    "20_states",
			Wrong: []string{"NCCL_IB_HCA==mlx5_0,mlx5_3"}, Right: []string{"NCCL_IB_HCA==mlx5_0"},
			Explanation: prose.Join(`
				Libraries use only ports in state ACTIVE (not ACTIVE_DEFER) and ignore the others
				without an error: this node runs with fewer rails than its peers, and ranks that use
				different rails hang. If no listed port is active, NCCL runs over TCP; NVSHMEM and
				UCX fail to start.`),
			Remedy:  "bring the port up, or remove it from the list",
			Reports: []string{"NVIDIA/nccl#2428", "NVIDIA/nccl#941"}, Sources: []string{srcNCCL}, check: checkDown,
		},
		{
			ID: "hca-iwarp", Title: "listed device uses iWARP", Severity: SeverityError, Variables: listNames(),
			On:    "04_iwarp",
			Wrong: []string{"NCCL_IB_HCA=cxgb4_0"}, Right: []string{"NCCL_IB_DISABLE=1"},
			Explanation: "NCCL doesn't skip iWARP devices: it uses them and fails to connect. NVSHMEM and UCX " +
				"need InfiniBand or RoCE too.",
			Remedy: "remove the device from the list", Sources: []string{srcNCCL}, check: checkIWARP,
		},
		{
			ID: "hca-role", Title: "list contains a storage or management port", Severity: SeverityWarn,
			Variables: listNames(), On: "47_gpu_switches",
			Wrong: []string{"NCCL_IB_HCA=mlx5_"}, Right: []string{"NCCL_IB_HCA==" + eightPorts},
			Explanation: prose.Join(`
				A slow port, or a port on another network, slows every collective down to its speed,
				and the peers may not be reachable through it. If the node has compute ports, the
				rule also reports software devices and virtual functions that belong to other
				containers or virtual machines. The role of a port is derived from its rate, link
				layer, routes and distance to the GPUs; rdmactl detect shows the role and the
				reason.`),
			Remedy: "list the compute ports", Reports: []string{"NVIDIA/nccl#1412"}, Sources: []string{srcLaunch},
			check: checkRole,
		},
		{
			ID: "hca-unusable", Title: "listed port can't carry a job", Severity: SeverityWarn, Variables: listNames(),
			On:    "54_link_local_only",
			Wrong: []string{"NCCL_IB_HCA==mlx5_0"}, Right: []string{"NCCL_IB_DISABLE=1"},
			Explanation: prose.Join(`
				The port is active, but jobs can't use it: a RoCE port without an IP address has
				only link-local GIDs, which are not routable; the addresses of a bond member belong
				to the bond; a Data Direct function is matched by the name of its device.`),
			Remedy:  "fix the cause that the finding shows, or remove the port from the list",
			Reports: []string{"NVIDIA/nccl#1796"}, Sources: []string{srcLaunch},
			check: checkUnusable,
		},
		{
			ID: "hca-mixed", Title: "list has both InfiniBand and RoCE ports", Severity: SeverityWarn,
			Variables: listNames(), On: "10_mixed_ib_storage_roce",
			Wrong: []string{"NCCL_IB_HCA==mlx5_0,mlx5_1"}, Right: []string{"NCCL_IB_HCA==mlx5_0,mlx5_3"},
			Explanation: "InfiniBand and RoCE ports can't reach each other, and GID settings that suit one kind " +
				"break the other.",
			Remedy: "list ports of one kind", Sources: []string{srcNCCL, srcLaunch}, check: checkMixed,
		},
		{
			ID: "hca-left-out", Title: "list leaves out compute ports", Severity: SeverityNote, Variables: listNames(),
			On:    "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_HCA==mlx5_0:1,mlx5_1:1"}, Right: []string{"NCCL_IB_HCA==" + eightPorts},
			Explanation: "Other ports of this node could carry the job too. If leaving them out is intended, the " +
				"peers must leave out the same rails.",
			Remedy: "list all compute ports, or remove the variable", Reports: []string{"NVIDIA/nccl#2428"},
			Sources: []string{srcLaunch}, check: checkLeftOut,
		},
		{
			ID: "hca-unset", Title: "without a list NCCL uses storage or management ports too", Severity: SeverityNote,
			Variables: []string{"NCCL_IB_HCA"}, On: "47_gpu_switches",
			Wrong: []string{"NCCL_DEBUG=INFO"}, Right: []string{"NCCL_DEBUG=INFO", "NCCL_IB_HCA==" + eightPorts},
			Explanation: prose.Join(`
				If NCCL_IB_HCA is not set, NCCL takes every active port of the node, whatever it is
				for. Where a storage or management port is among them, collectives may share its
				network with other traffic, or wait for its slower link.`),
			Remedy: "list the compute ports", Sources: []string{srcNCCL, srcLaunch}, check: checkUnset,
		},
	}
}
