package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func ofiPluginSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-487", Name: "libfabric-register", Title: "libfabric could not register memory with the device",
			Explanation: "type = 2 is GPU memory. On EFA, -12 is the device's limit of pages (fewer with huge " +
				"pages) or memlock, and -22 for GPU memory a driver without GPUDirect, or the defect of EFA's " +
				"installer before 1.29.1 with NCCL 2.19.",
			Sources: []string{
				"awslabs/awsome-distributed-ai#203", "aws/aws-ofi-nccl#584", "aws/aws-ofi-nccl#70",
				"ofiwg/libfabric#9739",
				"NVIDIA/nccl#563",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				libfabricEFA.says("efa-memops",
					"unable to set memops for cuda ptr").speaks("defect:libfabric-sync-memops"),
				libfabricEFA.says("efa-memops-new", "Unable to set memops for ").speaks("defect:libfabric-sync-memops"),
				libfabricCore.says("cuda-memops", "cuda_set_sync_memops", "CUDA_ERROR_NOT_SUPPORTED").
					decides("defect:libfabric-sync-memops"),
				libfabricEFA.says("efa-register", "Unable to register MR of "),
				libfabricEFA.says("efa-register-old", "<warn> Unable to register MR: "),
				source{Libfabric, "chapel-lang/chapel, runtime/src/comm/ofi"}.
					says("fi-mr-reg", "OFI error: fi_mr_reg("),
			},
			Causes: []Cause{
				{
					Slug: "resource-limit", Title: "the device's limit of registered pages is reached", Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Contains: "Cannot allocate memory"},
						{Weight: Strong, Contains: "RC: -12"},
						{Weight: -Hint, Contains: "Invalid argument"},
					},
					Decide: "the sum of all registrations; with 4 KiB pages EFA can register about a quarter of " +
						"the memory",
					Remedy:  "huge pages for host memory; fewer or smaller registrations",
					Sources: []string{"ofiwg/libfabric#9739"},
				},
				{
					Slug: "memlock", Title: "the limit of locked memory (memlock) is too low", Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Contains: "Cannot allocate memory"}, {Weight: Hint, Contains: "RC: -12"},
					},
					Decide: "ulimit -l in the job; rdmactl doctor --only memlock", Remedy: "memlock unlimited",
				},
				{
					Slug:   "defect:libfabric-sync-memops",
					Title:  "libfabric of EFA's installer before 1.29.1 fails with NCCL from 2.19 on",
					Weight: Rare,
					Clues: []Clue{
						{Weight: Hint, Library: "nccl", Since: "2.19"},
						{Weight: -Strong, Library: "nccl", Until: "2.18.99"},
					},
					Decide:  "cat /opt/amazon/efa_installed_packages; FI_EFA_SET_CUDA_SYNC_MEMOPS=0",
					Remedy:  "EFA installer 1.29.1 or later, or FI_EFA_SET_CUDA_SYNC_MEMOPS=0",
					Sources: []string{"awslabs/awsome-distributed-ai#203"},
				},
				noPeermem(
					Rare, Clue{Weight: Hint, Seen: "libfabric/efa-hmem-cuda"},
				),
			},
		},
		{
			ID: "RDX-488", Name: "libfabric-gpu", Title: "libfabric can't use GPU memory directly",
			Explanation: "Without peer-to-peer access of the card to the GPU, transfers go through host memory, or " +
				"fail if the program insists.",
			Sources:  []string{"ofiwg/libfabric, prov/efa/src/efa_hmem.c", "aws/aws-ofi-nccl, src"},
			Standing: evidence.Vague,
			Lines: []Line{
				libfabricEFA.says("efa-hmem-cuda", "Failed to register CUDA buffer with the EFA device").
					speaks("peermem-missing"),
				libfabricEFA.says("efa-hmem-device",
					"EFA cannot support FI_HMEM because the EFA device").speaks("gdr-off"),
				libfabricEFA.says("efa-hmem-compiled", "EFA cannot support FI_HMEM because it was not compiled").
					speaks("no-cuda-support"),
				libfabricEFA.says("efa-p2p-required", "Peer to peer support is currently required, but not available").
					as(evidence.Failed).speaks("peermem-missing"),
				libfabricCore.says("cuda-missing",
					"CUDA library or CUDA device is not available").speaks("no-cuda-support"),
				ofiPlugin.says("ofi-disable-gdr", "disabling GDR", "NET/OFI").speaks("gdr-off"),
			},
			Causes: []Cause{
				noPeermem(Usual),
				{
					Slug: "gdr-off", Title: "this instance or card has no GPUDirect RDMA", Weight: Usual,
					Decide: "the type of the instance; fi_info -p efa -v | grep -i hmem",
					Remedy: "none needed for function; an instance with GPUDirect (p4d and later)",
				},
				{
					Slug: "no-cuda-support", Title: "libfabric was built without CUDA, or doesn't find it",
					Weight: Usual,
					Decide: "ldconfig -p | grep -e libcuda -e libcudart",
					Remedy: "libcudart in LD_LIBRARY_PATH, or another build",
				},
			},
		},
		{
			ID: "RDX-484", Name: "libfabric-address",
			Title:       "a test of libfabric could not insert the peer's address",
			Explanation: "Address vectors are for unconnected endpoints; the provider verbs has connected ones.",
			Sources:     []string{"ofiwg/libfabric, util/pingpong.c"}, Standing: evidence.Failed,
			Lines: []Line{
				source{Libfabric, "ofiwg/libfabric, util/pingpong.c"}.
					says("pingpong-insert", "fi_av_insert: number of addresses inserted = "),
			},
			Causes: []Cause{
				{
					Slug: "setting-invalid", Title: "the type of endpoint isn't one of the provider's",
					Weight: Common,
					Decide: "fi_info -p PROVIDER: the types",
					Remedy: "fi_pingpong -p verbs -e msg; -e rdm with verbs;ofi_rxm",
				},
				{
					Slug:  "interface-choice",
					Title: "the address is of another form or interface than the provider's", Weight: Rare,
					Decide: "fi_info -v: src_addr", Remedy: "an address of the RDMA interface",
				},
			},
		},
		{
			ID: "RDX-490", Name: "libfabric-request", Title: "a request of libfabric ended with an error",
			Explanation: "The provider's text says more: a peer that never answered stands for a security group or " +
				"a process that is gone; on EFA the group must allow all traffic to and from itself.",
			Sources: []string{
				"aws/aws-ofi-nccl#156", "aws/aws-ofi-nccl#161", "aws/aws-ofi-nccl#663", "NVIDIA/nccl#1597",
				"ofiwg/libfabric, prov/efa/src/efa_errno.h",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				ofiPlugin.says("ofi-security-group",
					"This error indicates that the security group on either this instance").
					as(evidence.Origin).decides("efa-security-group"),
				source{NCCL, "aws/aws-ofi-nccl, src"}.says("ofi-request", "completed with error", "NET/OFI"),
				ofiPlugin.says("ofi-insert", "Unable to insert remote address", "NET/OFI").
					speaks("efa-security-group"),
				libfabricEFA.says("efa-unresponsive", "becomes unresponsive", "The peer of address "),
			},
			Causes: []Cause{
				{
					Slug:   "efa-security-group",
					Title:  "the security group doesn't allow all traffic to and from itself",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Decisive, Contains: "never received a response"},
						{Weight: Decisive, Contains: "Not a directory"},
						{Weight: Strong, Contains: "RC: 20"},
						{Weight: Strong, Contains: "nreachable"},
					},
					Decide:  "aws ec2 describe-security-groups: inbound and outbound rules that name the group itself",
					Remedy:  "all traffic from and to the security group itself, in both directions",
					Sources: []string{"aws/aws-ofi-nccl#156", "aws/aws-ofi-nccl#663"},
				},
				{
					Slug: "dead-peer", Title: "the peer's process has ended", Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Contains: "Unresponsive remote"},
						{Weight: Decisive, Contains: "(QPN)", Text: "the peer is there, its queue pair is not"},
						{Weight: Strong, Line: "efa-unresponsive"},
						{Weight: Hint, Contains: "emote"},
						{Weight: Hint, Contains: "NULL context"},
					},
					Decide: "the logs of all ranks: the one that ends first", Remedy: "what ended it",
				},
				{
					Slug: "version-mismatch", Title: "the nodes have different releases of libfabric or the plugin",
					Weight: Rare,
					Decide: "fi_info --version on all nodes", Remedy: "one release on all nodes",
				},
			},
		},
	}
}
