package lint

import "github.com/rdmakit/rdmakit/internal/text/prose"

// The rules about entries of GID tables.
func gidRules() []Rule { //nolint:funlen // a table
	return []Rule{
		{
			ID: "gid-index-unusable", Title: "pinned GID index without a routable GID", Severity: SeverityError,
			Variables: pinNames(), On: "07_sriov_vf_pod",
			Wrong: []string{"NCCL_IB_GID_INDEX=3"},
			Right: []string{"NCCL_IB_ADDR_FAMILY=AF_INET", "NCCL_IB_ADDR_RANGE=10.0.0.0/20"},
			Explanation: prose.Join(`
				The index is one number for all ports, and the tables of ports differ: an index that
				is right on one is empty on the next, or holds a link-local GID (fe80::), which
				reaches no other subnet. Connections over such a port fail with a timeout (error
				12), or when the queue pair is set up. NVSHMEM has the index of 3.4.5 at -1, its own
				choice; Mooncake reads NCCL_IB_GID_INDEX where MC_GID_INDEX is not set, and takes 3
				by itself.`),
			Remedy:  "take the index away and let the library find the entry by family and range",
			Sources: []string{srcNCCL, srcNVSHMEM, srcUCXIB, srcMooncake},
			Reports: []string{
				"NVIDIA/nccl#426", "NVIDIA/nccl#769", "NVIDIA/nccl#890", "NVIDIA/nccl#1333", "NVIDIA/nccl#2157",
				"k8snetworkplumbingwg/multus-cni#1100", "uccl-project/uccl#301", "kvcache-ai/Mooncake#2747",
			}, check: checkIndexUnusable,
		},
		{
			ID: "gid-index-v1", Title: "pinned GID index of RoCE v1", Severity: SeverityWarn, Variables: pinNames(),
			On:    "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_GID_INDEX=2"}, Right: []string{"NCCL_IB_GID_INDEX=3"},
			Explanation: prose.Join(`
				Packets of RoCE v1 stay within one layer-2 network, and switches that mark and
				prioritise RoCE v2 by DSCP don't see them. Every address has two entries, one a
				version; the index of the other is mostly one higher.`),
			Remedy: "take the index away, or pin the entry of RoCE v2", Reports: []string{"NVIDIA/nccl#1131"},
			Sources: []string{srcNCCL, srcUCXIB}, check: checkIndexV1,
		},
		{
			ID: "gid-index-infiniband", Title: "GID index beside InfiniBand ports", Severity: SeverityWarn,
			Variables: pinNames(), On: "01_ib_8hca",
			Wrong: []string{"UCX_IB_GID_INDEX=3"}, Right: []string{"UCX_IB_GID_INDEX=auto"},
			Explanation: "UCX applies the index to InfiniBand links too, where entry 0 is the port's own and others " +
				"are mostly empty. NCCL ignores it on InfiniBand.",
			Remedy: "take the index away", Sources: []string{srcUCXIB, srcNCCL}, check: checkIndexInfiniBand,
		},
		{
			ID: "gid-index-pinned", Title: "GID index is pinned", Severity: SeverityNote, Variables: pinNames(),
			On:    "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_GID_INDEX=3"}, Right: []string{"NCCL_IB_GID_INDEX=-1"},
			Explanation: prose.Join(`
				The entry is right on this node now. An index is a place in a table and not an
				address: it moves when addresses, VLANs or containers come and go, after a port was
				down, and differs between nodes. Since 2.21 NCCL finds the entry by family and
				version; versions before need an index where 0 is wrong.`),
			Remedy: "leave the choice to the library where its version can, or compare nodes " +
				"with rdmactl env consensus",
			Reports: []string{"NVIDIA/nccl#1333", "NVIDIA/nccl#2157", "NVIDIA/nccl#890"},
			Sources: []string{srcNCCL, srcLaunch}, check: checkIndexPinned,
		},
		{
			ID: "gid-choice", Title: "NCCL takes a wrong GID under these variables", Severity: SeverityWarn,
			On:        "13_ipv6_only_roce",
			Variables: []string{"NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM"},
			Wrong:     []string{"NCCL_IB_HCA==mlx5_0,mlx5_1"},
			Right:     []string{"NCCL_IB_HCA==mlx5_0,mlx5_1", "NCCL_IB_ADDR_FAMILY=AF_INET6"},
			Explanation: prose.Join(`
				Without an index NCCL looks for one family (IPv4 unless NCCL_IB_ADDR_FAMILY says
				AF_INET6), one range and one version of RoCE, and stays with index 0 where nothing
				fits, which is a link-local GID of RoCE v1. It never goes from IPv4 to IPv6 by
				itself. The index is what a model of NCCL 2.30.7 takes on these tables.`),
			Remedy:  "set family, range and version as the addresses of the ports are",
			Reports: []string{"uccl-project/uccl PR#803", "openucx/ucx PR#10939", "deepseek-ai/DeepEP#139"},
			Sources: []string{srcNCCL}, check: checkChoice,
		},
		{
			ID: "gid-range", Title: "address range that is no network, or of the other family", Severity: SeverityError,
			On:        "07_sriov_vf_pod",
			Variables: []string{"NCCL_IB_ADDR_RANGE", "NVSHMEM_IB_ADDR_RANGE"},
			Wrong:     []string{"NVSHMEM_IB_ADDR_RANGE=10.0.0.0"}, Right: []string{"NVSHMEM_IB_ADDR_RANGE=10.0.0.0/20"},
			Explanation: prose.Join(`
				The range is a network with a prefix length: 10.0.0.0/20. NVSHMEM crashes on one
				without /, for it reads behind a missing character. A range of the other family
				than *_IB_ADDR_FAMILY (AF_INET unless set) is ignored by NCCL and NVSHMEM, so any
				address fits.`),
			Remedy: "write a network of the family", Reports: []string{"deepseek-ai/DeepEP#38"},
			Sources: []string{srcNCCL, srcNVSHMEM}, check: checkRange,
		},
		{
			ID: "gid-range-empty", Title: "address range that no GID of a used port is in", Severity: SeverityWarn,
			On:        "07_sriov_vf_pod",
			Variables: []string{"NCCL_IB_ADDR_RANGE", "NVSHMEM_IB_ADDR_RANGE"},
			Wrong:     []string{"NCCL_IB_ADDR_RANGE=192.168.0.0/16"}, Right: []string{"NCCL_IB_ADDR_RANGE=10.0.0.0/20"},
			Explanation: "A port without an address in the range stays at index 0, which is a link-local GID of " +
				"RoCE v1 or an empty entry.",
			Remedy:  "take a network that covers the addresses of all ports",
			Sources: []string{srcNCCL, srcNVSHMEM}, check: checkRangeEmpty,
		},
		{
			ID: "gid-index-beside", Title: "GID index silences the other settings", Severity: SeverityNote,
			On: "02_rocev2_8hca", Variables: []string{"NCCL_IB_GID_INDEX", "NVSHMEM_IB_GID_INDEX"},
			Wrong:       []string{"NCCL_IB_GID_INDEX=3", "NCCL_IB_ADDR_FAMILY=AF_INET"},
			Right:       []string{"NCCL_IB_ADDR_FAMILY=AF_INET"},
			Explanation: "With an index of 0 or more, family, range and version are not looked at.",
			Remedy:      "keep the index or the others", Sources: []string{srcNCCL, srcNVSHMEM},
			check: checkIndexBeside,
		},
		{
			ID: "ucx-gid-subnets", Title: "UCX_IB_GID_INDEX together with UCX_IB_ROCE_SUBNETS", Severity: SeverityError,
			Variables: []string{"UCX_IB_GID_INDEX", "UCX_IB_ROCE_SUBNETS"}, On: "02_rocev2_8hca",
			Wrong:       []string{"UCX_IB_GID_INDEX=3", "UCX_IB_ROCE_SUBNETS=10.0.0.0/8"},
			Right:       []string{"UCX_IB_ROCE_SUBNETS=10.0.0.0/8"},
			Explanation: "UCX refuses an index together with a list of subnets: its InfiniBand transports don't open.",
			Remedy:      "take one of them away", Sources: []string{srcUCXIB}, check: checkUCXSubnets,
		},
	}
}

// pinNames are the variables that pin an index.
func pinNames() []string {
	var names []string
	for _, v := range indexVariables() {
		names = append(names, v[0])
	}
	return names
}
