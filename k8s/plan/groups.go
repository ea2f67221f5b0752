package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// draft is a policy under way: PFs of one rail that are equal.
type draft struct {
	rail    *rail
	spec    k8s.PolicySpec // without labels until they are chosen
	members []*choice
	group   *group
	name    string
}

// group are nodes that get the same labels.
type group struct {
	nodes    []*source.Node
	drafts   []*draft
	selector map[string]string
	reason   string
	label    *Label // to be put on the nodes first
}

// specOf writes what a policy says of a PF.
func specOf(c *choice, opts Options) k8s.PolicySpec {
	s := k8s.PolicySpec{
		ResourceName: c.rail.resource(), Priority: new(50), NumVfs: new(c.vfs.n), DeviceType: "netdevice",
		IsRdma: new(true), LinkType: c.link,
		NicSelector: k8s.NicSelector{Vendor: c.pf.Vendor},
	}
	if opts.SelectBy == ByName {
		s.NicSelector.PfNames = []string{c.pf.Netdev}
	} else {
		s.NicSelector.RootDevices = []string{c.pf.Address}
	}
	if c.vfs.external {
		s.ExternallyManaged = new(true)
	}
	if c.rail.mtu > 0 {
		s.MTU = new(c.rail.mtu)
	}
	if c.pf.ESwitchMode == "switchdev" && c.link == source.LinkETH {
		s.ESwitchMode = "switchdev"
	}
	return s
}

// key is equal for PFs that one policy serves.
func specKey(s k8s.PolicySpec) string {
	data, err := json.Marshal(s)
	if err != nil { // plain data has no reason to
		return fmt.Sprintf("%+v", s)
	}
	return string(data)
}

// makeDrafts sorts the PFs of each rail into policies; those of nodes for which apart returns
// different texts stay apart.
func makeDrafts(rails []*rail, opts Options, apart func(*source.Node) string) []*draft {
	var out []*draft
	for _, r := range rails {
		byKey := map[string]*draft{}
		for _, c := range r.members {
			spec := specOf(c, opts)
			key := apart(c.node) + " " + specKey(spec)
			if byKey[key] == nil {
				byKey[key] = &draft{rail: r, spec: spec}
				out = append(out, byKey[key])
			}
			byKey[key].members = append(byKey[key].members, c)
		}
	}
	return out
}

// signatures tells nodes apart by what is planned with.
func signatures(rails []*rail, opts Options) map[*source.Node]string {
	out := map[*source.Node]string{}
	for _, r := range rails {
		for _, c := range r.members {
			out[c.node] += r.name + " " + specKey(specOf(c, opts)) + "\n"
		}
	}
	return out
}

// grouper chooses labels.
type grouper struct {
	all     []source.Node
	planned []*source.Node
	opts    Options
}

// fits reports that the policies select what they mean and nothing else on all nodes that have
// the labels.
func (g *grouper) fits(drafts []*draft, has func(*source.Node) bool) bool {
	for _, d := range drafts {
		meant := map[*source.PF]bool{}
		for _, c := range d.members {
			meant[c.pf] = true
			if !has(c.node) {
				return false
			}
		}
		for i := range g.all {
			n := &g.all[i]
			if !has(n) {
				continue
			}
			for j := range n.PFs {
				if _, _, ok := n.PFs[j].Matches(d.spec); ok && !meant[&n.PFs[j]] {
					return false
				}
			}
		}
	}
	return true
}

// candidate is a choice of labels.
type candidate struct {
	labels map[string]string
	reason string
	has    func(*source.Node) bool
	own    bool
}

// groups chooses labels: one choice for all nodes if the policies then select what they mean,
// otherwise one for each group of equal nodes.
func (g *grouper) groups(rails []*rail) []*group {
	drafts := makeDrafts(rails, g.opts, func(*source.Node) string { return "" })
	for _, c := range g.candidates(g.planned, "true") {
		if g.fits(drafts, c.has) {
			return []*group{c.group(g.planned, drafts)}
		}
	}
	signature := signatures(rails, g.opts)
	drafts = makeDrafts(rails, g.opts, func(n *source.Node) string { return signature[n] })
	groups := equalNodes(g.planned, signature)
	number := map[string]int{} // of the group, by its signature
	for i, nodes := range groups {
		number[signature[nodes[0]]] = i
	}
	mine := make([][]*draft, len(groups))
	for _, d := range drafts {
		i := number[signature[d.members[0].node]]
		mine[i] = append(mine[i], d)
	}
	return g.apart(groups, mine)
}

// apart chooses labels for each group: those that nodes have if they are values of one label, so
// that one pool can mean all groups; otherwise our own.
func (g *grouper) apart(groups [][]*source.Node, drafts [][]*draft) []*group {
	var found, own []candidate
	for i, nodes := range groups {
		all := g.candidates(nodes, letter(i))
		own = append(own, all[len(all)-1])
		fitting := slices.IndexFunc(all,
			func(c candidate) bool { return !c.own && len(c.labels) == 1 && g.fits(drafts[i], c.has) })
		if fitting >= 0 && (len(found) == 0 || all[fitting].key() == found[0].key()) {
			found = append(found, all[fitting])
		}
	}
	if len(found) < len(groups) {
		found = own
	}
	var out []*group
	for i, nodes := range groups {
		out = append(out, found[i].group(nodes, drafts[i]))
	}
	return out
}

// key is the label's, of a choice of one.
func (c candidate) key() string {
	for key := range c.labels {
		return key
	}
	return ""
}

func (c candidate) group(nodes []*source.Node, drafts []*draft) *group {
	g := &group{nodes: nodes, drafts: drafts, selector: c.labels, reason: c.reason}
	if c.own {
		g.label = &Label{Key: LabelKey, Value: c.labels[LabelKey], Nodes: names(nodes)}
	}
	for _, d := range drafts {
		d.group, d.spec.NodeSelector = g, c.labels
	}
	return g
}

// equalNodes sorts nodes into groups of the same signature, by the first node.
func equalNodes(nodes []*source.Node, signature map[*source.Node]string) [][]*source.Node {
	var out [][]*source.Node
	number := map[string]int{}
	for _, n := range nodes {
		i, known := number[signature[n]]
		if !known {
			i = len(out)
			number[signature[n]], out = i, append(out, nil)
		}
		out[i] = append(out[i], n)
	}
	return out
}

// letter names the groups a, b … z, a1, b1 …
func letter(i int) string {
	s := string(rune('a' + i%26))
	if i >= 26 {
		s += fmt.Sprint(i / 26)
	}
	return s
}

func names(nodes []*source.Node) []string {
	out := make([]string, 0, len(nodes))
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return out
}

const (
	labelHost    = "kubernetes.io/hostname"
	labelCapable = "feature.node.kubernetes.io/network-sriov.capable"
)

// candidates returns choices of labels for nodes, the best first; the last is a label of our own,
// which always does.
func (g *grouper) candidates(nodes []*source.Node, value string) []candidate {
	meant := map[*source.Node]bool{}
	for _, n := range nodes {
		meant[n] = true
	}
	own := candidate{
		labels: map[string]string{LabelKey: value}, own: true, has: func(n *source.Node) bool { return meant[n] },
		reason: "no label is known that these nodes have and that tells them from others, so they need this one first",
	}
	var out []candidate
	switch {
	case g.opts.NodeSelector != nil:
		has := func(n *source.Node) bool {
			selected, maybe := n.Selected(g.opts.NodeSelector)
			return selected || maybe
		}
		out = append(out, candidate{labels: g.opts.NodeSelector, reason: "as given", has: has})
		both := maps.Clone(g.opts.NodeSelector)
		both[LabelKey] = value
		own.labels = both
		own.reason = "as given, and because nodes with these labels differ in their cards, a label that tells them " +
			"apart, which they need first"
	case g.opts.Labels == LabelsNFD:
		out = append(out, g.nfdCandidate(nodes)...)
	default:
		out = append(out, g.existing(nodes)...)
		out = append(out, g.guesses(nodes)...)
	}
	return append(out, own)
}

// nfdCandidate is the label for the vendor of the cards.
func (g *grouper) nfdCandidate(nodes []*source.Node) []candidate {
	vendor := ""
	for _, n := range nodes {
		for _, pf := range n.PFs {
			vendor = cmp.Or(vendor, pf.Vendor)
			if pf.Vendor != vendor {
				return nil
			}
		}
	}
	return []candidate{{
		labels: map[string]string{"feature.node.kubernetes.io/pci-" + vendor + ".present": "true"},
		reason: "the NodeFeatureDiscovery object makes it: by itself it publishes no label for network cards",
		has: func(n *source.Node) bool {
			return slices.ContainsFunc(n.PFs, func(p source.PF) bool { return p.Vendor == vendor })
		},
	}}
}

// existing are the labels that all of the nodes have.
func (g *grouper) existing(nodes []*source.Node) []candidate {
	if slices.ContainsFunc(g.all, func(n source.Node) bool { return n.Labels == nil }) {
		return nil // what the others have isn't known
	}
	var keys []string
	for key, value := range nodes[0].Labels {
		same := func(n *source.Node) bool { got, found, _ := n.Label(key); return found && got == value }
		if key != labelHost && !slices.ContainsFunc(nodes, func(n *source.Node) bool { return !same(n) }) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	var out []candidate
	for _, key := range keys {
		value := nodes[0].Labels[key]
		out = append(out, candidate{
			labels: map[string]string{key: value},
			has:    func(n *source.Node) bool { got, found, _ := n.Label(key); return found && got == value },
			reason: fmt.Sprintf("%s, and no other node with it has a card that this plan would take", havers(nodes)),
		})
	}
	return out
}

func havers(nodes []*source.Node) string {
	if len(nodes) == 1 {
		return "node " + nodes[0].Name + " has it"
	}
	return fmt.Sprintf("all of the %d nodes have it", len(nodes))
}

// rank orders labels by how well they say what is meant.
func rank(key string) int {
	for i, part := range []string{
		LabelKey, labelCapable, "feature.node.kubernetes.io/pci-15b3", "feature.node.kubernetes.io/rdma",
		"nvidia.com/gpu.product", "nvidia.com/gpu.present", "node.kubernetes.io/instance-type",
		"node-role.kubernetes.io/",
	} {
		if strings.HasPrefix(key, part) {
			return i
		}
	}
	if strings.Contains(key, "kubernetes.io/") {
		return 100 // of the cluster's machinery: architecture, zone
	}
	return 50
}

// guesses are labels that nodes have though none was given.
func (g *grouper) guesses(nodes []*source.Node) []candidate {
	if len(nodes) == 1 {
		return []candidate{{
			labels: map[string]string{labelHost: nodes[0].Name}, reason: "one node, so its name tells it from others",
			has: func(n *source.Node) bool { return n == nodes[0] },
		}}
	}
	unknown := func(n *source.Node) bool { return n.Labels == nil }
	if !slices.ContainsFunc(nodes, unknown) {
		return nil
	}
	return []candidate{{
		labels: map[string]string{labelCapable: "true"},
		reason: "labels of nodes are not known (kubectl get nodes -o yaml tells them); Node Feature Discovery " +
			"publishes this one where a network device can have VFs",
		has: func(n *source.Node) bool {
			if n.Labels != nil {
				return n.Labels[labelCapable] == "true"
			}
			return slices.ContainsFunc(n.PFs, func(p source.PF) bool { return p.TotalVFs > 0 && p.Netdev != "" })
		},
	}}
}
