package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func kernelModules() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-570", Name: "module-signature", Title: "a module isn't signed with a key that the kernel trusts",
			Lasts: true,
			Explanation: "With Secure Boot the kernel loads signed modules only; those of OFED or DKMS need a key " +
				"of the machine's owner.",
			Sources: []string{knModule}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "signature-key", knModule, "could not insert ",
					"Required key not available").decides("module-signature"),
				says(Kernel, "signature-rejected", knModule, "could not insert ",
					"Key was rejected by service").decides("module-signature"),
				says(Kernel, "signature-loading", knModule,
					"Loading of unsigned module is rejected").decides("module-signature"),
				says(Kernel, "signature-lockdown", knModule,
					"Loading of module with unavailable key is rejected").decides("module-signature"),
			},
			Causes: []Cause{
				maybe(Common, "module-signature",
					"Secure Boot is on, and the module isn't signed with an enrolled key",
					"mokutil --sb-state; modinfo -F signer MODULE",
					"mokutil --import the vendor's key (OFED: mlnx_signing_key_pub.der; DKMS: mok.pub), or Secure "+
						"Boot off"),
			},
		},
		{
			ID: "RDX-571", Name: "module-taint", Title: "modules of other sources taint the kernel",
			Lasts:       true,
			Explanation: "NVIDIA's driver and OFED do this on each start.",
			Sources:     []string{knModule}, Standing: evidence.Harmless,
			Lines: []Line{
				says(Kernel, "taint-out-of-tree", knModule, "loading out-of-tree module taints kernel"),
				says(Kernel, "taint-signature", knModule,
					"module verification failed: signature and/or required key missing"),
				says(Kernel, "taint-license", knModule, "taints kernel.", "module license"),
			},
		},
		{
			ID: "RDX-572", Name: "module-format", Title: "a module was built for another kernel or RDMA stack",
			Lasts: true,
			Explanation: "Versions of symbols, or the kernel's release in the module, don't fit those of the " +
				"running kernel.",
			Sources: []string{knModule, "ThinkParQ/beegfs#64", "zrlio/hyv#1"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "format-exec", knModule, "could not insert ", "Exec format error"),
				says(Kernel, "format-invalid", knModule, "could not insert ", "Invalid module format"),
				says(Kernel, "format-magic", knModule, "version magic '", "should be '"),
				says(Kernel, "format-duplicate", knModule, "exports duplicate symbol ", "owned by "),
				says(Kernel, "format-depmod", "kmod, depmod", "needs unknown symbol ib_"),
				says(Kernel, "format-core", knModule,
					"disagrees about version of symbol ib_").not("ib_register_peer", "ib_unregister_peer"),
				says(Kernel, "format-core-private", knModule, "disagrees about version of symbol __ib_"),
				says(Kernel, "format-cm", knModule, "disagrees about version of symbol rdma_"),
				says(Kernel, "format-cm-private", knModule, "disagrees about version of symbol __rdma_"),
				says(Kernel, "format-mlx5", knModule, "disagrees about version of symbol mlx5_"),
				says(Kernel, "format-unknown-core", knModule, "nknown symbol ib_").not("ib_register_peer",
					"ib_unregister_peer"),
				says(Kernel, "format-unknown-private", knModule, "nknown symbol __ib_"),
				says(Kernel, "format-unknown-cm", knModule, "nknown symbol rdma_"),
				says(Kernel, "format-unknown-mlx5", knModule, "nknown symbol mlx5_"),
				says(Kernel, "format-other", knModule, "disagrees about version of symbol ").any(rdmaModules()...).
					not("ib_register_peer", "ib_unregister_peer"),
				says(Kernel, "format-unknown-other", knModule, "nknown symbol ").any(rdmaModules()...).
					not("ib_register_peer", "ib_unregister_peer"),
			},
			Causes: []Cause{
				maybe(Common+Strong, "module-build", "the module was built against another RDMA stack than the "+
					"one that is loaded: OFED and the kernel's own modules are mixed, or one of them was updated",
					"modinfo -F vermagic MODULE ib_core; ofed_info -s; uname -r",
					"rebuild the module (DKMS, OFED's --add-kernel-support) against the loaded ib_core; reboot "+
						"after an update"),
			},
		},
		{
			ID: "RDX-573", Name: "module-missing", Title: "a module isn't installed for this kernel",
			Lasts: true,
			Explanation: "The package for the running kernel is missing, which is common after updates of the " +
				"kernel and with minimal or cloud kernels.",
			Sources: []string{knModule}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "module-not-found-mlx", "kmod, modprobe", "Module mlx", "not found in directory"),
				says(Kernel, "module-not-found-ib", "kmod, modprobe", "Module ib_", "not found in directory"),
				says(Kernel, "module-not-found-rdma", "kmod, modprobe", "Module rdma_", "not found in directory"),
				says(Kernel, "module-not-found-peer", "kmod, modprobe", "Module nvidia", "not found in directory"),
				says(Kernel, "module-not-found-nv", "kmod, modprobe", "Module nv_peer_mem not found"),
			},
			Causes: []Cause{
				maybe(Common+Usual, "module-missing",
					"no package with that module is installed for the running kernel",
					"uname -r; find /lib/modules/$(uname -r) -name 'MODULE.ko*'",
					"linux-modules-extra-$(uname -r) or kernel-modules-extra; OFED or the NVIDIA driver rebuilt "+
						"for this kernel"),
			},
		},
		{
			ID: "RDX-574", Name: "peermem", Title: "the module for GPU memory could not register or pin memory",
			Lasts: true,
			Explanation: "nvidia-peermem registers with ib_core, if that has the interface (OFED, or a " +
				"distribution's patch), and pins pages of the GPU.",
			Sources: []string{
				"Mellanox/nv_peer_memory, nv_peer_mem.c", "Mellanox/nv_peer_memory#39",
				"Mellanox/nv_peer_memory#63",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "peermem-client", "Mellanox/nv_peer_memory, nv_peer_mem.c",
					"error while registering client", "nv_mem_client_init").speaks("peermem-build"),
				says(Kernel, "peermem-nc-client", "Mellanox/nv_peer_memory, nv_peer_mem.c",
					"error while registering nc client", "nv_mem_client_init").speaks("peermem-build"),
				says(Kernel, "peermem-get-pages", "Mellanox/nv_peer_memory, nv_peer_mem.c",
					"while calling nvidia_p2p_get_pages()").with("errno", "error -").
					speaks("gdr-off"),
				says(Kernel, "peermem-dma-map", "Mellanox/nv_peer_memory, nv_peer_mem.c",
					"while calling nvidia_p2p_dma_map_pages()").speaks("acs"),
				says(Kernel, "peermem-mapping", "Mellanox/nv_peer_memory, nv_peer_mem.c",
					"incompatible dma mapping version"),
			},
			Causes: []Cause{
				maybe(
					Usual,
					"peermem-build",
					"the module was built for another ib_core or NVIDIA driver",
					"dmesg | grep -i peer; modinfo nvidia_peermem",
					"reinstall the driver after OFED, or use DMA-BUF",
				),
				maybe(Rare, "gdr-off",
					"the GPU's memory can't be pinned: not enough BAR1, another allocator, or the process is ending",
					"nvidia-smi -q: BAR1",
					"smaller buffers, the default allocator"),
				maybe(Rare, "acs", "the IOMMU or the topology forbids the mapping", "rdmactl doctor --only acs",
					"iommu=pt; ACS off between GPU and card"),
			},
		},
	}
}

func kernelHost() []Symptom {
	return []Symptom{
		{
			ID: "RDX-575", Name: "pcie-surprise", Title: "a PCIe device or slot disappeared",
			Explanation: "Link down of a slot, a contained error, or a device that can't be read: everything that " +
				"used it fails.",
			Sources: []string{"Linux, drivers/pci"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "pciehp-link", "Linux, drivers/pci/hotplug/pciehp_ctrl.c", "Link Down", "pciehp",
					"Slot("),
				says(Kernel, "pciehp-card", "Linux, drivers/pci/hotplug/pciehp_ctrl.c", "Card not present", "pciehp"),
				says(Kernel, "dpc", "Linux, drivers/pci/pcie/dpc.c", "DPC: containment event"),
				says(Kernel, "inaccessible", "Linux, drivers/pci/pci.c", "device inaccessible",
					"power state from "),
				says(Kernel, "config-space", "Linux, drivers/pci/pci.c", "Unable to change power state from ",
					"D3cold"),
				says(Kernel, "recovery-failed", "Linux, drivers/pci/pcie/err.c", "AER: device recovery failed"),
			},
			Causes: []Cause{
				maybe(Common+Strong, "card-hardware",
					"the device lost its PCIe link: seat, riser, power, heat, or a defect",
					"dmesg before; lspci -vvv of the port above; the BMC's log",
					"reseat or replace it; firmware of the switch or board"),
			},
		},
		{
			ID: "RDX-576", Name: "pcie-corrected", Title: "PCIe corrected errors of a link",
			Explanation: "Single ones do nothing; many of them make the link slow, and often come before " +
				"uncorrected ones.",
			Sources: []string{"Linux, drivers/pci/pcie/aer.c"}, Standing: evidence.Vague,
			Lines: []Line{
				says(Kernel, "aer-corrected", "Linux, drivers/pci/pcie/aer.c", "PCIe Bus Error: severity=Correct"),
			},
			Causes: []Cause{
				maybe(Usual, "card-hardware", "a PCIe link with bad signals: seat, riser or card",
					"rdmactl doctor: PCIe; the counts of aer_dev_correctable",
					"reseat or replace it if the counts grow"),
			},
		},
		{
			ID: "RDX-577", Name: "stalled-task", Title: "the kernel saw a task that doesn't go on",
			Explanation: "A blocked task waits for a device or a lock; a CPU that is stuck delays everything else " +
				"of that node. It is a result more often than a cause: look at what it waits for.",
			Sources: []string{"Linux, kernel/hung_task.c", "Linux, kernel/watchdog.c"}, Standing: evidence.Vague,
			Lines: []Line{
				says(Kernel, "hung-task", "Linux, kernel/hung_task.c", "blocked for more than ", " seconds"),
			},
			Causes: []Cause{
				maybe(Usual, "process-blocked", "the task waits for a device, a file system or a lock",
					"the stack below the line", "what the stack shows"),
				maybe(Usual, "card-firmware", "a card doesn't answer its driver", "dmesg: health, command timeouts",
					"the card", onText(Hint, "mlx5", "mlx5 is in the line")),
			},
		},
		{
			ID:          "RDX-578",
			Name:        "kernel-memory",
			Title:       "the kernel could not allocate memory",
			Explanation: "Large contiguous blocks are rare on a node that has run for long; queues of cards need them.",
			Sources:     []string{"Linux, mm/page_alloc.c"},
			Standing:    evidence.Failed,
			Lines: []Line{
				says(Kernel, "page-allocation", "Linux, mm/page_alloc.c",
					"page allocation failure: order:").as(evidence.Vague),
				says(Kernel, "vmalloc", "Linux, mm/vmalloc.c", "vmalloc error: size "),
				says(Kernel, "swiotlb", "Linux, kernel/dma/swiotlb.c", "swiotlb buffer is full"),
			},
			Causes: []Cause{
				maybe(Common, "host-memory", "memory is short or fragmented, or the bounce buffer is too small",
					"free -m; cat /proc/buddyinfo; dmesg: swiotlb",
					"vm.min_free_kbytes, compaction, or a reboot; swiotlb=N, or the IOMMU on"),
			},
		},
		{
			ID:          "RDX-579",
			Name:        "machine-check",
			Title:       "the hardware reported an uncorrected error of CPU or memory",
			Explanation: "Keep jobs off the node until the part is replaced.",
			Sources:     []string{"Linux, arch/x86/kernel/cpu/mce", "Linux, drivers/edac"},
			Standing:    evidence.Origin,
			Lines: []Line{
				says(Kernel, "mce-event", "Linux, arch/x86/kernel/cpu/mce",
					"mce: [Hardware Error]: Machine check").not("events logged"),
				says(Kernel, "edac-ue", "Linux, drivers/edac/edac_mc.c", " UE memory ", "EDAC "),
				says(Kernel, "memory-failure", "Linux, mm/memory-failure.c", "Memory failure: 0x"),
			},
			Causes: []Cause{
				maybe(Common+Strong, "host-hardware", "memory or CPU of the node is defective",
					"ras-mc-ctl --errors; the BMC's log", "replace the part"),
			},
		},
	}
}

func kernelGPU() []Symptom {
	return []Symptom{
		{
			ID: "RDX-580", Name: "gpu-lost", Title: "the NVIDIA driver lost a GPU, or can't use it",
			Explanation: "Without the GPU the rank ends; what other ranks report follows from it.",
			Sources:     []string{"NVIDIA, kernel driver", "NVIDIA/NVSentinel#155"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "gpu-fallen", "NVIDIA, kernel driver", "GPU has fallen off the bus").not("Xid"),
				says(Kernel, "gpu-fallen-lines", "NVIDIA, kernel driver", "fallen off the bus and is not responding",
					"NVRM: "),
				says(
					Kernel,
					"gpu-mismatch",
					"NVIDIA, kernel driver",
					"NVRM: API mismatch",
				).decides("driver-mismatch"),
				says(Kernel, "gpu-rm-init", "NVIDIA, kernel driver", "RmInitAdapter failed", "NVRM: "),
				says(Kernel, "gpu-lost-nvml", "NVIDIA, NVML", "GPU is lost", "NVML: "),
			},
			Causes: []Cause{
				maybe(Common, "gpu-hardware",
					"the GPU is gone from PCIe or its firmware doesn't start: power, heat, seat or a defect",
					"nvidia-smi -q; dmesg: Xid, AER; the BMC's log",
					"drain the node; reset or power cycle; replace the GPU"),
				maybe(Rare, "driver-mismatch",
					"the driver's module and its libraries are of different releases: updated without a reboot",
					"cat /proc/driver/nvidia/version; nvidia-smi",
					"reload the modules or reboot; the same driver in the container"),
			},
		},
		{
			ID: "RDX-581", Name: "amdgpu-fault", Title: "the AMD GPU's driver reports a fault",
			Explanation: "A page fault is usually the program's; a ring that times out or a reset ends all work on " +
				"that GPU.",
			Sources: []string{"Linux, drivers/gpu/drm/amd/amdgpu"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "amdgpu-reset", "Linux, drivers/gpu/drm/amd/amdgpu", "GPU reset begin", "amdgpu"),
				says(Kernel, "amdgpu-ring", "Linux, drivers/gpu/drm/amd/amdgpu", " timeout, ", "amdgpu",
					"ring ").as(evidence.Failed),
				says(Kernel, "amdgpu-fault", "Linux, drivers/gpu/drm/amd/amdgpu", "page fault (src_id:",
					"amdgpu").speaks("gpu-kernel-fault"),
				says(Kernel, "amdgpu-ras", "Linux, drivers/gpu/drm/amd/amdgpu",
					"uncorrectable hardware errors detected", "amdgpu").speaks("gpu-hardware"),
				says(Kernel, "amdgpu-evict", "Linux, drivers/gpu/drm/amd/amdkfd", "Failed to evict queue", "amdgpu"),
			},
			Causes: []Cause{
				maybe(Usual, "gpu-hardware", "the GPU or its memory has a fault",
					"rocm-smi --showrasinfo; dmesg around", "reset; replace it if it comes back"),
				maybe(Usual, "gpu-kernel-fault", "a kernel of the program reads or writes where it must not",
					"the program with AMD_LOG_LEVEL, rocgdb", "the program or library"),
			},
		},
		{
			ID: "RDX-582", Name: "nvswitch", Title: "NVSwitch or Fabric Manager reports a fault",
			Explanation: "GPUs of an NVSwitch system need Fabric Manager of the driver's release; fatal SXids stop " +
				"all GPUs.",
			Sources: []string{"NVIDIA, Fabric Manager user guide"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "sxid", "NVIDIA, nvidia-nvswitch", "nvidia-nvswitch", "SXid (PCI:", "Fatal"),
				says(Kernel, "sxid-nonfatal", "NVIDIA, nvidia-nvswitch", "nvidia-nvswitch",
					"SXid (PCI:").not("Fatal").as(evidence.Vague),
				says(Kernel, "fabric-manager-version", "NVIDIA, Fabric Manager",
					"GPU driver interface version ", "match with driver version").
					decides("fabric-manager"),
			},
			Causes: []Cause{
				maybe(Common, "gpu-hardware", "an NVLink or NVSwitch of this node has a fault",
					"nvidia-smi nvlink -e; the fabric manager's log",
					"after a fatal SXid drain the node and reset all GPUs; replace the part if it comes back"),
				maybe(Rare, "fabric-manager", "Fabric Manager and the driver are of different releases",
					"nv-fabricmanager --version; nvidia-smi", "the same release"),
			},
		},
	}
}

// rdmaModules are texts in names of modules and symbols of RDMA cards and of what uses them.
func rdmaModules() []string {
	return []string{
		"mlx",
		"bnxt",
		"irdma",
		"i40iw",
		"ice: ",
		"qedr",
		"hns_roce",
		"efa: ",
		"ib_core",
		"ib_uverbs",
		"rdma_",
		"nvme_rdma",
		"nvmet_rdma",
		"rpcrdma",
		"ib_isert",
		"ib_iser",
		"ib_srp",
		"ko2iblnd",
	}
}
