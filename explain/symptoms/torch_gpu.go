package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Where PyTorch, CUDA and engines print what is about a GPU.
var (
	cudaText  = source{Torch, "CUDA Toolkit, cudaGetErrorString; pytorch/pytorch, c10/cuda/CUDAException.cpp"}
	smi       = source{Torch, "NVIDIA driver, nvidia-smi"}
	hip       = source{Torch, "ROCm/clr, rocclr and hipamd"}
	ncclTests = source{Torch, "NVIDIA/nccl-tests, src/common.h"}
	allocator = source{Torch, "pytorch/pytorch, c10/cuda/CUDACachingAllocator.cpp"}
	lazyInit  = source{Torch, "pytorch/pytorch, torch/csrc/cuda, aten/src/ATen/cuda"}
	vllm      = source{Torch, "vllm-project/vllm, v1/worker and v1/core"}
	sglang    = source{Torch, "sgl-project/sglang, srt/model_executor and srt/managers"}
	xlaMemory = source{Torch, "openxla/xla, xla/stream_executor"}
	fabricLog = source{Torch, "NVIDIA Fabric Manager, its log and systemd's"}
)

// cudaCalls are what programs print around a text of CUDA's run time: PyTorch's and vLLM's macros,
// TensorRT-LLM, and the examples that others copied.
func cudaCalls() []string {
	return []string{
		"CUDA error", "CUDART error", "CUDA runtime error", "CUDA driver error", "Cuda error", "CUDA Error",
	}
}

// gpuSymptoms are about the GPU of a rank: what other ranks report then only follows.
func gpuSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-360", Name: "gpu-memory", Title: "the memory of a GPU is full",
			Explanation: "The rank ends, and all others wait for it until their watchdog ends them, too.",
			Sources:     []string{"pytorch/pytorch, c10/cuda/CUDACachingAllocator.cpp"},
			Standing:    evidence.Origin,
			Lines: []Line{
				allocator.says("cuda-oom", "CUDA out of memory. Tried to allocate"),
				allocator.says("hip-oom", "HIP out of memory. Tried to allocate"),
				cudaText.says("cuda-error-oom", "CUDA error: out of memory"),
				cudaText.says("runtime-oom", "out of memory").any(cudaCalls()...).not("CUDA error: out of memory",
					"Test CUDA"),
				vllm.says(
					"cache-length",
					"tokens that can be stored in KV cache",
					"is larger than the maximum number",
				),
				vllm.says("cache-request", "To serve at least one request with the model"),
				xlaMemory.says("xla-oom", "Out of memory while trying to allocate "),
				xlaMemory.says("xla-cuda-oom", "CUDA_ERROR_OUT_OF_MEMORY"),
				ncclTests.says("tests-oom", "Test CUDA failure", "'out of memory'"),
				ncclTests.says("tests-hip-oom", "Test HIP failure", "hipErrorOutOfMemory"),
				vllm.says("free-memory", "Free memory on device").
					any("less than desired GPU memory utilization", " on startup is").
					speaks("gpu-taken"),
				vllm.says("no-cache-blocks", "No available memory for the cache blocks"),
				sglang.says("not-enough", "Not enough memory. Please try to increase --mem-fraction-static"),
				sglang.says("unbalanced", "memory capacity is unbalanced. Some GPUs may be occupied").
					speaks("gpu-taken"),
			},
			Causes: []Cause{
				{
					Slug: "gpu-memory", Title: "the model, its batch or its cache doesn't fit into the GPU's memory",
					Weight: Common + Usual, Decide: "nvidia-smi on that node while the job starts",
					Remedy: "a smaller batch, context or share of memory, or more GPUs",
				},
				{
					Slug: "gpu-taken", Title: "another process uses the memory of that GPU", Weight: Usual,
					Decide: "nvidia-smi: the processes of the GPU",
					Remedy: "end the other process, or choose other GPUs",
				},
			},
		},
		{
			ID: "RDX-361", Name: "gpu-kernel-fault", Title: "a kernel on the GPU failed",
			Explanation: "After such an error nothing works in the process any more: calls of NCCL fail because of " +
				"it, and other ranks wait. The kernel that failed is an earlier one, often not NCCL's.",
			Sources:  []string{"CUDA Runtime API, cudaError_t", "pytorch/pytorch, ProcessGroupNCCL.cpp"},
			Standing: evidence.Failed,
			Lines: []Line{
				cudaText.says("illegal-access", "CUDA error: an illegal memory access was encountered"),
				ncclTests.says("tests-illegal", "Test CUDA failure", "an illegal memory access was encountered"),
				cudaText.says("device-assert", "CUDA error: device-side assert triggered"),
				cudaText.says("runtime-illegal", "an illegal memory access was encountered").any(cudaCalls()...).
					not("CUDA error: an", "Test CUDA"),
				cudaText.says("kernel-assert", "Assertion `", "block: [", "thread: ["),
				cudaText.says("misaligned", "CUDA error: misaligned address"),
				cudaText.says("launch-failure", "CUDA error: unspecified launch failure"),
				cudaText.says("illegal-instruction", "CUDA error: an illegal instruction was encountered"),
				source{Torch, "ROCm/ROCR-Runtime"}.says("rocm-fault", "Memory access fault by GPU node"),
				source{Torch, "ROCm/ROCR-Runtime"}.says("rocm-exception", "HSA_STATUS_ERROR_EXCEPTION"),
			},
			Causes: []Cause{
				{
					Slug:   "gpu-kernel-fault",
					Title:  "a kernel of the program or of a library reads or writes where it must not",
					Weight: Common + Usual,
					Decide: "CUDA_LAUNCH_BLOCKING=1 names the call; compute-sanitizer the kernel",
					Remedy: "the program or the library of that kernel; not the network",
				},
				{
					Slug: "gpu-hardware", Title: "the GPU is defective", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Seen: string(evidence.KernelGPU)}},
					Decide: "dmesg | grep Xid; the same job on other nodes: always the same GPU?",
					Remedy: "drain the node, replace the GPU",
				},
			},
		},
		{
			ID: "RDX-362", Name: "gpu-hardware", Title: "a GPU reports a hardware error",
			Explanation: "Memory or links of the GPU failed. All ranks of the job wait for the one on that GPU.",
			Sources:     []string{"CUDA Runtime API, cudaError_t", "NVIDIA GPU Debug Guidelines"},
			Standing:    evidence.Origin,
			Lines: []Line{
				cudaText.says("ecc", "uncorrectable ECC error encountered").decides("gpu-hardware"),
				cudaText.says("nvlink", "uncorrectable NVLink error"),
				smi.says("no-handle", "Unable to determine the device handle for GPU"),
			},
			Causes: []Cause{
				{
					Slug:   "gpu-hardware",
					Title:  "the GPU is defective, or has fallen off the bus",
					Weight: Common + Strong,
					Decide: "nvidia-smi -q -d ECC,PAGE_RETIREMENT; dmesg | grep Xid",
					Remedy: "reset or replace the GPU; keep the node out of jobs until then",
				},
			},
		},
		{
			ID: "RDX-363", Name: "gpu-fabric", Title: "CUDA waits for the fabric of the GPUs",
			Explanation: "On machines with NVSwitch the GPUs can be used only after the fabric manager has " +
				"configured their links.",
			Sources:  []string{"CUDA Runtime API, cudaErrorSystemNotReady", "NVIDIA Fabric Manager User Guide"},
			Standing: evidence.Origin,
			Lines: []Line{
				cudaText.says("error-802", "Error 802: system not yet initialized"),
				cudaText.says("not-ready", "CUDA error: system not yet initialized"),
				ncclTests.says("tests-not-ready", "Test CUDA failure", "system not yet initialized"),
				cudaText.says("runtime-not-ready", "system not yet initialized").any(cudaCalls()...).
					not("CUDA error: system", "Test CUDA", "Error 802"),
				xlaMemory.says("cuda-not-ready", "CUDA_ERROR_SYSTEM_NOT_READY"),
				fabricLog.says("fabric-failed", "nvidia-fabricmanager.service").any(
					"Main process exited", "Control process exited", "Failed with result", "entered failed state",
				).as(evidence.Vague).speaks("fabric-manager"),
				fabricLog.says("fabric-start", "Failed to start NVIDIA fabric manager service").
					speaks("fabric-manager"),
			},
			Causes: []Cause{
				{
					Slug:   "fabric-manager",
					Title:  "the fabric manager isn't running, or of another version than the driver",
					Weight: Common + Strong,
					Decide: "systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A2 Fabric",
					Remedy: "start it, in the version of the driver; then reset the GPUs",
				},
				{
					Slug: "gpu-hardware", Title: "a link of a GPU or an NVSwitch is down", Weight: Rare,
					Decide: "nvidia-smi nvlink -s; /var/log/fabricmanager.log", Remedy: "replace the part",
				},
			},
		},
		{
			ID:    "RDX-364",
			Name:  "gpu-missing",
			Title: "a rank has no GPU",
			Explanation: "The process sees fewer GPUs than it needs: the container got none, a variable hides them, " +
				"or the local rank is counted over the node's GPUs.",
			Sources:  []string{"pytorch/pytorch, c10/cuda/CUDAFunctions.cpp"},
			Standing: evidence.Origin,
			Lines: []Line{
				lazyInit.says("no-gpu-for-nccl", "ProcessGroupNCCL is only supported with GPUs, no GPUs found"),
				lazyInit.says("no-cuda-gpus", "No CUDA GPUs are available"),
				lazyInit.says("no-driver", "Found no NVIDIA driver on your system"),
				cudaText.says("no-device", "no CUDA-capable device is detected"),
				torchCUDA.says("unknown-error",
					"CUDA unknown error - this may be due to an incorrectly set up environment").
					speaks("driver-not-loaded"),
				vllmConfig.says("infer-device", "Failed to infer device type"),
				xlaMemory.says("cuda-no-device", "CUDA_ERROR_NO_DEVICE"),
				xlaMemory.says("executor-device", "unable to create StreamExecutor",
					"CUDA_ERROR_INVALID_DEVICE").
					speaks("local-rank"),
				ncclTests.says("tests-ordinal", "Test CUDA failure", "invalid device ordinal"),
				ncclTests.says("tests-hip-device", "Test HIP failure", "hipErrorInvalidDevice"),
				ncclTests.says("tests-hip-none", "Test HIP failure", "hipErrorNoDevice"),
				cudaText.says("old-ordinal", "cuda runtime error (101) : invalid device ordinal").
					speaks("local-rank"),
				cudaText.says("invalid-ordinal", "CUDA error: invalid device ordinal").speaks("local-rank"),
			},
			Causes: []Cause{
				{
					Slug: "gpu-missing", Title: "the container or job step has no GPU", Weight: Common,
					Decide: "nvidia-smi -L inside the container; CUDA_VISIBLE_DEVICES",
					Remedy: "--gpus all, nvidia.com/gpu in the pod's limits, or --gres=gpu with Slurm",
				},
				{
					Slug: "driver-not-loaded", Title: "the module nvidia_uvm isn't loaded, or its device is missing",
					Weight: Rare, Decide: "lsmod | grep nvidia_uvm; ls -l /dev/nvidia-uvm",
					Remedy: "modprobe nvidia_uvm; nvidia-modprobe -u; reboot after an update of the driver",
				},
				{
					Slug:   "local-rank",
					Title:  "the local rank is larger than the number of visible GPUs",
					Weight: Usual,
					Clues: []Clue{
						{
							Weight: Strong, Line: "tests-ordinal",
							Text: "nccl-tests asks for a GPU that isn't there: mostly there are more ranks than " +
								"GPUs, or -g is too large",
						},
					},
					Decide: "LOCAL_RANK and CUDA_VISIBLE_DEVICES of the process",
					Remedy: "as many ranks on each node as it has GPUs; the device from LOCAL_RANK, not RANK",
				},
			},
		},
		{
			ID:          "RDX-365",
			Name:        "cuda-version",
			Title:       "the GPU's driver and the CUDA of the program don't fit",
			Explanation: "The driver must be as new as the CUDA libraries need, and these must have code for the GPU.",
			Sources:     []string{"CUDA Compatibility, NVIDIA", "CUDA Runtime API, cudaError_t"},
			Standing:    evidence.Origin,
			Lines: []Line{
				cudaText.says("driver-insufficient", "CUDA driver version is insufficient for CUDA runtime version").
					speaks("driver-too-old"),
				lazyInit.says("driver-old", "The NVIDIA driver on your system is too old").decides("driver-too-old"),
				cudaText.says("ptx", "PTX was compiled with an unsupported toolchain").speaks("driver-too-old"),
				cudaText.says("forward", "forward compatibility was attempted on non supported HW").
					speaks("driver-too-old"),
				cudaText.says("no-image", "no kernel image is available for execution on the device").
					speaks("gpu-arch"),
				hip.says("hip-static", "Cannot retrieve Static function").speaks("gpu-arch"),
				hip.says("hip-no-binary", "hipErrorNoBinaryForGpu").speaks("gpu-arch"),
				hip.says("hip-kernel-image", "HIP error: device kernel image is invalid").speaks("gpu-arch"),
				hip.says("hip-function", "HIP error: invalid device function").speaks("gpu-arch"),
				lazyInit.says("arch", "is not compatible with the current PyTorch installation").speaks("gpu-arch"),
			},
			Causes: []Cause{
				{
					Slug:   "driver-too-old",
					Title:  "the driver is older than the CUDA libraries of the program",
					Weight: Usual,
					Decide: "nvidia-smi: its CUDA version, against that of the image",
					Remedy: "a newer driver, or an image with an older CUDA; no cuda-compat package on GeForce",
				},
				{
					Slug: "gpu-arch", Title: "a library was built without code for this GPU", Weight: Usual,
					Decide: "torch.cuda.get_arch_list(); cuobjdump --list-elf of the library; rocminfo | grep gfx",
					Remedy: "a build with the GPU's architecture, such as sm_90, sm_120 or gfx906",
				},
			},
		},
		{
			ID: "RDX-393", Name: "gpu-ipc", Title: "two processes can't share memory of a GPU",
			Explanation: "Handles of GPU memory pass between processes of a node. Containers need one PID and IPC " +
				"namespace, and the allocator must make memory that can be shared.",
			Sources:  []string{"CUDA Runtime API, cudaIpcGetMemHandle", "ROCm/rocm-systems#2209"},
			Standing: evidence.Failed,
			Lines: []Line{
				hip.says("hip-ipc-get", "hipIpcGetMemHandle", "invalid argument"),
				hip.says("hip-ipc-open", "hipIpcOpenMemHandle", "failed"),
				vllmReduce.says("custom-argument", "custom_all_reduce.cuh:", "'invalid argument'").speaks("gpu-ipc"),
				vllmReduce.says("custom-other", "custom_all_reduce.cuh:", "Cuda error ").
					not("'invalid argument'", "peer access"),
				cudaText.says("cuda-ipc-get", "cudaIpcGetMemHandle").
					any("invalid argument", "failed", "not supported"),
				cudaText.says("cuda-ipc-open", "cudaIpcOpenMemHandle").
					any("invalid", "failed", "not supported", "already mapped"),
				source{Torch, "pytorch/pytorch, torch/csrc/cuda"}.
					says("pidfd", "pidfd_getfd", "Operation not permitted").decides("not-privileged"),
			},
			Causes: []Cause{
				{
					Slug:    "gpu-ipc",
					Title:   "the memory was allocated in a way that can't be shared",
					Weight:  Usual,
					Sources: []string{"vllm-project/vllm#42609"},
					Clues: []Clue{
						{Weight: Strong, Variable: "HSA_ENABLE_IPC_MODE_LEGACY"},
						{Weight: Strong, Variable: "PYTORCH_CUDA_ALLOC_CONF"},
					},
					Decide: "env | grep -e HSA_ENABLE_IPC_MODE_LEGACY -e ALLOC_CONF",
					Remedy: "unset HSA_ENABLE_IPC_MODE_LEGACY; no expandable_segments, or --disable-custom-all-reduce",
				},
				{
					Slug: "not-privileged", Title: "the containers have namespaces of their own", Weight: Usual,
					Decide: "the same in one container, or with --ipc=host --pid=host",
					Remedy: "--ipc=host; with ROCm --cap-add=SYS_PTRACE and --security-opt seccomp=unconfined",
				},
				{
					Slug: "gpu-p2p", Title: "the GPUs have no direct access to each other", Weight: Rare,
					Decide: "nvidia-smi topo -p2p r", Remedy: "NCCL_P2P_DISABLE=1",
				},
			},
		},
		{
			ID: "RDX-366", Name: "gpu-peer-access", Title: "two GPUs of a node can't reach each other's memory",
			Explanation: "Consumer cards, IOMMU and virtual machines can rule out direct access.",
			Sources:     []string{"CUDA Runtime API, cudaErrorPeerAccessUnsupported"},
			Standing:    evidence.Failed,
			Lines: []Line{
				cudaText.says("peer-unsupported", "peer access is not supported between these two devices"),
				cudaText.says("peer-resources", "peer mapping resources exhausted").speaks("gpu-peer-limit"),
				source{Torch, "huggingface/accelerate, state.py"}.
					says(
						"consumer-cards",
						"doesn't support faster communication broadband via P2P",
					).decides("gpu-p2p"),
				trtllm.says("peer-nodes", "Can't enable access between nodes").decides("gpu-p2p"),
			},
			Causes: []Cause{
				{
					Slug: "gpu-p2p", Title: "these GPUs have no direct access to each other", Weight: Common,
					Decide: "nvidia-smi topo -p2p r",
					Remedy: "NCCL_P2P_DISABLE=1; --disable-custom-all-reduce of vLLM and SGLang, " +
						"--use_custom_all_reduce disable of TensorRT-LLM",
				},
				{
					Slug: "acs", Title: "ACS or IOMMU between the GPUs", Weight: Usual,
					Decide: "rdmactl doctor --only acs,iommu", Remedy: "ACS off, iommu=pt",
				},
				gpuPeerLimit(),
			},
		},
	}
}
