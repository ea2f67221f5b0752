package lint

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func firmwareVFs() Rule {
	return Rule{
		ID: "firmware-vfs", Title: "a number of VFs other than the firmware's, which reboots nodes",
		Severity: SeverityNote, Nodes: true,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			The operator sets NUM_OF_VFS in the firmware of NVIDIA's cards to exactly numVfs, on
			a card with two ports to the larger of both, and every difference means a drain and
			a reboot: from 8 to 4 as well as from 4 to 8, and for 8 of 16. The firmware's number
			is taken from the output of mstconfig among the files of --nodes (NODE.txt), and
			without it from sriov_totalvfs. rdmactl k8s impact says which nodes are concerned
			and in what order.`),
		Remedy: "write the number that the firmware has, set externallyManaged, or disable the plugin mellanox " +
			"and set the firmware beforehand",
		Wrong: "  numVfs: 4",
		Right: "  numVfs: 8",
		Reports: []string{
			"k8snetworkplumbingwg/sriov-network-operator#225", "k8snetworkplumbingwg/sriov-network-operator#306",
			"openshift/sriov-network-operator#51", "openshift/sriov-network-operator#67",
		},
		Sources: []string{srcMellanox},
		check: func(p *pass) {
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
					p.note(pol.Object, path{"spec", "numVfs"}, "the firmware has %d VFs and is set to %d: %s rebooted",
						have, wanted[chipOf(cards[0])], are(nodesOf(cards), "node")).onCards(cards)
				}
			}
		},
	}
}

// chip is the card of a port: all ports of one have the same address but for the function.
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

// firmwareText tells where the number of VFs that the firmware gives was read.
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
