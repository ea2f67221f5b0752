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

// Firmware is what mstconfig prints of a card: the settings that the operator compares
// (sriov-network-operator, pkg/vendors/mellanox, GetMlxNicFwData). Both ports of a card have
// the same.
type Firmware struct {
	// Current is in force; nil where mstconfig was called without -e, which prints Next alone.
	Current *FirmwareSettings
	// Next is in force after the next boot.
	Next FirmwareSettings
	// Whole reports whether mstconfig was asked for all settings, so that the card doesn't have
	// those that are absent.
	Whole bool
}

// FirmwareSettings are settings of a card.
type FirmwareSettings struct {
	NumOfVFs int  // NUM_OF_VFS
	SRIOV    bool // SRIOV_EN
	// LINK_TYPE_P1 and LINK_TYPE_P2: ETH, IB, or as it stands; "" where the card has no
	// such setting
	LinkTypes [2]string
}

// vfs returns how many VFs the settings give.
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

// isFirmware reports what mstconfig -e -d ADDRESS q prints, for one card or several.
func isFirmware(data []byte) bool {
	// files may have megabytes
	return bytes.Contains(data, []byte("Device #")) && firmwareHead.Match(data) && firmwareText.Match(data)
}

// firmware takes settings of the cards of a node. The text doesn't name the node, so the file does:
// gpu-00.txt, gpu-00.mstconfig.
func (c *collector) firmware(data []byte, name string) error {
	pfs, err := parseFirmware(string(data))
	if err != nil {
		return err
	}
	c.nodes = append(c.nodes, Node{Name: firmwareNode(name), PFs: pfs, Origins: []string{name}})
	return nil
}

// firmwareNode returns the node that a file is named after. Names of nodes may have dots.
func firmwareNode(file string) string {
	name := filepath.Base(file)
	for _, ext := range []string{".txt", ".log", ".mstconfig", ".mlxconfig"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// wholeQuery is how many settings a card has at least: cards have some hundred, and who asks for
// single ones names a few.
const wholeQuery = 24

// parseFirmware reads the cards in a text. Those that aren't named by their PCI address are an
// error, for nothing else tells which they are.
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
					", which is no PCI address: call mstconfig -e -d ADDRESS q with one")
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
		return nil, errors.New("firmware settings of no device")
	}
	return pfs, nil
}

// setting takes a line: the name, and the value at the next boot, or the default, the current and
// that at the next boot.
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

// set takes a value: 8, True(1), IB(1).
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

// shareFirmware gives the settings of a card to all of its ports, which differ in the
// function alone.
func (n *Node) shareFirmware() {
	card := func(p PF) string { address, _, _ := strings.Cut(p.Address, "."); return address }
	for i := range n.PFs {
		if n.PFs[i].Firmware != nil || n.PFs[i].Vendor != k8s.VendorMellanox {
			continue
		}
		told := func(p PF) bool { return p.Firmware != nil && card(p) == card(n.PFs[i]) }
		if j := slices.IndexFunc(n.PFs, told); j >= 0 {
			n.PFs[i].Firmware = n.PFs[j].Firmware
		}
	}
}

// strayFirmware leaves out nodes of which firmware settings alone are known, and says so: the name
// of the file is no node's.
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
			Text:   "firmware settings of node " + n.Name + ", of which nothing else is known",
			Remedy: "name the file after its node: NODE.txt",
		})
	}
	return kept, problems
}
