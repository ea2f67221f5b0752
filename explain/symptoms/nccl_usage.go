package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

//nolint:funlen // a table
func ncclUsageSymptoms() []Symptom {
	return []Symptom{
		{
			ID:    "RDX-325",
			Name:  "invalid-usage",
			Title: "the program calls NCCL with wrong arguments",
			Explanation: "NCCL checks what it is given: pointers, counts, ranks, types, groups, and the device " +
				"that is current.",
			Sources: []string{
				"NVIDIA/nccl, src/misc/argcheck.cc", "NVIDIA/nccl, src/enqueue.cc", "NVIDIA/nccl, src/group.cc",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("pointer-device", "misc/argcheck.cc", "mismatchs with NCCL device").speaks("program-usage"),
				nccl("pointer-invalid", "misc/argcheck.cc", "is not a valid pointer").warning().not("free():"),
				nccl("argument-null", "misc/argcheck.cc", " argument is NULL").warning(),
				nccl("root-invalid", "misc/argcheck.cc", " : invalid root ").warning(),
				nccl("type-invalid", "misc/argcheck.cc", " : invalid type ").warning(),
				nccl("reduction-invalid", "misc/argcheck.cc", " : invalid reduction operation").warning(),
				nccl("reduction-unknown", "misc/argcheck.cc", "unknown to this communicator").warning(),
				nccl("reduction-type", "enqueue.cc", "Data type supplied to user-created ncclRedOp_t does not match"),
				nccl("self-send", "enqueue.cc", "Trying to send to self without a matching recv"),
				nccl("self-receive", "enqueue.cc", "Trying to recv to self without a matching send"),
				nccl("group-end", "group.cc", "ncclGroupEnd: not in a group call"),
				nccl("group-blocking", "group.cc",
					"Blocking and nonblocking communicators are not allowed in the same group"),
				nccl("device-list", "init.cc", "Invalid device count requested"),
				nccl("device-count", "init.cc", "invalid device count (", "requested").warning(),
				nccl("grow-usage", "init.cc", "ncclCommGrow: ", " ranks ").warning(),
				nccl("config-attribute", "init.cc", "Invalid config ", " attribute value").warning(),
				nccl("launch-race", "misc/strongstream.cc", "host threads racing to launch NCCL on same device"),
				nccl("fp8", "enqueue.cc", "FP8 reduction support begins with sm90"),
				nccl("streams-mixed", "enqueue.cc", "mixing different streams within a group call is not supported"),
			},
			Causes: []Cause{
				programUsage(Common, "the program passes a wrong buffer, device, rank, type or group",
					"NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=COLL: the call before; cudaGetDevice against the "+
						"communicator's device",
					"the program: set the device before the call, tensors on the rank's GPU, the same group on all "+
						"ranks"),
				{
					Slug:   "version-mismatch",
					Title:  "the program was built for another version of NCCL",
					Weight: Rare,
					Clues: []Clue{
						{Weight: Hint, Line: "config-attribute"},
						{Weight: Hint, Line: "type-invalid"},
						{
							Weight: Strong, Contains: "value -2147483648",
							Text: "the value means that the field wasn't set, which this older release doesn't know",
						},
					},
					Decide: "NCCL's version line against the version that the program was built with",
					Remedy: "matching versions: one nvidia-nccl package, and the torch that needs it",
				},
				{
					Slug: "gpu-arch", Title: "the GPU is too old for this type", Weight: Rare,
					Clues:  []Clue{{Weight: Decisive, Line: "fp8"}},
					Decide: "nvidia-smi --query-gpu=compute_cap --format=csv", Remedy: "another type than FP8",
				},
			},
		},
		{
			ID: "RDX-334", Name: "no-algorithm", Title: "no algorithm or protocol of NCCL is left for the operation",
			Explanation: "NCCL_ALGO and NCCL_PROTO exclude all that can do this operation on these GPUs and this " +
				"network.",
			Sources:  []string{"NVIDIA/nccl, src/enqueue.cc", "NVIDIA/nccl, src/graph/tuning.cc"},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("no-algorithm", "enqueue.cc", "o algorithm/protocol available").warning().any("No", "no"),
				nccl("no-kernel", "enqueue.cc", "nor symKernelId available for function "),
				nccl("token-unknown", "graph/tuning.cc", "Unrecognized element token").warning().
					speaks("setting-invalid"),
				nccl("prefix-unknown", "graph/tuning.cc", "Unrecognized prefix token").warning().
					speaks("setting-invalid"),
				nccl("prefix-missing", "graph/tuning.cc", "All entries except the first must have a prefix").
					speaks("setting-invalid"),
				nccl(
					"symmetric-kernel",
					"scheduler/symmetric_sched.cc",
					"no symmetric kernel available for function",
				),
			},
			Causes: []Cause{
				{
					Slug: "setting-invalid", Title: "NCCL_ALGO or NCCL_PROTO leaves nothing, or has an unknown word",
					Weight: Common,
					Clues: []Clue{
						{Weight: Strong, Variable: "NCCL_ALGO"},
						{Weight: Strong, Variable: "NCCL_PROTO"},
						{Weight: Strong, Contains: "NCCL_ALGO"},
						{Weight: Strong, Contains: "NCCL_PROTO"},
					},
					Decide: "env | grep -e NCCL_ALGO -e NCCL_PROTO; /etc/nccl.conf; rdmactl env lint",
					Remedy: "unset them",
				},
				{
					Slug:  "defect:nccl-fp8-algorithm",
					Title: "NCCL before 2.29.2 finds no algorithm for FP8 all-reduces", Weight: Rare,
					Clues: []Clue{
						{Weight: Strong, Contains: "Float8"}, {Weight: -Usual, Library: "nccl", Since: "2.29.2"},
					},
					Decide: "the type in the line", Remedy: "NCCL 2.29.2 or later",
				},
			},
		},
		{
			ID: "RDX-335", Name: "setting-refused", Title: "a setting of NCCL has a value that it can't use",
			Explanation: "A variable, or the field of a configuration, asks for what the platform or NCCL doesn't " +
				"have.",
			Sources: []string{
				"NVIDIA/nccl, src/transport/net_ib/connect.cc", "NVIDIA/nccl, src/transport/net_ib/init.cc",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				nccl("ooo-refused", "transport/net_ib/connect.cc", "OOO RQ is force enabled but"),
				nccl("subnet-prefix", "transport/net_ib/connect.cc", "NCCL_IB_SUBNET_PREFIX_LEN=", "is out of range"),
				nccl("plane-count", "transport/net_ib/init.cc", "NCCL cannot use more than", "plane IDs"),
				nccl("plane-id", "transport/net_ib/init.cc", "NCCL cannot use a plane ID that is"),
				nccl("merge-forced", "graph/topo.cc", "Could not force merge NICs"),
				nccl("merge-many", "graph/topo.cc", "TOPO/NET : Tried to merge too many NICs"),
				nccl("merge-matched", "graph/topo.cc", "TOPO/NET : Only matched ", " requested from"),
				nccl("merge-fused", "graph/topo.cc", "Specified fused NIC ", "too many devices"),
				nccl(
					"merge-numa",
					"graph/topo.cc",
					"Fusing NET devices from different NUMA domains is not supported",
				),
				nccl("net-name-parent", "plugin/net.cc", "does not match the parent (", "Comm config netName"),
				nccl("relaxed-ordering", "transport/net_ib.cc",
					"PCI relaxed order memory access requested but not supported"),
				nccl("elastic-register", "dev_runtime_segments.cc", "NCCL_ELASTIC_BUFFER_REGISTER is set to 0"),
				nccl("gin-signal-pool", "gin/gin_host.cc", "NCCL_GIN_SIGNAL_POOL_SIZE has invalid value"),
				nccl("comm-blocking", "init.cc", "Invalid NCCL_COMM_BLOCKING value"),
				nccl("work-fifo", "enqueue.cc", "'NCCL_WORK_FIFO_DEPTH=", "is too small"),
			},
			Causes: []Cause{
				{
					Slug: "setting-invalid", Title: "the variable in the line has a value that can't work here",
					Weight: Common + Hint + Hint,
					Decide: "env | grep NCCL_; /etc/nccl.conf; rdmactl env lint",
					Remedy: "unset it, or a value that the line allows",
				},
			},
		},
		{
			ID:    "RDX-341",
			Name:  "symmetric-memory",
			Title: "symmetric memory or one-sided operations aren't available",
			Explanation: "Windows, symmetric memory and one-sided operations need cuMem, NVLink or GIN for all " +
				"ranks, and the same registration on all of them.",
			Sources: []string{
				"NVIDIA/nccl, src/dev_runtime.cc", "NVIDIA/nccl, src/rma", "NVIDIA/nccl, src/misc/argcheck.cc",
			},
			Lines: []Line{
				nccl("symmetric-none", "dev_runtime.cc", "Communicator does not support symmetric memory!"),
				nccl("symmetric-mismatch", "misc/argcheck.cc", "symmetric registration check failed on rank").
					speaks("program-usage"),
				nccl("window-alignment", "dev_runtime.cc", "Window address must be suitably aligned").
					speaks("program-usage"),
				nccl("window-unknown", "dev_runtime.cc", "Could not find communicator matching window"),
				nccl("window-null", "dev_runtime.cc", "window has a NULL user pointer").warning(),
				nccl("put-window", "enqueue.cc", "ncclPutSignal: ").warning(),
				nccl("wait-signal", "enqueue.cc", "ncclWaitSignal: ").warning(),
				nccl("rma-host-none", "enqueue.cc", "host RMA is not supported in this communicator"),
				nccl("rma-none", "rma/rma_proxy.cc", "No RMA-capable devices found").warning(),
				nccl("rma-unsupported", "rma/rma_proxy.cc", "RMA not supported.").warning(),
				nccl("rma-register", "rma/rma_proxy.cc", "RMA Symmetric register failed"),
				nccl("rma-unconnected", "rma/rma_proxy_launch.cc", "RMA proxy is not connected"),
				nccl("rma-ce", "rma/rma_ce.cc", "RMA CE is not initialized"),
				nccl("segments-dmabuf", "gin/gin_host.cc",
					"multiple physical segments requires DMABUF support with GIN"),
			},
			Causes: []Cause{
				cuMemBroken(Usual),
				programUsage(
					Usual,
					"the ranks register different buffers or offsets, or buffers not from ncclMemAlloc",
					"the arguments of ncclCommWindowRegister on all ranks",
					"ncclMemAlloc, the same size and offset on all ranks",
				),
				{
					Slug:   "gpu-p2p",
					Title:  "not all GPUs of the node reach each other by NVLink or PCIe",
					Weight: Rare,
					Decide: "nvidia-smi topo -m",
					Remedy: "no symmetric memory on this node: NCCL_WIN_ENABLE=0",
				},
				{
					Slug: "peermem-missing", Title: "GPU memory can't be registered with the network card",
					Weight: Rare,
					Clues: []Clue{
						{Weight: Strong, Line: "rma-register"}, {Weight: Strong, Line: "segments-dmabuf"},
					},
					Decide: "rdmactl doctor --only gpudirect",
					Remedy: "nvidia-peermem, or DMA-BUF (open kernel modules)",
				},
			},
		},
		{
			ID: "RDX-342", Name: "gin", Title: "GPU-initiated networking (GIN) isn't available",
			Explanation: "GIN needs network cards with DOCA GPUNetIO or a proxy, GPU Direct RDMA, and the same on " +
				"all ranks.",
			Sources: []string{"NVIDIA/nccl, src/gin/gin_host.cc", "NVIDIA/nccl, src/transport/net_ib/gin.cc"},
			Lines: []Line{
				nccl("gin-peermem", "transport/net_ib/gin.cc", "Unable to use GIN: Peermem is not supported").
					speaks("peermem-missing"),
				nccl("gin-disabled", "gin/gin_host.cc", "GIN is disabled.").warning(),
				nccl("gin-unsupported", "gin/gin_host.cc", "GIN not supported.").warning(),
				nccl("gin-none", "gin/gin_host.cc", "No GIN-capable devices found").warning(),
				nccl("gin-none-gdaki", "transport/gdaki/gin_host_gdaki.cc",
					"No network devices that support GDAKI found"),
				nccl("gin-requested", "dev_runtime.cc", "User requested GIN ").warning(),
				nccl("gin-type", "gin/gin_host.cc", "GIN-capable device type mismatch").warning(),
				nccl("gin-signals", "gin/gin_host.cc",
					"signals are required, but the GIN plugin does not support them").
					warning(),
				nccl("gin-register", "gin/gin_host.cc", "GIN Symmetric register failed"),
				nccl("gin-error", "init.cc", "GIN Error ").warning(),
				nccl("gin-doca", "transport/net_ib/gdaki/gin_host_gdaki.cc", "DOCA Error ").warning(),
			},
			Causes: []Cause{
				{
					Slug: "peermem-missing", Title: "GPU memory can't be registered with the network card",
					Weight: Usual,
					Clues:  []Clue{{Weight: Strong, Line: "gin-register"}},
					Decide: "rdmactl doctor --only gpudirect",
					Remedy: "modprobe nvidia-peermem, or open kernel modules with DMA-BUF",
				},
				{
					Slug: "gin-unsupported", Title: "a card, driver or plugin without GIN, or NCCL_GIN_ENABLE=0",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Line: "gin-disabled"},
						{Weight: Strong, Line: "gin-none"},
						{Weight: Strong, Line: "gin-signals"},
						{Weight: Strong, Line: "gin-none-gdaki"},
						{Weight: Strong, Variable: "NCCL_GIN_ENABLE", Values: []string{"0"}},
					},
					Decide: "NCCL_DEBUG=INFO: lines GIN/Plugin; ConnectX-6 Dx or later; PeerMappingOverride=1 of " +
						"the GPU's driver",
					Remedy: "NCCL_GIN_TYPE=2 (proxy); a network plugin with GIN; DOCA and driver of the release's " +
						"notes",
				},
				{
					Slug: "networks-mixed", Title: "some ranks have other cards or networks", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Contains: "not all ranks"}, {Weight: Strong, Line: "gin-type"}},
					Decide: "rdmactl cluster verify", Remedy: "the same cards and plugin on all nodes",
				},
			},
		},
	}
}
