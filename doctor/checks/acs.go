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
	"github.com/rdmakit/rdmakit/inventory"
)

func acs() doctor.Check {
	return doctor.Check{
		ID: "acs", Title: "ACS that redirects traffic between GPU and card", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupHost, Numbers: []int{78}, Facts: []facts.Kind{facts.KindPCI},
		Reads: slices.Concat([]string{pciFiles("iommu_group/type")}, machineFiles()),
		Explanation: prose.Join(`
			Access Control Services of a switch or root port can redirect requests between two devices below
			it up to the root complex. GPUDirect RDMA then takes the way through the processor: it is slow,
			fails, or hangs. Only the redirect bits matter; source validation alone (SrcValid+) does no harm.
			Virtual machines need ACS, for isolation.`),
		Remedy: "Disable ACS in the BIOS, or clear the redirect bits of the bridges with setpci at every boot.",
		Sources: []string{
			"PCI Express Base Specification, Access Control Services", "include/uapi/linux/pci_regs.h (PCI_ACS_RR)",
			"NCCL user guide, troubleshooting, PCI Access Control Services", "NVIDIA/nccl#304", "NVIDIA/nccl#2079",
		},
		Run: runACS,
	}
}

// redirectBits are the bits of the ACS control register that send requests and completions up.
const redirectBits = facts.ACSRequestRedirect | facts.ACSCompletionRedirect

// turn is a bridge below which a GPU or card is, and at which the way to a peer turns.
type turn struct {
	bridge string
	from   string // the GPU or card below it
	to     string // a peer
	far    bool   // a root port: the way turns in the root complex
}

func runACS(_ context.Context, in *doctor.Input) []doctor.Finding {
	m := machineOf(in)
	if m.virtual {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"in a virtual machine (%s) the host's bridges decide, which the guest can't see", m.proof)}
	}
	all := turns(in.Snapshot)
	if len(all) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"no GPU shares a switch or root complex with another GPU or a compute card")}
	}
	var findings, far []doctor.Finding
	var unread []string
	var good []doctor.Evidence
	visible := false
	for _, t := range all {
		f := pciFunction(in, t.bridge)
		visible = visible || hasFunction(in, t.bridge)
		switch {
		case f == nil || f.Partial:
			unread = append(unread, fmt.Sprintf("%s (%s)", t.bridge, whyUnread(in, t.bridge)))
		case f.ACS == nil: // nothing redirects
			good = append(good, configEvidence(t.bridge, "ACSCtl", "no ACS capability"))
		case f.ACS.Control&redirectBits == 0:
			good = append(good, configEvidence(t.bridge, "ACSCtl", acsText(f.ACS.Control)))
		case t.far && !translates(in, t):
			good = append(good, configEvidence(t.bridge, "ACSCtl", acsText(f.ACS.Control)))
		case t.far:
			far = append(far, redirected(t, f.ACS))
		default:
			findings = append(findings, redirected(t, f.ACS))
		}
	}
	if len(far) > 0 {
		findings = append(findings, rootPorts(far))
	}
	switch {
	case !visible:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"the configuration space of the bridges between GPUs and cards is not visible")}
	case len(unread) > 0:
		return append(findings, doctor.Unknown(doctor.ObjectNode, "the ACS of %d of %s between GPUs and cards is not "+
			"known: %s", len(unread), english.Count(len(all), "bridge"), english.List(unread, 2)))
	case len(findings) > 0:
		return findings
	}
	return []doctor.Finding{doctor.Passed(doctor.ObjectNode,
		"no bridge redirects traffic between GPUs and cards: "+english.Count(len(good), "bridge"), good...)}
}

// whyUnread returns why the ACS of a bridge is not known.
func whyUnread(in *doctor.Input, bridge string) string {
	for _, f := range in.Facts.PCI.Value {
		switch {
		case f.Address != bridge:
		case f.Error != "":
			return f.Error
		case f.Partial:
			return "only the first 256 bytes of its configuration space can be read"
		}
	}
	return "its configuration space is not visible"
}

// turns returns the bridges at which ways between GPUs and cards turn, each once. A redirection
// elsewhere on the way changes nothing, because the way goes up there anyway.
func turns(s *inventory.Snapshot) []turn {
	var out []turn
	add := func(a, b *inventory.PCI) {
		n := 0
		for n < len(a.Chain) && n < len(b.Chain) && a.Chain[n] == b.Chain[n] {
			n++
		}
		rooted := len(a.Chain) > 0 && strings.HasPrefix(a.Chain[0], "pci")
		if n == 0 && rooted {
			n = 1 // another root complex: the way turns above the root port
		}
		if n == 0 || n >= len(a.Chain) || n >= len(b.Chain) {
			return // functions of the same slot, or the bridges are not known
		}
		if !slices.ContainsFunc(out, func(t turn) bool { return t.bridge == a.Chain[n] }) {
			out = append(out, turn{bridge: a.Chain[n], from: a.Address, to: b.Address, far: n == 1 && rooted})
		}
	}
	gpus := drivenGPUs(s)
	for i := range gpus {
		for j := range gpus {
			if i != j {
				add(&gpus[i].PCI, &gpus[j].PCI)
			}
		}
		for _, p := range computePorts(s) {
			add(&gpus[i].PCI, p.dev.PCI)
			add(p.dev.PCI, &gpus[i].PCI)
		}
	}
	slices.SortFunc(out, func(a, b turn) int { return strings.Compare(a.bridge, b.bridge) })
	return out
}

// translates reports whether the IOMMU translates what the root complex gets from the device.
func translates(in *doctor.Input, t turn) bool {
	domain, err := in.Facts.Files.Text(function(t.from) + "/iommu_group/type")
	return err == nil && strings.HasPrefix(domain, "DMA")
}

func redirected(t turn, a *facts.ACS) doctor.Finding {
	f := doctor.Finding{
		Outcome: doctor.OutcomeWarn, Object: t.bridge, Kind: doctor.KindPCI,
		Summary:  fmt.Sprintf("ACS sends what %s and %s exchange through the root complex", t.from, t.to),
		Evidence: []doctor.Evidence{configEvidence(t.bridge, "ACSCtl", acsText(a.Control))},
		Actions: []doctor.Action{
			doctor.Note("disable ACS in the BIOS if there are no virtual machines on this node; until the next boot:"),
			doctor.Shell("setpci -s %s ECAP_ACS+6.w=0000:%04x   # the redirect bits only", quote(t.bridge),
				redirectBits),
			doctor.Shell("lspci -vvv -s %s | grep ACSCtl   # want ReqRedir- CmpltRedir-", quote(t.bridge)),
		},
	}
	if a.Control&facts.ACSDirectTranslated != 0 {
		f.Outcome = doctor.OutcomeInfo
		f.Explanation = "The bridge also lets requests with translated addresses through (DirectTrans+). With " +
			"address translation services (ATS) on, GPU and card then reach each other directly, which is how " +
			"virtual machines use GPUDirect RDMA. Without virtual machines disable ACS."
	}
	return f
}

// rootPorts joins the findings of root ports, where one setting redirects all.
func rootPorts(far []doctor.Finding) doctor.Finding {
	f := doctor.Finding{
		Outcome: far[0].Outcome, Object: doctor.ObjectNode, Explanation: far[0].Explanation,
		Summary: fmt.Sprintf("ACS of %s sends what GPUs and cards exchange through the IOMMU, which translates it",
			english.Count(len(far), "root port")),
		Actions: []doctor.Action{
			doctor.Note("boot with iommu=pt, or disable ACS in the BIOS; until the next boot:"),
		},
	}
	for _, one := range far {
		f.Evidence = append(f.Evidence, one.Evidence...)
		f.Actions = append(f.Actions, one.Actions[1])
	}
	return f
}

// acsText returns the register in the words of lspci.
func acsText(register uint16) string {
	names := []string{"SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans"}
	for i, name := range names {
		sign := "-"
		if register>>i&1 == 1 {
			sign = "+"
		}
		names[i] = name + sign
	}
	return strings.Join(names, " ")
}
