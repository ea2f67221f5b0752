package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// efaSetup returns the cause that EFA's parts don't fit together.
func efaSetup() Cause {
	return Cause{
		Slug: "efa-setup", Title: "EFA's driver, libfabric, the plugin and NCCL don't fit together", Weight: Usual,
		Decide: "cat /opt/amazon/efa_installed_packages; modinfo efa; fi_info --version; the plugin's line " +
			"\"Initializing aws-ofi-nccl\"",
		Remedy: "one EFA installer of a recent release on the node, its libraries in the image, the plugin's " +
			"release for this NCCL",
	}
}

func ofiLine(name, file string, all ...string) Line {
	return Line{Name: name, Program: NCCL, All: append(all, "NET/OFI"), Source: "aws/aws-ofi-nccl, src/" + file}
}

//nolint:funlen // a table
func ncclOFISymptoms() []Symptom {
	return []Symptom{
		{
			ID: "RDX-349", Name: "ofi-init", Title: "the libfabric plugin found no usable device",
			Explanation: "aws-ofi-nccl asks libfabric for a provider with the features that NCCL needs. NCCL falls " +
				"back to sockets, or stops if NCCL_NET demands the plugin.",
			Sources: []string{"aws/aws-ofi-nccl, src/nccl_ofi_net.cpp", "NVIDIA/nccl#1597", "aws/aws-ofi-nccl#889"},
			Lines: []Line{
				ofiLine("ofi-protocol", "nccl_ofi_net.cpp", "Unable to find a protocol that worked"),
				ofiLine("ofi-cuda-init", "nccl_ofi_net.cpp", "CUDA initialization failed"),
				ofiLine("ofi-init", "nccl_ofi_net.cpp", "initialization failed"),
				ofiLine("ofi-getinfo", "nccl_ofi_ofiutils.cpp", "fi_getinfo() call failed"),
				ofiLine("ofi-provider-none", "nccl_ofi_net.c", "Could not find any optimal provider"),
				ofiLine("ofi-devices", "nccl_ofi_sendrecv.cpp", "Insufficient Libfabric devices found"),
				ofiLine("ofi-exception", "nccl_ofi_api.cpp", "Caught exception in plugin init"),
				ofiLine("ofi-plugin-failed", "nccl_ofi_api.cpp", "Initializing plugin failed"),
				ofiLine("ofi-protocol-failed", "nccl_ofi_net.cpp", "Failed to initialize ", " protocol"),
				ofiLine("ofi-libfabric", "nccl_ofi_net.cpp", "EFA provider requires at least libfabric version").
					speaks("efa-setup"),
				ofiLine("ofi-cuda-permitted", "nccl_ofi_ofiutils.cpp", "FI_OPT_CUDA_API_PERMITTED is not declared").
					speaks("efa-setup"),
				ofiLine("ofi-imm", "nccl_ofi_rdma.cpp", "does not support 4 bytes of immediate data").
					speaks("efa-setup"),
				ofiLine("ofi-cuda", "nccl_ofi_cuda.cpp", "Failed to find CUDA Runtime library").
					speaks("missing-library"),
				ofiLine("ofi-topology", "nccl_ofi_net.cpp", "Failed to create NCCL OFI topology"),
				ofiLine("ofi-group", "nccl_ofi_rdma.cpp", "Failed to group NICs"),
				ofiLine("ofi-group-size", "nccl_ofi_rdma.cpp", "Unexpected topo group size of"),
			},
			Causes: []Cause{
				{
					Slug: "no-device-node", Title: "the container or instance has no EFA device", Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Line: "ofi-getinfo"},
						{Weight: Hint, Contains: "No data available"},
						{Weight: Hint, Line: "ofi-provider-none"},
					},
					Decide: "fi_info -p efa -t FI_EP_RDM in the container; ls /dev/infiniband; " +
						"vpc.amazonaws.com/efa in the pod",
					Remedy: "an EFA interface of the instance, the device plugin's resource in the pod " +
						"(--device=/dev/infiniband/uverbs0)",
				},
				efaSetup(),
				{
					Slug: "missing-library", Title: "a library is missing in the image", Weight: Rare,
					Decide: "ldd libnccl-net-ofi.so; LD_LIBRARY_PATH with /opt/amazon/efa/lib",
					Remedy: "libfabric of the EFA installer, the CUDA runtime",
				},
				topologyView(Rare, Clue{Weight: Strong, Line: "ofi-group"},
					Clue{Weight: Strong, Line: "ofi-group-size"},
					Clue{Weight: Strong, Line: "ofi-topology"}),
			},
		},
		{
			ID: "RDX-350", Name: "ofi-endpoint", Title: "libfabric could not open what the plugin needs",
			Explanation: "Domains, endpoints and completion queues take resources of the driver and memory that " +
				"must stay.",
			Sources: []string{
				"aws/aws-ofi-nccl, src/nccl_ofi_ofiutils.cpp", "aws/aws-ofi-nccl#24", "aws/aws-ofi-nccl#44",
				"aws/aws-ofi-nccl#715",
			},
			Lines: []Line{
				ofiLine("ofi-open", "nccl_ofi_ofiutils.cpp", "Couldn't open "),
				ofiLine("ofi-create", "nccl_ofi_ofiutils.cpp", "Couldn't create "),
				ofiLine("ofi-allocate", "nccl_ofi_ofiutils.cpp", "Couldn't allocate endpoint"),
				ofiLine("ofi-enable", "nccl_ofi_ofiutils.cpp", "Couldn't enable endpoint"),
				ofiLine("ofi-bind", "nccl_ofi_ofiutils.cpp", "Couldn't bind EP-"),
				ofiLine("ofi-domain-endpoint", "nccl_ofi_net.cpp", "Creating new endpoint for domain"),
				ofiLine("ofi-domain", "nccl_ofi_net.cpp", "Initializing a new domain for device"),
				ofiLine("ofi-option", "platform-aws.cpp", "Could not set FI_OPT_"),
			},
			Causes: []Cause{
				efaSetup(),
				{
					Slug: "memlock", Title: "the limit of locked memory is too low", Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Field: "errno", Is: []string{"12"}},
						{Weight: Strong, Contains: "RC: -12"},
						{Weight: Strong, Contains: "Cannot allocate memory"},
					},
					Decide: "ulimit -l inside the launcher and the container; rdmactl doctor --only memlock",
					Remedy: "memlock unlimited (--ulimit memlock=-1) for the service that starts the job",
				},
				{
					Slug:   "resource-limit",
					Title:  "the card has no more protection domains or queues: several processes share it",
					Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Contains: "Cannot allocate memory"}},
					Decide: "rdma resource show; dmesg | grep efa",
					Remedy: "fewer processes per device; end stale ones",
				},
			},
		},
		{
			ID: "RDX-351", Name: "ofi-memory", Title: "the libfabric plugin could not register memory",
			Explanation: "GPU memory needs a driver with peer memory or DMA-BUF, a kernel for it, and room in the " +
				"card.",
			Sources: []string{
				"aws/aws-ofi-nccl, src/nccl_ofi_sendrecv.cpp", "awslabs/awsome-distributed-ai#203",
				"aws/aws-ofi-nccl#584", "NVIDIA/nccl#563",
			},
			Lines: []Line{
				ofiLine("ofi-register", "nccl_ofi_sendrecv.cpp", "Unable to register memory"),
				ofiLine("ofi-regattr", "nccl_ofi_ofiutils.cpp", "Couldn't register memory region"),
				ofiLine("ofi-rail-register", "nccl_ofi_rdma.cpp", "Could not register memory"),
				ofiLine("ofi-rail-buffer", "nccl_ofi_rdma.cpp", "Could not register dummy buffer for flush"),
				ofiLine("ofi-gdr", "nccl_ofi_ofiutils.cpp",
					"GDR support reported to NCCL but then couldn't be configured"),
				ofiLine("ofi-mr-bind", "nccl_ofi_rdma.cpp", "fi_mr_bind ("),
				ofiLine("ofi-flush", "nccl_ofi_rdma.cpp", "Error performing GPU GDR flush"),
			},
			Causes: []Cause{
				{
					Slug:  "defect:libfabric-sync-memops",
					Title: "libfabric before the EFA installer 1.29.1 fails with NCCL 2.19 and later", Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Field: "errno", Is: []string{"22"}},
						{Weight: Hint, Contains: "Invalid argument"},
						{Weight: -Usual, Contains: "Cannot allocate memory"},
					},
					Decide: "cat /opt/amazon/efa_installed_packages; FI_EFA_SET_CUDA_SYNC_MEMOPS=0 to test",
					Remedy: "EFA installer 1.29.1 or later, or FI_EFA_SET_CUDA_SYNC_MEMOPS=0",
				},
				{
					Slug: "memlock", Title: "the limit of locked memory is too low", Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Contains: "Cannot allocate memory"},
						{Weight: -Hint, Contains: "Invalid argument"},
					},
					Decide: "ulimit -l inside the launcher and the container; rdmactl doctor --only memlock",
					Remedy: "memlock unlimited (--ulimit memlock=-1); huge pages for libfabric",
				},
				{
					Slug: "peermem-missing", Title: "the GPU's driver doesn't let the EFA driver read GPU memory",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Contains: "Bad address"},
						{Weight: Strong, Contains: "Operation not supported"},
						{Weight: Strong, Line: "ofi-gdr"},
					},
					Decide: "modinfo efa | grep -i p2p; lsmod | grep -e efa_nv_peermem -e nvidia_peermem; the kind " +
						"of NVIDIA module (open or not)",
					Remedy: "efa_nv_peermem of the EFA installer, or NVIDIA's open modules with DMA-BUF",
				},
				{
					Slug: "resource-limit", Title: "the card has no more memory regions", Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Contains: "Cannot allocate memory"}},
					Decide: "rdma resource show", Remedy: "fewer buffers or channels",
				},
			},
		},
		{
			ID: "RDX-352", Name: "ofi-connection",
			Title: "the ends of a connection of the libfabric plugin don't fit, or it broke",
			Explanation: "Both nodes must have the same number of rails and the same plugin. Messages about " +
				"requests in flight follow from an earlier failure.",
			Sources: []string{"aws/aws-ofi-nccl, src/nccl_ofi_rdma.cpp", "NVIDIA/nccl#1913"},
			Lines: []Line{
				ofiLine("ofi-rails", "nccl_ofi_rdma.cpp", "Unexpected number of remote rails"),
				ofiLine("ofi-control-rails", "nccl_ofi_rdma.cpp", "Unexpected number of remote control rails"),
				ofiLine("ofi-inflight-send", "nccl_ofi_rdma.cpp", "Closing send_comm ", "with inflight requests").
					as(evidence.Echo),
				ofiLine("ofi-inflight-receive", "nccl_ofi_rdma.cpp", "Closing recv_comm ", "with inflight requests").
					as(evidence.Echo),
				ofiLine(
					"ofi-inactive",
					"nccl_ofi_rdma.cpp",
					" on inactive communicator",
					"Called ",
				).as(evidence.Echo),
				ofiLine("ofi-requests", "nccl_ofi_sendrecv.cpp", "Can not support more than ", "inflight requests"),
				ofiLine("ofi-cq", "nccl_ofi_rdma.cpp", "Unable to retrieve completion queue entries"),
				ofiLine("ofi-post", "nccl_ofi_rdma.cpp", "Error posting "),
			},
			Causes: []Cause{
				{
					Slug: "devices-differ", Title: "the nodes have different numbers of EFA devices", Weight: Usual,
					Clues:  []Clue{{Weight: Strong, Line: "ofi-rails"}, {Weight: Strong, Line: "ofi-control-rails"}},
					Decide: "fi_info -p efa on both; rdmactl cluster verify",
					Remedy: "the same instance type and the same number of EFA devices in each pod",
				},
				{
					Slug: "version-mismatch", Title: "the nodes run different releases of the plugin", Weight: Usual,
					Decide: "the line \"Initializing aws-ofi-nccl\" of all nodes",
					Remedy: "the same image on all nodes",
				},
				{
					Slug: "dead-peer", Title: "the peer has ended or aborted before", Weight: Usual,
					Decide: "the first failure of all ranks", Remedy: "what failed there",
				},
			},
		},
	}
}
