package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

const ncclNVMLSource = "NVIDIA/nccl, src/misc/nvmlwrap.cc"

func ncclSharingSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-320", Name: "nvml", Title: "NVML, the management library of the GPU's driver, doesn't work",
			Explanation: "NCCL asks NVML for the GPUs' links. Its library must be in the container and fit the " +
				"kernel's module.",
			Sources:  []string{ncclNVMLSource, "NVIDIA/nccl#1812"},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("nvml-mismatch", "misc/nvmlwrap.cc", "failed: Driver/library version mismatch", "nvml").
					decides("driver-mismatch"),
				nccl("nvml-smi", "", "Failed to initialize NVML: Driver/library version mismatch").from("nvidia-smi").
					decides("driver-mismatch"),
				nccl("nvml-open", "misc/nvmlwrap.cc", "Failed to open libnvidia-ml.so.1").speaks("gpu-missing"),
				nccl(
					"nvml-not-loaded",
					"misc/nvmlwrap.cc",
					"failed: Driver Not Loaded",
					"nvml",
				).speaks("gpu-missing"),
				nccl("nvml-init", "misc/nvmlwrap.cc", "nvmlInit").warning().not("NCCL INFO").any("failed:"),
				nccl("nvml-permission", "misc/nvmlwrap.cc", "failed: Insufficient Permissions", "nvml").
					not("NCCL INFO"),
				nccl("nvml-handle", "misc/nvmlwrap.cc", "nvmlDeviceGetHandleBy", "failed:").not("NCCL INFO").
					speaks("gpu-hardware"),
				nccl("nvml-p2p", "misc/nvmlwrap.cc", "nvmlDeviceGetP2PStatus(", "failed:").warning(),
				nccl("nvml-count", "misc/nvmlwrap.cc", "nvmlDeviceGetCount", "failed:").not("NCCL INFO"),
				nccl("cuda-library", "misc/cudawrap.cc", "Failed to find CUDA library").as(evidence.Vague),
				nccl("cuda-library-symbol", "misc/cudawrap.cc", "Failed to load CUDA missing symbol").
					speaks("gpu-missing"),
			},
			Causes: []Cause{
				{
					Slug:   "driver-mismatch",
					Title:  "the driver was updated without a reboot, or the container has libraries of another driver",
					Weight: Usual,
					Decide: "nvidia-smi; cat /proc/driver/nvidia/version against libnvidia-ml.so.*",
					Remedy: "reboot, or reload the module; start the container again",
				},
				{
					Slug:   "gpu-missing",
					Title:  "the container has no driver libraries or device files",
					Weight: Usual,
					Decide: "nvidia-smi in the container; ldconfig -p | grep libnvidia-ml; NVIDIA_DRIVER_CAPABILITIES",
					Remedy: "--gpus all with the NVIDIA container toolkit; NVIDIA_DRIVER_CAPABILITIES=compute,utility",
				},
				{
					Slug: "gpu-hardware", Title: "a GPU fell off the bus", Weight: Rare,
					Clues: []Clue{
						{Weight: Strong, Seen: "kernel.gpu", Text: "the GPU's driver reported an Xid"},
					},
					Decide: "nvidia-smi; dmesg | grep -i -e xid -e 'fallen off'", Remedy: "reset the GPU or reboot",
				},
			},
		},
		{
			ID:    "RDX-321",
			Name:  "nvlink-p2p-off",
			Title: "peer to peer is off between GPUs that NVLink connects",
			Explanation: "The driver says that GPUs with an NVLink between them can't reach each other. NCCL stops, " +
				"as this is usually a fault.",
			Sources:  []string{"NVIDIA/nccl, src/graph/paths.cc"},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("nvlink-p2p-off", "graph/paths.cc", "P2P is disabled between NVLINK connected GPUs"),
			},
			Causes: []Cause{
				{
					Slug: "gpu-hardware", Title: "an NVLink or NVSwitch is faulty", Weight: Usual,
					Decide: "nvidia-smi nvlink -s; nvidia-smi topo -p2p n; dmesg | grep -i xid",
					Remedy: "reset the GPUs, then replace the part",
				},
				fabricManager(Usual),
				{
					Slug: "gpu-p2p", Title: "the VM or the driver's settings switch peer to peer off", Weight: Usual,
					Decide: "a VM, vGPU or confidential computing? NVreg_RegistryDwords",
					Remedy: "NCCL_IGNORE_DISABLED_P2P=1 if it is meant to be",
				},
			},
		},
		{
			ID: "RDX-323", Name: "unix-sockets", Title: "ranks of one node can't pass file descriptors to each other",
			Explanation: "With cuMem NCCL passes handles of memory by abstract Unix sockets. They belong to the " +
				"network namespace: ranks in different containers of one host don't see each other's.",
			Sources: []string{"NVIDIA/nccl, src/misc/ipcsocket.cc", "NVIDIA/nccl, src/proxy.cc"},
			Lines: []Line{
				nccl("uds-send", "misc/ipcsocket.cc", "UDS: Sending data over socket"),
				nccl("uds-receive", "misc/ipcsocket.cc", "UDS: Receiving data over socket").warning(),
				nccl("uds-bind", "misc/ipcsocket.cc", "UDS: Binding to socket"),
				nccl("uds-create", "misc/ipcsocket.cc", "UDS: Socket creation error"),
				nccl("uds-call", "proxy.cc", "ncclProxyCallBlockingUDS call to tpRank"),
				nccl("uds-fd", "proxy.cc", "ncclProxyClientGetFd call to tpRank"),
				nccl("uds-query", "proxy.cc", "ncclProxyClientQueryFdBlocking call to tpRank"),
				nccl("uds-convert", "proxy.cc", "ncclProxyClientConvertFd call to top parent rank"),
			},
			Causes: []Cause{
				{
					Slug:   "defect:nccl-uds-split",
					Title:  "NCCL 2.20.3 uses the same Unix socket for the communicators of a split",
					Weight: Rare,
					Clues: []Clue{
						{Weight: Decisive, Line: "uds-bind", Library: "nccl", Since: "2.20", Until: "2.20.4"},
						{Weight: Strong, Line: "uds-bind", Contains: "Address already in use"},
						{Weight: -Usual, Library: "nccl", Since: "2.20.5"},
					},
					Decide:  "the version line; the path of the socket in the line",
					Remedy:  "NCCL 2.20.5 or later",
					Sources: []string{"NVIDIA/nccl#1185"},
				},
				{
					Slug:   "netns-split",
					Title:  "ranks of one host run in different network namespaces",
					Weight: Common,
					Clues: []Clue{
						{Weight: Strong, Contains: "Connection refused"},
						{Weight: Strong, Contains: "(111)"},
						{Weight: -Usual, Line: "uds-bind"},
					},
					Decide: "containers of the job on one host with one hostname? readlink /proc/PID/ns/net of each",
					Remedy: "one container per host, hostNetwork for all, NCCL_CUMEM_ENABLE=0, or another " +
						"NCCL_HOSTID in each",
				},
				{
					Slug: "dead-peer", Title: "the other rank of the node has ended", Weight: Usual,
					Decide: "the logs of the other ranks of this node", Remedy: "what ended it",
				},
				fileLimit(Rare, onErrno(Decisive, "", "24", "23"), onText(Decisive, "(24)", "")),
			},
		},
	}
}
