package symptoms

import (
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// Where NVSHMEM, DeepEP and GDRCopy print what is below.
var (
	deepEPElastic = source{NVSHMEM, "deepseek-ai/DeepEP, csrc/elastic/buffer.hpp"}
	deepEPInit    = source{NVSHMEM, "deepseek-ai/DeepEP, deep_ep/__init__.py"}
	deepEPLaunch  = source{NVSHMEM, "deepseek-ai/DeepEP, csrc/kernels/legacy/launch.cuh"}
	deepEPLegacy  = source{NVSHMEM, "deepseek-ai/DeepEP, csrc/legacy/buffer.hpp"}
	deepEPMemory  = source{NVSHMEM, "deepseek-ai/DeepEP, csrc/kernels/backend/symmetric.hpp"}
	deepEPNCCL    = source{NVSHMEM, "deepseek-ai/DeepEP, csrc/kernels/backend/nccl.cu"}
	deepEPNode    = source{NVSHMEM, "deepseek-ai/DeepEP, csrc/kernels/legacy/intranode.cu"}
	deepEPNodes   = source{NVSHMEM, "deepseek-ai/DeepEP, csrc/kernels/legacy/internode.cu"}
	deepEPOld     = source{NVSHMEM, "deepseek-ai/DeepEP, csrc/deep_ep.cpp"}
	deepEPPython  = source{NVSHMEM, "deepseek-ai/DeepEP, deep_ep/buffers/legacy.py"}
	dlSymbol      = source{NVSHMEM, "glibc, elf/dl-lookup.c"}
	gdrAPI        = source{NVSHMEM, "NVIDIA/gdrcopy, src/gdrapi.c"}
	ibgdaCode     = source{NVSHMEM, "NVIDIA/nvshmem, src/modules/transport/ibgda/ibgda.cpp"}
	nvshmemAPI    = source{NVSHMEM, "NVIDIA/nvshmem, src/include/internal/host/nvshmem_internal.h"}
	nvshmemBoot   = source{NVSHMEM, "NVIDIA/nvshmem, src/host/bootstrap/bootstrap.cpp"}
	nvshmemHeap   = source{NVSHMEM, "NVIDIA/nvshmem, src/host/mem/mem_heap.cpp"}
	nvshmemIB     = source{NVSHMEM, "NVIDIA/nvshmem, src/modules/transport/common/transport_ib_common.cpp"}
	nvshmemInit   = source{NVSHMEM, "NVIDIA/nvshmem, src/host/init/init.cu"}
	nvshmemLoader = source{NVSHMEM, "NVIDIA/nvshmem, src/host/bootstrap/bootstrap_loader.cpp"}
	nvshmemProxy  = source{NVSHMEM, "NVIDIA/nvshmem, src/host/proxy/proxy.cpp"}
	nvshmemTeam   = source{NVSHMEM, "NVIDIA/nvshmem, src/host/team/team_internal.cpp"}
	nvshmemUCX    = source{NVSHMEM, "NVIDIA/nvshmem, src/modules/transport/ucx/ucx.cpp"}
	nvshmemUID    = source{NVSHMEM, "NVIDIA/nvshmem, src/modules/bootstrap/uid/bootstrap_uid.cpp"}
	pythonImport  = source{NVSHMEM, "Python"}
)

func nvshmemSymptoms() []Symptom {
	return slices.Concat(nvshmemDevices(), nvshmemHost(), deepEPSymptoms())
}

// nvshmemDevices are about network cards and GPU memory.
func nvshmemDevices() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-400", Name: "nvshmem-uar-map", Title: "NVSHMEM can't map the card's doorbell into the GPU",
			Explanation: "With IBGDA the GPU itself rings the doorbell of the network card. The driver of the GPU " +
				"maps it only with an option; else NVSHMEM 3.4 and later fall back to the CPU, and earlier ones " +
				"skip the card.",
			Sources:  []string{"NVIDIA/nvshmem", "deepseek-ai/DeepEP#163", "deepseek-ai/DeepEP#128"},
			Standing: evidence.Failed,
			Lines: []Line{
				ibgdaCode.says("uar-skip", "GPU cannot map UAR of device ").with("device", "UAR of device "),
				ibgdaCode.says("uar-register", "cudaHostRegister with IoMemory failed with error").as(evidence.Vague).
					with("status", "with error="),
				ibgdaCode.says("uar-gpu-map", "ibgda_nic_mem_gpu_map failed").as(evidence.Vague),
				ibgdaCode.says("uar-gpu-handler", "ibgda_alloc_and_map_qp_uar with GPU as handler failed").
					as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug:   "driver-option",
					Title:  "the NVIDIA driver runs without PeerMappingOverride",
					Weight: Common,
					Clues: []Clue{{
						Weight: Hint, Field: "status", Is: []string{"800"},
						Text: "CUDA says that it isn't permitted (800)",
					}},
					Decide: "grep -i PeerMappingOverride /proc/driver/nvidia/params",
					Remedy: `options nvidia NVreg_EnableStreamMemOPs=1 NVreg_RegistryDwords="PeerMappingOverride=1;" ` +
						"in /etc/modprobe.d, new initramfs, reboot; or NVSHMEM 3.4 with NVSHMEM_IBGDA_NIC_HANDLER=cpu",
					Sources: []string{"deepseek-ai/DeepEP, third-party/README.md"},
				},
				{
					Slug: "not-privileged", Title: "the container may not map the card's registers", Weight: Usual,
					Decide: "run once with --privileged", Remedy: "a privileged container, or CAP_SYS_ADMIN",
					Sources: []string{"sgl-project/sglang#12533"},
				},
				{
					Slug: "virtualized-gpu", Title: "the GPU is in a virtual machine, or of a kind that can't map it",
					Weight: Rare, Clues: []Clue{{
						Weight: Strong, Field: "status", Is: []string{"801"},
						Text: "CUDA says that it isn't supported (801)",
					}},
					Decide: "systemd-detect-virt; nvidia-smi -q | grep -i virtualization",
					Remedy: "NVSHMEM_IBGDA_NIC_HANDLER=cpu, or the IBRC transport",
				},
			},
		},
		{
			ID: "RDX-401", Name: "nvshmem-other-card", Title: "NVSHMEM skips cards that aren't mlx5 devices",
			Explanation: "IBGDA drives the queues of ConnectX cards only; cards of others are skipped. That is " +
				"harmless if there is a ConnectX card too.",
			Sources: []string{"NVIDIA/nvshmem", "deepseek-ai/DeepEP#202"}, Standing: evidence.Vague,
			Lines: []Line{
				ibgdaCode.says("not-mlx5", "is not enumerated as an mlx5 device. Skipping").with("device", "device "),
			},
			Causes: []Cause{
				{
					Slug: "gda-needs-mlx5", Title: "IBGDA supports ConnectX cards only", Weight: Common,
					Decide: "ibv_devinfo: the names of the devices and their vendor IDs",
					Remedy: "NVSHMEM_REMOTE_TRANSPORT=ibrc or libfabric, or a build for that card; DeepEP's " +
						"low-latency kernels need IBGDA",
				},
			},
		},
		{
			ID: "RDX-402", Name: "nvshmem-hca-list", Title: "NVSHMEM doesn't find a card that the settings name",
			Explanation: "NVSHMEM_HCA_LIST and NVSHMEM_HCA_PE_MAPPING name devices and ports, which must exist on " +
				"each node.",
			Sources: []string{"NVIDIA/nvshmem, src/modules/transport/ibrc/ibrc.cpp"}, Standing: evidence.Failed,
			Lines: []Line{
				ibgdaCode.says("hca-name", "find user specified HCA name: ").with("device", "HCA name: "),
			},
			Causes: []Cause{
				{
					Slug: "wrong-device",
					Title: "NVSHMEM_HCA_LIST or NVSHMEM_HCA_PE_MAPPING names a device or port " +
						"that this node doesn't have",
					Weight: Common,
					Decide: "rdma link; rdmactl detect",
					Remedy: "the names of this node; NVSHMEM_ENABLE_NIC_PE_MAPPING=1 to assign them by the PE's number",
				},
				{
					Slug: "port-down", Title: "the port is there, but not active", Weight: Usual,
					Decide: "rdmactl doctor --only port-active", Remedy: "the link",
				},
				{
					Slug: "no-device-node", Title: "the container doesn't see the device", Weight: Rare,
					Decide: "ls /dev/infiniband in the container",
					Remedy: "a device plugin's resource, or --device=/dev/infiniband",
				},
			},
		},
		{
			ID: "RDX-403", Name: "nvshmem-memory-registration",
			Title:       "NVSHMEM could not register its heap with the card",
			Explanation: "The symmetric heap is GPU memory. The kernel pins it by nvidia-peermem or by DMA-BUF.",
			Sources: []string{"NVIDIA/nvshmem, " +
				"src/modules/transport/common/transport_ib_common.cpp", "deepseek-ai/DeepEP#36"},
			Standing: evidence.Failed,
			Lines: []Line{
				nvshmemIB.says("reg-mr", "mem registration failed. Reason: "),
				ibgdaCode.says("reg-handle", "Unable to register memory handle."),
				deepEPMemory.says("deepep-vmm-gdr", "GPUDirect RDMA with CUDA VMM is not supported on this device").
					as(evidence.Origin).speaks("gdr-off"),
			},
			Causes: []Cause{
				{
					Slug: "peermem-missing", Title: "nvidia-peermem isn't loaded, and DMA-BUF isn't used",
					Weight: Common,
					Clues:  []Clue{{Weight: Strong, Field: "errno", Is: []string{"14", "22"}}},
					Decide: "rdmactl doctor --only gpudirect; lsmod | grep peermem",
					Remedy: "modprobe nvidia-peermem; or the open kernel modules, which have DMA-BUF",
				},
				{
					Slug: "memlock", Title: "the limit of locked memory is too small", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Field: "errno", Is: []string{"12"}}},
					Decide: "ulimit -l in the job", Remedy: "ulimit -l unlimited",
				},
				{
					Slug: "gpu-memory-kind", Title: "memory of CUDA's VMM, which the registration doesn't take",
					Weight: Usual,
					Decide: "NVSHMEM_DISABLE_CUDA_VMM=1", Remedy: "NVSHMEM_DISABLE_CUDA_VMM=1, or a newer driver",
				},
				{
					Slug: "gdr-off", Title: "the GPU or virtual machine has no GPU Direct RDMA", Weight: Rare,
					Decide: "nvidia-smi -q; the kind of the GPU", Remedy: "a GPU that has it",
				},
			},
		},
		{
			ID: "RDX-404", Name: "nvshmem-gdrcopy", Title: "NVSHMEM or a library can't use GDRCopy",
			Explanation: "GDRCopy is a library and the kernel module gdrdrv. NVSHMEM works without it, except for " +
				"atomics of IBRC and UCX and for queues that the CPU serves.",
			Sources: []string{"NVIDIA/nvshmem", "NVIDIA/gdrcopy, src/gdrapi.c"}, Standing: evidence.Failed,
			Lines: []Line{
				ibgdaCode.says("gdrcopy-handler", "NVSHMEM_IBGDA_NIC_HANDLER=cpu requires GDRCopy").
					as(evidence.Origin),
				nvshmemUCX.says("gdrcopy-atomics", "not supported with the current configuration (GDRCopy Disabled)").
					as(evidence.Origin),
				gdrAPI.says("gdrdrv-open", "error opening driver (errno=").as(evidence.Vague),
				gdrAPI.says("gdrdrv-old", "gdrdrv is too old and does not support").as(evidence.Vague).
					speaks("version-mismatch"),
			},
			Causes: []Cause{
				{
					Slug: "gdrcopy", Title: "the kernel module gdrdrv isn't loaded on the host", Weight: Common,
					Clues:  []Clue{{Weight: Hint, Field: "errno", Is: []string{"2", "6", "19"}}},
					Decide: "lsmod | grep gdrdrv; ls -l /dev/gdrdrv",
					Remedy: "install gdrdrv on the host (GPU operator: gdrcopy.enabled=true); --device=/dev/gdrdrv",
				},
				{
					Slug: "not-privileged", Title: "the container doesn't have /dev/gdrdrv, or may not open it",
					Weight: Usual,
					Clues:  []Clue{{Weight: Strong, Field: "errno", Is: []string{"1", "13"}}},
					Decide: "ls -l /dev/gdrdrv in the container", Remedy: "--device=/dev/gdrdrv",
				},
				{
					Slug: "version-mismatch", Title: "the library is newer than the module gdrdrv", Weight: Rare,
					Decide: "cat /sys/module/gdrdrv/version; the package of libgdrapi",
					Remedy: "the same release of both",
				},
			},
		},
	}
}
