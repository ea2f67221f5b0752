package checks

import (
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

const sourceAER = "Documentation/ABI/testing/sysfs-bus-pci-devices-aer"

// pcieCounterRules are those on PCI Express.
func pcieCounterRules() []counterRule {
	return []counterRule{
		{
			id: "pcie-errors", numbers: []int{80}, group: doctor.GroupHost, scope: scopePCI,
			title: "uncorrectable PCI Express errors of a compute port's card",
			counters: countersIn(facts.CountersAER, "aer_dev_fatal:TOTAL_ERR_FATAL",
				"aer_dev_nonfatal:TOTAL_ERR_NONFATAL"),
			limits:   increase(doctor.OutcomeFail, "PCI Express Base Specification: data or the link is lost"),
			historic: doctor.OutcomeInfo,
			explanation: prose.Join(`
				The card, or the port above it, reported errors that the link could not repair: lost
				completions, poisoned data, or a link that failed. The driver resets the card, or the node
				hangs. Errors are counted at the end of the link that saw them.`),
			remedy:  "Reseat the card and its riser; update the firmware of the board; then exchange the card.",
			actions: aerActions, sources: []string{sourceAER},
		},
		{
			id: "pcie-corrected-errors", numbers: []int{80}, group: doctor.GroupHost, scope: scopePCI,
			title:    "many corrected PCI Express errors of a compute port's card",
			counters: countersIn(facts.CountersAER, "aer_dev_correctable:TOTAL_ERR_COR"),
			limits:   []counterLimit{{doctor.OutcomeWarn, 10, "1/min", toCalibrate}},
			explanation: prose.Join(`
				The link repairs such errors by sending again. A few are normal; many slow down the card and
				announce worse: bad contact in the slot, a riser or a cable at its limit.`),
			remedy:  "Reseat the card and its riser, and compare with the same slot of another node.",
			actions: aerActions, sources: []string{sourceAER},
		},
		{
			id: "pcie-stalls", numbers: []int{81}, group: doctor.GroupHost, scope: scopeNetdev,
			title:    "card of a compute port that waits for PCI Express",
			counters: countersIn(facts.CountersEthtool, "outbound_pci_stalled_rd", "outbound_pci_stalled_wr"),
			limits:   []counterLimit{{doctor.OutcomeWarn, 5, "%", toCalibrate}},
			compares: "share of the last second that the card waited",
			measure:  measureStalls, once: measureStalls,
			good:     "within the limits in the last second",
			historic: doctor.OutcomeWarn,
			explanation: prose.Join(`
				The share of the last second in which the card had data to move and no credits of the host: the
				memory or the PCI Express path is the bottleneck, not the network. Causes are a narrow link,
				memory on the other socket, an IOMMU that translates, or ACS on the way to a GPU.`),
			remedy: "Check the link of the card (pcie-link), where the memory of the job is, the IOMMU, and " +
				"MaxReadReq.",
			actions: func(s *sample) []doctor.Action {
				return append(aerActions(s), doctor.Shell("rdmactl doctor --only pcie-link"))
			},
			sources: []string{sourceEthtool, sourceMlx5Stat},
		},
		{
			id: "pcie-overflows", numbers: []int{81}, group: doctor.GroupHost, scope: scopeNetdev,
			title:    "packets that a compute port's card dropped because PCI Express was too slow",
			counters: countersIn(facts.CountersEthtool, "outbound_pci_buffer_overflow"),
			limits:   increase(doctor.OutcomeFail, "each is a lost packet"),
			historic: doctor.OutcomeInfo,
			explanation: prose.Join(`
				The card received faster than it could write to the host's memory, and dropped packets. RDMA
				repeats all that follows a lost packet.`),
			remedy:  "As for pcie-stalls.",
			actions: aerActions, sources: []string{sourceEthtool, sourceMlx5Stat},
		},
	}
}

// aerActions look at the link of a card.
func aerActions(s *sample) []doctor.Action {
	address := s.object
	if s.port.dev.PCI == nil {
		return []doctor.Action{doctor.Note("reseat the card, and compare with the same slot of another node")}
	}
	if pciSlot(address) == "" {
		address = s.port.dev.PCI.Address
	}
	return []doctor.Action{
		doctor.Shell("lspci -vv -s %s   # LnkSta, DevSta, UESta and CESta", quote(address)),
		doctor.Shell("journalctl -k | grep -i -e aer -e %s", quote(address)),
		doctor.Note("reseat the card and its riser, and compare with the same slot of another node"),
	}
}
