package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

const ncclChecksSource = "NVIDIA/nccl, src/include/checks.h"

//nolint:funlen // a table
func ncclCUDASymptoms() []Symptom {
	return []Symptom{
		{
			ID: "RDX-305", Name: "cuda-driver", Title: "the GPU's driver doesn't fit the CUDA version of the program",
			Explanation: "Each CUDA version needs a driver of some age, and the user part of the driver in a " +
				"container must fit the kernel's module.",
			Sources:  []string{ncclChecksSource, "NVIDIA/nccl, src/misc/cudawrap.cc"},
			Standing: evidence.Origin,
			Lines: []Line{
				cudaLine("cuda-insufficient", "CUDA driver version is insufficient for CUDA runtime version").
					speaks("driver-too-old"),
				cudaLine("cuda-compat", "forward compatibility was attempted on non supported HW").
					speaks("driver-mismatch"),
				cudaLine("cuda-combination", "system has unsupported display driver / cuda driver combination").
					speaks("driver-mismatch"),
				cudaLine("cuda-ptx", "the provided PTX was compiled with an unsupported toolchain.").
					speaks("driver-too-old"),
				cudaLine(
					"cuda-api",
					"API call is not supported in the installed CUDA driver",
				).speaks("driver-too-old"),
				nccl("driver-minimum", "misc/cudawrap.cc", "CUDA Driver version found is", "Minimum requirement is").
					speaks("driver-too-old"),
				nccl("driver-symbols", "misc/cudawrap.cc", "CUDA some PFN functions not found in the library"),
				nccl("driver-rma", "enqueue.cc", "One-sided RMA requires CUDA driver").speaks("driver-too-old"),
			},
			Causes: []Cause{
				{
					Slug: "driver-too-old", Title: "the driver of the node is too old for this CUDA", Weight: Common,
					Decide: "nvidia-smi (driver, CUDA version) against the +cuda of NCCL's version line",
					Remedy: "a newer driver on the node, or an image for the CUDA version of its driver",
				},
				{
					Slug:   "driver-mismatch",
					Title:  "libcuda in the container isn't that of the node's driver (cuda-compat, stubs)",
					Weight: Usual,
					Decide: "ldconfig -p | grep libcuda; LD_LIBRARY_PATH with cuda/compat or stubs; nvidia-smi in " +
						"the container",
					Remedy: "no cuda-compat on GeForce or with a newer driver; start the container again after an " +
						"update of the driver",
				},
				{
					Slug: "gpu-missing", Title: "the container has a stub or no libcuda of the driver", Weight: Usual,
					Decide: "ls -l /usr/lib/x86_64-linux-gnu/libcuda.so*; LD_LIBRARY_PATH with …/stubs",
					Remedy: "--gpus all with the NVIDIA container toolkit; no stubs in LD_LIBRARY_PATH",
				},
			},
		},
		{
			ID:    "RDX-306",
			Name:  "cuda-architecture",
			Title: "the library has no code for this GPU",
			Explanation: "A build of NCCL or of the program has kernels for the architectures that it was built for " +
				"only.",
			Sources:  []string{ncclChecksSource, "NVIDIA/nccl, makefiles/common.mk"},
			Standing: evidence.Origin,
			Lines: []Line{
				cudaLine("cuda-no-image", "no kernel image is available for execution on the device").
					speaks("gpu-arch"),
				cudaLine("cuda-function", "invalid device function").speaks("gpu-arch"),
				cudaLine("cuda-symbol", "named symbol not found").speaks("gpu-arch"),
				cudaLine("hip-kernel-file", "invalid kernel file").speaks("gpu-arch"),
				cudaLine("cuda-image", "device kernel image is invalid").speaks("gpu-arch"),
			},
			Causes: []Cause{
				{
					Slug: "gpu-arch", Title: "this build of NCCL or RCCL isn't for this GPU", Weight: Common,
					Decide: "nvidia-smi --query-gpu=compute_cap --format=csv; cuobjdump -lelf libnccl.so.2; " +
						"rocminfo | grep gfx",
					Remedy: "a build with this architecture (NVCC_GENCODE, GPU_TARGETS), or a newer release of the " +
						"library",
				},
				{
					Slug:   "version-mismatch",
					Title:  "another copy of the library was loaded than the program was built with",
					Weight: Usual,
					Decide: "LD_DEBUG=libs or /proc/PID/maps: which libnccl.so.2, libcudart are loaded",
					Remedy: "one copy: LD_LIBRARY_PATH, LD_PRELOAD, the nvidia-nccl package of the framework",
				},
			},
		},
		{
			ID: "RDX-307", Name: "cuda-device", Title: "the process can't use the GPU that it asks for",
			Explanation: "The rank asks for a device that it doesn't see, or that is taken.",
			Sources:     []string{ncclChecksSource, "NVIDIA/nccl-tests, src/common.cu"},
			Standing:    evidence.Origin,
			Lines: []Line{
				cudaLine("cuda-ordinal", "invalid device ordinal").any("Cuda failure", "HIP failure").
					not("transport/p2p.cc").
					speaks("local-rank"),
				cudaLine("cuda-none", "no CUDA-capable device is detected").speaks("gpu-missing"),
				cudaLine("hip-none", "no ROCm-capable device is detected").speaks("gpu-missing"),
				cudaLine("cuda-busy", "all CUDA-capable devices are busy or unavailable").speaks("gpu-exclusive"),
				cudaLine(
					"cuda-busy-one",
					"CUDA-capable device(s) is/are busy or unavailable",
				).speaks("gpu-exclusive"),
			},
			Causes: []Cause{
				{
					Slug:   "local-rank",
					Title:  "more ranks on the node than GPUs that they see, or a wrong device number",
					Weight: Usual,
					Decide: "ranks per node against nvidia-smi -L in the container; CUDA_VISIBLE_DEVICES; -g of " +
						"nccl-tests",
					Remedy: "one GPU for each rank of a node; device = local rank, not the global one",
				},
				{
					Slug: "gpu-missing", Title: "the container or the job sees no GPU", Weight: Usual,
					Decide: "nvidia-smi -L (rocminfo) in the container, as the user of the job",
					Remedy: "--gpus all, the GPU resource of the pod, --gres of Slurm; render and video groups for " +
						"ROCm",
				},
				{
					Slug: "gpu-exclusive", Title: "the GPU is in exclusive mode and taken, or out of order",
					Weight: Rare,
					Decide: "nvidia-smi -q -d COMPUTE; nvidia-smi: other processes; dmesg | grep Xid",
					Remedy: "nvidia-smi -c DEFAULT; end the other process",
				},
			},
		},
		{
			ID: "RDX-308", Name: "cuda-kernel-fault",
			Title: "a kernel on the GPU failed, and NCCL was the next to see it",
			Explanation: "Errors of kernels are sticky: the next call of any library reports them. The faulty " +
				"kernel is usually one of the program, which ran before.",
			Sources: []string{ncclChecksSource, "CUDA runtime API, cudaError"},
			Lines: []Line{
				cudaLine("cuda-illegal-access", "an illegal memory access was encountered").
					any("Cuda failure", "HIP failure").speaks("gpu-kernel-fault"),
				cudaLine("cuda-assert", "device-side assert triggered").speaks("gpu-kernel-fault"),
				cudaLine("cuda-misaligned", "misaligned address").speaks("gpu-kernel-fault"),
				cudaLine("cuda-instruction", "an illegal instruction was encountered").speaks("gpu-kernel-fault"),
				cudaLine("cuda-launch-failure", "unspecified launch failure"),
				cudaLine("cuda-launch-timeout", "the launch timed out and was terminated"),
				cudaLine("cuda-stack", "hardware stack error"),
			},
			Causes: []Cause{
				{
					Slug: "gpu-kernel-fault", Title: "a kernel of the program accesses memory that isn't its own",
					Weight: Common,
					Decide: "CUDA_LAUNCH_BLOCKING=1 names the kernel; compute-sanitizer; the same without NCCL",
					Remedy: "the program's kernel: an index out of range, a buffer that is freed too early",
				},
				{
					Slug: "gpu-hardware", Title: "a fault of the GPU or of a link", Weight: Rare,
					Clues: []Clue{
						{Weight: Strong, Seen: "kernel.gpu", Text: "the GPU's driver reported an Xid"},
						{Weight: Hint, Line: "cuda-launch-failure"},
					},
					Decide: "dmesg | grep Xid; nvidia-smi -q -d ECC; the same job on other GPUs",
					Remedy: "reset or replace the GPU",
				},
				{
					Slug: "gpu-p2p", Title: "peer to peer between the GPUs is broken (IOMMU, ACS)", Weight: Rare,
					Decide: "NCCL_P2P_DISABLE=1 to test; p2pBandwidthLatencyTest of the CUDA samples",
					Remedy: "IOMMU and ACS off, or NCCL_P2P_DISABLE=1",
				},
			},
		},
		{
			ID: "RDX-309", Name: "gpu-fault", Title: "the GPU or its memory is faulty",
			Explanation: "The driver reports a fault of the hardware: uncorrectable memory, a broken NVLink, or a " +
				"GPU that no longer answers.",
			Sources:  []string{ncclChecksSource, "NVIDIA, XID errors"},
			Standing: evidence.Origin,
			Lines: []Line{
				cudaLine("cuda-ecc", "uncorrectable ECC error encountered").speaks("gpu-hardware"),
				cudaLine("cuda-nvlink", "uncorrectable NVLink error detected during the execution").
					speaks("gpu-hardware"),
				cudaLine("cuda-unknown", "unknown error").not("transport/nvls.cc"),
				nccl("nvml-lost", "misc/nvmlwrap.cc", "failed: GPU is lost", "nvml").speaks("gpu-hardware"),
				nccl("nvml-reset", "misc/nvmlwrap.cc", "failed: GPU requires reset", "nvml").speaks("gpu-hardware"),
			},
			Causes: []Cause{
				{
					Slug: "gpu-hardware", Title: "the GPU, its memory or a link is faulty", Weight: Common,
					Clues: []Clue{
						{Weight: Strong, Seen: "kernel.gpu", Text: "the GPU's driver reported an Xid"},
					},
					Decide: "dmesg | grep -i xid; nvidia-smi -q -d ECC,ROW_REMAPPER; nvidia-smi nvlink -e",
					Remedy: "reset the GPU (nvidia-smi -r) or reboot; drain the node and replace the GPU if it " +
						"comes back",
				},
				{
					Slug:   "driver-mismatch",
					Title:  "the driver was updated or its device files vanished while the container ran",
					Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Line: "cuda-unknown"}},
					Decide: "nvidia-smi in the container and on the node; dmesg",
					Remedy: "start the container again; nvidia-container-toolkit with the cgroup fix",
				},
			},
		},
		{
			ID: "RDX-310", Name: "cuda-not-ready", Title: "the GPUs' fabric isn't initialized",
			Explanation: "On systems with NVSwitch CUDA starts only when the Fabric Manager has set up the links; " +
				"its release must be that of the driver.",
			Sources:  []string{ncclChecksSource, "NVIDIA Fabric Manager user guide"},
			Standing: evidence.Origin,
			Lines: []Line{
				cudaLine("cuda-not-initialized", "system not yet initialized").any("Cuda failure", "HIP failure").
					speaks("fabric-manager"),
			},
			Causes: []Cause{
				{
					Slug: "fabric-manager", Title: "the Fabric Manager doesn't run, or isn't of the driver's release",
					Weight: Common,
					Decide: "systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A3 Fabric: State must be " +
						"Completed",
					Remedy: "install and start nvidia-fabricmanager of the driver's release; in a VM pass the " +
						"NVSwitches or use a partition",
				},
			},
		},
		{
			ID: "RDX-315", Name: "cuda-context", Title: "CUDA was used in a wrong state of the process",
			Explanation: "The process was forked after CUDA had started, is ending, or calls NCCL with another " +
				"device, context or stream than it made the communicator for.",
			Sources: []string{ncclChecksSource, "CUDA runtime API, cudaError"},
			Lines: []Line{
				nccl("cuda-initialization-driver", "misc/cudawrap.cc", "'initialization error'", "misc/cudawrap.cc").
					speaks("driver-mismatch"),
				cudaLine("cuda-initialization", "initialization error"),
				cudaLine("cuda-shutting-down", "driver shutting down").as(evidence.Echo),
				cudaLine("cuda-context-invalid", "invalid device context"),
				cudaLine("cuda-handle", "invalid resource handle"),
				cudaLine("cuda-context-destroyed", "context is destroyed"),
				cudaLine("cuda-active-process", "cannot set while device is active in this process"),
			},
			Causes: []Cause{
				{
					Slug:  "program-usage",
					Title: "the program forks after CUDA started, or uses another device's stream", Weight: Common,
					Decide: "where the program calls fork, multiprocessing, cudaSetDevice and cudaStreamCreate",
					Remedy: "start method spawn; cudaSetDevice before each call of NCCL; streams of the " +
						"communicator's device",
				},
				{
					Slug:   "driver-mismatch",
					Title:  "the driver was updated, and its libraries don't fit the loaded module",
					Weight: Usual,
					Decide: "nvidia-smi; cat /proc/driver/nvidia/version against libcuda.so.*",
					Remedy: "reboot; restart the container",
				},
				{
					Slug: "gpu-missing", Title: "CUDA can't start in the container", Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Line: "cuda-initialization"}},
					Decide: "python -c 'import torch; torch.cuda.init()' in the container",
					Remedy: "device files and driver libraries of the container",
				},
			},
		},
		{
			ID: "RDX-316", Name: "cuda-capture", Title: "a collective was captured in a CUDA graph wrongly",
			Explanation: "All ranks must capture the same collectives, and nothing in a capture may synchronize.",
			Sources: []string{
				ncclChecksSource, "NVIDIA/nccl, src/misc/strongstream.cc", "NVIDIA/nccl, src/group.cc",
			},
			Lines: []Line{
				cudaLine("cuda-capturing", "operation not permitted when stream is capturing"),
				cudaLine("cuda-capture-invalid", "operation failed due to a previous error during capture"),
				cudaLine("cuda-capture-legacy",
					"operation would make the legacy stream depend on a capturing blocking stream"),
				cudaLine("cuda-capture-unsafe", "dependency created on uncaptured work in another stream"),
				nccl("graph-build", "misc/strongstream.cc", "NCCL cannot be captured in a graph if either").
					speaks("cuda-build"),
				nccl(
					"graph-driver",
					"enqueue.cc",
					"required for NCCL's CUDA Graphs support",
				).speaks("driver-too-old"),
				nccl("graph-old", "enqueue.cc", "NCCL does not support this CUDA version for CUDA graph").
					speaks("driver-too-old"),
				nccl("graph-mixed", "group.cc",
					"Either none or all communicators in a ncclGroup() can be CUDA graph captured"),
				nccl(
					"graph-streams",
					"enqueue.cc",
					"must either be all uncaptured or all captured by the same graph",
				),
			},
			Causes: []Cause{
				{
					Slug:   "cuda-build",
					Title:  "this NCCL is built for a CUDA before 11.3",
					Weight: Rare,
					Clues: []Clue{
						{
							Weight: Strong, Seen: "nccl.version", SeenField: "cuda",
							SeenIs: []string{"10.0", "10.1", "10.2", "11.0", "11.1", "11.2"},
							Text:   "the version line names a CUDA before 11.3",
						},
					},
					Decide: "the +cuda of NCCL's version line; which libnccl.so.2 is loaded",
					Remedy: "the NCCL package for the program's CUDA (nvidia-nccl-cu12, the framework's own)",
				},
				{
					Slug:   "driver-too-old",
					Title:  "the driver is before R465",
					Weight: Rare,
					Decide: "nvidia-smi",
					Remedy: "a newer driver",
				},
				{
					Slug: "program-usage", Title: "the program captures something that can't be captured",
					Weight: Common,
					Decide: "the same without graphs: enforce_eager, --disable-cuda-graph",
					Remedy: "warm up communicators before the capture; all or none of a group in the graph",
				},
			},
		},
	}
}
