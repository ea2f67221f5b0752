package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func virtualGPUMemory(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "gpu-memory-kind",
		Title: "the GPU memory is of a kind that can't be registered or shared so: an allocator with virtual " +
			"addresses (expandable segments, cudaMallocAsync, VMM), or managed memory",
		Weight: weight,
		Clues: append(
			clues,
			Clue{
				Weight: Decisive, Variable: "PYTORCH_CUDA_ALLOC_CONF",
				Values: []string{"expandable_segments:True", "expandable_segments:true"},
			},
		),
		Decide: "env | grep -e PYTORCH_CUDA_ALLOC_CONF -e PYTORCH_ALLOC_CONF; the same with memory of cudaMalloc",
		Remedy: "unset expandable_segments in PYTORCH_CUDA_ALLOC_CONF; memory of cudaMalloc; DMA-BUF and current " +
			"releases, which can register VMM memory",
		Sources: []string{"kvcache-ai/Mooncake#351", "sgl-project/sglang#6193"},
	}
}

func noPeermem(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug:   "peermem-missing",
		Title:  "the card can't reach GPU memory: nvidia-peermem isn't loaded, and DMA-BUF isn't used",
		Weight: weight, Clues: clues,
		Decide: "lsmod | grep -e nvidia_peermem -e nv_peer_mem; rdmactl doctor --only gpudirect",
		Remedy: "modprobe nvidia-peermem on the host (after OFED was installed), or the open kernel modules with " +
			"DMA-BUF",
	}
}

func ucxGPUSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-428", Name: "ucx-gdrcopy", Title: "UCX can't use GDRCopy",
			Explanation: "GDRCopy maps GPU memory for the CPU, for small messages. It needs the module gdrdrv of " +
				"the host, /dev/gdrdrv in the container, and a library of the same release.",
			Sources: []string{"openucx/ucx, src/uct/cuda/gdr_copy/gdr_copy_md.c"}, Standing: evidence.Failed,
			Lines: []Line{
				{
					Name: "gdrcopy-version", Program: UCX, All: []string{"could not open gdr copy, built for v"},
					Source: "openucx/ucx, src/uct/cuda/gdr_copy/gdr_copy_md.c", Standing: evidence.Vague,
					Speaks: []string{"gdrcopy"},
				},
				{
					Name: "gdrcopy-open", Program: UCX, All: []string{"failed to open gdr copy"},
					Source: "openucx/ucx, src/uct/cuda/gdr_copy/gdr_copy_md.c", Speaks: []string{"gdrcopy"},
				},
				{
					Name: "gdrcopy-pin", Program: UCX, All: []string{"GPU memory pin failed. length "},
					Source: "openucx/ucx, src/uct/cuda/gdr_copy/gdr_copy_md.c", Speaks: []string{"gpu-memory-kind"},
				},
				{
					Name: "gdrcopy-pin-old", Program: UCX, All: []string{"gdr_pin_buffer failed. length"},
					Source: "openucx/ucx 1.9, src/uct/cuda/gdr_copy/gdr_copy_md.c",
					Speaks: []string{"gpu-memory-kind"},
				},
				{
					Name: "gdrcopy-map", Program: UCX, All: []string{"gdr_map failed. length :"},
					Source: "openucx/ucx, src/uct/cuda/gdr_copy/gdr_copy_md.c",
				},
			},
			Causes: []Cause{
				{
					Slug: "gdrcopy",
					Title: "the module gdrdrv isn't loaded, isn't in the container, or is of another release than " +
						"libgdrapi",
					Weight: Common, Decide: "lsmod | grep gdrdrv; ls -l /dev/gdrdrv; gdrcopy_sanity",
					Remedy: "load gdrdrv, --device /dev/gdrdrv, the same release on host and in the image; " +
						"UCX_TLS=^gdr_copy meanwhile",
				},
				virtualGPUMemory(Rare),
				{
					Slug: "resource-limit", Title: "the GPU's BAR1 window is used up", Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Line: "gdrcopy-pin"}, {Weight: Hint, Line: "gdrcopy-map"}},
					Decide: "nvidia-smi -q -d MEMORY: BAR1", Remedy: "fewer processes per GPU, or UCX_TLS=^gdr_copy",
				},
			},
		},
		{
			ID: "RDX-429", Name: "ucx-cuda-ipc", Title: "GPU memory of another process can't be mapped (CUDA IPC)",
			Explanation: "CUDA IPC needs both processes on one system: with common IPC and PID namespaces, both " +
				"GPUs visible, and memory of cudaMalloc.",
			Sources: []string{
				"openucx/ucx, src/uct/cuda/cuda_ipc/cuda_ipc_cache.c", "openucx/ucx#4137", "openucx/ucc#1041",
				"open-mpi/ompi, opal/mca/common/cuda/help-mpi-common-cuda.txt",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				{
					Name: "ipc-open", Program: UCX, All: []string{"cuIpcOpenMemHandle(", "failed: "},
					Source: "openucx/ucx, src/uct/cuda/cuda_ipc/cuda_ipc_cache.c",
				},
				{
					Name: "ipc-get", Program: UCX, All: []string{"cuIpcGetMemHandle(", "failed: "},
					Source: "openucx/ucx, src/uct/cuda/cuda_ipc/cuda_ipc_md.c", Speaks: []string{"gpu-memory-kind"},
				},
				{
					Name: "ipc-cache", Program: UCX, All: []string{"failed to open ipc mem handle. addr:"},
					Source: "openucx/ucx, src/uct/cuda/cuda_ipc/cuda_ipc_cache.c; openucx/ucc, tl_cuda_cache.c",
				},
				{
					Name: "ompi-ipc-open", Program: Libfabric, All: []string{"The call to cuIpcOpenMemHandle failed"},
					Source: "open-mpi/ompi, opal/mca/common/cuda/help-mpi-common-cuda.txt",
				},
				{
					Name: "ompi-ipc-get", Program: Libfabric, All: []string{"The call to cuIpcGetMemHandle failed"},
					Source: "open-mpi/ompi, opal/mca/common/cuda/help-mpi-common-cuda.txt",
					Speaks: []string{"gpu-memory-kind"},
				},
			},
			Causes: []Cause{
				separateNamespaces(Common, Clue{Weight: Hint, Contains: "invalid argument"}),
				{
					Slug:   "gpu-p2p",
					Title:  "each rank sees only its own GPU, or the GPUs have no way to each other",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Variable: "CUDA_VISIBLE_DEVICES"},
						{Weight: Hint, Contains: "invalid device"},
						{Weight: Hint, Contains: "err:101"},
						{Weight: Strong, Contains: "peer access"},
					},
					Decide: "nvidia-smi topo -p2p r; CUDA_VISIBLE_DEVICES and the resource of the device plugin of " +
						"each rank",
					Remedy: "all GPUs of the node visible to each rank (--gpus all), or UCX_TLS=^cuda_ipc",
				},
				virtualGPUMemory(Rare),
				{
					Slug: "dead-peer", Title: "the process that owns the memory has ended", Weight: Rare,
					Decide: "the log of the other rank", Remedy: "what ended it",
				},
			},
		},
		{
			ID: "RDX-430", Name: "ucx-gpu-memory", Title: "UCX can't handle GPU memory",
			Explanation: "For GPU memory UCX needs its CUDA modules, and for RDMA a way of the card to the GPU. " +
				"The memory domains in the line say which of them refused.",
			Sources: []string{
				"openucx/ucx, src/ucp/core/ucp_mm.c", "openucx/ucx, src/ucp/proto/proto_reconfig.c",
				"ai-dynamo/nixl#774",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				{
					Name: "register-cuda", Program: UCX, All: []string{"failed to register address ", "(cuda"},
					Source: "openucx/ucx, src/ucp/core/ucp_mm.c",
				},
				{
					Name: "register-rocm", Program: UCX, All: []string{"failed to register address ", "(rocm"},
					Source: "openucx/ucx, src/ucp/core/ucp_mm.c",
				},
				{
					Name: "register-domain", Program: UCX,
					All:    []string{"failed to register buffer with mem type domain "},
					Source: "openucx/ucx, src/ucp/core/ucp_mm.c", Speaks: []string{"no-cuda-support"},
				},
				{
					Name: "mem-type-unpack", Program: UCX,
					All:    []string{"mem type unpack failed to uct_ep_put_short()"},
					Source: "openucx/ucx, src/ucp/core/ucp_rkey.c", Speaks: []string{"no-cuda-support"},
				},
				{
					Name: "mem-type-pack", Program: UCX, All: []string{"mem type pack failed to uct_ep_get_short()"},
					Source: "openucx/ucx, src/ucp/core/ucp_rkey.c", Speaks: []string{"no-cuda-support"},
				},
				{
					Name: "no-zero-copy", Program: UCX, All: []string{"No zero-copy protocol found for "},
					Source: "openucx/ucx, src/ucp/proto/proto_reconfig.c",
				},
				{
					Name: "device-lane", Program: UCX, All: []string{"failed to select lane for local device "},
					Source: "openucx/ucx, src/ucp/core/ucp_device.c", Speaks: []string{"setting-invalid"},
				},
				{
					Name: "device-memh", Program: UCX, All: []string{"invalid memh for md_index="},
					Source: "openucx/ucx, src/ucp/core/ucp_device.c", Speaks: []string{"library-conflict"},
				},
				{
					Name: "gpudirect-refused", Program: UCX,
					All:    []string{"Couldn't enable GPUDirect RDMA. Please make sure "},
					Source: "openucx/ucx, src/uct/ib/base/ib_md.c", Standing: evidence.Origin,
					Speaks: []string{"peermem-missing"},
				},
				{
					Name: "gdaki-peermem", Program: UCX,
					All:    []string{"GDAKI not supported, please load Nvidia peermem driver"},
					Source: "openucx/ucx, src/uct/ib/mlx5/gdaki/gdaki.c", Standing: evidence.Vague,
					Decides: "peermem-missing",
				},
				{
					Name: "gdaki-registry", Program: UCX,
					All:    []string{"GDAKI not supported, please add NVreg_RegistryDwords="},
					Source: "openucx/ucx, src/uct/ib/mlx5/gdaki/gdaki.c", Standing: evidence.Vague,
					Decides: "driver-option",
				},
			},
			Causes: []Cause{
				noCUDA(
					Common, Clue{Weight: Decisive, Seen: "ucx/transport-cuda-unavailable"},
					Clue{Weight: Hint, Contains: "md supports: host"},
				),
				noPeermem(
					Common, Clue{Weight: Hint, Contains: "mlx5"},
					Clue{Weight: Hint, Field: "errno", Is: []string{"14", "22"}},
				),
				virtualGPUMemory(Usual, Clue{Weight: Hint, Field: "errno", Is: []string{"14"}}),
				{
					Slug:   "setting-invalid",
					Title:  "UCX_TLS leaves out the transports for GPU memory: cuda_copy, cuda_ipc, rc_gda",
					Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Variable: "UCX_TLS"}},
					Decide: "env | grep UCX_TLS", Remedy: "unset UCX_TLS, or add cuda_copy and cuda_ipc",
				},
				{
					Slug: "library-conflict", Title: "UCX and the library above it are of releases that don't fit",
					Weight: Rare,
					Decide: "ucx_info -v; the release of NIXL", Remedy: "the UCX that this release of NIXL names",
				},
				{
					Slug: "driver-option", Title: "an option of the NVIDIA driver is missing", Weight: Rare,
					Decide: "grep -i registry /proc/driver/nvidia/params",
					Remedy: `options nvidia NVreg_RegistryDwords="PeerMappingOverride=1;", then load the driver again`,
				},
			},
		},
		{
			ID: "RDX-431", Name: "ucx-segfault", Title: "UCX reports that the process crashed",
			Explanation: "UCX prints signals of the whole program. \"Invalid permissions for mapped object\" at a " +
				"GPU's address means that the CPU touched GPU memory: a library that doesn't know of CUDA was " +
				"given it.",
			Sources: []string{"openucx/ucx, src/ucs/debug/debug.c", "openucx/ucx#7845", "JoonhoLee-Group/ipie#308"},
			Lines: []Line{
				{
					Name: "segfault-permissions", Program: UCX,
					All:    []string{"Caught signal 11 (Segmentation fault: invalid permissions for mapped object"},
					Source: "openucx/ucx, src/ucs/debug/debug.c", Standing: evidence.Failed,
					Speaks: []string{"no-cuda-support"},
				},
				{
					Name: "segfault", Program: UCX, All: []string{"Caught signal 11 (Segmentation fault"},
					Source: "openucx/ucx, src/ucs/debug/debug.c", Standing: evidence.Vague,
				},
				{
					Name: "assertion", Program: UCX, All: []string{"  Assertion `", "' failed", ".c:"},
					Source: "openucx/ucx, src/ucs/debug/assert.c", Standing: evidence.Failed,
				},
				{
					Name: "frame-of-nccl", Program: UCX, All: []string{"/libnccl.so", "(nccl", "+0x", ") [0x"},
					None: []string{"] ["}, Source: "openucx/ucx, src/ucs/debug/debug.c", Standing: evidence.Vague,
					Speaks: []string{"library-defect"},
				},
				{
					Name: "frame-of-runtime", Program: UCX, All: []string{"/libjulia", "(+0x", ") [0x"},
					Source: "openucx/ucx, src/ucs/debug/debug.c", Standing: evidence.Vague,
					Speaks: []string{"signal-handler"},
				},
				{
					Name: "abort", Program: UCX, All: []string{"Caught signal 6 (Aborted"},
					Source: "openucx/ucx, src/ucs/debug/debug.c", Standing: evidence.Echo,
				},
			},
			Standing: evidence.Vague,
			Causes: []Cause{
				{
					Slug: "library-defect", Title: "NCCL crashed, or was given something wrong: its functions " +
						"are in the backtrace", Weight: Rare - 1,
					Decide: "NCCL_DEBUG=INFO: its last lines before the crash; the same with another release of NCCL",
					Remedy: "a newer NCCL",
				},
				{
					Slug: "no-cuda-support", Title: "a GPU pointer was given to an MPI or UCX without CUDA support",
					Weight: Rare,
					Clues:  []Clue{{Weight: Decisive, Seen: "ucx/transport-cuda-unavailable"}},
					Decide: "ucx_info -v (--with-cuda), ompi_info --parsable --all | grep " +
						"mpi_built_with_cuda_support:value",
					Remedy: "UCX and MPI built --with-cuda, of the CUDA release that the program has; meanwhile " +
						"staging through host memory",
					Sources: []string{"openucx/ucx#7845", "JoonhoLee-Group/ipie#308"},
				},
				{
					Slug:   "signal-handler",
					Title:  "UCX takes a signal for a crash that Julia's run-time uses itself",
					Weight: Rare - 1,
					Decide: "the same with UCX_ERROR_SIGNALS=SIGILL,SIGBUS,SIGFPE, set before the program starts",
					Remedy: "export UCX_ERROR_SIGNALS=SIGILL,SIGBUS,SIGFPE (without SIGSEGV) on all ranks",
					Sources: []string{
						"JuliaParallel/MPI.jl#337", "JuliaParallel/MPI.jl#409",
					},
				},
				{
					Slug:   "thread-safety",
					Title:  "several threads use a worker of UCX that was made for one, or UCX has a defect there",
					Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Line: "assertion"}},
					Decide: "do several threads print it? with one thread, and with a current UCX",
					Remedy: "one worker for each thread, or UCS_THREAD_MODE_MULTI with a UCX built --enable-mt; a " +
						"later release",
				},
				{
					Slug: "program-fault", Title: "the program itself accessed a wrong address", Weight: Usual,
					Decide: "the backtrace below the line: whose function is the first one?", Remedy: "the program",
				},
				{
					Slug: "library-conflict", Title: "libraries of different releases in one process", Weight: Usual,
					Decide: "grep -e libuc -e libmpi /proc/PID/maps", Remedy: "one copy of each",
				},
			},
		},
	}
}
