package source

import (
	"bytes"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// Firmware contains the settings of a card from the output of mstconfig that the operator compares
// (sriov-network-operator, pkg/vendors/mellanox, GetMlxNicFwData). Both ports of a card have the
// same settings.
type Firmware struct {
	// Current are the settings in effect, nil if mstconfig was called without -e, which prints Next
	// only.
	Current *FirmwareSettings
	// Next are the settings after the next boot.
	Next FirmwareSettings
	// Whole reports whether the output has all settings, so that the card doesn't support missing
	// ones.
	Whole bool
}

// FirmwareSettings are settings of a card.
type FirmwareSettings struct {
	NumOfVFs int  // NUM_OF_VFS
	SRIOV    bool // SRIOV_EN
	// LINK_TYPE_P1 and LINK_TYPE_P2: ETH, IB, or another value as printed; "" if the card has no
	// such setting
	LinkTypes [2]string
}

// vfs returns the number of VFs with these settings.
func (s FirmwareSettings) vfs() int {
	if !s.SRIOV {
		return 0
	}
	return s.NumOfVFs
}

var (
	firmwareText   = regexp.MustCompile(`(?m)^\*?[ \t]*(NUM_OF_VFS|SRIOV_EN)[ \t]+\S`)
	firmwareHead   = regexp.MustCompile(`(?m)^Device #\d+:`)
	firmwareDevice = regexp.MustCompile(
		`^Device:[ \t]+(?:([0-9a-fA-F]{4}):)?([0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])[ \t\r]*$`)
)

// isFirmware reports whether data is the output of mstconfig -e -d ADDRESS q, for one or more
// cards.
func isFirmware(data []byte) bool {
	// files may have megabytes
	return bytes.Contains(data, []byte("Device #")) && firmwareHead.Match(data) && firmwareText.Match(data)
}

// firmware reads the settings of a node's cards. The text doesn't contain the name of the node, so
// the file has it: gpu-00.txt, gpu-00.mstconfig.
func (c *collector) firmware(data []byte, name string) error {
	pfs, err := parseFirmware(string(data))
	if err != nil {
		return err
	}
	c.nodes = append(c.nodes, Node{Name: firmwareNode(name), PFs: pfs, Origins: []string{name}})
	return nil
}

// firmwareNode returns the name of the node from a file name. Names of nodes may contain dots.
func firmwareNode(file string) string {
	name := filepath.Base(file)
	for _, ext := range []string{".txt", ".log", ".mstconfig", ".mlxconfig"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// wholeQuery is the minimum number of settings in a complete output. Cards have a hundred or more;
// queries of single settings have only a few.
const wholeQuery = 24

// parseFirmware reads the cards in a text. A card without its PCI address is an error, because it
// can't be identified.
func parseFirmware(text string) ([]PF, error) {
	var pfs []PF
	var at *Firmware
	lines := map[*Firmware]int{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "Device #") {
			at = nil
		}
		if rest, ok := strings.CutPrefix(line, "Device:"); ok {
			m := firmwareDevice.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if m == nil {
				return nil, errors.New("firmware settings of device " + strings.TrimSpace(rest) +
					", which is not a PCI address: run mstconfig -e -d ADDRESS q with a PCI address")
			}
			domain := m[1]
			if domain == "" {
				domain = "0000"
			}
			at = &Firmware{}
			pfs = append(pfs,
				PF{Address: strings.ToLower(domain + ":" + m[2]), Vendor: k8s.VendorMellanox, Firmware: at})
		}
		if at != nil {
			fields := strings.Fields(strings.TrimPrefix(line, "*"))
			at.setting(fields)
			if len(fields) == 2 || len(fields) == 4 {
				lines[at]++
			}
			at.Whole = lines[at] >= wholeQuery
		}
	}
	if len(pfs) == 0 {
		return nil, errors.New("firmware settings without a device")
	}
	return pfs, nil
}

// setting reads the fields of a line: the name and the value after the next boot, or the name and
// the default, current and next value.
func (f *Firmware) setting(fields []string) {
	switch len(fields) {
	case 4:
		if f.Current == nil && slices.Contains([]string{"NUM_OF_VFS", "SRIOV_EN"}, fields[0]) {
			f.Current = &FirmwareSettings{}
		}
		if f.Current != nil {
			f.Current.set(fields[0], fields[2])
		}
		f.Next.set(fields[0], fields[3])
	case 2:
		f.Next.set(fields[0], fields[1])
	}
}

// set sets a value: 8, True(1), IB(1).
func (s *FirmwareSettings) set(name, value string) {
	switch name {
	case "NUM_OF_VFS":
		if n, err := strconv.Atoi(value); err == nil {
			s.NumOfVFs = n
		}
	case "SRIOV_EN":
		s.SRIOV = strings.Contains(value, "True")
	case "LINK_TYPE_P1", "LINK_TYPE_P2":
		kind, _, _ := strings.Cut(value, "(")
		s.LinkTypes[name[len(name)-1]-'1'] = kind
	}
}

// shareFirmware copies the settings of a card to all of its ports, whose addresses differ only in
// the function.
func (n *Node) shareFirmware() {
	card := func(p PF) string { address, _, _ := strings.Cut(p.Address, "."); return address }
	for i := range n.PFs {
		if n.PFs[i].Firmware != nil || n.PFs[i].Vendor != k8s.VendorMellanox {
			continue
		}
		known := func(p PF) bool { return p.Firmware != nil && card(p) == card(n.PFs[i]) }
		if j := slices.IndexFunc(n.PFs, known); j >= 0 {
			n.PFs[i].Firmware = n.PFs[j].Firmware
		}
	}
}

// strayFirmware removes nodes about which only firmware settings are known, and reports them as
// problems: the file doesn't have the name of a node.
func strayFirmware(nodes []Node) (kept []Node, problems []manifest.Problem) {
	for i := range nodes {
		n := &nodes[i]
		stray := !n.CardsKnown && n.Labels == nil &&
			slices.ContainsFunc(n.PFs, func(p PF) bool { return p.Firmware != nil })
		if !stray {
			kept = append(kept, *n)
			continue
		}
		problems = append(problems, manifest.Problem{
			At: manifest.Region{Pos: manifest.Pos{File: n.Origins[0]}}, Type: manifest.ProblemNode,
			Text:   "firmware settings of node " + n.Name + ", about which nothing else is known",
			Remedy: "give the file the name of its node: NODE.txt",
		})
	}
	return kept, problems
}
