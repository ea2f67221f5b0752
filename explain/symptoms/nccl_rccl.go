package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// rocmSetup returns the cause that ROCm's libraries and driver don't fit.
func rocmSetup() Cause {
	return Cause{
		Slug: "driver-mismatch", Title: "the ROCm libraries don't fit the amdgpu driver, or find no devices",
		Weight: Usual,
		Decide: "rocminfo; rocm-smi; ls -l /dev/kfd /dev/dri in the container; the ROCm release of image and driver",
		Remedy: "--device=/dev/kfd --device=/dev/dri --group-add video --group-add render; an image for the " +
			"driver's release",
	}
}

func rcclLine(name, file string, all ...string) Line {
	return Line{Name: name, Program: NCCL, All: all, Source: "ROCm/rccl, src/" + file}
}

func rcclSymptoms() []Symptom {
	return []Symptom{
		{
			ID: "RDX-353", Name: "rccl-host-settings",
			Title: "RCCL finds settings of the host that can make jobs hang or slow; working jobs have these lines, " +
				"too",
			Explanation: "Without iommu=pt peer to peer between AMD GPUs can hang or corrupt data; automatic NUMA " +
				"balancing costs speed. The lines are there in working jobs, too.",
			Sources:  []string{"ROCm/rccl, src/init.cc", "ROCm/rccl#1454"},
			Standing: evidence.Harmless,
			Lines: []Line{
				rcclLine("iommu-pt", "init.cc", "Missing \"iommu=pt\" from kernel command line"),
				rcclLine("amd-iommu", "init.cc", "Missing \"amd_iommu=on\" from kernel command line"),
				rcclLine("fine-grain", "init.cc", "Missing \"HSA_FORCE_FINE_GRAIN_PCIE=1\" from environment"),
			},
		},
		{
			ID: "RDX-354", Name: "rccl-runtime", Title: "RCCL can't read the GPUs from the ROCm runtime",
			Explanation: "RCCL asks ROCm SMI, or the kernel's topology in /sys/class/kfd, for the GPUs and their " +
				"links.",
			Sources: []string{
				"ROCm/rccl, src/misc/alt_rsmi.cc", "ROCm/rccl, src/misc/rocmwrap.cc", "ROCm/rccl#1728",
			},
			Lines: []Line{
				rcclLine("smi-init", "misc/rocm_smi_wrap.cc", "ROCm SMI init failure"),
				rcclLine("smi-index", "misc/rocm_smi_wrap.cc", "device index not found", "SMI_lib"),
				rcclLine("smi-index-rocm", "misc/rocm_smi_wrap.cc", "rocm_smi_lib: ", "device index not found"),
				rcclLine("smi-failure", "misc/rocm_smi_wrap.cc", "ARSMI failure"),
				rcclLine("kfd-node", "misc/alt_rsmi.cc", "Could not read node #").warning(),
				rcclLine("kfd-open", "misc/alt_rsmi.cc", "Failed to open topo/nodes directory"),
				rcclLine("kfd-gpu", "misc/alt_rsmi.cc", "Could not determine GPU id of node #"),
				rcclLine("kfd-links", "misc/alt_rsmi.cc", "Error reading link properties files").warning(),
				rcclLine("hsa-library", "misc/rocmwrap.cc", "Failed to find ROCm runtime library"),
				rcclLine("hsa-symbol", "misc/rocmwrap.cc", "Failed to load ROCr missing symbol"),
				rcclLine("hsa-version", "misc/rocmwrap.cc", "ROCr Driver version found is"),
				rcclLine("hsa-failure", "include/rocmwrap.h", "ROCr failure '"),
				rcclLine("kernel-attributes", "enqueue.cc", "Failed to get kernel attributes").warning(),
				rcclLine("collective-build", "enqueue.cc",
					"unsupported collective. Please ensure the collective has been enabled in build"),
			},
			Causes: []Cause{
				rocmSetup(),
				topologyView(Usual, Clue{Weight: Hint, Line: "kfd-node"}, Clue{Weight: Hint, Line: "kfd-links"},
					Clue{Weight: Hint, Line: "smi-index"}),
				{
					Slug: "gpu-arch", Title: "RCCL is built without this GPU or collective", Weight: Rare,
					Clues: []Clue{
						{Weight: Strong, Line: "kernel-attributes"}, {Weight: Strong, Line: "collective-build"},
					},
					Decide: "rocminfo | grep gfx; roc-obj-ls librccl.so",
					Remedy: "a build with this architecture (GPU_TARGETS)",
				},
			},
		},
		{
			ID: "RDX-355", Name: "hip-ipc", Title: "HIP could not share GPU memory between processes",
			Explanation: "RCCL's peer to peer maps memory of other processes by HSA's IPC. It can go by DMA-BUF or " +
				"by the legacy way, which needs more rights and doesn't work with all drivers.",
			Sources: []string{"ROCm/rocm-systems#2209", "ROCm/rocm-systems#7864", "ROCm/rccl#908"},
			Lines: []Line{
				rcclLine("hip-ipc-get", "transport/p2p.cc", "hipIpcGetMemHandle failed"),
				{
					Name: "hsa-ipc-create", Program: NCCL,
					All:    []string{"Failed to create memory for IPC, failed with hsa_status"},
					Source: "ROCm/clr, rocclr/device/rocm/rocmemory.cpp",
				},
				{
					Name: "hip-ipc-create", Program: NCCL, All: []string{"IPC memory creation failed for memory"},
					Source: "ROCm/clr, hipamd/src/hip_memory.cpp",
				},
				{
					Name:    "hip-ipc-attach",
					Program: NCCL,
					All:     []string{"HSA failed to attach IPC memory with status"},
					Source:  "ROCm/clr, rocclr/device/rocm/rocmemory.cpp",
				},
			},
			Causes: []Cause{
				{
					Slug:   "hsa-ipc-mode",
					Title:  "HSA_ENABLE_IPC_MODE_LEGACY is set, and the legacy IPC doesn't work here (or the reverse)",
					Weight: Common,
					Clues: []Clue{
						{Weight: Strong, Variable: "HSA_ENABLE_IPC_MODE_LEGACY"}, {Weight: Hint, Contains: "4097"},
					},
					Decide: "env | grep HSA_ENABLE_IPC_MODE_LEGACY in the container; try 0 and 1",
					Remedy: "unset HSA_ENABLE_IPC_MODE_LEGACY (images of vLLM set it to 1)",
				},
				{
					Slug:   "gpu-ipc",
					Title:  "the container lacks --ipc=host, --cap-add=SYS_PTRACE or a seccomp profile that allows it",
					Weight: Usual,
					Decide: "docker run --ipc=host --cap-add=SYS_PTRACE --security-opt seccomp=unconfined to test",
					Remedy: "these options",
				},
				rocmSetup(),
			},
		},
	}
}
