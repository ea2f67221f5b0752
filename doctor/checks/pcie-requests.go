package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func pcieRequests() doctor.Check {
	return doctor.Check{
		ID: "pcie-requests", Title: "PCI Express packets of a compute card that are too small",
		Severity: doctor.OutcomeWarn,
		Group:    doctor.GroupHost, Numbers: []int{77}, Facts: []facts.Kind{facts.KindPCI}, Reads: machineFiles(),
		Thresholds: []doctor.Threshold{
			{
				Name: "pcie-read-request-warn", Value: 512, Unit: "bytes",
				What:   "a smaller MaxReadReq of a card is a warning",
				Source: "to be calibrated; 512 bytes is what most firmware sets",
			},
			{
				Name: "pcie-read-request-note", Value: 4096, Unit: "bytes",
				What:   "a smaller MaxReadReq of a card is a note",
				Source: "NVIDIA's and AMD's tuning guides for InfiniBand",
			},
		},
		Explanation: prose.Join(`
			A card reads what it sends in requests of at most MaxReadReq bytes, and everything travels in packets
			of at most MaxPayload bytes, each with a header of about 26 bytes. With small ones a fast card does
			not reach its rate when it sends. Where a card's packets are larger than a bridge above it accepts,
			they are errors.`),
		Remedy: prose.Join(`
			Set both in the BIOS. MaxReadReq can also be set with setpci in bits 14:12 of the Device Control
			register (CAP_EXP+8; 5 is 4096 bytes), at every boot. Compare with another node first.`),
		Sources: []string{
			"PCI Express Base Specification, Device Control Register; include/uapi/linux/pci_regs.h (PCI_EXP_DEVCTL)",
			"drivers/pci/probe.c (pci_configure_mps)",
		},
		Run: runPCIeRequests,
	}
}

func runPCIeRequests(_ context.Context, in *doctor.Input) []doctor.Finding {
	if why := notOwnRegisters(in); why != "" {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s", why)}
	}
	var findings []doctor.Finding
	var good []doctor.Evidence
	for _, g := range groupBy(computePorts(in.Snapshot), func(p portRef) string { return p.dev.PCI.Address }) {
		p := g.members[0]
		f := pciFunction(in, g.value)
		if f == nil || f.Express == nil || p.dev.VF != nil { // a VF's sizes are its PF's
			continue
		}
		finding, ok := requestFinding(in, p, f.Express)
		if !ok {
			good = append(good, sizeEvidence(g.value, f.Express)...)
			continue
		}
		finding.Evidence = append(finding.Evidence, sizeEvidence(g.value, f.Express)...)
		findings = append(findings, finding)
	}
	slices.SortFunc(findings, func(a, b doctor.Finding) int { return strings.Compare(a.Object, b.Object) })
	switch {
	case len(good) > 0:
		return append([]doctor.Finding{doctor.Passed(doctor.ObjectNode, "the sizes of "+
			english.Count(len(good)/2, "compute card")+" are large enough", good...)}, findings...)
	case len(findings) == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s",
			noneOf(in.Snapshot, "the configuration space of no compute card is visible"))}
	}
	return findings
}

// notOwnRegisters returns why the registers of cards don't show what is in force, or "".
func notOwnRegisters(in *doctor.Input) string {
	if m := machineOf(in); m.virtual {
		return fmt.Sprintf("in a virtual machine (%s) the host's registers are in force", m.proof)
	}
	return ""
}

func sizeEvidence(addr string, e *facts.PCIExpress) []doctor.Evidence {
	return []doctor.Evidence{
		configEvidence(addr, "DevCtl.MaxReadReq", fmt.Sprint(e.MaxReadRequest)),
		configEvidence(addr, "DevCtl.MaxPayload", fmt.Sprint(e.MaxPayload)),
	}
}

func requestFinding(in *doctor.Input, p portRef, e *facts.PCIExpress) (doctor.Finding, bool) {
	addr := p.dev.PCI.Address
	f := doctor.Finding{Object: addr, Kind: doctor.KindPCI}
	for _, bridge := range p.dev.PCI.Chain {
		b := pciFunction(in, bridge)
		if b == nil || b.Express == nil || b.Express.MaxPayload == 0 || b.Express.MaxPayload >= e.MaxPayload {
			continue
		}
		f.Outcome = doctor.OutcomeWarn
		f.Summary = fmt.Sprintf("the card sends packets of up to %d bytes, the bridge %s above it accepts %d",
			e.MaxPayload, bridge, b.Express.MaxPayload)
		f.Evidence = []doctor.Evidence{configEvidence(bridge, "DevCtl.MaxPayload", fmt.Sprint(b.Express.MaxPayload))}
		f.Actions = []doctor.Action{
			doctor.Note("boot with pci=pcie_bus_safe, so that the kernel gives all functions the size that all accept"),
		}
		return f, true
	}
	if rate, carried := payloadLimit(p, e); e.MaxPayload > 0 && carried < rate {
		f.Outcome = doctor.OutcomeWarn
		f.Summary = fmt.Sprintf("with packets of %d bytes the link carries %.0f Gb/s, the port %s", e.MaxPayload,
			carried,
			gigabits(rate))
		f.Actions = []doctor.Action{doctor.Note("raise the maximum payload in the BIOS; the card can %d bytes",
			e.MaxPayloadSupported)}
		return f, true
	}
	size := float64(e.MaxReadRequest)
	switch {
	case e.MaxReadRequest == 0 || size >= in.Threshold("pcie-read-request-note"):
		return f, false
	case size < in.Threshold("pcie-read-request-warn"):
		f.Outcome = doctor.OutcomeWarn
	default:
		f.Outcome = doctor.OutcomeInfo
		f.Explanation = "Most firmware sets 512 bytes, and most cards reach their rate with it. Tuning guides want " +
			"4096; try it if a card receives at its rate and sends below it."
	}
	f.Summary = fmt.Sprintf("the card reads memory in requests of at most %d bytes", e.MaxReadRequest)
	f.Actions = []doctor.Action{
		doctor.Shell("setpci -s %s CAP_EXP+8.w=5000:7000   # bits 14:12 of Device Control: 5 is 4096 bytes",
			quote(addr)),
		doctor.Note("the register is lost at the next reset or boot: repeat setpci in a unit that runs before jobs, " +
			"or set Maximum Read Request in the BIOS, where it has that setting"),
	}
	return f, true
}

// payloadLimit returns the rate of a port, and what its card's link carries in packets of the
// maximum payload: each has a header of 16 bytes, and 10 bytes of the layers below.
func payloadLimit(p portRef, e *facts.PCIExpress) (rate, carried float64) {
	const overhead = 26
	if e.Link == nil || p.port.Rate == nil || !p.active() {
		return 0, 0
	}
	if linkGbPerSecond(e.Link) < p.port.Rate.GbPerSecond { // the link is too slow in any case
		return 0, 0
	}
	return p.port.Rate.GbPerSecond, linkGbPerSecond(e.Link) * float64(e.MaxPayload) / float64(e.MaxPayload+overhead)
}
