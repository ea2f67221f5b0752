package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

const ncclNVLSSource = "NVIDIA/nccl, src/transport/nvls.cc"

// p2pBroken returns the cause that GPUs of a node can't reach each other's memory.
func gpuP2P(w Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "gpu-p2p", Title: "peer to peer between these GPUs doesn't work: IOMMU, ACS, a VM, or the GPUs' kind",
		Weight: w,
		Clues:  clues,
		Decide: "nvidia-smi topo -p2p r; NCCL_P2P_DISABLE=1 to test; rdmactl doctor --only iommu",
		Remedy: "IOMMU off (intel_iommu=off, iommu=pt on AMD) and ACS off on bare metal, else NCCL_P2P_DISABLE=1",
	}
}

// cuMemBroken returns the cause that allocations by CUDA's virtual memory functions fail.
func cuMemBroken(w Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "cumem",
		Title: "CUDA's virtual memory (cuMem, memory pools) doesn't work here: vGPU without unified memory, WSL, " +
			"gVisor, a driver's defect",
		Weight: w, Clues: clues,
		Decide: "NCCL_CUMEM_ENABLE=0 and NCCL_CUMEM_HOST_ENABLE=0 to test",
		Remedy: "a vGPU profile with unified memory (enable_uvm) or a newer driver; NCCL_CUMEM_ENABLE=0, " +
			"NCCL_CUMEM_HOST_ENABLE=0",
	}
}

// fabricManager returns the cause that NVSwitches aren't set up.
func fabricManager(w Weight, clues ...Clue) Cause {
	return Cause{
		Slug:   "fabric-manager",
		Title:  "the Fabric Manager or the NVSwitches aren't in order on this node",
		Weight: w,
		Clues:  clues,
		Decide: "systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A4 Fabric; dmesg | grep -i -e xid -e " +
			"sxid",
		Remedy: "reboot, or stop all jobs, reset the GPUs (nvidia-smi -r) and restart nvidia-fabricmanager of the " +
			"driver's release: a restart alone isn't enough; NCCL_NVLS_ENABLE=0 until then",
	}
}

//nolint:funlen // a table
func ncclDeviceSymptoms() []Symptom {
	return []Symptom{
		{
			ID:    "RDX-311",
			Name:  "nvls-multicast",
			Title: "NCCL could not set up NVLink SHARP (NVLS) multicast memory",
			Explanation: "NVLS lets the NVSwitches add up data. It needs a working Fabric Manager, and a driver and " +
				"a partition of GPUs with multicast.",
			Sources: []string{
				ncclNVLSSource, "NVIDIA/nccl#976", "NVIDIA/nccl#1672", "NVIDIA/nccl-tests#276", "pytorch/ao#3841",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("nvls-bind", "transport/nvls.cc", "Failed to bind NVLink SHARP (NVLS) Multicast memory").
					speaks("fabric-manager"),
				nccl("nvls-cuda", "transport/nvls.cc", "Cuda failure", "transport/nvls.cc").
					not("out of memory", "illegal memory", "unspecified launch", "not yet initialized").
					speaks("fabric-manager"),
				nccl("nvls-same-device", "transport/nvls.cc",
					"communicator has multiple ranks using the same NVML device"),
				nccl("nvls-multimem", "dev_runtime.cc", "Multicast support requested for team but none available"),
				nccl("nvls-multimem-pointer", "dev_runtime.cc",
					"Multimem pointer requested but system does not support multimem"),
			},
			Causes: []Cause{
				fabricManager(Common,
					Clue{Weight: Hint, Contains: "401", Text: "error 401: the fabric is in a bad state"},
					Clue{Weight: Hint, Contains: "present state", Text: "the fabric is in a bad state"}),
				{
					Slug: "gpu-memory", Title: "too little GPU memory for the multicast buffers", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Contains: "error 2 "}},
					Decide: "nvidia-smi during the start", Remedy: "less memory in the program; NCCL_NVLS_ENABLE=0",
				},
				{
					Slug:  "local-rank",
					Title: "two ranks on one GPU, or part of a multicast team in another partition", Weight: Rare,
					Clues:  []Clue{{Weight: Decisive, Line: "nvls-same-device"}},
					Decide: "ranks per GPU; the partitions of the Fabric Manager (fmpm -l)",
					Remedy: "one rank per GPU; unset NCCL_NVLS_ENABLE",
				},
				cuMemBroken(Rare, Clue{Weight: Strong, Contains: "not supported"},
					Clue{Weight: Strong, Line: "nvls-multimem"},
					Clue{Weight: Strong, Line: "nvls-multimem-pointer"}),
			},
		},
		{
			ID: "RDX-312", Name: "mnnvl-imex", Title: "NVLink between nodes (MNNVL) doesn't work: IMEX",
			Explanation: "Nodes of an NVLink domain (GB200, GB300) share GPU memory by the IMEX service and its " +
				"channels in /dev/nvidia-caps-imex-channels.",
			Sources:  []string{"NVIDIA/nccl, src/mnnvl.cc", "NVIDIA IMEX user guide"},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("mnnvl-channel", "mnnvl.cc", "Check the IMEX channel configuration").decides("imex"),
				nccl("mnnvl-imex", "mnnvl.cc", "Check the IMEX configuration").speaks("imex"),
				nccl("mnnvl-unsupported", "init.cc", "MNNVL is not supported on this system").speaks("imex"),
			},
			Causes: []Cause{
				{
					Slug:   "imex",
					Title:  "the IMEX service isn't ready on all nodes, or the container has no IMEX channel",
					Weight: Common,
					Decide: "nvidia-imex-ctl -N on each node; ls -l /dev/nvidia-caps-imex-channels in the container",
					Remedy: "start nvidia-imex with the same nodes_config.cfg on all nodes; a ComputeDomain in " +
						"Kubernetes; NCCL_MNNVL_ENABLE=0 to do without",
				},
				fabricManager(Rare),
			},
		},
		{
			ID:    "RDX-313",
			Name:  "nccl-peer-access",
			Title: "a GPU can't access the memory of another GPU of the node",
			Explanation: "NCCL found that peer to peer should work and CUDA refuses it: in VMs, with vGPUs, MIG or " +
				"containers that see one GPU each, and with GPUs or drivers that don't support it.",
			Sources: []string{
				"NVIDIA/nccl, src/transport/p2p.cc", "ray-project/ray_lightning#24", "rapidsai/dask-cuda#639",
			},
			Lines: []Line{
				nccl("shm-peer", "transport/shm.cc",
					"'peer access is not supported between these two devices'",
					"transport/shm.cc").speaks("cumem-host-peer"),
				cudaLine("cuda-peer", "peer access is not supported between these two devices").speaks("gpu-p2p"),
				nccl("peer-failed", "transport/p2p.cc", "failed to peer with device"),
				cudaLine("cuda-peer-not-enabled", "peer access has not been enabled"),
				cudaLine("cuda-peers", "peer mapping resources exhausted").speaks("gpu-peer-limit"),
				nccl(
					"peer-ipc-refused",
					"transport/p2p.cc",
					"failed to open CUDA IPC handle : 217",
				).speaks("gpu-p2p"),
			},
			Causes: []Cause{
				gpuP2P(Common),
				{
					Slug: "local-rank",
					Title: "each process sees its own GPU only (CUDA_VISIBLE_DEVICES with one GPU), and the kinds " +
						"differ",
					Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Line: "peer-ipc-refused"}},
					Decide: "nvidia-smi -L in each process; CUDA_VISIBLE_DEVICES",
					Remedy: "let each process see all GPUs of the node and choose one by its device number",
				},
				{
					Slug:   "cumem-host-peer",
					Title:  "NCCL since 2.24 shares host memory by cuMem, which needs peer access (T4, L4)",
					Weight: Usual,
					Clues: []Clue{
						{Weight: -Usual, Library: "nccl", Until: "2.23.4"},
						{Weight: Hint, Library: "nccl", Since: "2.24"},
					},
					Decide: "NCCL_CUMEM_HOST_ENABLE=0 to test", Remedy: "NCCL_CUMEM_HOST_ENABLE=0",
					Sources: []string{"NVIDIA/nccl#1838"},
				},
				gpuPeerLimit(),
				cuMemBroken(Rare),
			},
		},
		{
			ID: "RDX-314", Name: "gpu-memory-sharing",
			Title: "a process could not share GPU memory with another process",
			Explanation: "Ranks of one node map each other's GPU buffers by handles (CUDA or HIP IPC, or file " +
				"descriptors of cuMem). Namespaces of containers, allocators and virtual GPUs are in the way.",
			Sources: []string{"NVIDIA/nccl, src/transport/p2p.cc", "ROCm/rocm-systems#2209"},
			Lines: []Line{
				nccl("ipc-get", "transport/p2p.cc", "cudaIpcGetMemHandle failed").not("The call to", "non-zero status"),
				nccl("ipc-open-handle", "transport/p2p.cc", "cudaIpcOpenMemHandle failed").
					not("The call to", "non-zero status"),
				nccl("ipc-open", "transport/p2p.cc", "failed to open CUDA IPC handle"),
				nccl("import-ordinal", "transport/p2p.cc", "'invalid device ordinal'", "transport/p2p.cc").
					speaks("gpu-ipc"),
				nccl("ipc-handle", "transport/p2p.cc", "failed to get CUDA IPC handle to device"),
				cudaLine("cuda-map", "mapping of buffer object failed").speaks("gpu-p2p"),
				nccl("mem-import", "mem_manager.cc", "MemManager: cuMemImportFromShareableHandle failed"),
				nccl("mem-export", "mem_manager.cc", "MemManager: cuMemExportToShareableHandle (FABRIC) failed"),
			},
			Causes: []Cause{
				{
					Slug:   "gpu-ipc",
					Title:  "the processes are in different containers or namespaces, or the memory can't be exported",
					Weight: Common,
					Decide: "one container or --ipc=host --pid=host for all ranks of the node? " +
						"PYTORCH_CUDA_ALLOC_CONF=expandable_segments?",
					Remedy: "--ipc=host --pid=host, or all ranks of a node in one container; without " +
						"expandable_segments; NCCL_P2P_DISABLE=1 to do without",
				},
				gpuP2P(Usual),
				cuMemBroken(Rare),
				{
					Slug: "imex", Title: "the IMEX channel is missing for memory of other nodes", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Line: "mem-export"}},
					Decide: "ls /dev/nvidia-caps-imex-channels; nvidia-imex-ctl -N",
					Remedy: "IMEX on all nodes; NCCL_MNNVL_ENABLE=0",
				},
			},
		},
		{
			ID: "RDX-317", Name: "cuda-not-supported", Title: "CUDA refuses a function that NCCL needs",
			Explanation: "The driver, the container runtime or the virtual GPU doesn't have a function: virtual " +
				"memory, host memory by NUMA node, IPC.",
			Sources: []string{
				"NVIDIA/nccl#2101", "NVIDIA/nccl#2106", "meta-pytorch/torchtune#2556",
				"NVIDIA/nccl, src/misc/cudawrap.cc", "NVIDIA/nccl, src/include/alloc.h",
			},
			Lines: []Line{
				nccl("pool-not-supported", "init.cc", "'operation not supported'", " init.cc:").speaks("cumem"),
				cudaLine("cuda-not-supported", "operation not supported"),
				nccl("trace-cumem-host", "misc/cudawrap.cc", "ncclCuMemHostEnable", "0x").not("NCCL INFO").
					speaks("cumem"),
				cudaLine("cuda-os-call", "OS call failed or operation not supported on this OS"),
				cudaLine("cuda-not-permitted", "operation not permitted"),
				cudaLine("cuda-state", "the operation cannot be performed in the present state"),
				nccl("cumem-old", "include/alloc.h", "CUMEM not supported prior to CUDA 11.3"),
				nccl("cumem-host-old", "include/alloc.h", "CUMEM Host is not supported prior to CUDA 12.2"),
				nccl("rccl-vmm", "misc/rocmwrap.cc", "cuMem support requires VMM RDMA support").
					from("ROCm/rccl, src/init.cc").as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug:  "defect:nccl-cumem-host",
					Title: "NCCL 2.24 to 2.26.2 takes host memory by NUMA node, which Docker forbids", Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Library: "nccl", Since: "2.24", Until: "2.26.2"},
						{Weight: -Usual, Library: "nccl", Since: "2.26.3"},
						{Weight: -Usual, Library: "nccl", Until: "2.23.4"},
					},
					Decide: "NCCL_CUMEM_HOST_ENABLE=0 to test",
					Remedy: "NCCL 2.26.3 or later, docker run --cap-add SYS_NICE, or NCCL_CUMEM_HOST_ENABLE=0",
				},
				cuMemBroken(Common, Clue{Weight: Hint, Library: "nccl", Since: "2.26.3"}),
				fabricManager(Usual, Clue{Weight: Strong, Line: "cuda-state"}),
				{
					Slug: "imex", Title: "IMEX forbids memory of other nodes", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Line: "cuda-not-permitted", Variable: "NCCL_MNNVL_ENABLE"}},
					Decide: "ls /dev/nvidia-caps-imex-channels; nvidia-imex-ctl -N",
					Remedy: "IMEX on all nodes; NCCL_MNNVL_ENABLE=0",
				},
				{
					Slug:   "memlock",
					Title:  "the limit of locked memory forbids to register host memory",
					Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Line: "cuda-os-call"}},
					Decide: "ulimit -l in the job",
					Remedy: "memlock unlimited for the service that starts the job",
				},
				{
					Slug: "driver-too-old", Title: "the driver is too old for this function", Weight: Rare,
					Decide: "nvidia-smi", Remedy: "a newer driver",
				},
			},
		},
		{
			ID: "RDX-318", Name: "cuda-invalid-argument", Title: "a call of CUDA by NCCL failed",
			Explanation: "Allocations by cuMem, mappings of other GPUs and launches of kernels end with this error " +
				"if the platform doesn't allow them; the file in the line says which.",
			Sources: []string{
				"NVIDIA/nccl, src/include/alloc.h", "NVIDIA/nccl#846", "NVIDIA/nccl#1283", "sgl-project/sglang#6246",
				"NVIDIA-NeMo/RL#564", "NovaSky-AI/SkyRL#143", "NVIDIA/TensorRT-LLM#4238",
			},
			Lines: []Line{
				nccl("memcpy-async", "transport.cc", "Cuda failure", "invalid argument").
					any(" transport.cc:153 ", " transport.cc:154 ", " transport.cc:173 ", " transport.cc:174 ").
					speaks("library-defect"),
				cudaLine("cuda-invalid-argument", "invalid argument").not("transport/p2p.cc:", "enqueue.cc:"),
				nccl("cuda-invalid-mapping", "transport/p2p.cc", "'invalid argument'", "transport/p2p.cc:").
					any("Cuda failure", "HIP failure"),
				nccl("cuda-invalid-launch", "enqueue.cc", "'invalid argument'", "enqueue.cc:").
					any("Cuda failure", "HIP failure"),
				rcclLine("hip-pointer", "transport/p2p.cc", "'invalid device pointer'", "HIP failure").
					speaks("gpu-ipc"),
				cudaLine("cuda-invalid-pointer", "invalid device pointer"),
				cudaLine("cuda-invalid-configuration", "invalid configuration argument"),
				nccl("cuda-other", "include/checks.h", "Cuda failure").warning(),
				nccl("hip-other", "", "HIP failure").from("ROCm/rccl, src/include/checks.h").warning(),
			},
			Causes: []Cause{
				{
					Slug:  "defect:nccl-shared-memory-size",
					Title: "NCCL before 2.26.2 asks for more shared memory than this GPU has", Weight: Rare,
					Clues: []Clue{
						{
							Weight: Decisive, Seen: "nccl/shared-memory-exceeds",
							Text: "the kernels ask for more than the device has",
						},
						{Weight: Hint, Line: "cuda-invalid-launch", Text: "the start of a kernel is refused"},
						{Weight: -Usual, Library: "nccl", Since: "2.26.2"},
					},
					Decide: "the line \"exceeds device/fn maxSharedMem\"", Remedy: "NCCL 2.26.2 or later",
				},
				{
					Slug:  "defect:nccl-cumem-host",
					Title: "NCCL 2.24 to 2.26.2 takes host memory by NUMA node, which Docker forbids", Weight: Rare,
					Clues: []Clue{
						{Weight: Strong, Library: "nccl", Since: "2.24", Until: "2.26.2"},
						{Weight: -Strong, Line: "cuda-invalid-mapping", Text: "a mapping failed, not host memory"},
						{Weight: -Strong, Line: "cuda-invalid-launch", Text: "a launch failed, not host memory"},
					},
					Decide: "NCCL_CUMEM_HOST_ENABLE=0 to test",
					Remedy: "NCCL 2.26.3 or later, docker run --cap-add SYS_NICE, or NCCL_CUMEM_HOST_ENABLE=0",
				},
				{
					Slug: "library-defect", Title: "NCCL 2.18.1 to 2.18.5, or 2.19.1, copies connections to the " +
						"GPU in the wrong order",
					Weight: Rare,
					Clues: []Clue{
						{Weight: Hint, Line: "memcpy-async", Library: "nccl", Since: "2.18.1", Until: "2.18.5"},
						{Weight: -Common, Library: "nccl", Since: "2.19.3"},
						{Weight: -Common, Library: "nccl", Since: "2.18.6", Until: "2.18.6"},
					},
					Decide: "the version line", Remedy: "NCCL 2.18.6, or 2.19.3 and later",
					Sources: []string{"NVIDIA/nccl#957", "NVIDIA/nccl#1024"},
				},
				maybe(Rare, "environment-differs",
					"NCCL_CUMEM_ENABLE isn't the same in all ranks: vLLM sets it to 0, a trainer beside it doesn't",
					"env | grep NCCL_CUMEM in each process; the lines via P2P/IPC and via P2P/CUMEM",
					"the same value in all processes of the communicator",
					onLine(Hint, "cuda-invalid-mapping", "the memory of another GPU can't be mapped")),
				gpuP2P(Usual),
				fabricManager(Rare),
				cuMemBroken(Usual),
				{
					Slug:   "gpu-ipc",
					Title:  "ranks of the node are in containers that don't share memory",
					Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Line: "cuda-invalid-mapping"}},
					Decide: "one container per node, or --ipc=host",
					Remedy: "all ranks of a node in one container; NCCL_P2P_DISABLE=1",
				},
				{
					Slug: "program-usage", Title: "the program passes a buffer of another device, or host memory",
					Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Line: "cuda-invalid-pointer"}},
					Decide: "NCCL_CHECK_POINTERS=1",
					Remedy: "cudaSetDevice to the communicator's device; device buffers",
				},
			},
		},
		{
			ID:          "RDX-319",
			Name:        "nccl-kernel-shared-memory",
			Title:       "NCCL's kernels need more shared memory than the GPU has",
			Explanation: "NCCL compares what its kernels ask for with the limit of the device; the launch then fails.",
			Sources: []string{
				"NVIDIA/nccl, src/enqueue.cc", "NVIDIA/nccl-tests#287", "NVIDIA/nccl, release 2.26.2",
			},
			Lines: []Line{
				nccl("shared-memory-exceeds", "enqueue.cc", "exceeds device/fn maxSharedMem"),
			},
			Causes: []Cause{
				{
					Slug:  "defect:nccl-shared-memory-size",
					Title: "NCCL before 2.26.2 doesn't know the limit of newer GPUs (Blackwell)", Weight: Common,
					Clues: []Clue{
						{Weight: Strong, Library: "nccl", Since: "2.24", Until: "2.25.1"},
						{Weight: -Usual, Library: "nccl", Since: "2.26.2"},
					},
					Decide: "the version line; the GPU's compute capability", Remedy: "NCCL 2.26.2 or later",
				},
				{
					Slug: "gpu-arch", Title: "this build isn't for this GPU", Weight: Rare,
					Decide: "nvidia-smi --query-gpu=compute_cap --format=csv", Remedy: "a newer release of NCCL",
				},
			},
		},
	}
}

// gpuPeerLimit is the cause of "peer mapping resources exhausted".
func gpuPeerLimit() Cause {
	return Cause{
		Slug: "gpu-peer-limit", Title: "a GPU has more peers than the eight that CUDA maps without NVSwitch",
		Weight:  Rare,
		Clues:   []Clue{{Weight: Strong, Contains: "peer mapping resources exhausted"}},
		Decide:  "nvidia-smi -L | wc -l: more than nine GPUs?",
		Remedy:  "CUDA_VISIBLE_DEVICES with at most nine GPUs",
		Sources: []string{"CUDA Runtime API, cudaErrorTooManyPeers", "NVIDIA/nccl-tests#324"},
	}
}
