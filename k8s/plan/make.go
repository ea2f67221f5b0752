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

// maker builds a plan.
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
	// poolNote is the note about addresses that others may own.
	poolNote string
	// mtuNotes explain why VFs don't get the MTU of their ports.
	mtuNotes []string
}

// Make plans networks for the nodes of a cluster. It takes the objects that the cluster already has
// into account. The error is [ErrOptions] if the options are invalid or can't be met, and
// [ErrNothing] if no card is left; the [Plan] then contains the cards that are left out.
func Make(cluster source.Cluster, opts Options) (Plan, error) {
	m := &maker{
		cluster: cluster, opts: opts, plan: &Plan{Schema: Schema, Groups: []Group{}, Rails: []Rail{}, Files: []File{}},
	}
	if err := m.setDefaults(); err != nil {
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
	m.chooseMTUs()
	g := grouper{all: m.cluster.Nodes, planned: plannedNodes(chosen), opts: m.opts}
	m.groups = g.groups(m.rails)
	m.describe(g.planned)
	m.notes(g.planned)
	m.objects()
	m.noteOwners(by)
	return *m.plan, m.render()
}

// setDefaults sets the defaults of the options, and checks them.
func (m *maker) setDefaults() error {
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

// check checks the values of the options.
func (o *Options) check(p *Plan) error {
	unavailable, err := strconv.Atoi(o.MaxUnavailable)
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrOptions, fmt.Sprintf(format, args...))
	}
	switch {
	case o.VFs < 0 || o.VFs > k8s.MaxMellanoxVFs:
		return wrong("%d VFs: must be 1 to %d", o.VFs, k8s.MaxMellanoxVFs)
	case o.MTU != 0 && (o.MTU < 256 || o.MTU > 65520):
		return wrong("mtu %d: must be 256 to 65520", o.MTU)
	case o.Nodes < 0 || o.Nodes > 1<<16:
		return wrong("addresses for %d nodes: must be 0 to %d", o.Nodes, 1<<16)
	case o.CheckPods < 0 || o.CheckPods == 1 || o.CheckPods > 64:
		return wrong("%d check pods: must be 2 to 64, or 0 for none", o.CheckPods)
	case o.TestPods < 0 || o.TestPods > 64:
		return wrong("%d test pods: must be 0 to 64", o.TestPods)
	case !isNamespace(p.Namespace), !isNamespace(p.OperatorNamespace):
		return wrong("namespace %q or %q: must have only lower case letters, digits and -",
			p.Namespace, p.OperatorNamespace)
	case o.ResourcePrefix != "" && (!k8s.IsSubdomain(o.ResourcePrefix) || len(o.ResourcePrefix) > k8s.LongestSubdomain):
		return wrong("resource prefix %q: must be a domain name such as openshift.io", o.ResourcePrefix)
	case o.SelectBy != ByAddress && o.SelectBy != ByName:
		return wrong("select by %q: must be %s or %s", o.SelectBy, ByAddress, ByName)
	case o.Labels != LabelsExisting && o.Labels != LabelsNFD:
		return wrong("labels %q: must be %s or %s", o.Labels, LabelsExisting, LabelsNFD)
	case o.RDMAMode != "" && o.RDMAMode != "shared" && o.RDMAMode != "exclusive":
		return wrong("rdma mode %q: must be shared or exclusive", o.RDMAMode)
	case o.Isolation && o.RDMAMode == "shared":
		return wrong("isolation requires RDMA namespace mode exclusive, not shared")
	case o.MaxUnavailable != "" && !percentage.MatchString(o.MaxUnavailable) && (err != nil || unavailable < 0):
		return wrong("%q unavailable: must be a number of nodes, or a percentage such as 25%%", o.MaxUnavailable)
	case o.Select.LinkType != "" && o.Select.LinkType != source.LinkIB && o.Select.LinkType != source.LinkETH:
		return wrong("link type %q: must be %s or %s", o.Select.LinkType, source.LinkIB, source.LinkETH)
	}
	for _, p := range o.Pools {
		if a := p.Masked().Addr(); !p.IsValid() || p.Bits() == 0 || a.IsLoopback() || a.IsMulticast() ||
			a.IsUnspecified() || a.IsLinkLocalUnicast() || a.Is4() && a.As4()[0] >= 240 {
			return wrong("pool %s: not a range of host addresses", p)
		}
	}
	for _, kind := range o.Omit {
		if !slices.Contains(Kinds(), kind) {
			return wrong("omit %q: must be one of %s", kind, strings.Join(Kinds(), ", "))
		}
	}
	return nil
}

// operatorNamespace returns the namespace of the operator's objects, "" if the cluster has none. Of
// several it returns the first by name, so that the order of the files doesn't matter.
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

// prefix returns the resource prefix: that of these resources on the nodes, or the usual one.
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
	for _, c := range chosen { // the PFs of a node are adjacent
		if len(out) == 0 || out[len(out)-1] != c.node {
			out = append(out, c.node)
		}
	}
	return out
}

// describe adds groups and rails to the plan.
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

// notes adds the notes to the plan.
func (m *maker) notes(planned []*source.Node) {
	note := func(format string, args ...any) { m.plan.Notes = append(m.plan.Notes, fmt.Sprintf(format, args...)) }
	for _, l := range m.plan.Label {
		note("label the nodes first: %s", l.command())
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
		note("the roles of the cards of %s are unknown, so the plan uses all that support VFs, possibly including the "+
			"card with the default route; add snapshots of the nodes, or select cards by address or name",
			shortList(noRoles))
	}
	if len(noFabric) > 0 {
		note("the fabric of %s is unknown, so cards on different subnets may share a rail; add snapshots of the nodes",
			strings.Join(noFabric, ", "))
	}
	if len(noManager) > 0 {
		note(
			"no subnet manager is visible on %s; assumed to be on the fabric of the cards at the same address on "+
				"other nodes", shortList(noManager))
	}
	if len(exotic) > 0 {
		note(
			"the operator may not support %s, which is not among the NVIDIA cards in its ConfigMap supported-nic-ids: "+
				"check the ConfigMap, or add the card with the chart's supportedExtraNICs", strings.Join(exotic, ", "))
	}
	if !slices.ContainsFunc(m.cluster.Nodes, func(n source.Node) bool { return len(n.PodCIDRs) > 0 }) &&
		len(m.opts.Reserved) == 0 {
		note("the ranges of pods, services and hosts are unknown, so the subnets are not checked against them")
	}
	var other []string
	for _, n := range planned {
		if mode := m.rdmaMode(); mode != "" && n.RDMAMode != "" && n.RDMAMode != mode {
			other = append(other, n.Name)
		}
	}
	if len(other) > 0 {
		note("%s: the change to RDMA namespace mode %s requires a reboot", shortList(other), m.rdmaMode())
	}
}

// noteCosts adds notes about nodes that reboot or drain because the number of VFs changes.
func (m *maker) noteCosts(note func(string, ...any)) {
	costs := map[string]string{} // by node: the worst of its PFs
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
			"%s: the number of VFs in the firmware changes, so %s and reboots; to avoid that, set the number "+
				"beforehand, or use --externally-managed", shortList(list), drains(list))
	}
	if list := nodes[drain]; len(list) > 0 {
		note("%s: the number of existing VFs changes, so %s", shortList(list), drains(list))
	}
}

// noteMakes adds notes about rails with cards of different vendors. If rails are numbered by
// address, such a combination is usually accidental.
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
			"%s has cards of different vendors, %s: if they are on different networks, plan them separately with "+
				"--name, --pci or --node", r.name, strings.Join(makes, ", and "))
	}
}

// drains returns "the node drains" or "each of the nodes drains".
func drains(nodes []string) string {
	if len(nodes) == 1 {
		return "the node drains"
	}
	return "each of the nodes drains"
}

// noteUnavailable adds a note about a pool that never drains, because the operator rounds
// percentages down, and drains no node if the result is 0 ([k8s.PoolSpec]).
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
	note("maxUnavailable %s of %s is 0, because percentages are rounded down: the operator drains no node of the pool",
		m.opts.MaxUnavailable, english.Count(n, "node"))
}

// rdmaMode returns the RDMA namespace mode that pools set, "" for none.
func (m *maker) rdmaMode() string {
	if m.opts.Isolation {
		return "exclusive"
	}
	return m.opts.RDMAMode
}
