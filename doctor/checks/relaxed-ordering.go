package checks

import (
	"context"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func relaxedOrdering() doctor.Check {
	return doctor.Check{
		ID: "relaxed-ordering", Title: "compute card that must not relax the order of its writes",
		Severity: doctor.OutcomeWarn,
		Group:    doctor.GroupHost, Numbers: []int{79}, Facts: []facts.Kind{facts.KindPCI}, Reads: machineFiles(),
		Explanation: prose.Join(`
			With relaxed ordering a card's write need not wait for those before it. NCCL and UCX ask for it by
			default. In a virtual machine, where ACS and ATS are on, GPUDirect RDMA is much slower without it; on
			bare metal the difference is small.`),
		Remedy: "Set the bit Enable Relaxed Ordering of the card on the host. Leave PCI_WR_ORDERING at per_mkey.",
		Sources: []string{
			"PCI Express Base Specification, Device Control Register", "NVIDIA/nccl#1205",
			"drivers/pci/probe.c (pci_configure_relaxed_ordering)",
			"drivers/net/ethernet/mellanox/mlx5/core/main.c, broadcom/bnxt/bnxt.c (IDs of virtual functions)",
		},
		Run: runRelaxedOrdering,
	}
}

func runRelaxedOrdering(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	m, vfs := machineOf(in), 0
	for _, g := range groupBy(computePorts(in.Snapshot), func(p portRef) string { return p.dev.PCI.Address }) {
		p := g.members[0]
		f := pciFunction(in, g.value)
		switch {
		case virtualFunction(p.dev):
			vfs++
			continue
		case f == nil || f.Express == nil:
			continue
		case f.Express.RelaxedOrdering:
			good = append(good, configEvidence(g.value, "DevCtl.RlxdOrd", "+"))
			continue
		}
		finding := doctor.Finding{
			Outcome: doctor.OutcomeInfo, Object: g.value, Kind: doctor.KindPCI,
			Summary:  "relaxed ordering is disabled for the card",
			Evidence: []doctor.Evidence{configEvidence(g.value, "DevCtl.RlxdOrd", "-")},
			Actions: []doctor.Action{
				doctor.Note("the BIOS or the kernel disabled it; the kernel does so below root ports with an erratum"),
				doctor.Shell("setpci -s %s CAP_EXP+8.w=10:10   # enables it until the next boot", quote(g.value)),
			},
		}
		if m.virtual {
			finding.Outcome = doctor.OutcomeWarn
			finding.Evidence = append(finding.Evidence, m.proof)
		}
		findings = append(findings, finding)
	}
	slices.SortFunc(findings, func(a, b doctor.Finding) int { return strings.Compare(a.Object, b.Object) })
	if len(good) > 0 {
		pass := doctor.Passed(doctor.ObjectNode, english.Count(len(good),
			"compute card")+" may relax the order of writes",
			good...)
		return append([]doctor.Finding{pass}, findings...)
	}
	switch {
	case len(findings) > 0:
		return findings
	case vfs > 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"the register of a virtual function does not show it: that of the physical function is in force")}
	}
	return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s",
		noneOf(in.Snapshot, "the configuration space of no compute card is visible"))}
}

// virtualFunction reports whether a device is a virtual function, also in a virtual machine, where
// only the device ID shows it.
func virtualFunction(d *inventory.Device) bool {
	mlx := []inventory.PCIID{0x1002, 0x1004, 0x1012, 0x1014, 0x1016, 0x1018, 0x101a, 0x101c, 0x101e, 0xa2d3}
	bnxt := []inventory.PCIID{
		0x1606, 0x1609, 0x16bd, 0x16c1, 0x16c2, 0x16c3, 0x16c4, 0x16c5, 0x16cb, 0x16d3, 0x16dc, 0x16e1, 0x16e5, 0x16e6,
		0x1806, 0x1807, 0x1808, 0x1809, 0x1819, 0x181b, 0xd800,
	}
	switch {
	case d.VF != nil:
		return true
	case mellanox(d):
		return slices.Contains(mlx, d.PCI.DeviceID)
	case d.PCI.VendorID == 0x14e4:
		return slices.Contains(bnxt, d.PCI.DeviceID)
	case d.PCI.VendorID == 0x8086:
		return d.PCI.DeviceID == 0x1889 // iavf
	}
	return false
}
