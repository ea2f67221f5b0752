package checks

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func pcieLink() doctor.Check {
	return doctor.Check{
		ID:       "pcie-link",
		Title:    "PCI Express link of a compute port's card that limits its rate",
		Severity: doctor.OutcomeWarn,
		Group:    doctor.GroupHost, Numbers: []int{76},
		Needs: doctor.NeedDevices,
		Reads: slices.Concat([]string{
			pciFiles("current_link_speed"), pciFiles("current_link_width"), pciFiles("max_link_speed"),
			pciFiles("max_link_width"),
		}, machineFiles()),
		Explanation: prose.Join(`
			A card negotiates speed and width with its slot. If the result is below what the card
			can do and carries less than the port's rate, the port never reaches its rate, without
			an error anywhere: a card in a narrow slot, a riser or cable with bad contact, a lower
			speed in the BIOS. The same holds for each link between the card and the processor. Ports
			of one card that together exceed its link are a note: cards with several ports are often
			sold so.`),
		Remedy: "Reseat the card or use a slot with all lanes; compare with the same slot of another node.",
		Sources: []string{
			"drivers/pci/pci-sysfs.c (current_link_speed, max_link_width)",
			"PCI Express Base Specification, encoding of each generation", "NVIDIA/nccl-tests#106",
		},
		Run: runPCIeLink,
	}
}

// pciFiles returns the pattern for a file of all PCI functions, for Check.Reads.
func pciFiles(name string) string { return "/" + sysfs.BusPCIDevices + "/*/" + name }

func runPCIeLink(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	unknown := 0
	var fit []portRef // ports that their link doesn't limit
	for p := range ports(in.Snapshot) {
		if p.port.Role != inventory.RoleCompute || p.dev.PCI == nil {
			continue
		}
		now, most := p.dev.PCI.Link, p.dev.PCI.LinkMax
		if now == nil || most == nil {
			unknown++
			continue
		}
		capacity := linkGbPerSecond(now)
		limits := p.port.Rate != nil && p.active() && capacity < p.port.Rate.GbPerSecond
		if evidence := linkEvidence(p.dev); len(evidence) > 0 && limits {
			findings = append(findings, doctor.Finding{
				Outcome: doctor.OutcomeWarn, Object: p.object(), Evidence: evidence,
				Summary: fmt.Sprintf("the PCI Express link carries %.0f Gb/s, the port %s: x%d at %g GT/s "+
					"instead of x%d at %g GT/s", capacity, gigabits(p.port.Rate.GbPerSecond), now.Width,
					now.GTPerSecond, most.Width, most.GTPerSecond),
				Remedy: []string{
					"lspci -vv -s " + quote(p.dev.PCI.Address) + "   # LnkCap and LnkSta",
					"# reseat the card, or move it to a slot with all lanes; check the speed of the slot in the BIOS",
				},
			})
			continue
		}
		if f, slow := slowBridge(in, p); slow {
			findings = append(findings, f)
			continue
		}
		fit = append(fit, p)
		good = append(good, doctor.Evidence{Path: p.dev.PCI.Path + "/current_link_width", Value: fmt.Sprint(now.Width)})
	}
	notes := sharedLinks(fit)
	switch {
	case len(findings) > 0:
		return append(findings, notes...)
	case len(good) == 0 && unknown > 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"the PCI Express links of the compute ports are not known (not recorded, or virtual functions)")}
	case len(good) == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"%s", noneOf(in.Snapshot, "no compute port is on a PCI card"))}
	}
	return append([]doctor.Finding{doctor.Passed(doctor.ObjectNode, "no PCI Express link limits "+
		english.Count(len(good), "compute port"), good...)}, notes...)
}

// sharedLinks returns a note for each card whose active ports together exceed its PCI Express link.
// Virtual functions share a port, so their rates can't be added.
func sharedLinks(fit []portRef) []doctor.Finding {
	fit = slices.DeleteFunc(slices.Clone(fit), func(p portRef) bool {
		return !p.active() || p.port.Rate == nil || p.dev.VF != nil
	})
	var notes []doctor.Finding
	for _, g := range groupBy(fit, slot) {
		sum, link := 0.0, g.members[0].dev.PCI.Link
		for _, p := range g.members {
			sum += p.port.Rate.GbPerSecond
		}
		capacity := linkGbPerSecond(link)
		if len(g.members) < 2 || sum <= capacity {
			continue
		}
		f := doctor.Finding{
			Outcome: doctor.OutcomeInfo, Object: g.members[0].object(),
			Summary: fmt.Sprintf("%s share a PCI Express link of %.0f Gb/s (x%d at %g GT/s), and have %s together: %s",
				english.Count(len(g.members), "compute port"), capacity, link.Width, link.GTPerSecond,
				gigabits(sum), objects(g.members, 4)),
			Explanation: "The ports can't all run at their rates at once. Cards with several ports are often sold " +
				"so; don't expect the sum of the rates from a job that uses them all.",
			Evidence: []doctor.Evidence{
				pciEvidence(g.members[0].dev, "current_link_speed", transfers(link.GTPerSecond)),
				pciEvidence(g.members[0].dev, "current_link_width", strconv.Itoa(link.Width)),
			},
		}
		for _, p := range g.members {
			f.Evidence = append(f.Evidence, p.evidence("rate", rawRate(p.port.Rate)))
		}
		notes = append(notes, f)
	}
	slices.SortFunc(notes, func(a, b doctor.Finding) int { return strings.Compare(a.Object, b.Object) })
	return notes
}

// slot returns the PCI address without the function: the functions of a slot share its link.
func slot(p portRef) string {
	s, _, _ := strings.Cut(p.dev.PCI.Address, ".")
	return s
}

// pciEvidence returns a value in a file of a device's PCI function.
func pciEvidence(d *inventory.Device, file, value string) doctor.Evidence {
	return doctor.Evidence{Path: path.Join(d.PCI.Path, file), Value: value}
}

// linkGbPerSecond returns what a PCI Express link carries before headers: 8b/10b encoding up to
// 5 GT/s, 128b/130b up to 32 GT/s, and flits without encoding at 64 GT/s.
func linkGbPerSecond(l *inventory.PCILink) float64 {
	efficiency := 1.0
	switch {
	case l.GTPerSecond <= 5:
		efficiency = 8.0 / 10
	case l.GTPerSecond <= 32:
		efficiency = 128.0 / 130
	}
	return l.GTPerSecond * float64(l.Width) * efficiency
}
