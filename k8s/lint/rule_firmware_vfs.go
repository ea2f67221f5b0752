package lint

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkFirmwareVFs(p *pass) {
	if p.mellanoxDisabled() {
		return
	}
	wanted := p.firmwareWanted()
	for _, pol := range p.policies {
		if k8s.ValueOf(pol.Value.Spec.ExternallyManaged) || numVfs(pol) <= 0 {
			continue
		}
		var cards []card
		for _, c := range p.cards(pol) {
			if have, ok := c.PF.FirmwareVFs(); ok && have > 0 && have != wanted[chipOf(c)] {
				cards = append(cards, c)
			}
		}
		if len(cards) > 0 {
			have, _ := cards[0].PF.FirmwareVFs()
			p.note(pol.Object, path{"spec", "numVfs"},
				"the operator changes the firmware from %d VFs to %d: %s rebooted",
				have, wanted[chipOf(cards[0])], are(nodesOf(cards), "node")).onCards(cards)
		}
	}
}

// chip identifies a card. All ports of a card have the same PCI address except for the function.
type chip struct {
	node    *source.Node
	address string
}

func chipOf(c card) chip {
	address, _, _ := strings.Cut(c.PF.Address, ".")
	return chip{c.Node, address}
}

// firmwareWanted returns the number of VFs to which the operator sets the firmware of each card.
func (m *model) firmwareWanted() map[chip]int {
	wanted := map[chip]int{}
	for _, pol := range m.policies {
		for _, c := range m.cards(pol) {
			wanted[chipOf(c)] = max(wanted[chipOf(c)], numVfs(pol))
		}
	}
	return wanted
}

// firmwareText returns the number of VFs of the firmware, with its source.
func firmwareText(pf *source.PF) string {
	if pf.Firmware == nil || pf.Firmware.Current == nil {
		return fmt.Sprintf("sriov_totalvfs %d", pf.TotalVFs)
	}
	now, next := *pf.Firmware.Current, pf.Firmware.Next
	text := fmt.Sprintf("NUM_OF_VFS %d and SRIOV_EN %s in the firmware", now.NumOfVFs, onOff(now.SRIOV))
	if next.NumOfVFs != now.NumOfVFs || next.SRIOV != now.SRIOV {
		text += fmt.Sprintf(", after the next boot %d and %s", next.NumOfVFs, onOff(next.SRIOV))
	}
	return text
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// are returns "1 node is", "2 nodes are".
func are(n int, noun string) string {
	if n == 1 {
		return english.Count(n, noun) + " is"
	}
	return english.Count(n, noun) + " are"
}
