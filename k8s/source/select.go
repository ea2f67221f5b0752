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
	Node *Node // the node of the PF
	PF   *PF   // the PF
	// First and Last are the selected VFs; Last is -1 for none.
	First, Last int
	// Maybe reports whether labels of the node are unknown.
	Maybe bool
}

// String returns address and network device of the PF: "0000:3b:00.0 (ens1f0np0)".
func (s Selection) String() string {
	if s.PF.Netdev != "" {
		return fmt.Sprintf("%s (%s)", s.PF.Address, s.PF.Netdev)
	}
	return s.PF.Address
}

// Select returns the PFs that a policy selects, in the order of the nodes and of their PFs. Like
// the operator it selects nodes by their labels, and PFs that match all fields of nicSelector.
// Nodes with unknown labels match. The selections point into nodes.
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

// Matches reports whether the nicSelector of a policy selects the PF, and returns the selected VFs.
// last is -1 if the policy has no number of VFs, or if the operator can't read their range.
func (p PF) Matches(spec k8s.PolicySpec) (first, last int, ok bool) {
	if !p.Selected(spec.NicSelector) {
		return 0, 0, false
	}
	if first, last, err := p.VFs(spec); err == nil {
		return first, last, true
	}
	return 0, -1, true
}

// Selected reports whether a nicSelector selects the PF (sriov-network-operator, api/v1/helper.go,
// Selected). Alternative names match like names. The operator doesn't see a PF without a network
// device. A netFilter, which is for virtual clouds, matches nothing.
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

// VFs returns the VFs of a selected PF that a policy selects (sriov-network-operator,
// api/v1/helper.go, generatePfNameVfGroup). The operator uses a range only with the name of the PF;
// with an alternative name it ignores the range and selects all VFs. It reads the entries up to the
// one with the name of the PF. An entry that it can't read is an error, with which the operator
// stops.
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

// PFName is an entry of pfNames: a network device, optionally with a range of VFs.
type PFName struct {
	Name        string // of the network device
	Ranged      bool   // with #FIRST-LAST after the name
	First, Last int    // VFs, from 0
}

// PFNameOf returns the name in an entry of pfNames with which the operator selects PFs: the part
// before #.
func PFNameOf(text string) string {
	name, _, _ := strings.Cut(text, "#")
	return name
}

// readPFName reads an entry like the operator's controller (api/v1/helper.go, ParseVfRange). It
// ignores text after a second # or dash, and treats "ens1f0#" as a name, which no PF has.
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

// ReadVFRange reads a range such as "0-3" like the operator (api/v1/helper.go, parseRange). It
// checks neither that the VFs exist nor that first is not after last.
func ReadVFRange(text string) (first, last int, err error) {
	parts := strings.Split(text, "-")
	if len(parts) < 2 {
		return 0, 0, fmt.Errorf("%q is not a range of VFs", text)
	}
	first, err1 := strconv.Atoi(parts[0])
	last, err2 := strconv.Atoi(parts[1])
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, fmt.Errorf("%q is not a range of VFs", text)
	}
	return first, last, nil
}

var pfNameForm = regexp.MustCompile(`^([^#]+)#(\d+)-(\d+)$`)

// ParsePFName parses "ens1f0" and "ens1f0#0-3". It returns an error for entries that the operator's
// webhook rejects (pkg/webhook/validate.go), and for names that no network device can have.
// [PF.VFs] describes how the operator handles such entries without the webhook, which is off by
// default.
func ParsePFName(s string) (PFName, error) {
	if s == "" || strings.ContainsFunc(s, unicode.IsSpace) { // the kernel rejects names with blanks (dev_valid_name)
		return PFName{}, fmt.Errorf("%q is not the name of a network device", s)
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
		return PFName{}, fmt.Errorf("the range of %q starts after its end", s)
	}
	return PFName{Name: m[1], Ranged: true, First: first, Last: last}, nil
}
