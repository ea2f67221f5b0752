package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

const ofiPeerLog = "the first failure in the logs of all ranks"

//nolint:funlen // a table
func ncclOFIRequestSymptoms() []Symptom {
	return []Symptom{
		{
			ID:    "RDX-710",
			Name:  "ofi-provider",
			Title: "the libfabric plugin doesn't use EFA, or not with its features",
			Explanation: "libfabric offered another provider than EFA, or one without what the plugin asks for: the " +
				"devices aren't in the container, or the libraries are of different releases.",
			Sources: []string{
				"aws/aws-ofi-nccl, src/nccl_ofi_ofiutils.cpp", "aws/aws-ofi-nccl#803", "aws/aws-ofi-nccl#241",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				ofiLine("ofi-shared-memory", "nccl_ofi_ofiutils.cpp", "Disabling shared memory failed"),
				ofiLine("ofi-only-efa", "nccl_ofi_net.c", "Only EFA provider is supported"),
				ofiLine("ofi-tcp", "nccl_ofi_ofiutils.c", "No viable endpoint found for TCP provider"),
				ofiLine("ofi-set", "platform-aws.cpp", "Couldn't set ").speaks("efa-setup"),
				ofiLine("ofi-permitted", "nccl_ofi_ofiutils.cpp", "Failed to set FI_OPT_").speaks("efa-setup"),
				ofiLine("ofi-emulated", "platform-aws.cpp", "FI_OPT_EFA_EMULATED_WRITE").speaks("efa-setup"),
				ofiLine(
					"ofi-open-ops",
					"nccl_ofi_net.cpp",
					"fi_open_ops for EFA features failed",
				).speaks("efa-setup"),
				ofiLine("ofi-key-size", "nccl_ofi_ofiutils.cpp", "supports MR key size of").speaks("efa-setup"),
				ofiLine("ofi-tag-bits", "nccl_ofi_sendrecv.cpp", "does not provide enough tag bits"),
				ofiLine("ofi-inject", "nccl_ofi_net.cpp", "FI_OPT_INJECT_RMA_SIZE failed").speaks("efa-setup"),
				ofiLine("ofi-rma", "nccl_ofi_rdma.c", "Endpoint does not support RMA operations").speaks("efa-setup"),
				ofiLine("ofi-in-order", "platform-aws.c", "does not support 128 byte in-order aligned stores").
					speaks("setting-invalid"),
				ofiLine("ofi-call", "nccl_ofi_net.c", "OFI call failed with RC"),
				ofiLine("ofi-transport-unknown", "platform-aws.cpp", "wn transport"),
			},
			Causes: []Cause{
				{
					Slug: "no-device-node",
					Title: "the container or instance has no EFA device, so libfabric offers " +
						"another provider",
					Weight: Usual,
					Clues: []Clue{
						{
							Weight: Decisive, Seen: "nccl.plugin", SeenField: "provider",
							SeenIs: []string{"tcp", "tcp;ofi_rxm", "sockets", "udp", "net"},
							Text:   "the provider is for sockets, not EFA",
						},
						{Weight: Hint, Line: "ofi-shared-memory"},
						{Weight: Strong, Line: "ofi-only-efa"},
						{Weight: Strong, Line: "ofi-tcp"},
						{Weight: Hint, Contains: "No data available"},
					},
					Decide: "the plugin's line \"Selected Provider is\"; fi_info -p efa -t FI_EP_RDM and " +
						"ls /dev/infiniband in the container",
					Remedy: "an instance type with EFA and an EFA interface, and its devices in the container: " +
						"vpc.amazonaws.com/efa in the pod, --device=/dev/infiniband/uverbs0 for Docker",
					Sources: []string{"aws/aws-ofi-nccl#803", "aws/aws-ofi-nccl#1020"},
				},
				efaSetup(),
				{
					Slug: "setting-invalid", Title: "a variable of NCCL, the plugin or libfabric asks for what " +
						"isn't there",
					Weight: Rare,
					Clues: []Clue{
						{Weight: Hint, Variable: "FI_PROVIDER"},
						{Weight: Hint, Variable: "OFI_NCCL_PROTOCOL"},
						{Weight: Hint, Variable: "NCCL_PROTO"},
					},
					Decide: "env | grep -e ^FI_ -e ^OFI_NCCL_ -e ^NCCL_", Remedy: "unset them",
				},
			},
		},
		{
			ID:    "RDX-711",
			Name:  "ofi-post",
			Title: "libfabric refused a transfer of the plugin",
			Explanation: "A send, write or read could not be posted, or the completion queue could not be read. The " +
				"error number tells whether the endpoint had failed before.",
			Sources: []string{
				"aws/aws-ofi-nccl, src/nccl_ofi_rdma.cpp", "aws/aws-ofi-nccl, src/nccl_ofi_sendrecv.cpp",
			},
			Lines: []Line{
				ofiLine("ofi-fi-call", "nccl_ofi_rdma.cpp", " failed; RC: "),
				ofiLine("ofi-fi-send", "cm/nccl_ofi_cm_resources.cpp", "Error in call to fi_send"),
				ofiLine("ofi-readerr", "nccl_ofi_rdma.cpp", "Unable to read from fi_cq_readerr"),
				ofiLine("ofi-send-request", "nccl_ofi_sendrecv.cpp", "Could not send request for device"),
				ofiLine("ofi-post-receive", "nccl_ofi_sendrecv.cpp", "Unable to post receive buffer"),
				ofiLine("ofi-post-buffer", "nccl_ofi_sendrecv.c", "Unable to post a buffer for rec"),
				ofiLine("ofi-read", "nccl_ofi_sendrecv.cpp", "Unable to issue read operation"),
				ofiLine("ofi-post-request", "nccl_ofi_rdma.cpp", "Unable to post request; RC"),
				ofiLine("ofi-connect-message", "nccl_ofi_rdma.c", "Unable to send connect message"),
				ofiLine("ofi-remote-write", "nccl_ofi_rdma.c", "Unknown remote write error"),
				ofiLine("ofi-progress", "nccl_ofi_rdma.cpp", "Context progress failed").as(evidence.Echo),
				ofiLine("ofi-pending", "nccl_ofi_rdma.cpp", "process_pending_reqs").as(evidence.Echo),
				ofiLine("ofi-retry", "nccl_ofi_rdma.cpp", "post_with_pending_retry failed").as(evidence.Echo),
				ofiLine("ofi-close-message", "nccl_ofi_rdma.cpp", "Send close message complete with error").
					as(evidence.Echo),
				ofiLine("ofi-cm-connect", "nccl_ofi_rdma.cpp", "CM connect failed"),
			},
			Causes: []Cause{
				{
					Slug: "dead-peer", Title: "the peer's process ended, or the endpoint had failed before",
					Weight: Usual,
					Decide: ofiPeerLog, Remedy: "what failed there",
				},
				efaSetup(),
				{
					Slug:   "efa-security-group",
					Title:  "the security group doesn't allow all traffic to and from itself",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Line: "ofi-connect-message"},
						{Weight: Hint, Line: "ofi-cm-connect"},
					},
					Decide: "aws ec2 describe-security-groups: inbound and outbound rules that name the group itself",
					Remedy: "all traffic from and to the security group itself, in both directions",
				},
				{
					Slug: "host-memory", Title: "the node or the container has no memory left", Weight: Rare,
					Clues: []Clue{
						{Weight: Strong, Contains: "Cannot allocate memory"}, {Weight: Strong, Contains: "RC: -12"},
					},
					Decide: "dmesg | grep -i oom; the container's memory limit",
					Remedy: "a higher limit; more huge pages",
				},
			},
		},
		{
			ID:    "RDX-712",
			Name:  "ofi-gpu",
			Title: "the libfabric plugin can't use CUDA, or GPU memory for its own buffers",
			Explanation: "The plugin loads the CUDA runtime at its start, and takes some memory of the GPU to " +
				"flush writes.",
			Sources:  []string{"aws/aws-ofi-nccl, src/nccl_ofi_cuda.cpp"},
			Standing: evidence.Origin,
			Lines: []Line{
				ofiLine("ofi-cuda-symbol", "nccl_ofi_cuda.cpp", "Failed to load CUDA runtime symbol"),
				ofiLine("ofi-cuda-resolve", "nccl_ofi_cuda.cpp", "Failed to resolve CUDA function"),
				ofiLine("ofi-cuda-driver", "nccl_ofi_cuda.c", "Failed to find CUDA Driver library").
					speaks("gpu-missing"),
				ofiLine("ofi-cuda-version", "nccl_ofi_cuda.cpp", "Failed to query CUDA "),
				ofiLine("ofi-cuda-entry", "nccl_ofi_cuda.cpp", "No CUDA driver entry point functions"),
				ofiLine("ofi-cuda-count", "nccl_ofi_net.cpp", "Error getting ", "CUDA device"),
				ofiLine("ofi-hip-version", "nccl_ofi_rocm.cpp", "Failed to query HIP "),
				ofiLine("ofi-cu-memory", "nccl_ofi_cuda.cpp", "NET/OFI ", " failed").any("cuMem"),
				ofiLine("ofi-cu-other", "nccl_ofi_cuda.cpp", "NET/OFI ", " failed").any("cuStream", "cuCtx"),
				ofiLine("ofi-flush-allocate", "nccl_ofi_rdma.cpp", "Unable to allocate flush buffer"),
				ofiLine("ofi-flush-copy", "nccl_ofi_rdma.cpp", "Unable to copy sentinel value to gpu flush buffer"),
				ofiLine("ofi-dmabuf-build", "nccl_ofi_api.cpp", "not compiled with DMA-BUF support").
					speaks("efa-setup"),
			},
			Causes: []Cause{
				{
					Slug: "cuda-build", Title: "the plugin was built for another release of CUDA than the image has",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Line: "ofi-cuda-symbol"},
						{Weight: Hint, Line: "ofi-cuda-resolve"},
						{Weight: Hint, Line: "ofi-cuda-entry"},
					},
					Decide: "ldd libnccl-net-ofi.so; ls /usr/local/cuda*/lib64/libcudart.so*",
					Remedy: "the plugin of the image's CUDA release, or a newer EFA installer",
				},
				{
					Slug: "gpu-missing", Title: "the container has no GPU, or no driver libraries", Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Line: "ofi-cuda-count"}, {Weight: Hint, Line: "ofi-cuda-version"}},
					Decide: "nvidia-smi -L in the container", Remedy: "--gpus all, or nvidia.com/gpu in the pod",
				},
				{
					Slug: "gpu-memory", Title: "the GPU has no memory left", Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Contains: "OUT_OF_MEMORY"},
						{Weight: Strong, Contains: "out of memory"},
						{Weight: Hint, Line: "ofi-flush-allocate"},
						{Weight: Hint, Line: "ofi-cu-memory"},
					},
					Decide: "nvidia-smi during the start", Remedy: "leave memory to NCCL and the plugin",
				},
				efaSetup(),
			},
		},
		{
			ID: "RDX-713", Name: "ofi-internal", Title: "the libfabric plugin lost track of its connections or " +
				"requests",
			Explanation: "The plugin's own bookkeeping doesn't fit: a defect of its release, different releases on " +
				"the nodes, or what is left after another failure.",
			Sources:  []string{"aws/aws-ofi-nccl, src/nccl_ofi_rdma.cpp", "aws/aws-ofi-nccl#715"},
			Standing: evidence.Vague,
			Lines: []Line{
				ofiLine("ofi-tag", "nccl_ofi_sendrecv.c", "Received an invalid tag"),
				ofiLine("ofi-nonexistent", "nccl_ofi_rdma.cpp", "for non-existent "),
				ofiLine("ofi-unexpected", "nccl_ofi_rdma.cpp", "Unexpected ").not("remote rails",
					"remote control rails",
					"topo group", "failure setting"),
				ofiLine("ofi-invalid", "nccl_ofi_api.cpp", "NET/OFI Invalid ").any("comm", "request", "handle",
					"endpoint", "device"),
				ofiLine("ofi-duplicate", "nccl_ofi_rdma.cpp", "Duplicate request in message buffer"),
				ofiLine("ofi-ids", "nccl_ofi_idpool.cpp", "No IDs available"),
				ofiLine("ofi-keys", "nccl_ofi_net.c", "No MR keys available"),
				ofiLine("ofi-uninitialised", "nccl_ofi_api.cpp", "not been initialized"),
				ofiLine("ofi-uninitialised-old", "nccl_ofi_net.c", "initialised"),
				ofiLine("ofi-connections", "nccl_ofi_sendrecv.cpp", "Cannot open more connection for device ID"),
				ofiLine("ofi-active", "nccl_ofi_sendrecv.c", "object already has an active "),
				ofiLine("ofi-freelist", "nccl_ofi_freelist.cpp", "NET/OFI ").any("freelist", "Freelist", "free list"),
			},
			Causes: []Cause{
				{
					Slug: "library-defect", Title: "a defect of this release of the plugin", Weight: Usual,
					Decide: "the line \"Initializing aws-ofi-nccl\"; the same with the last release",
					Remedy: "the plugin of the last EFA installer",
				},
				{
					Slug: "version-mismatch", Title: "the nodes run different releases of the plugin or libfabric",
					Weight: Usual,
					Decide: "the line \"Initializing aws-ofi-nccl\" of all nodes",
					Remedy: "the same image on all nodes",
				},
				{
					Slug: "dead-peer", Title: "the peer has ended or aborted before", Weight: Usual,
					Decide: ofiPeerLog, Remedy: "what failed there",
				},
			},
		},
	}
}

func ncclOFIOtherSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-716", Name: "efa-internal-error", Title: "the EFA provider of libfabric ended the process",
			Explanation: "The provider prints its own error number: 4113, 4124 and 4126 are about a peer that " +
				"doesn't answer, " +
				"most others from 4100 to 4117 about buffers, queues and packets of this process.",
			Sources:  []string{"ofiwg/libfabric, prov/efa/src/efa_errno.h", "awslabs/awsome-distributed-ai#647"},
			Standing: evidence.Failed,
			Lines: []Line{
				libfabricEFA.says("efa-code-buffers", "EFA internal error: (").
					any("(4100)", "(4101)", "(4105)", "(4108)", "(4109)", "(4112)", "(4114)", "(4116)", "(4117)"),
				libfabricEFA.says("efa-code-peer", "EFA internal error: (").
					any("(8)", "(9)", "(12)", "(13)", "(14)", "(15)", "(4113)", "(4124)", "(4126)"),
				libfabricEFA.says("efa-code", "EFA internal error: ("),
				libfabricEFA.says("efa-error-memory", "Libfabric error: (-12) ").speaks("memlock"),
				libfabricEFA.says("efa-error-gone", "Libfabric error: (-103)").speaks("dead-peer"),
				libfabricEFA.says("efa-fi-error", "Libfabric error: (-"),
				libfabricEFA.says("efa-internal", "Libfabric EFA provider has encountered an internal error").
					as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug: "memlock", Title: "the limit of locked memory is too low", Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Contains: "Cannot allocate memory"},
						{Weight: Hint, Line: "efa-code-buffers"},
						{Weight: -Usual, Line: "efa-code-peer"},
					},
					Decide: "ulimit -l inside the launcher and the container; rdmactl doctor --only memlock",
					Remedy: "memlock unlimited (--ulimit memlock=-1) for the service that starts the job",
				},
				{
					Slug:   "dead-peer",
					Title:  "the peer's process has ended",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Line: "efa-code-peer"},
						{Weight: -Hint, Line: "efa-code-buffers"},
					},
					Decide: ofiPeerLog,
					Remedy: "what ended it",
				},
				{
					Slug: "efa-security-group", Title: "the security group doesn't allow all traffic to and from " +
						"itself",
					Weight: Rare,
					Clues: []Clue{
						{Weight: Decisive, Contains: "(15)"},
						{Weight: Strong, Contains: "(4126)"},
						{Weight: Decisive, Contains: "never received a response"},
					},
					Decide: "aws ec2 describe-security-groups: inbound and outbound rules that name the group itself",
					Remedy: "all traffic from and to the security group itself, in both directions",
				},
				{
					Slug: "host-memory", Title: "the node or the container has no memory left", Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Contains: "Cannot allocate memory"}},
					Decide: "dmesg | grep -i oom; the container's memory limit and huge pages",
					Remedy: "a higher limit",
				},
				{
					Slug:    "fork-unsafe",
					Title:   "the program forks (data loaders), and pages were copied",
					Weight:  Rare,
					Decide:  "workers of data loaders; FI_EFA_FORK_SAFE",
					Remedy:  "FI_EFA_FORK_SAFE=1, a newer kernel",
					Sources: []string{"aws/aws-ofi-nccl#141"},
				},
				{
					Slug: "version-mismatch", Title: "the nodes run different releases of libfabric", Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Line: "efa-code"}},
					Decide: "fi_info --version on all nodes", Remedy: "the same EFA installer on all nodes",
				},
			},
		},
		{
			ID:    "RDX-714",
			Name:  "ofi-notes",
			Title: "the libfabric plugin notes something, and goes on: no fault by itself",
			Explanation: "The plugin warns of old names of variables and of features that it does without. The lines " +
				"are of jobs that work.",
			Sources:  []string{"aws/aws-ofi-nccl, src/platform-aws.cpp"},
			Standing: evidence.Harmless,
			Lines: []Line{
				ofiLine("ofi-deprecated", "nccl_ofi_param.h", "NET/OFI ", "is deprecated"),
				ofiLine("ofi-flush-note", "nccl_ofi_cuda.cpp", "CUDA flush enabled"),
				ofiLine("ofi-tuner", "tuner/nccl_ofi_tuner.cpp", "NCCL_OFI_TUNER is not available"),
				ofiLine("ofi-tuner-choice", "tuner/nccl_ofi_tuner.cpp", "The tuner plugin can not be loaded"),
				ofiLine("ofi-tuner-configuration", "platform-aws.cpp", "Not configuring NCCL_TUNER_PLUGIN"),
				ofiLine("ofi-priority", "platform-aws.h", "AWS platform priority"),
				ofiLine("ofi-gdr-off", "platform-aws.cpp", "GDR disabled on GDR-supported instance type"),
				ofiLine("ofi-cache", "nccl_ofi_mr.cpp", "MR cache destroyed while"),
				ofiLine("ofi-leak", "nccl_ofi_rdma.cpp", "NET/OFI ").any("eaking memory", "leaking key"),
			},
		},
		{
			ID:    "RDX-715",
			Name:  "ofi-other",
			Title: "the libfabric plugin failed, in a way that isn't known in detail",
			Explanation: "The line is of the plugin, and of no form that is known here. What mostly fails in it are " +
				"parts of EFA that don't fit together, and peers that ended.",
			Sources:  []string{"aws/aws-ofi-nccl, src"},
			Standing: evidence.Vague,
			Lines: []Line{
				ofiLine("ofi-other", "nccl_ofi_api.cpp", "NET/OFI ").warning().
					not("ompleted with error", "Unable to insert remote address", "NCCL INFO"),
			},
			Causes: []Cause{
				efaSetup(),
				{
					Slug: "dead-peer", Title: "the peer has ended or aborted before", Weight: Rare,
					Decide: ofiPeerLog, Remedy: "what failed there",
				},
				{
					Slug: "library-defect", Title: "a defect of this release of the plugin", Weight: Rare,
					Decide: "the line \"Initializing aws-ofi-nccl\"; the same with the last release",
					Remedy: "the plugin of the last EFA installer",
				},
			},
		},
	}
}
