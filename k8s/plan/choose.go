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

// choice is a PF that the plan is made with.
type choice struct {
	node *source.Node
	pf   *source.PF
	link string // ETH or IB
	// fabric is that of the PF, or the one that settleFabrics takes it for.
	fabric *source.Fabric
	rail   *rail
	vfs    vfCount
}

// nodeName is wider than what Kubernetes takes as a node's name, and narrow enough for labels, keys
// and names of files.
var nodeName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`)

// choose takes the PFs that the selection means and that can have VFs, and tells why it passes over
// the others.
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
			reason := opts.Select.refuses(pf, roles)
			if !nodeName.MatchString(n.Name) || len(n.Name) > k8s.LongestSubdomain {
				reason = "the node's name is none that Kubernetes takes"
			}
			if reason == "" {
				c.vfs, reason = countVFs(pf, opts)
			}
			if reason == "" && c.link == "" {
				reason = "nothing tells whether it is on InfiniBand or Ethernet; --link-type says so"
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
	settleFabrics(chosen)
	return chosen, passed, nil
}

// settleFabrics puts ports that see no subnet manager, as those that are down, onto the fabric of
// the ports at the same address of other nodes, if that is one: by themselves they have no subnet
// prefix but the default. Otherwise one cable would move the rails of all cards of its node.
func settleFabrics(chosen []*choice) {
	seen := map[string]*source.Fabric{} // by address; nil for several
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

// nothing explains that no card is left.
func nothing(nodes []source.Node, patterns []string, passed []Passed) error {
	if len(passed) == 0 && len(patterns) > 0 &&
		!slices.ContainsFunc(nodes, func(n source.Node) bool { return matchAny(patterns, n.Name) }) {
		return fmt.Errorf("plan networks of %s: %w: none of them is called %s",
			english.Count(len(nodes), "node"), ErrNothing, strings.Join(patterns, " or "))
	}
	if len(passed) == 0 {
		return fmt.Errorf("plan networks of %s: %w: none of them has a card that could have VFs",
			english.Count(len(nodes), "node"), ErrNothing)
	}
	p := passed[0]
	return fmt.Errorf("plan networks of %s: %w: %s passed over; %s on %s: %s",
		english.Count(len(nodes), "node"), ErrNothing, english.Count(len(passed), "card"), p.Address, p.Node, p.Reason)
}

// check judges the patterns.
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

// refuses tells why the selection, or the operator, doesn't take a PF; "" if both do. roles tells
// that something knows the roles of this node's cards.
func (s Selection) refuses(pf *source.PF, roles bool) string {
	wanted := s.Roles
	if len(wanted) == 0 && len(s.Rails)+len(s.Addresses)+len(s.Names) == 0 {
		wanted = []string{"compute"}
	}
	switch {
	case s.LinkType != "" && pf.LinkType != "" && pf.LinkType != s.LinkType:
		return "it is " + pf.LinkType + ", not " + s.LinkType
	case len(s.Addresses) > 0 && !matchAny(s.Addresses, pf.Address):
		return "its PCI address is not selected"
	case len(s.Names) > 0 && !matchAny(s.Names, append([]string{pf.Netdev, pf.RDMADevice}, pf.AltNames...)...):
		return "its name is not selected"
	case len(wanted) > 0 && roles && !slices.Contains(wanted, pf.Role):
		return "its role is " + cmp.Or(pf.Role, "unknown") + ", not " + strings.Join(wanted, " or ")
	case len(s.Rails) > 0 && pf.Rail == nil:
		return "it is on no rail that is known"
	case len(s.Rails) > 0 && !slices.Contains(s.Rails, *pf.Rail):
		return fmt.Sprintf("it is on rail %d, which is not selected", *pf.Rail)
	case len(s.Fabrics) > 0 && !s.onFabric(pf.Fabric):
		if pf.Fabric == nil {
			return "it is on no fabric that is known"
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

// parseFabric reads a subnet prefix, written in full or as the address fec0::a1, and the LID
// behind @.
func parseFabric(text string) (prefix string, lid uint16, err error) {
	prefix, tail, ok := strings.Cut(text, "@")
	if ok {
		n, err := strconv.ParseUint(tail, 0, 16)
		if err != nil || n == 0 {
			return "", 0, fmt.Errorf("fabric %q: %w: no LID behind @", text, ErrOptions)
		}
		lid = uint16(n)
	}
	groups, ok := prefixGroups(prefix)
	if !ok {
		return "", 0, fmt.Errorf("fabric %q: %w: no subnet prefix such as fec0:0000:0000:00a1", text, ErrOptions)
	}
	return fmt.Sprintf("%04x:%04x:%04x:%04x", groups[0], groups[1], groups[2], groups[3]), lid, nil
}

// prefixGroups reads the four groups of a subnet prefix, of which :: stands for those that
// are zero.
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

// fabricText names a fabric by its subnet prefix and its subnet manager.
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

// vfCount is how many VFs a PF gets, and what that means.
type vfCount struct {
	n        int
	external bool
	// why explains the number; cost is what it takes, "" for nothing.
	why, cost string
}

// countVFs decides how many VFs a PF gets, or tells why it gets none. The operator sets NUM_OF_VFS
// of NVIDIA's firmware to exactly numVfs, with a reboot where it differs (sriov-network-operator,
// pkg/vendors/mellanox): so equal is best.
func countVFs(pf *source.PF, opts Options) (c vfCount, refused string) {
	firmware, ours := pf.FirmwareVFs()
	switch {
	case opts.ExternallyManaged || pf.ExternallyManaged:
		return countExternal(pf, opts)
	case !ours && pf.TotalVFs == 0:
		return c, "it can't have VFs, or SR-IOV is off in its firmware (sriov_totalvfs is 0 or absent)"
	case !ours:
		want := cmp.Or(opts.VFs, pf.NumVFs, DefaultVFs)
		c = vfCount{n: min(want, pf.TotalVFs), why: fmt.Sprintf("the card can have %d", pf.TotalVFs)}
		if want > pf.TotalVFs {
			c.why += fmt.Sprintf(", so the %d that were asked for are too many", want)
		}
	case firmware == 0:
		c = vfCount{
			n: cmp.Or(opts.VFs, DefaultVFs), why: "SR-IOV is off in the firmware (sriov_totalvfs is 0 or absent)",
			cost: reboot,
		}
		if pf.Firmware != nil && pf.Firmware.Current != nil {
			c.why = "SR-IOV is off in the firmware, as mstconfig says"
		}
	case opts.VFs == 0:
		c = vfCount{n: min(firmware, k8s.MaxMellanoxVFs), why: fmt.Sprintf(
			"the firmware's NUM_OF_VFS is %d, so the firmware stays as it is and no node reboots for it", firmware)}
		if firmware > k8s.MaxMellanoxVFs {
			const text = "the firmware's NUM_OF_VFS is %d, and the operator admits %d"
			c.why, c.cost = fmt.Sprintf(text, firmware, k8s.MaxMellanoxVFs), reboot
		}
	default:
		c = vfCount{n: opts.VFs, why: fmt.Sprintf(
			"asked for; the firmware's NUM_OF_VFS is %d, which is the same: no node reboots for it", firmware)}
		if opts.VFs != firmware {
			c.why, c.cost = fmt.Sprintf("asked for; the firmware's NUM_OF_VFS is %d", firmware), reboot
		}
	}
	if c.cost == "" && pf.NumVFs > 0 && pf.NumVFs != c.n {
		c.cost = drain
	}
	return c, ""
}

// What a number of VFs costs a node.
const (
	reboot = "reboot"
	drain  = "drain"
)

func countExternal(pf *source.PF, opts Options) (c vfCount, refused string) {
	if pf.NumVFs == 0 {
		return c, "others shall make its VFs, and it has none yet"
	}
	if opts.VFs > pf.NumVFs {
		return c, fmt.Sprintf("others make its VFs, and it has %d, fewer than %d", pf.NumVFs, opts.VFs)
	}
	return vfCount{n: cmp.Or(opts.VFs, pf.NumVFs), external: true, why: fmt.Sprintf(
		"the PF has %d VFs already, and the operator makes none", pf.NumVFs)}, ""
}

// supported reports a card that is in NVIDIA's part of the operator's list; others may be in it all
// the same.
func supported(pf *source.PF) bool {
	nic, ok := k8s.NICByPF(pf.DeviceID)
	return ok && pf.Vendor == nic.Vendor
}
