package checks

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/inventory"
)

// slowBridge returns the finding for the slowest link between the card's slot and the processor, if
// it carries less than the port's rate and less than both of its ends can. A link that is narrow by
// design, such as that above a card and a GPU which reach each other below it, is no fault, nor is
// that of a virtual machine's bridge.
func slowBridge(in *doctor.Input, p portRef) (doctor.Finding, bool) {
	if p.port.Rate == nil || !p.active() || machineOf(in).virtual {
		return doctor.Finding{}, false
	}
	bridges := slices.DeleteFunc(slices.Clone(p.dev.PCI.Chain),
		func(name string) bool { return strings.HasPrefix(name, "pci") })
	var slow, most *inventory.PCILink
	at := ""
	// A root port and the port of a switch below it are the ends of one link, then come a port of
	// the switch and what is below that. The link of the last one is the card's.
	for i := 0; i+1 < len(bridges); i += 2 {
		link := linkOf(in, bridges[i], "current_link_speed", "current_link_width")
		can := lesser(linkOf(in, bridges[i], "max_link_speed", "max_link_width"),
			linkOf(in, bridges[i+1], "max_link_speed", "max_link_width"))
		if link == nil || can == nil || linkGbPerSecond(link) >= min(p.port.Rate.GbPerSecond, linkGbPerSecond(can)) {
			continue
		}
		if slow == nil || linkGbPerSecond(link) < linkGbPerSecond(slow) {
			slow, most, at = link, can, bridges[i]
		}
	}
	if slow == nil {
		return doctor.Finding{}, false
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomeWarn, Object: p.object(),
		Summary: fmt.Sprintf("the PCI Express link of the bridge %s, above the card, carries %.0f Gb/s, the port %s: "+
			"x%d at %g GT/s instead of x%d at %g GT/s", at, linkGbPerSecond(slow), gigabits(p.port.Rate.GbPerSecond),
			slow.Width, slow.GTPerSecond, most.Width, most.GTPerSecond),
		Actions: []doctor.Action{
			doctor.Shell("lspci -vv -s %s   # LnkCap and LnkSta", quote(at)),
			doctor.Note("compare with the same bridge of another node; reseat the riser or the switch board"),
		},
	}
	for _, file := range []string{"current_link_speed", "current_link_width"} {
		name := path.Join(function(at), file)
		text, _ := in.Facts.Files.Text(name) // read above
		f.Evidence = append(f.Evidence, fileEvidence(name, text))
	}
	return f, true
}

// lesser returns the link that carries less, or the one that is known.
func lesser(a, b *inventory.PCILink) *inventory.PCILink {
	if a == nil || b != nil && linkGbPerSecond(b) < linkGbPerSecond(a) {
		return b
	}
	return a
}

// linkOf reads the speed and width of a function's link; nil if it has none, is a hypervisor's, or
// could not be read.
func linkOf(in *doctor.Input, addr, speed, width string) *inventory.PCILink {
	files := in.Facts.Files
	vendor, _ := files.Text(path.Join(function(addr), "vendor"))
	if vendor == "0x1b36" || vendor == "0x1af4" { // QEMU's bridges
		return nil
	}
	text, err1 := files.Text(path.Join(function(addr), speed))
	lanes, err2 := files.Text(path.Join(function(addr), width))
	number, _, _ := strings.Cut(text, " ")
	rate, err3 := strconv.ParseFloat(number, 64)
	n, err4 := strconv.Atoi(lanes)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || n <= 0 || n > 64 || rate <= 0 {
		return nil
	}
	return &inventory.PCILink{GTPerSecond: rate, Width: n}
}
