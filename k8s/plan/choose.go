package plan

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// choice is a selected PF.
type choice struct {
	node *source.Node
	pf   *source.PF
	link string // ETH or IB
	// fabric is the fabric of the PF, or the one that assumeFabrics assumes.
	fabric *source.Fabric
	rail   *rail
	vfs    vfCount
}

// nodeName allows more than Kubernetes does in a node's name, but nothing that is invalid in
// labels, keys and file names.
var nodeName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`)

// choose returns the selected PFs that can have VFs, and the other PFs with the reason why they are
// left out.
func choose(nodes []source.Node, opts Options) (chosen []*choice, passed []Passed, err error) {
	if err := opts.Select.check(); err != nil {
		return nil, nil, err
	}
	for i := range nodes {
		n := &nodes[i]
		if len(opts.Select.Nodes) > 0 && !matchAny(opts.Select.Nodes, n.Name) {
			continue
		}
		roles := slices.ContainsFunc(n.PFs, func(p source.PF) bool { return p.Role != "" })
		for j := range n.PFs {
			pf := &n.PFs[j]
			c := &choice{node: n, pf: pf, link: cmp.Or(pf.LinkType, opts.Select.LinkType), fabric: pf.Fabric}
			reason := opts.Select.rejects(pf, roles)
			if !nodeName.MatchString(n.Name) || len(n.Name) > k8s.LongestSubdomain {
				reason = "the name of the node is not valid in Kubernetes"
			}
			if reason == "" {
				c.vfs, reason = countVFs(pf, opts)
			}
			if reason == "" && c.link == "" {
				reason = "its link type, InfiniBand or Ethernet, is unknown; set it with --link-type"
			}
			if reason != "" {
				passed = append(passed, Passed{Node: n.Name, Address: pf.Address, Netdev: pf.Netdev, Reason: reason})
				continue
			}
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return nil, passed, nothing(nodes, opts.Select.Nodes, passed)
	}
	assumeFabrics(chosen)
	return chosen, passed, nil
}

// assumeFabrics assigns ports that see no subnet manager, for example because they are down, to the
// fabric of the ports at the same address on other nodes, if that is a single fabric. Such a port
// has the default subnet prefix. Without the assumption, one missing cable would change the rails
// of all cards of its node.
func assumeFabrics(chosen []*choice) {
	seen := map[string]*source.Fabric{} // by address; nil if there are several
	for _, c := range chosen {
		if c.fabric == nil || c.fabric.SMLID == 0 {
			continue
		}
		if f, known := seen[c.pf.Address]; !known {
			seen[c.pf.Address] = c.fabric
		} else if f != nil && *f != *c.fabric {
			seen[c.pf.Address] = nil
		}
	}
	for _, c := range chosen {
		if c.fabric != nil && c.fabric.SMLID == 0 && seen[c.pf.Address] != nil {
			c.fabric = seen[c.pf.Address]
		}
	}
}

// nothing returns the error that no card is left.
func nothing(nodes []source.Node, patterns []string, passed []Passed) error {
	if len(passed) == 0 && len(patterns) > 0 &&
		!slices.ContainsFunc(nodes, func(n source.Node) bool { return matchAny(patterns, n.Name) }) {
		return fmt.Errorf("plan networks of %s: %w: no node name matches %s",
			english.Count(len(nodes), "node"), ErrNothing, strings.Join(patterns, " or "))
	}
	if len(passed) == 0 {
		return fmt.Errorf("plan networks of %s: %w: no node has a card that supports VFs",
			english.Count(len(nodes), "node"), ErrNothing)
	}
	p := passed[0]
	return fmt.Errorf("plan networks of %s: %w: %s left out; %s on %s: %s",
		english.Count(len(nodes), "node"), ErrNothing, english.Count(len(passed), "card"), p.Address, p.Node, p.Reason)
}

// check checks the patterns and fabrics.
func (s Selection) check() error {
	for _, pattern := range slices.Concat(s.Addresses, s.Names, s.Nodes) {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("pattern %q: %w: %w", pattern, ErrOptions, err)
		}
	}
	for _, text := range s.Fabrics {
		if _, _, err := parseFabric(text); err != nil {
			return err
		}
	}
	return nil
}

// rejects returns the reason why the selection doesn't select a PF or the operator doesn't see it,
// "" for none. roles reports whether the roles of the node's cards are known.
func (s Selection) rejects(pf *source.PF, roles bool) string {
	wanted := s.Roles
	if len(wanted) == 0 && len(s.Rails)+len(s.Addresses)+len(s.Names) == 0 {
		wanted = []string{"compute"}
	}
	switch {
	case s.LinkType != "" && pf.LinkType != "" && pf.LinkType != s.LinkType:
		return "its link type is " + pf.LinkType + ", not " + s.LinkType
	case len(s.Addresses) > 0 && !matchAny(s.Addresses, pf.Address):
		return "its PCI address is not selected"
	case len(s.Names) > 0 && !matchAny(s.Names, append([]string{pf.Netdev, pf.RDMADevice}, pf.AltNames...)...):
		return "its name is not selected"
	case len(wanted) > 0 && roles && !slices.Contains(wanted, pf.Role):
		return "its role is " + cmp.Or(pf.Role, "unknown") + ", not " + strings.Join(wanted, " or ")
	case len(s.Rails) > 0 && pf.Rail == nil:
		return "its rail is unknown"
	case len(s.Rails) > 0 && !slices.Contains(s.Rails, *pf.Rail):
		return fmt.Sprintf("it is on rail %d, which is not selected", *pf.Rail)
	case len(s.Fabrics) > 0 && !s.onFabric(pf.Fabric):
		if pf.Fabric == nil {
			return "its fabric is unknown"
		}
		return "it is on fabric " + fabricText(pf.Fabric) + ", which is not selected"
	case pf.Driver == "vfio-pci":
		return "it is bound to vfio-pci: the operator doesn't see it"
	case pf.Netdev == "" && pf.LinkType == source.LinkIB:
		return "it has no network device, so the operator doesn't see it: load ib_ipoib on the node"
	case pf.Netdev == "":
		return "it has no network device, so the operator doesn't see it"
	}
	return ""
}

func (s Selection) onFabric(f *source.Fabric) bool {
	return f != nil && slices.ContainsFunc(s.Fabrics, func(text string) bool {
		prefix, lid, err := parseFabric(text)
		return err == nil && prefix == f.SubnetPrefix && (lid == 0 || lid == f.SMLID)
	})
}

// parseFabric parses a subnet prefix, written in full or as the address fec0::a1, optionally
// followed by @LID.
func parseFabric(text string) (prefix string, lid uint16, err error) {
	prefix, tail, ok := strings.Cut(text, "@")
	if ok {
		n, err := strconv.ParseUint(tail, 0, 16)
		if err != nil || n == 0 {
			return "", 0, fmt.Errorf("fabric %q: %w: no LID after @", text, ErrOptions)
		}
		lid = uint16(n)
	}
	groups, ok := prefixGroups(prefix)
	if !ok {
		return "", 0, fmt.Errorf("fabric %q: %w: not a subnet prefix such as fec0:0000:0000:00a1", text, ErrOptions)
	}
	return fmt.Sprintf("%04x:%04x:%04x:%04x", groups[0], groups[1], groups[2], groups[3]), lid, nil
}

// prefixGroups parses the four groups of a subnet prefix, in which :: replaces groups of zeros.
func prefixGroups(text string) (groups [4]uint64, ok bool) {
	read := func(part string, at int) bool {
		if part == "" {
			return true
		}
		for i, digits := range strings.Split(part, ":") {
			n, err := strconv.ParseUint(digits, 16, 16)
			if err != nil || at+i > 3 {
				return false
			}
			groups[at+i] = n
		}
		return true
	}
	head, tail, short := strings.Cut(text, "::")
	size := func(part string) int {
		if part == "" {
			return 0
		}
		return strings.Count(part, ":") + 1
	}
	if sum := size(head) + size(tail); sum > 4 || short == (sum == 4) {
		return groups, false
	}
	return groups, read(head, 0) && read(tail, 4-size(tail))
}

// fabricText returns the subnet prefix of a fabric and the LID of its subnet manager.
func fabricText(f *source.Fabric) string {
	if f.SMLID == 0 {
		return f.SubnetPrefix
	}
	return fmt.Sprintf("%s@%d", f.SubnetPrefix, f.SMLID)
}

func matchAny(patterns []string, names ...string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			ok, err := path.Match(pattern, name)
			return ok && err == nil && name != ""
		})
	})
}

// vfCount is the planned number of VFs of a PF.
type vfCount struct {
	n        int
	external bool
	// why explains the number. cost is drain or reboot if the number requires it, otherwise "".
	why, cost string
}

// countVFs returns the number of VFs of a PF, or the reason why it gets none. The operator sets
// NUM_OF_VFS in the firmware of NVIDIA cards to exactly numVfs, with a reboot if it differs
// (sriov-network-operator, pkg/vendors/mellanox), so the firmware's number is preferred.
func countVFs(pf *source.PF, opts Options) (c vfCount, rejected string) {
	firmware, ours := pf.FirmwareVFs()
	switch {
	case opts.ExternallyManaged || pf.ExternallyManaged:
		return countExternal(pf, opts)
	case !ours && pf.TotalVFs == 0:
		return c, "it doesn't support VFs, or SR-IOV is off in its firmware (sriov_totalvfs is 0 or absent)"
	case !ours:
		want := cmp.Or(opts.VFs, pf.NumVFs, DefaultVFs)
		c = vfCount{n: min(want, pf.TotalVFs), why: fmt.Sprintf("the card supports at most %d", pf.TotalVFs)}
		if want > pf.TotalVFs {
			c.why += fmt.Sprintf(", fewer than the requested %d", want)
		}
	case firmware == 0:
		c = vfCount{
			n: cmp.Or(opts.VFs, DefaultVFs), why: "SR-IOV is off in the firmware (sriov_totalvfs is 0 or absent)",
			cost: reboot,
		}
		if pf.Firmware != nil && pf.Firmware.Current != nil {
			c.why = "SR-IOV is off in the firmware, according to mstconfig"
		}
	case opts.VFs == 0:
		c = vfCount{n: min(firmware, k8s.MaxMellanoxVFs), why: fmt.Sprintf(
			"the firmware's NUM_OF_VFS is %d, so the operator doesn't change the firmware and no node reboots",
			firmware)}
		if firmware > k8s.MaxMellanoxVFs {
			const text = "the firmware's NUM_OF_VFS is %d, but the operator allows at most %d"
			c.why, c.cost = fmt.Sprintf(text, firmware, k8s.MaxMellanoxVFs), reboot
		}
	default:
		c = vfCount{n: opts.VFs, why: fmt.Sprintf(
			"as requested; the firmware's NUM_OF_VFS is also %d, so no node reboots", firmware)}
		if opts.VFs != firmware {
			c.why, c.cost = fmt.Sprintf("as requested; the firmware's NUM_OF_VFS is %d", firmware), reboot
		}
	}
	if c.cost == "" && pf.NumVFs > 0 && pf.NumVFs != c.n {
		c.cost = drain
	}
	return c, ""
}

// Values of vfCount.cost.
const (
	reboot = "reboot"
	drain  = "drain"
)

func countExternal(pf *source.PF, opts Options) (c vfCount, rejected string) {
	if pf.NumVFs == 0 {
		return c, "it is externally managed and has no VFs yet"
	}
	if opts.VFs > pf.NumVFs {
		return c, fmt.Sprintf("it is externally managed and has %d VFs, fewer than %d", pf.NumVFs, opts.VFs)
	}
	return vfCount{n: cmp.Or(opts.VFs, pf.NumVFs), external: true, why: fmt.Sprintf(
		"the PF already has %d VFs, and the operator creates none", pf.NumVFs)}, ""
}

// supported reports whether a card is an NVIDIA card in the operator's list. The list may also
// contain other cards.
func supported(pf *source.PF) bool {
	nic, ok := k8s.NICByPF(pf.DeviceID)
	return ok && pf.Vendor == nic.Vendor
}
