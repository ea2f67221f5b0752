package kserve

import "github.com/rdmakit/rdmakit/launch"

// Rules returns what the script decides, as rules like those of [launch.Rules].
func Rules() []launch.Rule {
	const kind = launch.KindKServe
	return []launch.Rule{
		{
			ID: ruleSwitch, Kind: kind,
			When: "KSERVE_INFER_ROCE is other than \"true\"",
			Then: "export nothing",
			Why:  "the script's switch",
		},
		{
			ID: ruleHCAs, Kind: kind,
			When: "devices mlx5_* whose port 1 has ACTIVE in its state and a GID type that matches " +
				"KSERVE_INFER_IB_GID_INDEX_GREP",
			Then: "NCCL_IB_HCA, NVSHMEM_HCA_LIST and UCX_NET_DEVICES name them, where the environment doesn't",
			Why: "errors kept: other names, other ports and InfiniBand are lost, storage cards are in, " +
				"NCCL takes the names for beginnings",
		},
		{
			ID: ruleIndex, Kind: kind,
			When: "a kept device has a matching GID with ffff: anywhere in it",
			Then: "the index that most devices show first, in the order 0 1 10 100 11 2, " +
				"goes into all three *_GID_INDEX, or the user's NCCL_IB_GID_INDEX",
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
