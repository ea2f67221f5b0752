package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// nvshmemHost are about versions, memory, the processes of a node, and bootstrap.
func nvshmemHost() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID:    "RDX-405",
			Name:  "nvshmem-versions",
			Title: "two releases of NVSHMEM are in one program",
			Explanation: "The device library is linked into the program when it is built, the host library is loaded " +
				"when it starts. Both must be of the same release.",
			Sources: []string{
				"NVIDIA/nvshmem, src/host/init/init.cu",
				"NVIDIA/nvshmem#32",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				nvshmemInit.says("device-host-version", "does not match with NVSHMEM host library").
					decides("version-mismatch"),
			},
			Causes: []Cause{{
				Slug:   "version-mismatch",
				Title:  "the program was built with another NVSHMEM than the one that is loaded",
				Weight: Common, Decide: "pip list | grep nvshmem; ldd of the extension; LD_LIBRARY_PATH",
				Remedy: "build it again with the release that is loaded, or set LD_LIBRARY_PATH to the one it was " +
					"built with",
			}},
		},
		{
			ID:    "RDX-406",
			Name:  "nvshmem-heap",
			Title: "NVSHMEM's symmetric heap is too small",
			Explanation: "NVSHMEM reserves NVSHMEM_SYMMETRIC_SIZE of the GPU's memory on each PE, or takes chunks of " +
				"it as they are needed. The program asked for more, or the GPU has no more.",
			Sources:  []string{"NVIDIA/nvshmem, src/host/mem/mem_heap.cpp"},
			Standing: evidence.Origin,
			Lines: []Line{
				nvshmemHeap.says("heap-exceeded", "check if total allocation has exceeded NVSHMEM"),
				nvshmemHeap.says("heap-space", "Not enough space for allocating memory", "mem_heap"),
				nvshmemHeap.says("heap-physical", "allocate_physical_memory_to_heap failed").speaks("gpu-memory").
					as(evidence.Vague),
				nvshmemHeap.says("heap-create", "cuMemCreate failed", "non-zero status").as(evidence.Failed).
					speaks("gpu-memory"),
				nvshmemInit.says("heap-reserve", "nvshmem reserve static heaps failed").as(evidence.Failed).
					speaks("gpu-memory"),
			},
			Causes: []Cause{
				{
					Slug: "heap-too-small", Title: "NVSHMEM_SYMMETRIC_SIZE is too small for the program",
					Weight: Common,
					Decide: "NVSHMEM_INFO=1: SYMMETRIC_SIZE, against the buffers of the program",
					Remedy: "NVSHMEM_SYMMETRIC_SIZE=8G, the same on all PEs",
				},
				{
					Slug:   "gpu-memory",
					Title:  "the GPU has no free memory: another process, or the framework, has it",
					Weight: Usual,
					Decide: "nvidia-smi before the job",
					Remedy: "a smaller share for the framework " +
						"(--gpu-memory-utilization, --mem-fraction-static), or end the other process",
				},
			},
		},
		{
			ID:          "RDX-407",
			Name:        "nvshmem-pes-per-node",
			Title:       "the nodes have different numbers of NVSHMEM processes",
			Explanation: "NVSHMEM wants the same number of PEs on each node. It tells nodes by their host names.",
			Sources:     []string{"NVIDIA/nvshmem, src/host/init/init.cu"},
			Standing:    evidence.Origin,
			Lines: []Line{
				nvshmemInit.says("pes-per-node", "NVSHMEM requires the same number of PEs on all nodes"),
			},
			Causes: []Cause{
				{
					Slug: "launcher-ranks", Title: "the launcher started different numbers of processes",
					Weight: Common,
					Decide: "the number of processes of each node",
					Remedy: "the same --ntasks-per-node, or slots in the hostfile",
				},
				{
					Slug:   "hostname-shared",
					Title:  "containers of different nodes have the same host name, or those of a node different ones",
					Weight: Usual,
					Decide: "hostname of each process",
					Remedy: "a host name per node (--hostname, hostNetwork)",
				},
			},
		},
		{
			ID: "RDX-408", Name: "nvshmem-peer-memory",
			Title: "NVSHMEM can't open the memory of a GPU of the same node",
			Explanation: "PEs of a node share GPU memory through CUDA IPC or file descriptors; both need common " +
				"namespaces, and all GPUs visible to each process.",
			Sources: []string{"NVIDIA/nvshmem, src/host/mem/mem_heap.cpp"}, Standing: evidence.Failed,
			Lines: []Line{
				nvshmemHeap.says("ipc-open", "cudaIpcOpenMemHandle failed with error"),
				nvshmemHeap.says("ipc-get", "cudaIpcGetMemHandle failed", "non-zero status"),
				nvshmemHeap.says("vmm-import", "cuMemImportFromShareableHandle failed state->device_id"),
				nvshmemHeap.says("vmm-export", "cuMemExportToShareableHandle failed", "non-zero status"),
			},
			Causes: []Cause{
				{
					Slug:  "ipc-namespace",
					Title: "the processes are in containers without common IPC and PID namespaces", Weight: Common,
					Decide: "lsns -t ipc; lsns -t pid for the processes",
					Remedy: "one container per node, or --ipc=host --pid=host",
				},
				{
					Slug: "gpu-visibility", Title: "CUDA_VISIBLE_DEVICES hides the other GPUs of the node",
					Weight: Usual,
					Decide: "CUDA_VISIBLE_DEVICES of each process",
					Remedy: "all GPUs visible to each, chosen by the local rank",
				},
				{
					Slug: "imex", Title: "no IMEX channel, on nodes with multi-node NVLink", Weight: Rare,
					Decide: "ls /dev/nvidia-caps-imex-channels; nvidia-imex-ctl -N",
					Remedy: "nvidia-imex on all nodes and channel0 in the container, or NVSHMEM_DISABLE_MNNVL=1",
				},
			},
		},
		{
			ID: "RDX-409", Name: "nvshmem-nvls", Title: "NVSHMEM can't set up NVLink multicast",
			Explanation: "NVLS needs a fabric manager that runs and fits the driver, and all GPUs of the NVLink " +
				"domain.",
			Sources: []string{"NVIDIA/nvshmem, src/host/mem/mem_heap.cpp"}, Standing: evidence.Failed,
			Lines: []Line{
				nvshmemHeap.says("nvls-create", "Creating mc handle for team ID: ", "failed"),
				nvshmemHeap.says("nvls-bind", "Binding MC handle for team ID: ", "failed"),
				nvshmemTeam.says("nvls-map", "team_internal_nvls.cpp:", "non-zero status"),
				nvshmemTeam.says("nvls-mapping", "Mapping multicast groups for UC heap failed"),
				nvshmemHeap.says("nvls-heap", "bind heap MC memory failed"),
				nvshmemTeam.says("nvls-team", "NVLS resource setup failed for team ID: ").as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug: "fabric-manager", Title: "the fabric manager doesn't run, or doesn't fit the driver",
					Weight: Common,
					Decide: "systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A3 Fabric",
					Remedy: "start it, of the driver's release; meanwhile NVSHMEM_DISABLE_NVLS=1",
				},
				{
					Slug: "not-privileged", Title: "the container lacks the devices of the fabric or IMEX",
					Weight: Usual,
					Decide: "ls /dev/nvidia-caps*", Remedy: "the container toolkit's devices; NVSHMEM_DISABLE_NVLS=1",
				},
			},
		},
		{
			ID:    "RDX-410",
			Name:  "nvshmem-bootstrap-library",
			Title: "NVSHMEM can't load its bootstrap or transport",
			Explanation: "Bootstrap and transports are libraries of their own, which must be of the same release and " +
				"in the search path.",
			Sources:  []string{"NVIDIA/nvshmem, src/host/bootstrap/bootstrap_loader.cpp"},
			Standing: evidence.Origin,
			Lines: []Line{
				nvshmemLoader.says("bootstrap-load", "Bootstrap unable to load '"),
				nvshmemLoader.says("bootstrap-symbol", "Bootstrap failed to get symbol '"),
				nvshmemLoader.says("bootstrap-version", "The selected bootstrap returned an incompatible version").
					speaks("version-mismatch"),
			},
			Causes: []Cause{
				{
					Slug: "missing-library", Title: "a library of NVSHMEM isn't in the search path", Weight: Common,
					Decide: "ldconfig -p | grep nvshmem; LD_LIBRARY_PATH",
					Remedy: "LD_LIBRARY_PATH with NVSHMEM's lib folder; for wheels site-packages/nvidia/nvshmem/lib",
				},
				{
					Slug: "version-mismatch", Title: "libraries of different releases of NVSHMEM", Weight: Usual,
					Decide: "find / -name 'libnvshmem*' -o -name 'nvshmem_bootstrap*'", Remedy: "one release",
				},
			},
		},
		{
			ID: "RDX-411", Name: "nvshmem-bootstrap-network", Title: "NVSHMEM's processes don't find each other",
			Explanation: "Before the first transfer the PEs exchange addresses over TCP.",
			Sources:     []string{"NVIDIA/nvshmem, src/modules/bootstrap/uid/bootstrap_uid.cpp"},
			Standing:    evidence.Failed,
			Lines: []Line{
				nvshmemUID.says("uid-interface", "No usable listening interface found").speaks("interface-choice"),
				nvshmemUID.says("uid-no-socket", "No socket interface found", "bootstrap_uid").
					speaks("interface-choice"),
				nvshmemUID.says("uid-truncated", "Message truncated : received ", "bootstrap_uid").
					speaks("defect:nvshmem-bootstrap-order"),
				nvshmemBoot.says("bootstrap-preinit", "bootstrap_loader_preinit returned error for mode").
					as(evidence.Vague),
				nvshmemUID.says("uid-versions", "UID Bootstrap versions not compatible between PEs").
					as(evidence.Origin).decides("version-mismatch"),
				nvshmemUID.says("uid-session", "Invalid NVSHMEM_BOOTSTRAP_UID_SESSION_ID").speaks("setting-invalid"),
				nvshmemBoot.says("bootstrap-init", "bootstrap_loader_init returned error for mode").
					as(evidence.Vague),
				nvshmemBoot.says("bootstrap-pmi", "bootstrap_pmi_init returned error for mode").speaks("launcher"),
			},
			Causes: []Cause{
				{
					Slug: "interface-choice", Title: "wrong interface, or none, for the bootstrap", Weight: Common,
					Decide: "ip -br address on each node", Remedy: "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=eth0",
				},
				{
					Slug:   "launcher",
					Title:  "the launcher's interface (PMI, PMIx, MPI) isn't the one of NVSHMEM_BOOTSTRAP",
					Weight: Usual,
					Decide: "NVSHMEM_BOOTSTRAP, NVSHMEM_BOOTSTRAP_PMI; srun --mpi=list",
					Remedy: "srun --mpi=pmix with NVSHMEM_BOOTSTRAP_PMI=PMIX",
				},
				{
					Slug: "defect:nvshmem-bootstrap-order",
					Title: "the bootstrap of NVSHMEM takes messages of other exchanges for its " +
						"own when the node is busy", Weight: Rare,
					Decide:  "NVSHMEM_BOOTSTRAP=MPI, or another run: it comes and goes",
					Remedy:  "a NVSHMEM with #97; the MPI or PMIx bootstrap",
					Sources: []string{"NVIDIA/nvshmem#97", "deepseek-ai/DeepEP#223"},
				},
				{
					Slug: "version-mismatch", Title: "PEs with different releases of NVSHMEM", Weight: Rare,
					Decide: "the version on each node", Remedy: "the same image",
				},
				{
					Slug: "setting-invalid", Title: "a variable of the bootstrap has a wrong form", Weight: Rare,
					Decide: "env | grep NVSHMEM_BOOTSTRAP", Remedy: "ADDRESS:PORT, or nothing",
				},
			},
		},
		{
			ID: "RDX-412", Name: "nvshmem-echo", Title: "NVSHMEM is used although it isn't initialized",
			Explanation: "These lines follow from an earlier failure of the initialization.",
			Sources: []string{"NVIDIA/nvshmem, " +
				"src/include/internal/host/nvshmem_internal.h", "sgl-project/sglang#7888"},
			Standing: evidence.Echo,
			Lines: []Line{
				nvshmemAPI.says("not-initialized", "NVSHMEM API called before NVSHMEM initialization has completed"),
				nvshmemInit.says("init-exit", "nvshmem initialization failed, exiting"),
				nvshmemInit.says("transport-map", "building transport map failed").as(evidence.Vague),
				nvshmemInit.says("check-init", "aborting due to error in nvshmemi_init_thread"),
				nvshmemProxy.says("aborting", "aborting due to error in ", "proxy"),
			},
			Causes: []Cause{{
				Slug: "elsewhere", Title: "the initialization failed before, on this rank or on another",
				Weight: Common,
				Decide: "the first lines of all ranks with NVSHMEM_DEBUG=INFO", Remedy: "what they say",
			}},
		},
	}
}
