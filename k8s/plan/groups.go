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

// draft is a policy that is being built, for PFs of one rail with the same settings.
type draft struct {
	rail    *rail
	spec    k8s.PolicySpec // without labels until they are chosen
	members []*choice
	group   *group
	name    string
}

// group is a group of nodes with the same labels.
type group struct {
	nodes    []*source.Node
	drafts   []*draft
	selector map[string]string
	reason   string
	label    *Label // to add to the nodes first, or nil
}

// specOf returns the policy's spec for a PF.
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

// specKey returns a key that is equal for PFs that can share a policy.
func specKey(s k8s.PolicySpec) string {
	data, err := json.Marshal(s)
	if err != nil { // never happens with plain data
		return fmt.Sprintf("%+v", s)
	}
	return string(data)
}

// makeDrafts groups the PFs of each rail into policies. Nodes for which apart returns different
// texts don't share a policy.
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

// signatures returns a text for each node that is equal for nodes with the same planned settings.
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

// fits reports whether the policies select exactly their members on all nodes that have the labels.
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

// candidate is a possible choice of labels.
type candidate struct {
	labels map[string]string
	reason string
	has    func(*source.Node) bool
	own    bool
}

// groups chooses labels: one choice for all nodes if the policies then select exactly their
// members, otherwise one for each group of nodes with the same settings.
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

// apart chooses labels for each group. It uses labels of the nodes if these are values of a single
// label, so that one pool can select all groups. Otherwise it uses LabelKey.
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

// key returns the key of a candidate with a single label.
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

// equalNodes groups nodes by signature, in order of their first node.
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

// letter returns the name of group i: a, b … z, a1, b1 …
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

// candidates returns possible labels for nodes, the best first. The last one is LabelKey, which is
// always possible.
func (g *grouper) candidates(nodes []*source.Node, value string) []candidate {
	meant := map[*source.Node]bool{}
	for _, n := range nodes {
		meant[n] = true
	}
	own := candidate{
		labels: map[string]string{LabelKey: value}, own: true, has: func(n *source.Node) bool { return meant[n] },
		reason: "no known label distinguishes these nodes from others, so they need this one first",
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
		own.reason = "as given; nodes with these labels differ in their cards, so they first need another label that " +
			"distinguishes them"
	case g.opts.Labels == LabelsNFD:
		out = append(out, g.nfdCandidate(nodes)...)
	default:
		out = append(out, g.existing(nodes)...)
		out = append(out, g.guesses(nodes)...)
	}
	return append(out, own)
}

// nfdCandidate returns the label for the vendor of the cards.
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
		reason: "the NodeFeatureDiscovery object publishes it; by default NFD has no label for network cards",
		has: func(n *source.Node) bool {
			return slices.ContainsFunc(n.PFs, func(p source.PF) bool { return p.Vendor == vendor })
		},
	}}
}

// existing returns the labels that all of the nodes have.
func (g *grouper) existing(nodes []*source.Node) []candidate {
	if slices.ContainsFunc(g.all, func(n source.Node) bool { return n.Labels == nil }) {
		return nil // other nodes may have the same labels
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
			reason: fmt.Sprintf("%s, and the policies select no card on other nodes with it", havers(nodes)),
		})
	}
	return out
}

func havers(nodes []*source.Node) string {
	if len(nodes) == 1 {
		return "node " + nodes[0].Name + " has it"
	}
	return fmt.Sprintf("all %d nodes have it", len(nodes))
}

// rank orders labels by how well they describe nodes with RDMA cards.
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
		return 100 // general labels: architecture, zone
	}
	return 50
}

// guesses returns labels that the nodes have even if the input contains none.
func (g *grouper) guesses(nodes []*source.Node) []candidate {
	if len(nodes) == 1 {
		return []candidate{{
			labels: map[string]string{labelHost: nodes[0].Name}, reason: "a single node is selected by its name",
			has: func(n *source.Node) bool { return n == nodes[0] },
		}}
	}
	unknown := func(n *source.Node) bool { return n.Labels == nil }
	if !slices.ContainsFunc(nodes, unknown) {
		return nil
	}
	return []candidate{{
		labels: map[string]string{labelCapable: "true"},
		reason: "the nodes' labels are unknown (kubectl get nodes -o yaml shows them); Node Feature Discovery " +
			"publishes this one on nodes with a network device that supports VFs",
		has: func(n *source.Node) bool {
			if n.Labels != nil {
				return n.Labels[labelCapable] == "true"
			}
			return slices.ContainsFunc(n.PFs, func(p source.PF) bool { return p.TotalVFs > 0 && p.Netdev != "" })
		},
	}}
}
