package source

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/rdmakit/rdmakit/k8s"
)

// Selection is a PF of a node that a policy selects.
type Selection struct {
	Node *Node // whose card it is
	PF   *PF   // the card
	// First and Last are the VFs that the policy means; Last is -1 for none.
	First, Last int
	// Maybe reports whether labels of the node are unknown.
	Maybe bool
}

// String names the PF: "0000:3b:00.0 (ens1f0np0)".
func (s Selection) String() string {
	if s.PF.Netdev != "" {
		return fmt.Sprintf("%s (%s)", s.PF.Address, s.PF.Netdev)
	}
	return s.PF.Address
}

// Select returns the PFs that a policy selects, in the order of the nodes and of their PFs, as the
// operator does: the nodeSelector takes nodes by their labels, and all fields of nicSelector have
// to fit. Nodes whose labels are not known are taken. The selections point into nodes.
func Select(spec k8s.PolicySpec, nodes []Node) []Selection {
	var out []Selection
	for i := range nodes {
		n := &nodes[i]
		selected, maybe := n.Selected(spec.NodeSelector)
		if !selected && !maybe {
			continue
		}
		for j := range n.PFs {
			if first, last, ok := n.PFs[j].Matches(spec); ok {
				out = append(out, Selection{Node: n, PF: &n.PFs[j], First: first, Last: last, Maybe: maybe})
			}
		}
	}
	return out
}

// Matches judges a PF by the nicSelector of a policy, and returns the VFs that the policy means:
// none, with last -1, where it has no number of VFs or the operator can't read their range.
func (p PF) Matches(spec k8s.PolicySpec) (first, last int, ok bool) {
	if !p.Selected(spec.NicSelector) {
		return 0, 0, false
	}
	if first, last, err := p.VFs(spec); err == nil {
		return first, last, true
	}
	return 0, -1, true
}

// Selected judges a PF by a nicSelector (sriov-network-operator, api/v1/helper.go, Selected): an
// alternative name selects as the name does. A PF without a network device is invisible to the
// operator; net filters belong to virtual clouds and match nothing here.
func (p PF) Selected(s k8s.NicSelector) bool {
	switch {
	case s.Empty(), p.Netdev == "", s.NetFilter != "":
		return false
	case s.Vendor != "" && s.Vendor != p.Vendor, s.DeviceID != "" && s.DeviceID != p.DeviceID:
		return false
	case len(s.RootDevices) > 0 && !slices.Contains(s.RootDevices, p.Address):
		return false
	}
	return len(s.PfNames) == 0 ||
		slices.ContainsFunc(s.PfNames, func(text string) bool { return p.Named(PFNameOf(text)) })
}

// VFs returns the VFs that a policy means of a PF that it selects (sriov-network-operator,
// api/v1/helper.go, generatePfNameVfGroup). A range counts behind the name that the PF has itself:
// one behind an alternative name is passed over, and all VFs are meant. Entries are read up to the
// one that counts; one that can't be read is an error, with which the operator gives up.
func (p PF) VFs(spec k8s.PolicySpec) (first, last int, err error) {
	last = k8s.ValueOf(spec.NumVfs) - 1
	for _, text := range spec.NicSelector.PfNames {
		n, err := readPFName(text)
		switch {
		case err != nil:
			return 0, 0, err
		case n.Name != p.Netdev:
		case n.Ranged:
			return n.First, n.Last, nil
		default:
			return 0, last, nil
		}
	}
	return 0, last, nil
}

// PFName is an entry of pfNames: a network device, with a range of VFs or without.
type PFName struct {
	Name        string // of the network device
	Ranged      bool   // with #FIRST-LAST behind the name
	First, Last int    // VFs, from 0
}

// PFNameOf returns the name in an entry of pfNames by which the operator selects PFs, whatever
// follows it.
func PFNameOf(text string) string {
	name, _, _ := strings.Cut(text, "#")
	return name
}

// readPFName reads an entry as the operator's controller does (api/v1/helper.go, ParseVfRange):
// what follows a second # or dash is passed over, and "ens1f0#" is a name as it stands, which no
// PF has.
func readPFName(text string) (PFName, error) {
	parts := strings.Split(text, "#")
	if len(parts) < 2 || parts[1] == "" {
		return PFName{Name: text}, nil
	}
	first, last, err := ReadVFRange(parts[1])
	if err != nil {
		return PFName{}, fmt.Errorf("pfNames: %q: %w", text, err)
	}
	return PFName{Name: parts[0], Ranged: true, First: first, Last: last}, nil
}

// ReadVFRange reads "0-3" as the operator does (api/v1/helper.go, parseRange), wherever it stands:
// nothing tells whether there are such VFs, or whether the first comes first.
func ReadVFRange(text string) (first, last int, err error) {
	parts := strings.Split(text, "-")
	if len(parts) < 2 {
		return 0, 0, fmt.Errorf("%q is no range of VFs", text)
	}
	first, err1 := strconv.Atoi(parts[0])
	last, err2 := strconv.Atoi(parts[1])
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, fmt.Errorf("%q is no range of VFs", text)
	}
	return first, last, nil
}

var pfNameForm = regexp.MustCompile(`^([^#]+)#(\d+)-(\d+)$`)

// ParsePFName reads "ens1f0" and "ens1f0#0-3", and is an error where an entry is wrong: where the
// operator's webhook refuses it (pkg/webhook/validate.go), or no network device can have the
// name. What the operator makes of a wrong one where the webhook is off, as it is by default,
// Matches tells.
func ParsePFName(s string) (PFName, error) {
	if s == "" || strings.ContainsFunc(s, unicode.IsSpace) { // the kernel refuses names with blanks (dev_valid_name)
		return PFName{}, fmt.Errorf("%q is no name of a network device", s)
	}
	if !strings.Contains(s, "#") {
		return PFName{Name: s}, nil
	}
	m := pfNameForm.FindStringSubmatch(s)
	if m == nil {
		return PFName{}, fmt.Errorf("%q is not NAME#FIRST-LAST", s)
	}
	first, err1 := strconv.Atoi(m[2])
	last, err2 := strconv.Atoi(m[3])
	if err := errors.Join(err1, err2); err != nil {
		return PFName{}, fmt.Errorf("the range of %q: %w", s, err)
	}
	if first > last {
		return PFName{}, fmt.Errorf("the range of %q begins after its end", s)
	}
	return PFName{Name: m[1], Ranged: true, First: first, Last: last}, nil
}
