package checks

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

const nvidiaVersion = sysfs.ProcNVIDIA + "/version"

func gpudirect() doctor.Check {
	return doctor.Check{
		ID: "gpudirect", Title: "how cards access the memory of GPUs", Severity: doctor.OutcomeFail,
		Group: doctor.GroupHost, Numbers: []int{83},
		Reads: []string{
			"/" + nvidiaVersion, "/" + sysfs.ProcNVIDIA + "/gpus/*/information", "/" + sysfs.ProcModules,
			"/" + sysfs.ProcOSRelease, "/" + sysfs.MemoryPeers + "/*/version",
		},
		Explanation: prose.Join(`
			A card accesses the memory of an NVIDIA GPU through dma-buf, which the open kernel modules offer on
			Linux 5.12 and later, or through the module nvidia_peermem. With neither, NCCL copies everything
			through the memory of the host ("GPU Direct RDMA Disabled for HCA"), often at a tenth of the
			bandwidth, and NVSHMEM and DeepEP don't start.`),
		Remedy: "Install the open kernel modules of NVIDIA's driver, or load nvidia_peermem.",
		Sources: []string{
			"NCCL src/transport/net_ib.cc (ncclIbGdrSupport, ncclIbDmaBufSupport)",
			"NVIDIA GPUDirect RDMA documentation; NVIDIA/open-gpu-kernel-modules",
			"NVIDIA/nccl#897", "NVIDIA/nccl#1537", "NVIDIA/nccl#1676", "NVIDIA/nccl#1939", "ROCm/rccl#1328",
		},
		Run: runGPUDirect,
	}
}

// peerDrivers are the drivers of cards whose access to GPUs works so. Those of EFA and others have
// ways of their own.
var peerDrivers = []string{"mlx5_core", "bnxt_en", "ionic"}

func runGPUDirect(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	why := noWay(s)
	switch {
	case why != "":
	case !slices.ContainsFunc(computePorts(s), func(p portRef) bool {
		return slices.Contains(peerDrivers,
			p.dev.Driver)
	}):
		why = "the drivers of the compute ports access GPUs in other ways"
	case !slices.ContainsFunc(drivenGPUs(s), func(g inventory.GPU) bool { return g.PCI.Driver == "nvidia" }):
		return amdDirect(in)
	case s.Host.Kernel == "":
		why = "the kernel's release is not known"
	case len(s.Host.Modules) == 0:
		why = "it is not known which modules are loaded"
	}
	if model := unsupportedModel(in); why == "" && model != "" {
		why = model + " does not support GPUDirect RDMA"
	}
	if why != "" {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s", why)}
	}
	version, err := in.Facts.Files.Text(nvidiaVersion)
	if err != nil {
		return []doctor.Finding{doctor.Because(doctor.ObjectNode, err)}
	}
	return nvidiaDirect(in, version)
}

func nvidiaDirect(in *doctor.Input, version string) []doctor.Finding {
	s := in.Snapshot
	module, registered := peerModule(in)
	open, recent := strings.Contains(version, "Open Kernel Module"), kernelAtLeast(s.Host.Kernel, 5, 12)
	first, _, _ := strings.Cut(version, "\n")
	ev := []doctor.Evidence{
		{Path: "/" + nvidiaVersion + ":NVRM version", Value: strings.TrimSpace(strings.TrimPrefix(first,
			"NVRM version:"))},
		fileEvidence(sysfs.ProcOSRelease, s.Host.Kernel), moduleEvidence(s, "nvidia_peermem"),
	}
	switch {
	case open && recent && module != "":
		return []doctor.Finding{
			doctor.Passed(doctor.ObjectNode, "cards access GPU memory through dma-buf", ev...),
			{
				Outcome: doctor.OutcomeInfo, Object: module, Kind: doctor.KindOther,
				Summary: module + " is loaded, though dma-buf does the same without it", Evidence: ev,
				Explanation: "NVIDIA recommends dma-buf, and the module breaks with updates of the driver or of " +
					"OFED. Programs that know dma-buf don't use it; NCCL before 2.13 and perftest without " +
					"--use_cuda_dmabuf need it.",
			},
		}
	case open && recent:
		return []doctor.Finding{doctor.Passed(doctor.ObjectNode, "cards access GPU memory through dma-buf", ev...)}
	case module != "" && registered && kernelAtLeast(s.Host.Kernel, 6, 4) && !in.Facts.Files.Exists(sysfs.MemoryPeers):
		return []doctor.Finding{unlistedModule(ev, module)}
	case module != "" && registered:
		return []doctor.Finding{
			doctor.Passed(doctor.ObjectNode, "cards access GPU memory through "+module, ev...),
			{
				Outcome: doctor.OutcomeInfo, Object: module, Kind: doctor.KindOther, Evidence: ev,
				Summary: "cards access GPU memory through " + module + " only: " + whyNoDmabuf(open),
				Explanation: "The module must be built for the driver and for the RDMA stack, and loaded at every " +
					"boot; after an update of either it may be gone. Dma-buf needs no module.",
			},
		}
	}
	return []doctor.Finding{noDirect(s, ev, module, open)}
}

// unlistedModule returns the finding for a module that older versions of NCCL don't find.
func unlistedModule(ev []doctor.Evidence, module string) doctor.Finding {
	return doctor.Finding{
		Outcome: doctor.OutcomeWarn, Object: doctor.ObjectNode,
		Evidence: append(ev, doctor.Evidence{Path: "/" + sysfs.MemoryPeers, Value: "does not exist"}),
		Summary: "NCCL before 2.23 does not use GPUDirect RDMA: " + module + " is loaded, but " + whyNoDmabuf(false) +
			", and this kernel does not list it where NCCL looks",
		Explanation: "NCCL before 2.23 looks for the module in /sys/kernel/mm/memory_peers, which Linux 6.4 and " +
			"later does not have; later versions also look for /sys/module/nvidia_peermem. A container brings " +
			"its own NCCL.",
		Actions: []doctor.Action{
			doctor.Note("install the open kernel modules of NVIDIA's driver (nvidia-open), or use NCCL 2.23 or later"),
		},
	}
}

func whyNoDmabuf(open bool) string {
	if open {
		return "dma-buf needs Linux 5.12 or later"
	}
	return "dma-buf needs the open kernel modules of NVIDIA's driver"
}

func noDirect(s *inventory.Snapshot, ev []doctor.Evidence, module string, open bool) doctor.Finding {
	f := doctor.Finding{
		Outcome: doctor.OutcomeFail, Object: doctor.ObjectNode, Evidence: ev,
		Summary: "cards can't access GPU memory: nvidia_peermem is not loaded, and " + whyNoDmabuf(open),
		Actions: []doctor.Action{
			{Do: doctor.DoModule, Object: "nvidia_peermem"},
			doctor.Shell("echo nvidia_peermem > /etc/modules-load.d/nvidia_peermem.conf"),
			doctor.Note("or install the open kernel modules (nvidia-open), with Linux 5.12 or later"),
		},
	}
	if module != "" {
		f.Summary = fmt.Sprintf("cards can't access GPU memory: %s is loaded but not registered with ib_core, and %s",
			module, whyNoDmabuf(open))
		f.Evidence = append(f.Evidence, doctor.Evidence{
			Path: "/" + sysfs.MemoryPeers + "/nv_mem/version", Value: "does not exist",
		})
		f.Actions = []doctor.Action{
			doctor.Note("the module was built without the RDMA stack that runs: reinstall NVIDIA's driver after OFED"),
			doctor.Shell("dmesg | grep -i peermem"),
		}
	}
	if open && strings.Contains(s.Host.Kernel, ".el8") { // with parts of later kernels
		f.Outcome = doctor.OutcomeWarn
		f.Summary += ", which this distribution may have added to its kernel"
	}
	if inContainer(s) {
		f.Actions = append([]doctor.Action{doctor.Note("on the host, not in this container:")}, f.Actions...)
	}
	return f
}

// peerModule returns the loaded module through which cards access NVIDIA's GPUs, "" for none, and
// whether the RDMA stack knows it. Stacks that don't list their clients are trusted.
func peerModule(in *doctor.Input) (name string, registered bool) {
	for _, m := range in.Snapshot.Host.Modules {
		if m.Name == "nvidia_peermem" || m.Name == "nv_peer_mem" {
			name = m.Name
		}
	}
	if name == "" {
		return "", false
	}
	files := in.Facts.Files
	if !files.Exists(sysfs.MemoryPeers) {
		return name, true
	}
	for _, client := range []string{"nv_mem", "nv_mem_nc"} {
		if files.Exists(path.Join(sysfs.MemoryPeers, client)) {
			return name, true
		}
	}
	return name, false
}

// integratedGPU is the GPU of DGX Spark, which has no memory of its own.
const integratedGPU = "NVIDIA GB10"

// unsupportedModel returns the name of the GPUs if none of them supports GPUDirect RDMA.
func unsupportedModel(in *doctor.Input) string {
	name := ""
	for _, g := range drivenGPUs(in.Snapshot) {
		text, err := in.Facts.Files.Text(path.Join(sysfs.ProcNVIDIA, "gpus", g.PCI.Address, "information"))
		if err != nil {
			return ""
		}
		model := ""
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, "Model:"); ok {
				model = strings.TrimSpace(rest)
			}
		}
		if !slices.ContainsFunc([]string{"GeForce", integratedGPU},
			func(w string) bool { return strings.Contains(model, w) }) {
			return ""
		}
		name = model
	}
	return name
}

// amdDirect judges AMD's GPUs, of which only one way shows in files.
func amdDirect(in *doctor.Input) []doctor.Finding {
	file := path.Join(sysfs.MemoryPeers, "amdkfd/version")
	if version, err := in.Facts.Files.Text(file); err == nil {
		return []doctor.Finding{doctor.Passed(doctor.ObjectNode, "cards access GPU memory through amdkfd's peer memory",
			fileEvidence(file, version))}
	}
	return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "whether cards access AMD's GPUs through dma-buf "+
		"depends on the kernel's configuration (CONFIG_PCI_P2PDMA, CONFIG_DMABUF_MOVE_NOTIFY), which is not read")}
}
