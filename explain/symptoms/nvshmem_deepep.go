package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// deepEPSymptoms are about DeepEP, in its old form above NVSHMEM and its new one above NCCL.
func deepEPSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-413", Name: "deepep-node-timeout", Title: "a kernel of DeepEP waited for ranks that didn't come",
			Explanation: "Kernels within a node and the low-latency kernels wait for tokens of all ranks. One that " +
				"is late, has ended or called something else lets all others run into the time limit.",
			Sources: []string{
				"deepseek-ai/DeepEP, csrc/kernels/legacy/intranode.cu",
				"deepseek-ai/DeepEP, csrc/kernels/legacy/internode_ll.cu",
			}, Standing: evidence.Waiting,
			Lines: []Line{
				deepEPLegacy.says("deepep-cpu-recv", "DeepEP error: CPU recv timeout"),
				deepEPNode.says("deepep-wait", "DeepEP timeout for "),
				deepEPLegacy.says("deepep-check", "DeepEP timeout check failed"),
				deepEPOld.says("deepep-trap", "'unspecified launch failure'", "Failed: CUDA error").as(evidence.Echo),
				deepEPElastic.says("deepep-elastic-wait", "Dispatch CPU wait exception ("),
			},
			Causes: []Cause{
				{
					Slug: "dead-peer", Title: "a rank has ended or is stuck: its own log says why", Weight: Common,
					Decide: "the logs of all ranks: which one is silent, or failed first", Remedy: "what it says",
				},
				{
					Slug: "program-fault", Title: "the ranks call different operations, or with different shapes",
					Weight: Common,
					Decide: "num_tokens, hidden and the number of calls of each rank; py-spy dump",
					Remedy: "the same calls on all ranks",
				},
				{
					Slug: "gpu-hang", Title: "a kernel occupies the SMs that DeepEP needs", Weight: Usual,
					Decide: "nsys, or a run without other streams",
					Remedy: "Buffer.set_num_sms, fewer SMs for other kernels",
				},
				{
					Slug:   "adaptive-routing",
					Title:  "adaptive routing reorders writes, and this DeepEP or NIC setting relies on their order",
					Weight: Rare, Decide: "DeepEP's commit; the switches' adaptive routing",
					Remedy:  "DeepEP after March 2025; adaptive routing off for the traffic class",
					Sources: []string{"deepseek-ai/DeepEP#74"},
				},
				{
					Slug: "gid-index", Title: "on several nodes: packets of NVSHMEM don't arrive", Weight: Usual,
					Decide: "rdmactl connect between the nodes; NVSHMEM_IB_GID_INDEX against show_gids",
					Remedy: "NVSHMEM_IB_GID_INDEX, NVSHMEM_HCA_LIST",
				},
			},
		},
		{
			ID:    "RDX-414",
			Name:  "deepep-qps",
			Title: "DeepEP's kernel finds another number of queue pairs than it needs",
			Explanation: "The kernel checks the state of IBGDA. It differs if the buffer was made with too few queue " +
				"pairs, or if DeepEP was built with headers of another NVSHMEM, whose layout differs.",
			Sources:  []string{"deepseek-ai/DeepEP, csrc/kernels/legacy/internode.cu", "deepseek-ai/DeepEP#696"},
			Standing: evidence.Origin,
			Lines: []Line{
				deepEPNodes.says("deepep-num-rc", "condition: ibgda_get_state()->num_rc_per_pe"),
			},
			Causes: []Cause{
				{
					Slug: "setting-invalid", Title: "num_qps_per_rank is smaller than the channels or local experts",
					Weight: Common,
					Decide: "num_qps_per_rank of the Buffer: experts per rank in low-latency mode, SMs / 2 else",
					Remedy: "num_qps_per_rank; no NVSHMEM_IBGDA_NUM_RC_PER_PE in the environment",
				},
				{
					Slug:  "defect:nvshmem-deepep-layout",
					Title: "NVSHMEM 3.5.19 or later with a DeepEP before its fix", Weight: Usual,
					Clues:  []Clue{{Weight: Strong, Library: "nvshmem", Since: "3.5.19"}},
					Decide: "pip show nvidia-nvshmem-cu12 deep_ep", Remedy: "matching versions",
				},
				{
					Slug: "version-mismatch", Title: "DeepEP was built with another NVSHMEM", Weight: Usual,
					Decide: "ldd of deep_ep_cpp; NVSHMEM_DIR when it was built", Remedy: "build DeepEP again",
				},
			},
		},
		{
			ID: "RDX-415", Name: "deepep-tokens", Title: "a batch is larger than DeepEP's buffers",
			Explanation: "The low-latency buffers have room for a fixed number of tokens per rank.",
			Sources:     []string{"deepseek-ai/DeepEP, csrc/legacy/buffer.hpp"}, Standing: evidence.Origin,
			Lines: []Line{
				deepEPLegacy.says("deepep-max-tokens", "<= num_max_dispatch_tokens_per_rank").decides("buffer-size"),
				deepEPElastic.says("deepep-max-tokens-elastic", "num_tokens <= num_max_tokens_per_rank").
					decides("buffer-size"),
				deepEPPython.says("deepep-qp-depth", "nvshmem_qp_depth >= (num_max_dispatch_tokens_per_rank").
					decides("setting-invalid"),
				deepEPLegacy.says("deepep-clean-bytes", "_clean_meta.first + ", "sizeof(int) <= num_").
					decides("buffer-size"),
				deepEPLegacy.says("deepep-rdma-bytes", "layout.total_bytes <= num_rdma_bytes").decides("buffer-size"),
			},
			Causes: []Cause{
				{
					Slug: "buffer-size", Title: "more tokens per rank than the buffer was made for", Weight: Common,
					Decide: "num_max_dispatch_tokens_per_rank against the largest batch of a rank",
					Remedy: "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK, or vLLM's --max-num-batched-tokens; " +
						"smaller batches",
				},
				{
					Slug: "setting-invalid", Title: "NVSHMEM_QP_DEPTH is too small for that many tokens", Weight: Rare,
					Decide: "NVSHMEM_QP_DEPTH", Remedy: "NVSHMEM_QP_DEPTH of at least twice the tokens plus two",
				},
			},
		},
		{
			ID:          "RDX-416",
			Name:        "deepep-ipc",
			Title:       "DeepEP can't open the buffer of a GPU of the same node",
			Explanation: "Ranks of a node share their buffers by CUDA IPC, or by fabric handles.",
			Sources: []string{
				"deepseek-ai/DeepEP, csrc/kernels/backend/symmetric.hpp",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				deepEPOld.says("deepep-invalid-handle", "csrc/deep_ep.cpp:", "'invalid resource handle'"),
				deepEPOld.says("deepep-peer-access", "csrc/deep_ep.cpp:",
					"peer access is not supported between these two devices").speaks("gpu-p2p"),
				deepEPOld.says("deepep-peer-map", "csrc/deep_ep.cpp:", "mapping of buffer object failed"),
				deepEPOld.says("deepep-invalid-argument", "csrc/deep_ep.cpp:", "'invalid argument'").
					speaks("gpu-memory"),
				deepEPMemory.says("deepep-pidfd-open", "`pidfd_open` failed").speaks("ipc-namespace"),
				deepEPMemory.says("deepep-pidfd-getfd", "`pidfd_getfd` failed").speaks("not-privileged"),
			},
			Causes: []Cause{
				{
					Slug: "ipc-namespace", Title: "the ranks are in containers without common IPC and PID namespaces",
					Weight: Common,
					Decide: "lsns -t ipc; lsns -t pid", Remedy: "one container per node, or --ipc=host --pid=host",
				},
				{
					Slug: "gpu-p2p", Title: "the GPUs of the node have no NVLink or peer access", Weight: Usual,
					Decide: "nvidia-smi topo -m; nvidia-smi topo -p2p r",
					Remedy: "DeepEP needs NVLink within a node: " +
						"allow_nvlink_for_low_latency_mode=False, or another all-to-all backend",
				},
				{
					Slug: "gpu-memory", Title: "NVSHMEM could not allocate the buffer: the GPU has no room for it",
					Weight: Rare,
					Decide: "nvidia-smi before the buffer is made", Remedy: "a smaller share for weights and cache " +
						"(--mem-fraction-static), fewer tokens per rank",
					Sources: []string{"sgl-project/sglang#29942"},
				},
				{
					Slug: "gpu-visibility", Title: "CUDA_VISIBLE_DEVICES hides the other GPUs", Weight: Usual,
					Decide: "CUDA_VISIBLE_DEVICES of each rank", Remedy: "all GPUs visible to each",
				},
				{
					Slug: "not-privileged", Title: "the container may not take file descriptors of another process",
					Weight: Rare,
					Decide: "capsh --print; kernel.yama.ptrace_scope", Remedy: "--cap-add=SYS_PTRACE",
				},
			},
		},
		{
			ID:    "RDX-417",
			Name:  "deepep-build",
			Title: "DeepEP doesn't fit the libraries it is loaded with",
			Explanation: "The extension is bound to the release of PyTorch, NVSHMEM and, in its new form, NCCL that " +
				"it was built with.",
			Sources:  []string{"deepseek-ai/DeepEP, deep_ep/__init__.py"},
			Standing: evidence.Origin,
			Lines: []Line{
				dlSymbol.says("deepep-symbol", "deep_ep_cpp", "undefined symbol").not("symbol: nvshmem"),
				deepEPInit.says("deepep-two-nccl", "Duplicate NCCL runtime found in the current system").
					speaks("library-conflict"),
				deepEPNCCL.says("deepep-nccl-version", "NCCL compile-time and runtime versions must be the same"),
				deepEPOld.says("deepep-no-symbol", "'named symbol not found'", "csrc/kernels").speaks("gpu-arch"),
				pythonImport.says("deepep-no-buffer", "cannot import name '", " from 'deep_ep'"),
				pythonImport.says("deepep-no-attribute", "module 'deep_ep' has no attribute"),
			},
			Causes: []Cause{
				{
					Slug: "version-mismatch", Title: "DeepEP was built for other releases than those that are loaded",
					Weight: Common,
					Decide: "pip list | grep -i -E 'torch|nccl|nvshmem|deep_ep'",
					Remedy: "build DeepEP again in this environment",
				},
				{
					Slug: "gpu-arch", Title: "it was compiled for another GPU, or without NVSHMEM's device library",
					Weight: Usual,
					Decide: "cuobjdump --list-elf of deep_ep_cpp; TORCH_CUDA_ARCH_LIST",
					Remedy: "TORCH_CUDA_ARCH_LIST of this GPU; NVSHMEM_DIR when it is built",
				},
				{
					Slug: "library-conflict", Title: "two NCCL libraries are in the process", Weight: Usual,
					Decide: "grep nccl /proc/PID/maps",
					Remedy: "one NCCL, that of PyTorch; no other one in LD_LIBRARY_PATH or LD_PRELOAD",
				},
			},
		},
		{
			ID: "RDX-418", Name: "deepep-arguments", Title: "DeepEP refuses the way in which it is called",
			Explanation: "Kernels are compiled for certain numbers of ranks per node, and of nodes, and for certain " +
				"shapes and types.",
			Sources: []string{
				"deepseek-ai/DeepEP, csrc/kernels/legacy/launch.cuh", "deepseek-ai/DeepEP, csrc/legacy/buffer.hpp",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				deepEPLaunch.says("deepep-unsupported-ranks", `"Unsupported ranks"`, "launch.cuh").
					decides("deepep-rank-count"),
				deepEPLaunch.says("deepep-unsupported-rdma-ranks", `"Unsupported RDMA ranks"`).
					decides("deepep-rank-count"),
				deepEPPython.says("deepep-unsupported-ep", "Unsupported number of EP ranks: ").
					decides("deepep-rank-count"),
				deepEPLegacy.says("deepep-nvl-peers", "num_ranks > ", "NUM_MAX_NVL_PEERS or low_latency_mode").
					decides("deepep-rank-count"),
				deepEPOld.says("deepep-not-low-latency", "deep_ep.cpp:", "'low_latency_mode'").
					decides("setting-invalid"),
				deepEPOld.says("deepep-assertion", "Failed: Assertion error ", "deep_ep.cpp:").as(evidence.Failed),
				deepEPLegacy.says("deepep-assertion-legacy", "Assertion exception (", "csrc/legacy/buffer.hpp").
					as(evidence.Failed),
				deepEPElastic.says("deepep-assertion-elastic", "Assertion exception (", "csrc/elastic/buffer.hpp").
					as(evidence.Failed),
			},
			Causes: []Cause{
				{
					Slug: "deepep-arguments", Title: "tensors of a shape, type or size that its kernels don't take",
					Weight: Common,
					Decide: "the condition in the message: hidden size, type, number of experts or tokens",
					Remedy: "the shape that it asks for; another all-to-all backend for that model",
				},
				{
					Slug:  "deepep-rank-count",
					Title: "a number of ranks, or of ranks per node, that DeepEP wasn't built for", Weight: Usual,
					Decide: "the size of the expert-parallel group; GPUs per node",
					Remedy: "8 GPUs per node and 2, 4, 8 or 16 nodes; or " +
						"low-latency mode, or another all-to-all backend",
				},
				{
					Slug:  "setting-invalid",
					Title: "a low-latency call on a buffer that was made without low_latency_mode", Weight: Rare,
					Decide: "the arguments of deep_ep.Buffer", Remedy: "low_latency_mode=True, on all ranks",
				},
			},
		},
		{
			ID: "RDX-419", Name: "nvshmem-harmless", Title: "warnings of NVSHMEM and DeepEP without consequence",
			Explanation: "The type of an empty entry of the GID table can't be read, and a buffer that isn't " +
				"destroyed leaks when the program ends.",
			Sources:  []string{"NVIDIA/nvshmem, src/modules/transport/common/transport_ib_common.h"},
			Standing: evidence.Harmless,
			Lines: []Line{
				nvshmemIB.says("roce-version-read", "IB: read failed in ib_roce_get_version_num: Invalid argument"),
				deepEPLegacy.says("deepep-destroy", "was not called before DeepEP buffer destruction"),
			},
		},
	}
}
