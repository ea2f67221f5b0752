package plan

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// maker is a plan under way.
type maker struct {
	cluster source.Cluster
	opts    Options
	rails   []*rail
	groups  []*group
	plan    *Plan
	docs    []*document
	heirs   []heir
	// guidTexts are the files of GUIDs, by node.
	guidTexts map[string]string
	// poolNote tells of addresses that others may have.
	poolNote string
	// mtuNotes say why the MTU of ports isn't that of VFs.
	mtuNotes []string
}

// Make plans networks for the nodes of a cluster. The objects of the cluster tell what it has
// already. Errors are [ErrOptions] where the options can't be met, and [ErrNothing] where no card
// is left; the [Plan] then has what was passed over.
func Make(cluster source.Cluster, opts Options) (Plan, error) {
	m := &maker{
		cluster: cluster, opts: opts, plan: &Plan{Schema: Schema, Groups: []Group{}, Rails: []Rail{}, Files: []File{}},
	}
	if err := m.settle(); err != nil {
		return *m.plan, err
	}
	m.cluster.Nodes, m.heirs = inherit(cluster.Nodes)
	chosen, passed, err := choose(m.cluster.Nodes, m.opts)
	m.plan.Passed = passed
	if err != nil {
		return *m.plan, err
	}
	by := m.owners()
	if chosen, err = m.leaveOwned(chosen, by); err != nil {
		return *m.plan, err
	}
	m.plan.ResourcePrefix = m.prefix()
	if err := m.address(m.rails); err != nil {
		return *m.plan, err
	}
	m.settleMTUs()
	g := grouper{all: m.cluster.Nodes, planned: plannedNodes(chosen), opts: m.opts}
	m.groups = g.groups(m.rails)
	m.describe(g.planned)
	m.notes(g.planned)
	m.objects()
	m.noteOwners(by)
	return *m.plan, m.render()
}

// settle fills in what the options leave open, and judges them.
func (m *maker) settle() error {
	o := &m.opts
	m.plan.OperatorNamespace = cmp.Or(o.OperatorNamespace, m.operatorNamespace(), DefaultOperatorNamespace)
	m.plan.Namespace = cmp.Or(o.Namespace, DefaultNamespace)
	o.Image = cmp.Or(o.Image, DefaultImage)
	o.ResourcePrefix = strings.TrimSuffix(o.ResourcePrefix, "/")
	o.SelectBy, o.Labels = cmp.Or(o.SelectBy, ByAddress), cmp.Or(o.Labels, LabelsExisting)
	return o.check(m.plan)
}

var percentage = regexp.MustCompile(`^(\d{1,2}|100)%$`)

func isNamespace(s string) bool { return k8s.IsLabel(s) && len(s) <= k8s.LongestLabel }

// check judges options by themselves.
func (o *Options) check(p *Plan) error {
	unavailable, err := strconv.Atoi(o.MaxUnavailable)
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrOptions, fmt.Sprintf(format, args...))
	}
	switch {
	case o.VFs < 0 || o.VFs > k8s.MaxMellanoxVFs:
		return wrong("%d VFs: 1 to %d are possible", o.VFs, k8s.MaxMellanoxVFs)
	case o.MTU != 0 && (o.MTU < 256 || o.MTU > 65520):
		return wrong("mtu %d: 256 to 65520 are possible", o.MTU)
	case o.Nodes < 0 || o.Nodes > 1<<16:
		return wrong("room for %d nodes", o.Nodes)
	case o.CheckPods < 0 || o.CheckPods == 1 || o.CheckPods > 64:
		return wrong("%d pods for the check: 2 to 64, or 0 for none", o.CheckPods)
	case o.TestPods < 0 || o.TestPods > 64:
		return wrong("%d test pods: 64 at most", o.TestPods)
	case !isNamespace(p.Namespace), !isNamespace(p.OperatorNamespace):
		return wrong("namespace %q or %q: a name has lower case letters, digits and -",
			p.Namespace, p.OperatorNamespace)
	case o.ResourcePrefix != "" && (!k8s.IsSubdomain(o.ResourcePrefix) || len(o.ResourcePrefix) > k8s.LongestSubdomain):
		return wrong("resource prefix %q: a prefix is a domain name, as openshift.io", o.ResourcePrefix)
	case o.SelectBy != ByAddress && o.SelectBy != ByName:
		return wrong("select by %q: %s or %s", o.SelectBy, ByAddress, ByName)
	case o.Labels != LabelsExisting && o.Labels != LabelsNFD:
		return wrong("labels %q: %s or %s", o.Labels, LabelsExisting, LabelsNFD)
	case o.RDMAMode != "" && o.RDMAMode != "shared" && o.RDMAMode != "exclusive":
		return wrong("rdma mode %q: shared or exclusive", o.RDMAMode)
	case o.Isolation && o.RDMAMode == "shared":
		return wrong("isolation needs the exclusive mode of RDMA namespaces, and shared was asked for")
	case o.MaxUnavailable != "" && !percentage.MatchString(o.MaxUnavailable) && (err != nil || unavailable < 0):
		return wrong("%q unavailable: a number of nodes, or a percentage as 25%%", o.MaxUnavailable)
	case o.Select.LinkType != "" && o.Select.LinkType != source.LinkIB && o.Select.LinkType != source.LinkETH:
		return wrong("link type %q: %s or %s", o.Select.LinkType, source.LinkIB, source.LinkETH)
	}
	for _, p := range o.Pools {
		if a := p.Masked().Addr(); !p.IsValid() || p.Bits() == 0 || a.IsLoopback() || a.IsMulticast() ||
			a.IsUnspecified() || a.IsLinkLocalUnicast() || a.Is4() && a.As4()[0] >= 240 {
			return wrong("pool %s: its addresses are none of hosts", p)
		}
	}
	for _, kind := range o.Omit {
		if !slices.Contains(Kinds(), kind) {
			return wrong("omit %q: plans have %s", kind, strings.Join(Kinds(), ", "))
		}
	}
	return nil
}

// operatorNamespace is where the objects of the operator are, by name the first of several, so that
// it is the same in whatever order they are read; "" where the cluster's objects don't tell.
func (m *maker) operatorNamespace() string {
	for _, kind := range []string{k8s.KindOperatorConfig, k8s.KindPolicy, k8s.KindPoolConfig} {
		var found []string
		for _, o := range m.cluster.Objects {
			if o.Kind == kind && o.Namespace != "" {
				found = append(found, o.Namespace)
			}
		}
		if len(found) > 0 {
			return slices.Min(found)
		}
	}
	for _, n := range m.cluster.Nodes {
		if n.State != nil && n.State.Metadata.Namespace != "" {
			return n.State.Metadata.Namespace
		}
	}
	return ""
}

// prefix decides what stands in front of the names of resources: what nodes have for these
// resources, else what is usual.
func (m *maker) prefix() string {
	if m.opts.ResourcePrefix != "" {
		return m.opts.ResourcePrefix
	}
	for _, n := range m.cluster.Nodes {
		for _, name := range slices.Sorted(maps.Keys(n.Allocatable)) {
			head, base, ok := strings.Cut(name, "/")
			if ok && slices.ContainsFunc(m.rails, func(r *rail) bool { return r.resource() == base }) {
				return head
			}
		}
	}
	if strings.Contains(m.plan.OperatorNamespace, "nvidia") || m.plan.OperatorNamespace == "network-operator" {
		return "nvidia.com"
	}
	return "openshift.io"
}

// plannedNodes returns the nodes of PFs, each once, in their order.
func plannedNodes(chosen []*choice) []*source.Node {
	var out []*source.Node
	for _, c := range chosen { // those of a node are next to each other
		if len(out) == 0 || out[len(out)-1] != c.node {
			out = append(out, c.node)
		}
	}
	return out
}

// describe writes groups and rails into the plan.
func (m *maker) describe(planned []*source.Node) {
	for _, g := range m.groups {
		if g.label != nil {
			m.plan.Label = append(m.plan.Label, *g.label)
		}
	}
	groupOf := map[*source.Node]*group{}
	for _, g := range m.groups {
		for _, n := range g.nodes {
			groupOf[n] = g
		}
	}
	for i, nodes := range equalNodes(planned, signatures(m.rails, m.opts)) {
		labels := groupOf[nodes[0]]
		m.plan.Groups = append(m.plan.Groups,
			Group{Name: letter(i), Nodes: names(nodes), NodeSelector: labels.selector, Reason: labels.reason})
	}
	for _, r := range m.rails {
		r.out.Name, r.out.Resource, r.out.LinkType, r.out.VFs = r.name, r.resource(), r.link, r.vfs()
		if r.fabric != nil {
			r.out.Fabric = fabricText(r.fabric)
		}
		for _, c := range r.members {
			r.out.Members = append(r.out.Members,
				Member{Node: c.node.Name, Address: c.pf.Address, Netdev: c.pf.Netdev, NumVFs: c.vfs.n})
		}
		m.plan.Rails = append(m.plan.Rails, r.out)
	}
}

// notes says what to know before the objects are applied.
func (m *maker) notes(planned []*source.Node) {
	note := func(format string, args ...any) { m.plan.Notes = append(m.plan.Notes, fmt.Sprintf(format, args...)) }
	for _, l := range m.plan.Label {
		note("label first: %s", l.command())
	}
	m.noteCosts(note)
	m.noteMakes(note)
	m.noteHeirs(planned, note)
	m.noteUnavailable(note)
	for _, text := range m.mtuNotes {
		note("%s", text)
	}
	if m.poolNote != "" {
		note("%s", m.poolNote)
	}
	var noRoles, noFabric, noManager, exotic []string
	for _, n := range planned {
		if !slices.ContainsFunc(n.PFs, func(p source.PF) bool { return p.Role != "" }) {
			noRoles = append(noRoles, n.Name)
		}
	}
	for _, r := range m.rails {
		if r.link == source.LinkIB && r.fabric == nil {
			noFabric = append(noFabric, r.name)
		}
		for _, c := range r.members {
			if c.fabric != c.pf.Fabric {
				noManager = append(noManager, c.pf.Address+" of "+c.node.Name)
			}
			if id := c.pf.Vendor + ":" + c.pf.DeviceID; !supported(c.pf) && !slices.Contains(exotic, id) {
				exotic = append(exotic, id)
			}
		}
	}
	if s := m.opts.Select; len(noRoles) > 0 && len(s.Addresses)+len(s.Names)+len(s.Rails) == 0 {
		note("nothing tells the roles of the cards of %s, so all that could have VFs are taken, the one with the "+
			"default route too if it can: snapshots of the nodes tell, or choose cards by address or name",
			shortList(noRoles))
	}
	if len(noFabric) > 0 {
		note("nothing tells the fabric of %s: cards on different subnets may share a rail; snapshots of the nodes tell",
			strings.Join(noFabric, ", "))
	}
	if len(noManager) > 0 {
		note(
			"no subnet manager is seen by %s: taken to be on the fabric of the cards at the "+
				"same address of other nodes", shortList(noManager))
	}
	if len(exotic) > 0 {
		note(
			"NVIDIA's part of the operator's ConfigMap supported-nic-ids doesn't list %s: look for it there, or add "+
				"it by the chart's supportedExtraNICs", strings.Join(exotic, ", "))
	}
	if !slices.ContainsFunc(m.cluster.Nodes, func(n source.Node) bool { return len(n.PodCIDRs) > 0 }) &&
		len(m.opts.Reserved) == 0 {
		note("no range of pods, services or hosts was given, so the subnets are not checked against them")
	}
	var other []string
	for _, n := range planned {
		if mode := m.rdmaMode(); mode != "" && n.RDMAMode != "" && n.RDMAMode != mode {
			other = append(other, n.Name)
		}
	}
	if len(other) > 0 {
		note("%s: the change to %s mode of RDMA namespaces takes a reboot", shortList(other), m.rdmaMode())
	}
}

// noteCosts names the nodes that reboot or drain for their numbers of VFs.
func (m *maker) noteCosts(note func(string, ...any)) {
	costs := map[string]string{} // by node: what its PFs cost at worst
	for _, r := range m.rails {
		for _, c := range r.members {
			if c.vfs.cost == reboot || c.vfs.cost == drain && costs[c.node.Name] == "" {
				costs[c.node.Name] = c.vfs.cost
			}
		}
	}
	nodes := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(costs)) {
		nodes[costs[name]] = append(nodes[costs[name]], name)
	}
	if list := nodes[reboot]; len(list) > 0 {
		note(
			"%s: the firmware's number of VFs changes, so %s and reboots; setting it beforehand, or "+
				"--externally-managed, avoids that", shortList(list), drains(list))
	}
	if list := nodes[drain]; len(list) > 0 {
		note("%s: the number of VFs that exist changes, so %s", shortList(list), drains(list))
	}
}

// noteMakes tells of rails on which nodes have cards of different makes: where they are counted by
// address, that is mostly chance.
func (m *maker) noteMakes(note func(string, ...any)) {
	for _, r := range m.rails {
		nodes := map[string][]string{} // by vendor
		for _, c := range r.members {
			nodes[c.pf.Vendor] = append(nodes[c.pf.Vendor], c.node.Name)
		}
		if len(nodes) < 2 {
			continue
		}
		var makes []string
		for _, vendor := range slices.Sorted(maps.Keys(nodes)) {
			makes = append(makes, fmt.Sprintf("%s on %s", vendor, shortList(nodes[vendor])))
		}
		note(
			"%s has cards of different vendors, %s: if they aren't on one network, plan for them apart, "+
				"by --name, --pci or --node", r.name, strings.Join(makes, ", and "))
	}
}

// drains says it of one node or of each of several.
func drains(nodes []string) string {
	if len(nodes) == 1 {
		return "the node drains"
	}
	return "each of the nodes drains"
}

// noteUnavailable tells of a pool that never drains: the operator rounds percentages down, and
// takes 0 for none (k8s.PoolSpec).
func (m *maker) noteUnavailable(note func(string, ...any)) {
	if m.opts.MaxUnavailable == "" {
		return
	}
	n := len(m.allNodes())
	if len(m.poolSelectors()) > 1 { // a pool each
		for _, g := range m.groups {
			n = min(n, len(g.nodes))
		}
	}
	percent, isPercent := strings.CutSuffix(m.opts.MaxUnavailable, "%")
	value, err := strconv.Atoi(percent)
	if err != nil || value > 0 && !isPercent || isPercent && value*n/100 > 0 {
		return
	}
	note("%s unavailable of %s is 0, for percentages are rounded down: the operator drains no node of the pool",
		m.opts.MaxUnavailable, english.Count(n, "node"))
}

// rdmaMode is the mode of RDMA namespaces that pools set, "" for none.
func (m *maker) rdmaMode() string {
	if m.opts.Isolation {
		return "exclusive"
	}
	return m.opts.RDMAMode
}
