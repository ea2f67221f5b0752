package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// objects adds all documents, in the order in which to apply them.
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

// add appends a document.
func (m *maker) add(file, kind, namespace, name string, value any) *document {
	d := &document{file: file + ".yaml", kind: kind, namespace: namespace, name: name, value: value}
	m.docs = append(m.docs, d)
	return d
}

// has reports whether the cluster has an object. An empty name matches any.
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
		"Pods that lock memory need the capability IPC_LOCK, which the Pod Security levels baseline and "+
			"restricted reject.", "metadata", "labels")
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
	d.head = []string{"For the Node Feature Discovery operator, in its namespace. If you use its Helm chart without " +
		"the operator, set the chart's worker.config to the same text."}
	d.because(
		"By default NFD publishes PCI labels, with class and vendor, only for the classes 03, 0b40 and 12; "+
			"network cards have class 02.", "spec", "workerConfig")
}

func (m *maker) operatorConfig() {
	ns := m.plan.OperatorNamespace
	if slices.ContainsFunc(m.cluster.Nodes, func(n source.Node) bool { return n.SyncStatus != "" }) ||
		m.has(k8s.KindOperatorConfig, ns, "") {
		return // node states exist, so the operator is configured
	}
	d := m.add("10-operatorconfig", k8s.KindOperatorConfig, ns, "default", k8s.SriovOperatorConfig{
		TypeMeta: k8s.TypeMeta{APIVersion: k8s.SriovVersion, Kind: k8s.KindOperatorConfig},
		Metadata: k8s.ObjectMeta{Name: "default", Namespace: ns},
	})
	d.head = []string{
		prose.Join(`
			The operator reads only the SriovOperatorConfig named default. If its chart has created
			it already, this object changes nothing, because it has no settings. A cluster with a
			single node needs disableDrain: true, because drained pods have no other node. Webhook
			and injector are off by default: check the manifests with rdmactl k8s lint instead.`),
	}
}

// poolConfigs adds a pool for the nodes of all groups, or one for each group if their labels have
// different keys.
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
		d.because("A label selector, unlike that of a policy. A node must not be in several pools.",
			"spec", "nodeSelector")
		d.because(
			"Number of nodes of the pool that drain at a time; percentages are rounded down. Without it all nodes of "+
				"the pool drain at once; nodes without a pool drain one at a time.", "spec", "maxUnavailable")
		if mode != "" {
			why := "As requested. A change requires a reboot of the node."
			if m.opts.Isolation {
				why = "Isolation moves RDMA devices between namespaces, which the kernel allows only in this mode. A " +
					"change requires a reboot of the node, and the shared device plugin (rdma/...) doesn't start in " +
					"this mode."
			}
			d.because(why, "spec", "rdmaMode")
		}
	}
}

// poolSelectors returns the selectors of the pools: one for all groups if each has a single label
// with the same key, otherwise one for each group.
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

// namedDrafts returns the policies by rail, and sets their names: the name of the rail, with the
// letter of the group of nodes if the rail has several policies.
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
		"Only letters, digits and _, which all releases allow. Pods request "+m.plan.ResourcePrefix+"/"+
			p.spec.ResourceName+
			". One resource for each rail, because the device plugin allocates any VF of a resource.",
		"spec", "resourceName")
	why := "Labels: " + p.group.reason + "."
	switch l := p.group.label; {
	case l == nil:
	case len(l.Nodes) > listed:
		why += " The command is at the top."
	default:
		why += " " + output.Unbroken(l.command())
	}
	d.because(why, "spec", "nodeSelector")
	d.because(fmt.Sprintf("If several policies select a PF, the lowest number wins. Without a priority the policy has "+
		"%d, the highest, or %d, the lowest, if the operator's webhook is on.",
		k8s.UnwrittenPriority, k8s.WebhookPriority), "spec", "priority")
	switch {
	case p.rail.mtuFound:
		const text = "The MTU of all ports of the rail. VFs don't inherit it from their PF: without it they have %d."
		d.because(fmt.Sprintf(text, plainMTU), "spec", "mtu")
	case p.spec.MTU != nil:
		d.because("As requested. A larger MTU on a PF with VFs drains the node.", "spec", "mtu")
	}
	d.because(vfText(p), "spec", "numVfs")
	d.because(selectorText(p), "spec", "nicSelector")
	d.because("Required for /dev/infiniband/uverbs* in pods, with deviceType netdevice.", "spec", "isRdma")
	link := "The link type of the ports."
	switch {
	case p.rail.link == source.LinkIB:
		link += " Without it operators before v1.2.0 treat InfiniBand as Ethernet and hang; another value changes " +
			"the firmware with a reboot."
	case first.pf.Vendor == k8s.VendorMellanox:
		link += " Another value changes the firmware with a reboot; without it Ethernet and InfiniBand VFs of " +
			"the same model share a resource."
	}
	d.because(link, "spec", "linkType")
	if p.spec.ESwitchMode != "" {
		d.because("The present mode of the PF. Without it the operator sets legacy mode and drains the node.",
			"spec", "eSwitchMode")
	}
	if p.spec.ExternallyManaged != nil {
		d.because(
			"The VFs are created outside of the operator, which changes neither their number nor the firmware: no "+
				"drain, no reboot. They must exist before the policy is applied.", "spec", "externallyManaged")
	}
}

// command returns the command that adds the label to the nodes.
func (l Label) command() string {
	return "kubectl label nodes " + strings.Join(l.Nodes, " ") + " " + l.Key + "=" + l.Value
}

// nodeList returns the nodes of PFs as a short list.
func nodeList(members []*choice) string {
	var list []string
	for _, c := range members {
		list = append(list, c.node.Name)
	}
	return shortList(list)
}

// vfText explains the number of VFs. Nodes with the same reason share an explanation.
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
			text += fmt.Sprintf(". The operator sets it to exactly %d: the node drains and reboots, unless you set it "+
				"beforehand (mstconfig -d %s set SRIOV_EN=1 NUM_OF_VFS=%d) or the VFs are externally managed",
				r.n, r.members[0].pf.Address, r.n)
		case drain:
			text += fmt.Sprintf(". %d exist now: the change drains the node", r.members[0].pf.NumVFs)
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
		return "By name, as requested. Names must match exactly, but kernels and udev may rename network devices. " +
			"A PF must match all fields."
	}
	return "By PCI address, which doesn't change when network devices are renamed; a card in another slot needs " +
		"another policy. The operator compares strings, so the address is complete and in lower case. A PF must " +
		"match all fields."
}

func (m *maker) network(r *rail) {
	conf := ipam.Config{Type: ipam.TypeWhereabouts, Range: r.out.Subnet.String()}
	text, err := conf.JSON()
	if err != nil { // never happens with strings only
		return
	}
	room := fmt.Sprintf("%s for %s on %s", english.Count(r.out.Addresses, "address"), english.Count(r.out.VFs, "VF"),
		english.Count(len(r.members), "node"))
	if m.opts.Nodes > len(r.members) {
		room += fmt.Sprintf(" now, enough for %d nodes", m.opts.Nodes)
	}
	why := "whereabouts assigns addresses that are unique in the cluster. " + room + ". Each rail has a separate " +
		"subnet outside of the known ranges of the cluster; no gateway and no default route, which would attract " +
		"the pod's other traffic."
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
			"The VF's port goes to Init, and a subnet manager that supports virtualization makes it active. Without "+
				"linkState it may stay down.", "spec", "linkState")
		why += " On InfiniBand rping and librdmacm need addresses; verbs don't."
	} else {
		if m.opts.Isolation {
			spec.MetaPlugins = `{"type":"rdma"}`
		}
		d = m.add("40-network-"+r.name, k8s.KindNetwork, meta.Namespace, r.name, k8s.SriovNetwork{
			TypeMeta: k8s.TypeMeta{APIVersion: k8s.SriovVersion, Kind: k8s.KindNetwork}, Metadata: meta,
			Spec: k8s.NetworkSpec{IBNetworkSpec: spec},
		})
		why += " RoCE derives its GIDs from addresses, so each VF needs one."
	}
	if m.opts.Isolation {
		d.because(
			"The rdma plugin moves the RDMA device into the pod's namespace, so a pod sees only its own devices. "+
				"This requires exclusive mode.", "spec", "metaPlugins")
	}
	d.because("Namespace of the NetworkAttachmentDefinition. Pods in other namespaces write "+
		m.plan.Namespace+"/"+r.name+".", "spec", "networkNamespace")
	d.because(why, "spec", "ipam")
}

// isolatedIB adds a NetworkAttachmentDefinition with rdmaIsolation, for which SriovIBNetwork has no
// field.
func (m *maker) isolatedIB(r *rail, conf ipam.Config, why string) {
	config, err := compactJSON(struct {
		CNIVersion    string      `json:"cniVersion"`
		Name          string      `json:"name"`
		Type          string      `json:"type"`
		LinkState     string      `json:"link_state"`
		RDMAIsolation bool        `json:"rdmaIsolation"`
		IPAM          ipam.Config `json:"ipam"`
	}{"1.0.0", r.name, "ib-sriov", "enable", true, conf})
	if err != nil { // never happens with plain data
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
	d.head = []string{"A NetworkAttachmentDefinition instead of a SriovIBNetwork, which has no field for isolation. " +
		"ib-sriov isolates the RDMA device itself; the rdma plugin doesn't work after ib-sriov."}
	d.because("With the operator's prefix, which the operator adds only to its own networks.",
		"metadata", "annotations")
	d.because(why, "spec", "config")
}
