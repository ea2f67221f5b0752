package checks

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func iommu() doctor.Check {
	return doctor.Check{
		ID: "iommu", Title: "IOMMU that translates the traffic between GPU and card", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupHost, Numbers: []int{82},
		Reads: slices.Concat([]string{pciFiles("iommu_group/type")}, machineFiles()),
		Explanation: prose.Join(`
			If the IOMMU translates the addresses of a card, its accesses to the memory of a GPU go up to the
			root complex and back, even below one switch: GPUDirect RDMA is slow, fails with "local protection
			error" (NCCL: completion with error 4), or hangs. With the identity domain (passthrough) the IOMMU
			leaves addresses alone, and virtual machines can still be given devices.`),
		Remedy: "Boot with iommu=pt on the kernel's command line (arm64: iommu.passthrough=1).",
		Sources: []string{
			"Documentation/ABI/testing/sysfs-kernel-iommu_groups (type)",
			"NCCL user guide, troubleshooting, GPU Direct", "NVIDIA/nccl#1737",
		},
		Run: runIOMMU,
	}
}

func runIOMMU(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	if why := noWay(s); why != "" {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s", why)}
	}
	m := machineOf(in)
	if m.virtual {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"in a virtual machine (%s) the host's IOMMU translates, which the guest can't see", m.proof)}
	}
	var translated, passed []doctor.Evidence
	var denied error
	for _, addr := range endpoints(in) {
		file := path.Join(function(addr), "iommu_group/type")
		domain, err := in.Facts.Files.Text(file)
		switch {
		case err != nil:
			if doctor.Because("", err).Outcome != doctor.OutcomeNotApplicable {
				denied = err
			}
		case strings.HasPrefix(domain, "DMA"):
			translated = append(translated, fileEvidence(file, domain))
		case domain == "identity":
			passed = append(passed, fileEvidence(file, domain))
		}
	}
	if len(translated) > 0 {
		return []doctor.Finding{translatedFinding(m, translated)}
	}
	switch {
	case denied != nil:
		return []doctor.Finding{doctor.Because(doctor.ObjectNode, denied)}
	case len(passed) == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"no GPU and no compute card has an IOMMU group "+
				"of a known type: the IOMMU is off, the kernel is older than 5.11, or it was not recorded")}
	}
	return []doctor.Finding{doctor.Passed(doctor.ObjectNode, "the IOMMU passes the addresses of "+
		english.Count(len(passed), "function")+" of GPUs and compute cards"+" through", passed...)}
}

// endpoints returns the addresses of the compute cards and GPUs.
func endpoints(in *doctor.Input) []string {
	var out []string
	for _, p := range computePorts(in.Snapshot) {
		out = append(out, p.dev.PCI.Address)
	}
	for _, g := range drivenGPUs(in.Snapshot) {
		out = append(out, g.PCI.Address)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func translatedFinding(m machine, ev []doctor.Evidence) doctor.Finding {
	const most = 8
	f := doctor.Finding{
		Outcome: doctor.OutcomeWarn, Object: doctor.ObjectNode, Evidence: ev[:min(most, len(ev))],
		Summary: fmt.Sprintf("the IOMMU translates the addresses of %s",
			english.Count(len(ev), "function")+" of GPUs and compute cards"),
		Actions: []doctor.Action{
			doctor.Note("add iommu=pt to the kernel's command line (GRUB_CMDLINE_LINUX), and boot again"),
			doctor.Shell("cat /proc/cmdline   # intel_iommu=on or amd_iommu=on alone translates"),
		},
	}
	if m.arm {
		f.Outcome = doctor.OutcomeInfo
		f.Explanation = "On arm64 the way between GPU and card can be fast although the SMMU translates, with " +
			"address translation services (ATS). NVIDIA's systems are booted with iommu.passthrough=1."
		f.Actions = []doctor.Action{
			doctor.Note("if GPUDirect RDMA is slow: add iommu.passthrough=1 to the kernel's command line"),
		}
	}
	return f
}
