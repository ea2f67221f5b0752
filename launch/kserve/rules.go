package kserve

import "github.com/rdmakit/rdmakit/launch"

// Rules returns the decisions of the script as rules like those of [launch.Rules].
func Rules() []launch.Rule {
	const kind = launch.KindKServe
	return []launch.Rule{
		{
			ID: ruleSwitch, Kind: kind,
			When: "KSERVE_INFER_ROCE is not \"true\"",
			Then: "export nothing",
			Why:  "the script's switch",
		},
		{
			ID: ruleHCAs, Kind: kind,
			When: "devices mlx5_* whose port 1 has ACTIVE in its state and a GID type that matches " +
				"KSERVE_INFER_IB_GID_INDEX_GREP",
			Then: "set NCCL_IB_HCA, NVSHMEM_HCA_LIST and UCX_NET_DEVICES to their names, unless they are set",
			Why: "errors kept: other names, other ports and InfiniBand are left out, storage cards are included, " +
				"NCCL matches the names as prefixes",
		},
		{
			ID: ruleIndex, Kind: kind,
			When: "a kept device has a matching GID with ffff: anywhere in it",
			Then: "set all three *_GID_INDEX to the user's NCCL_IB_GID_INDEX, or to the index that most devices " +
				"match first, in the order 0 1 10 100 11 2",
			Why: "errors kept: one index for all devices, ties by the order of bash's hash table, " +
				"index 3 preferred, link-local GIDs with ff in the MAC",
		},
	}
}

const (
	ruleSwitch = "kserve-switch"
	ruleHCAs   = "kserve-hcas"
	ruleIndex  = "kserve-gid-index"
)
