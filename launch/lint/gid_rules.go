package lint

import "github.com/rdmakit/rdmakit/internal/text/prose"

// gidRules returns the rules about entries of GID tables.
func gidRules() []Rule { //nolint:funlen // a table
	return []Rule{
		{
			ID: "gid-index-unusable", Title: "pinned GID index without a routable GID", Severity: SeverityError,
			Variables: pinNames(), On: "07_sriov_vf_pod",
			Wrong: []string{"NCCL_IB_GID_INDEX=3"},
			Right: []string{"NCCL_IB_ADDR_FAMILY=AF_INET", "NCCL_IB_ADDR_RANGE=10.0.0.0/20"},
			Explanation: prose.Join(`
				The index applies to all ports, but their GID tables differ: an index that is
				correct on one port may be empty on another, or contain a link-local GID (fe80::),
				which is not routable. Connections over such a port fail with a timeout (error 12),
				or when the queue pair is set up. NVSHMEM 3.4.5 selects the GID itself by default
				(-1). Mooncake reads NCCL_IB_GID_INDEX if MC_GID_INDEX is not set; its default is
				3.`),
			Remedy:  "remove the index, so that the library selects the entry by address family and range",
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
				RoCE v1 packets stay within one layer-2 network, and switches that classify RoCE v2
				by DSCP don't prioritise them. Every address has two entries, one for each version;
				the index of the RoCE v2 entry is usually one higher.`),
			Remedy: "remove the index, or pin the RoCE v2 entry", Reports: []string{"NVIDIA/nccl#1131"},
			Sources: []string{srcNCCL, srcUCXIB}, check: checkIndexV1,
		},
		{
			ID: "gid-index-infiniband", Title: "GID index on a node with InfiniBand ports", Severity: SeverityWarn,
			Variables: pinNames(), On: "01_ib_8hca",
			Wrong: []string{"UCX_IB_GID_INDEX=3"}, Right: []string{"UCX_IB_GID_INDEX=auto"},
			Explanation: "UCX applies the index to InfiniBand ports too, where entry 0 is the port's GID and the " +
				"other entries are usually empty. NCCL ignores the index on InfiniBand.",
			Remedy: "remove the index", Sources: []string{srcUCXIB, srcNCCL}, check: checkIndexInfiniBand,
		},
		{
			ID: "gid-index-pinned", Title: "GID index is pinned", Severity: SeverityNote, Variables: pinNames(),
			On:    "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_GID_INDEX=3"}, Right: []string{"NCCL_IB_GID_INDEX=-1"},
			Explanation: prose.Join(`
				The entry is correct on this node now. But an index is a position in a table, not an
				address: it changes when addresses, VLANs or containers are added or removed, or
				after the port was down, and it differs between nodes. Since 2.21 NCCL selects the
				entry by address family and RoCE version; earlier versions need an index if 0 is
				wrong.`),
			Remedy: "remove the index if the library's version can select the GID, or compare the nodes " +
				"with rdmactl env consensus",
			Reports: []string{"NVIDIA/nccl#1333", "NVIDIA/nccl#2157", "NVIDIA/nccl#890"},
			Sources: []string{srcNCCL, srcLaunch}, check: checkIndexPinned,
		},
		{
			ID: "gid-choice", Title: "NCCL selects an unsuitable GID with these variables", Severity: SeverityWarn,
			On:        "13_ipv6_only_roce",
			Variables: []string{"NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM"},
			Wrong:     []string{"NCCL_IB_HCA==mlx5_0,mlx5_1"},
			Right:     []string{"NCCL_IB_HCA==mlx5_0,mlx5_1", "NCCL_IB_ADDR_FAMILY=AF_INET6"},
			Explanation: prose.Join(`
				Without an index NCCL searches for a GID of one address family (IPv4 unless
				NCCL_IB_ADDR_FAMILY is AF_INET6), one address range and one RoCE version. If no GID
				matches, it uses index 0, which is a link-local RoCE v1 GID. It never falls back
				from IPv4 to IPv6. The finding shows the index that a model of NCCL 2.30.7 selects
				from these tables.`),
			Remedy:  "set address family, range and RoCE version to match the addresses of the ports",
			Reports: []string{"uccl-project/uccl PR#803", "openucx/ucx PR#10939", "deepseek-ai/DeepEP#139"},
			Sources: []string{srcNCCL}, check: checkChoice,
		},
		{
			ID: "gid-range", Severity: SeverityError,
			Title:     "address range that is not a network, or has the wrong address family",
			On:        "07_sriov_vf_pod",
			Variables: []string{"NCCL_IB_ADDR_RANGE", "NVSHMEM_IB_ADDR_RANGE"},
			Wrong:     []string{"NVSHMEM_IB_ADDR_RANGE=10.0.0.0"}, Right: []string{"NVSHMEM_IB_ADDR_RANGE=10.0.0.0/20"},
			Explanation: prose.Join(`
				The range is a network with a prefix length: 10.0.0.0/20. NVSHMEM crashes if the /
				is missing. NCCL and NVSHMEM ignore a range whose address family is not that of
				*_IB_ADDR_FAMILY (AF_INET by default), so any address matches.`),
			Remedy: "write a network of the correct address family", Reports: []string{"deepseek-ai/DeepEP#38"},
			Sources: []string{srcNCCL, srcNVSHMEM}, check: checkRange,
		},
		{
			ID: "gid-range-empty", Title: "address range that contains no GID of a port in use", Severity: SeverityWarn,
			On:        "07_sriov_vf_pod",
			Variables: []string{"NCCL_IB_ADDR_RANGE", "NVSHMEM_IB_ADDR_RANGE"},
			Wrong:     []string{"NCCL_IB_ADDR_RANGE=192.168.0.0/16"}, Right: []string{"NCCL_IB_ADDR_RANGE=10.0.0.0/20"},
			Explanation: "A port without an address in the range uses index 0, which is a link-local RoCE v1 GID " +
				"or an empty entry.",
			Remedy:  "use a network that contains the addresses of all ports",
			Sources: []string{srcNCCL, srcNVSHMEM}, check: checkRangeEmpty,
		},
		{
			ID: "gid-index-beside", Title: "GID index makes the other GID settings ineffective", Severity: SeverityNote,
			On: "02_rocev2_8hca", Variables: []string{"NCCL_IB_GID_INDEX", "NVSHMEM_IB_GID_INDEX"},
			Wrong:       []string{"NCCL_IB_GID_INDEX=3", "NCCL_IB_ADDR_FAMILY=AF_INET"},
			Right:       []string{"NCCL_IB_ADDR_FAMILY=AF_INET"},
			Explanation: "With an index of 0 or more, address family, range and RoCE version are ignored.",
			Remedy:      "keep either the index or the other settings", Sources: []string{srcNCCL, srcNVSHMEM},
			check: checkIndexBeside,
		},
		{
			ID: "ucx-gid-subnets", Title: "UCX_IB_GID_INDEX together with UCX_IB_ROCE_SUBNETS", Severity: SeverityError,
			Variables: []string{"UCX_IB_GID_INDEX", "UCX_IB_ROCE_SUBNETS"}, On: "02_rocev2_8hca",
			Wrong:       []string{"UCX_IB_GID_INDEX=3", "UCX_IB_ROCE_SUBNETS=10.0.0.0/8"},
			Right:       []string{"UCX_IB_ROCE_SUBNETS=10.0.0.0/8"},
			Explanation: "UCX rejects an index together with a list of subnets: its InfiniBand transports don't open.",
			Remedy:      "remove one of them", Sources: []string{srcUCXIB}, check: checkUCXSubnets,
		},
	}
}

// pinNames returns the variables that pin a GID index.
func pinNames() []string {
	var names []string
	for _, v := range indexVariables() {
		names = append(names, v[0])
	}
	return names
}
