package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// objects makes all documents, in the order in which they are applied.
func (m *maker) objects() {
	m.namespace()
	if m.opts.Labels == LabelsNFD {
		m.nodeFeatures()
	}
	m.operatorConfig()
	m.poolConfigs()
	for _, d := range m.namedDrafts() {
		m.policy(d)
	}
	for _, r := range m.rails {
		m.network(r)
	}
	m.guidMaps()
	m.pods()
}

// add appends a document; its file is named after it.
func (m *maker) add(file, kind, namespace, name string, value any) *document {
	d := &document{file: file + ".yaml", kind: kind, namespace: namespace, name: name, value: value}
	m.docs = append(m.docs, d)
	return d
}

// has reports that the cluster has an object.
func (m *maker) has(kind, namespace, name string) bool {
	for _, o := range m.cluster.Objects {
		if o.Kind == kind && o.Namespace == namespace && (o.Name == name || name == "") {
			return true
		}
	}
	return false
}

func (m *maker) namespace() {
	ns := m.plan.Namespace
	if m.has(k8s.KindNamespace, "", ns) || ns == "default" {
		return
	}
	d := m.add("00-namespace-"+ns, k8s.KindNamespace, "", ns, k8s.Namespace{
		TypeMeta: k8s.TypeMeta{APIVersion: k8s.CoreVersion, Kind: k8s.KindNamespace},
		Metadata: k8s.ObjectMeta{
			Name: ns, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "privileged"},
		},
	})
	d.because(
		"Pods that lock memory add the capability IPC_LOCK, which the levels baseline and "+
			"restricted of pod security refuse.", "metadata", "labels")
}

func (m *maker) nodeFeatures() {
	const ns, name = "openshift-nfd", "nfd-instance"
	if m.has(k8s.KindNFD, ns, "") {
		return
	}
	d := m.add("05-nodefeaturediscovery", k8s.KindNFD, ns, name, k8s.NodeFeatureDiscovery{
		TypeMeta: k8s.TypeMeta{APIVersion: k8s.NFDVersion, Kind: k8s.KindNFD},
		Metadata: k8s.ObjectMeta{Name: name, Namespace: ns},
		Spec: map[string]any{"workerConfig": map[string]any{
			"configData": "sources:\n  pci:\n    deviceClassWhitelist: [\"02\", \"03\", \"0b40\", \"12\"]\n" +
				"    deviceLabelFields: [vendor]\n",
		}},
	})
	d.head = []string{"For the operator of Node Feature Discovery, in its namespace. Where its Helm chart is used " +
		"without the operator, the same text is the chart's worker.config."}
	d.because(
		"By itself it publishes PCI labels for the classes 03, 0b40 and 12 with class and vendor; "+
			"network cards are class 02.", "spec", "workerConfig")
}

func (m *maker) operatorConfig() {
	ns := m.plan.OperatorNamespace
	if slices.ContainsFunc(m.cluster.Nodes, func(n source.Node) bool { return n.SyncStatus != "" }) ||
		m.has(k8s.KindOperatorConfig, ns, "") {
		return // where there are states of nodes, the operator is configured
	}
	d := m.add("10-operatorconfig", k8s.KindOperatorConfig, ns, "default", k8s.SriovOperatorConfig{
		TypeMeta: k8s.TypeMeta{APIVersion: k8s.SriovVersion, Kind: k8s.KindOperatorConfig},
		Metadata: k8s.ObjectMeta{Name: "default", Namespace: ns},
	})
	d.head = []string{
		prose.Join(`
			The operator reads the one that is called default. Its chart may have made it: this one
			sets nothing, so it changes nothing there. A cluster of one node needs disableDrain:
			true, for it has nowhere to drain to. Webhook and injector are off by default: check
			with rdmactl k8s lint instead.`),
	}
}

// poolConfigs makes a pool of the nodes of all groups; labels of different keys need a pool each.
func (m *maker) poolConfigs() {
	mode := m.rdmaMode()
	if m.opts.MaxUnavailable == "" && mode == "" {
		return
	}
	selectors := m.poolSelectors()
	for i, s := range selectors {
		name := "rdma"
		if len(selectors) > 1 {
			name += "-" + letter(i)
		}
		spec := k8s.PoolSpec{NodeSelector: &s, RdmaMode: mode}
		spec.MaxUnavailable = new(k8s.IntOrString(cmp.Or(m.opts.MaxUnavailable, "1")))
		d := m.add("20-poolconfig-"+name, k8s.KindPoolConfig, m.plan.OperatorNamespace, name,
			k8s.SriovNetworkPoolConfig{
				TypeMeta: k8s.TypeMeta{APIVersion: k8s.SriovVersion, Kind: k8s.KindPoolConfig},
				Metadata: k8s.ObjectMeta{Name: name, Namespace: m.plan.OperatorNamespace}, Spec: spec,
			})
		d.because("A label selector, unlike that of a policy. A node may be in one pool only.", "spec", "nodeSelector")
		d.because(
			"How many nodes of the pool drain at a time, percentages rounded down. A pool that doesn't say it drains "+
				"all at once; nodes without a pool go one by one.", "spec", "maxUnavailable")
		if mode != "" {
			why := "As asked for. A change takes a reboot of the node."
			if m.opts.Isolation {
				why = "Isolation moves RDMA devices between namespaces, which the kernel does in this mode only. A " +
					"change takes a reboot of the node, and the shared device plugin (rdma/...) does not start in it."
			}
			d.because(why, "spec", "rdmaMode")
		}
	}
}

// poolSelectors turns the labels of groups into selectors: one where all have the same keys but for
// one value.
func (m *maker) poolSelectors() []k8s.LabelSelector {
	if len(m.groups) == 1 {
		return []k8s.LabelSelector{{MatchLabels: m.groups[0].selector}}
	}
	var key string
	var values []string
	for _, g := range m.groups {
		for _, k := range slices.Sorted(maps.Keys(g.selector)) {
			if len(g.selector) == 1 && (key == "" || key == k) {
				key = k
				values = append(values, g.selector[k])
			}
		}
	}
	if len(values) == len(m.groups) {
		return []k8s.LabelSelector{
			{MatchExpressions: []k8s.SelectorRequirement{{Key: key, Operator: "In", Values: values}}},
		}
	}
	var out []k8s.LabelSelector
	for _, g := range m.groups {
		out = append(out, k8s.LabelSelector{MatchLabels: g.selector})
	}
	return out
}

// namedDrafts returns the policies by rail, with names: that of the rail, and a letter where a rail
// has several, which is that of the group where there are groups.
func (m *maker) namedDrafts() []*draft {
	var out []*draft
	for _, r := range m.rails {
		var mine []*draft
		for i, g := range m.groups {
			for _, d := range g.drafts {
				if d.rail != r {
					continue
				}
				if len(m.groups) == 1 {
					i = len(mine)
				}
				d.name = r.name + "-" + letter(i)
				mine = append(mine, d)
			}
		}
		if len(mine) == 1 {
			mine[0].name = r.name
		}
		out = append(out, mine...)
	}
	return out
}

func (m *maker) policy(p *draft) {
	ns := m.plan.OperatorNamespace
	d := m.add("30-policy-"+p.name, k8s.KindPolicy, ns, p.name, k8s.SriovNetworkNodePolicy{
		TypeMeta: k8s.TypeMeta{APIVersion: k8s.SriovVersion, Kind: k8s.KindPolicy},
		Metadata: k8s.ObjectMeta{Name: p.name, Namespace: ns}, Spec: p.spec,
	})
	first := p.members[0]
	head := fmt.Sprintf("%s: %s (%s)", p.rail.name, first.pf.Address, first.pf.Netdev)
	if p.rail.fabric != nil {
		head += " on fabric " + fabricText(p.rail.fabric)
	}
	d.head = []string{head + " of " + nodeList(p.members) + "."}
	d.because(
		"A name of letters, digits and _ only, which all releases take. Pods ask for "+m.plan.ResourcePrefix+"/"+
			p.spec.ResourceName+
			". One resource for each rail: the device plugin hands out any VF of a resource.", "spec", "resourceName")
	why := "Labels: " + p.group.reason + "."
	switch l := p.group.label; {
	case l == nil:
	case len(l.Nodes) > listed:
		why += " The command is at the top."
	default:
		why += " " + l.command()
	}
	d.because(why, "spec", "nodeSelector")
	d.because(fmt.Sprintf("Of policies for one PF the lower number wins. Written out, because without it the policy "+
		"has %d, the highest, or %d, the lowest, where the operator's webhook is on.",
		k8s.UnwrittenPriority, k8s.WebhookPriority), "spec", "priority")
	switch {
	case p.rail.mtuFound:
		const text = "As all ports of the rail have it. VFs don't follow their PF: without it they have %d."
		d.because(fmt.Sprintf(text, plainMTU), "spec", "mtu")
	case p.spec.MTU != nil:
		d.because("As asked for; a PF with VFs drains its node for a larger one.", "spec", "mtu")
	}
	d.because(vfText(p), "spec", "numVfs")
	d.because(selectorText(p), "spec", "nicSelector")
	d.because("The device plugin mounts /dev/infiniband/uverbs* only with this; it needs netdevice.", "spec", "isRdma")
	link := "As the ports are."
	switch {
	case p.rail.link == source.LinkIB:
		link += " Without it operators before v1.2.0 take InfiniBand for Ethernet and hang; another value changes " +
			"the firmware with a reboot."
	case first.pf.Vendor == k8s.VendorMellanox:
		link += " Another value changes the firmware with a reboot; without it VFs of Ethernet and InfiniBand of " +
			"one model share a resource."
	}
	d.because(link, "spec", "linkType")
	if p.spec.ESwitchMode != "" {
		d.because("As the PF is now: without it the operator sets legacy mode, and drains the node for the change.",
			"spec", "eSwitchMode")
	}
	if p.spec.ExternallyManaged != nil {
		d.because(
			"Others make the VFs, so the operator changes neither their number nor the firmware: no drain, no "+
				"reboot. They must be there before the policy.", "spec", "externallyManaged")
	}
}

// command gives the nodes the label.
func (l Label) command() string {
	return "kubectl label nodes " + strings.Join(l.Nodes, " ") + " " + l.Key + "=" + l.Value
}

// nodeList names the nodes of some PFs, the first few.
func nodeList(members []*choice) string {
	var list []string
	for _, c := range members {
		list = append(list, c.node.Name)
	}
	return shortList(list)
}

// vfText explains the number of VFs, for all nodes that have the same reason together.
func vfText(p *draft) string {
	type reason struct {
		vfCount
		members []*choice
	}
	var reasons []*reason
	for _, c := range p.members {
		i := slices.IndexFunc(reasons, func(r *reason) bool { return r.vfCount == c.vfs })
		if i < 0 {
			i = len(reasons)
			reasons = append(reasons, &reason{vfCount: c.vfs})
		}
		reasons[i].members = append(reasons[i].members, c)
	}
	var parts []string
	for _, r := range reasons {
		text := r.why
		switch r.cost {
		case reboot:
			text += fmt.Sprintf(". The operator sets it to exactly %d: the node drains and reboots, unless it is set "+
				"before (mstconfig -d %s set SRIOV_EN=1 NUM_OF_VFS=%d) or others make the VFs",
				r.n, r.members[0].pf.Address, r.n)
		case drain:
			text += fmt.Sprintf(". %d exist now: the node drains for the change", r.members[0].pf.NumVFs)
		}
		if len(reasons) > 1 {
			text = "On " + nodeList(r.members) + ": " + text
		}
		parts = append(parts, strings.ToUpper(text[:1])+text[1:]+".")
	}
	return strings.Join(parts, " ")
}

func selectorText(p *draft) string {
	if len(p.spec.NicSelector.PfNames) > 0 {
		return "By name, as asked for. Kernels and udev may rename network devices; names are compared " +
			"exactly. All fields have to fit."
	}
	return "By PCI address, which stays when network devices are renamed; a card in another slot is another policy. " +
		"It is compared as text, so it is full and in lower case. All fields have to fit."
}

func (m *maker) network(r *rail) {
	conf := ipam.Config{Type: ipam.TypeWhereabouts, Range: r.out.Subnet.String()}
	text, err := conf.JSON()
	if err != nil { // texts alone have no reason to fail
		return
	}
	room := fmt.Sprintf("%s for %s on %s", english.Count(r.out.Addresses, "address"), english.Count(r.out.VFs, "VF"),
		english.Count(len(r.members), "node"))
	if m.opts.Nodes > len(r.members) {
		room += fmt.Sprintf(" now, with room for %d", m.opts.Nodes)
	}
	why := "whereabouts counts over the whole cluster. " + room + ". A subnet of its own for each rail, " +
		"outside of the ranges that others are known to have; no gateway and no default route, which would " +
		"take the pod's other traffic."
	if r.link == source.LinkIB && m.opts.Isolation {
		m.isolatedIB(r, conf, why)
		return
	}
	spec := k8s.IBNetworkSpec{ResourceName: r.resource(), NetworkNamespace: m.plan.Namespace, IPAM: text}
	meta := k8s.ObjectMeta{Name: r.name, Namespace: m.plan.OperatorNamespace}
	var d *document
	if r.link == source.LinkIB {
		spec.LinkState = "enable"
		d = m.add("40-network-"+r.name, k8s.KindIBNetwork, meta.Namespace, r.name, k8s.SriovIBNetwork{
			TypeMeta: k8s.TypeMeta{APIVersion: k8s.SriovVersion, Kind: k8s.KindIBNetwork}, Metadata: meta, Spec: spec,
		})
		d.because(
			"The port of the VF comes up to Init by itself, and a subnet manager that knows virtualization makes it "+
				"active. With no state set it may stay down.", "spec", "linkState")
		why += " InfiniBand needs addresses for what connects by them (rping, librdmacm); verbs do without."
	} else {
		if m.opts.Isolation {
			spec.MetaPlugins = `{"type":"rdma"}`
		}
		d = m.add("40-network-"+r.name, k8s.KindNetwork, meta.Namespace, r.name, k8s.SriovNetwork{
			TypeMeta: k8s.TypeMeta{APIVersion: k8s.SriovVersion, Kind: k8s.KindNetwork}, Metadata: meta,
			Spec: k8s.NetworkSpec{IBNetworkSpec: spec},
		})
		why += " RoCE makes its GIDs of addresses, so each VF needs one."
	}
	if m.opts.Isolation {
		d.because(
			"The rdma plugin moves the RDMA device into the pod's namespace, so a pod sees its own only; "+
				"it needs exclusive mode.", "spec", "metaPlugins")
	}
	d.because("Where the NetworkAttachmentDefinition goes; pods elsewhere write "+m.plan.Namespace+"/"+r.name+".",
		"spec", "networkNamespace")
	d.because(why, "spec", "ipam")
}

// isolatedIB writes the definition that the operator can't write: SriovIBNetwork has no
// rdmaIsolation.
func (m *maker) isolatedIB(r *rail, conf ipam.Config, why string) {
	config, err := compactJSON(struct {
		CNIVersion    string      `json:"cniVersion"`
		Name          string      `json:"name"`
		Type          string      `json:"type"`
		LinkState     string      `json:"link_state"`
		RDMAIsolation bool        `json:"rdmaIsolation"`
		IPAM          ipam.Config `json:"ipam"`
	}{"1.0.0", r.name, "ib-sriov", "enable", true, conf})
	if err != nil { // plain data has no reason to fail
		return
	}
	ns := m.plan.Namespace
	d := m.add("40-network-"+r.name, k8s.KindNAD, ns, r.name, k8s.NetworkAttachmentDefinition{
		TypeMeta: k8s.TypeMeta{APIVersion: k8s.NADVersion, Kind: k8s.KindNAD},
		Metadata: k8s.ObjectMeta{Name: r.name, Namespace: ns, Annotations: map[string]string{
			k8s.AnnotationResourceName: m.plan.ResourcePrefix + "/" + r.resource(),
		}},
		Spec: k8s.NADSpec{Config: config},
	})
	d.head = []string{"By hand, because SriovIBNetwork can't express isolation. ib-sriov does it itself: the rdma " +
		"plugin does not take it as the plugin before it."}
	d.because("With the operator's prefix, which it would write itself in a network of its own.",
		"metadata", "annotations")
	d.because(why, "spec", "config")
}
