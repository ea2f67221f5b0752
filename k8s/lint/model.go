package lint

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// model holds all objects and nodes, indexed for the rules.
type model struct {
	in      Input
	objects []*manifest.Object        // those to check first, then those of the cluster
	checked map[*manifest.Object]bool // the objects to check
	nodes   []source.Node
	ignored []ignore // comments that suppress findings

	policies   []*typed[k8s.SriovNetworkNodePolicy]
	networks   []*network
	pools      []*typed[k8s.SriovNetworkPoolConfig]
	configs    []*typed[k8s.SriovOperatorConfig]
	nads       []*typed[k8s.NetworkAttachmentDefinition]
	namespaces map[string]bool
	pods       []*pod
	podsIn     map[*manifest.Object][]*pod // by object
	// placeholders are the places of values that rules didn't judge.
	placeholders map[string]bool
	// patched are the places of findings that were dropped because patches may change them.
	patched map[string]bool

	// Results that several rules use, computed once.
	selected  map[*policy][]card // PFs that a policy selects
	sharedPFs []sharedPF
	byName    map[string][]attachable
	names     []string          // of the networks that pods can name, each once
	others    map[string]bool   // networks that objects of kinds without rules create
	similar   map[string]string // results of nearest
	units     map[string]bool   // what networks are applied with
	// dynamicAllocation reports whether an object is for dynamic resource allocation (DRA), with
	// which a driver gives VFs to pods without a device plugin.
	dynamicAllocation bool
	supported         map[string]bool     // device IDs that the operator knows
	prefixes          map[string][]string // of resources, by name
	attach            []attachable
	addresses         []ipamRef
	known             []string // resources of policies and nodes
	// rdmaNetworks are the resources of networks that are for RDMA.
	rdmaNetworks map[string]bool
	resource     map[string]resourceUse
	ofPolicy     map[string][]*policy  // by resource
	ofNetwork    map[string][]*network // by resource
	// interfaces counts the pods' interfaces on each network.
	interfaces map[*manifest.Object]int
}

// resourceUse reports whether a policy or node has a resource, and whether a network uses it.
type resourceUse struct{ made, networked bool }

// typed is an object together with its decoded form.
type typed[T any] struct {
	*manifest.Object
	Value T
}

// network is a SriovNetwork or a SriovIBNetwork.
type network struct {
	*manifest.Object
	Spec k8s.NetworkSpec
	IB   bool
}

// target returns the namespace of the NetworkAttachmentDefinition.
func (n *network) target() string { return cmp.Or(n.Spec.NetworkNamespace, n.Namespace) }

func newModel(in Input) *model {
	m := &model{
		in: in, checked: map[*manifest.Object]bool{}, nodes: in.Cluster.Nodes, namespaces: map[string]bool{},
		placeholders: map[string]bool{}, patched: map[string]bool{}, similar: map[string]string{},
		podsIn: map[*manifest.Object][]*pod{}, ignored: readIgnores(in.Manifests),
	}
	seen := map[string]bool{}
	for _, o := range in.Manifests.Objects {
		m.checked[o] = true
		m.objects = append(m.objects, o)
		seen[o.String()] = true
	}
	for _, o := range in.Cluster.Objects {
		if !seen[o.String()] {
			m.objects = append(m.objects, o)
		}
	}
	var states []source.Node
	for _, o := range m.objects {
		m.dynamicAllocation = m.dynamicAllocation || strings.HasPrefix(o.APIVersion, "resource.k8s.io/")
		if found := m.add(o); !m.checked[o] {
			states = append(states, found...)
		}
	}
	if len(states) > 0 {
		m.nodes = source.Join(append(slices.Clone(m.nodes), states...))
	}
	m.index()
	return m
}

// index fills the fields that several rules use.
func (m *model) index() {
	m.ofPolicy, m.ofNetwork = map[string][]*policy{}, map[string][]*network{}
	for _, p := range m.policies {
		m.ofPolicy[p.Value.Spec.ResourceName] = append(m.ofPolicy[p.Value.Spec.ResourceName], p)
	}
	for _, n := range m.networks {
		m.ofNetwork[n.Spec.ResourceName] = append(m.ofNetwork[n.Spec.ResourceName], n)
	}
	delete(m.ofPolicy, "")
	delete(m.ofNetwork, "")
	m.selected = map[*policy][]card{}
	for _, p := range m.policies {
		m.selected[p] = source.Select(p.Value.Spec, m.nodes)
	}
	m.sharedPFs = m.findSharedPFs()
	rendered := map[string]*typed[k8s.NetworkAttachmentDefinition]{}
	for _, nad := range m.nads {
		rendered[nad.Namespace+"/"+nad.Name] = nad
	}
	m.attach = m.findAttachables(rendered)
	m.byName = map[string][]attachable{}
	for _, a := range m.attach {
		if a.Name != "" && m.byName[a.Name] == nil {
			m.names = append(m.names, a.Name)
		}
		m.byName[a.Name] = append(m.byName[a.Name], a)
	}
	for _, a := range m.nvAttachables() {
		m.byName[a.Name] = append(m.byName[a.Name], a)
	}
	m.units = m.unitsOfNetworks()
	m.others, m.supported, m.prefixes = m.findOthers(), m.findSupported(), m.findPrefixes()
	m.interfaces = m.interfacesOf()
	m.rdmaNetworks = m.findRDMANetworks()
	m.addresses = m.findIPAMs()
	m.known = m.findResources()
	m.resource = map[string]resourceUse{}
	for _, r := range m.known {
		m.resource[r] = resourceUse{made: true}
	}
	for _, a := range m.attach {
		if a.resource != "" {
			m.resource[a.resource] = resourceUse{made: m.resource[a.resource].made, networked: true}
		}
	}
}

// add adds an object to the list of its kind, and returns the node that the object describes.
func (m *model) add(o *manifest.Object) []source.Node {
	switch o.Kind {
	case k8s.KindPolicy:
		m.policies = append(m.policies, decode[k8s.SriovNetworkNodePolicy](o))
	case k8s.KindNetwork:
		m.networks = append(m.networks, &network{Object: o, Spec: decode[k8s.SriovNetwork](o).Value.Spec})
	case k8s.KindIBNetwork:
		spec := decode[k8s.SriovIBNetwork](o).Value.Spec
		m.networks = append(m.networks, &network{Object: o, IB: true, Spec: k8s.NetworkSpec{IBNetworkSpec: spec}})
	case k8s.KindPoolConfig:
		m.pools = append(m.pools, decode[k8s.SriovNetworkPoolConfig](o))
	case k8s.KindOperatorConfig:
		m.configs = append(m.configs, decode[k8s.SriovOperatorConfig](o))
	case k8s.KindNAD:
		m.nads = append(m.nads, decode[k8s.NetworkAttachmentDefinition](o))
	case k8s.KindNamespace:
		m.namespaces[o.Name] = true
	case k8s.KindNodeState:
		return []source.Node{source.FromNodeState(decode[k8s.SriovNetworkNodeState](o).Value, o.File)}
	case k8s.KindNode:
		return []source.Node{source.FromNode(decode[k8s.Node](o).Value, o.File)}
	default:
		m.podsIn[o] = podsOf(o)
		m.pods = append(m.pods, m.podsIn[o]...)
	}
	return nil
}

func decode[T any](o *manifest.Object) *typed[T] {
	t := &typed[T]{Object: o}
	o.Decode(&t.Value)
	return t
}

// has reports whether an object of one of the kinds is to be checked.
func (m *model) has(kinds []string) bool {
	return slices.ContainsFunc(m.objects, func(o *manifest.Object) bool {
		return m.checked[o] &&
			(slices.Contains(kinds, o.Kind) || slices.Contains(kinds, k8s.KindPod) && len(m.podsIn[o]) > 0)
	})
}

// operatorNamespace returns the namespace of the operator. certain is false for a guess.
func (m *model) operatorNamespace() (name string, certain bool) {
	if ns := m.in.Options.OperatorNamespace; ns != "" {
		return ns, true
	}
	for _, c := range m.configs {
		if c.Namespace != "" {
			return c.Namespace, true
		}
	}
	for i := range m.nodes {
		if s := m.nodes[i].State; s != nil && s.Metadata.Namespace != "" {
			return s.Metadata.Namespace, true // the operator writes them into its own namespace
		}
	}
	counts := map[string]int{}
	for _, p := range m.policies {
		if slices.Contains(usualNamespaces(), p.Namespace) {
			counts[p.Namespace]++
		}
	}
	for _, ns := range usualNamespaces() {
		if counts[ns] > counts[name] {
			name = ns
		}
	}
	return name, false
}

// usualNamespaces returns the namespaces that the operator's charts and manuals use.
func usualNamespaces() []string {
	return []string{
		"sriov-network-operator", "nvidia-network-operator", "openshift-sriov-network-operator", "network-operator",
	}
}

// templates returns the places of templates and placeholders, which were not checked.
func (m *model) templates() []string {
	if m.in.Options.Templates {
		return nil
	}
	var out []string
	for _, problem := range m.in.Manifests.Problems {
		if problem.Type == manifest.ProblemTemplate {
			out = append(out, problem.At.String())
		}
	}
	return append(out, slices.Sorted(maps.Keys(m.placeholders))...)
}

// webhook reports whether the operator's webhook is on, and whether that is known. Without a
// SriovOperatorConfig it is unknown: the webhook is off by default, and on with OpenShift.
func (m *model) webhook() (on, known bool) {
	for _, c := range m.configs {
		if c.Name == "default" {
			return k8s.ValueOf(c.Value.Spec.EnableOperatorWebhook), true
		}
	}
	return false, false
}

// setting is a setting of the operator, which may not be among the manifests.
type setting int

const (
	settingUnknown setting = iota
	settingOff
	settingOn
)

// injector returns whether network-resources-injector adds resources to pods. The operator turns it
// on by default on OpenShift only.
func (m *model) injector() setting {
	for _, c := range m.configs {
		switch {
		case c.Name != "default":
		case k8s.ValueOf(c.Value.Spec.EnableInjector):
			return settingOn
		default:
			return settingOff
		}
	}
	if name, _ := m.operatorNamespace(); strings.HasPrefix(name, "openshift-") {
		return settingOn
	}
	return settingUnknown
}

// unitsOfNetworks returns what networks are applied with, "" for those that were named or are in
// the cluster.
func (m *model) unitsOfNetworks() map[string]bool {
	out := map[string]bool{}
	for _, a := range m.attach {
		if m.checked[a.Object] {
			out[a.Unit] = true
		} else {
			out[""] = true
		}
	}
	return out
}

// takesPart reports whether an object has to do with RDMA networking: its kind is one of the
// operator or of multus, or it is a pod with an attachment or a resource of a policy or network.
// Rules that are right for any object speak only of these; other linters know the rest.
func (m *model) takesPart(o *manifest.Object) bool {
	if k8s.Schema(o.Kind) != nil || slices.Contains([]string{k8s.KindNodeState, k8s.KindNode}, o.Kind) {
		return true
	}
	return slices.ContainsFunc(m.podsIn[o], func(p *pod) bool {
		return len(p.attachments()) > 0 || p.err != nil || p.defaultErr != nil ||
			slices.ContainsFunc(p.all(), m.usesResource)
	})
}

// usesResource reports whether a container has a resource for RDMA, or one of a policy or network.
func (m *model) usesResource(c container) bool {
	for _, list := range []map[string]k8s.Quantity{c.Resources.Limits, c.Resources.Requests} {
		for name := range list {
			if prefix, base := splitResource(name); prefix != "" && m.ours(base) || m.isRDMA(prefix, base) {
				return true
			}
		}
	}
	return false
}

// policiesOf returns the policies of a resource.
func (m *model) policiesOf(resource string) []*policy { return m.ofPolicy[resource] }

// networksOf returns the networks of a resource.
func (m *model) networksOf(resource string) []*network { return m.ofNetwork[resource] }

// attachable is a network that a pod can name in its annotation.
type attachable struct {
	*manifest.Object
	namespace string
	// prefix and resource are the two parts of the resource that the pod must request. prefix is ""
	// if it is unknown.
	prefix, resource string
	network          *network // nil for networks of other kinds
}

// attachables returns the networks that pods can name. A network and the
// NetworkAttachmentDefinition that the operator wrote from it are one entry.
func (m *model) attachables() []attachable { return m.attach }

func (m *model) findAttachables(rendered map[string]*typed[k8s.NetworkAttachmentDefinition]) []attachable {
	var out []attachable
	written := map[string]bool{}
	for _, n := range m.networks {
		a := attachable{
			Object: n.Object, namespace: n.target(), prefix: m.in.Options.ResourcePrefix,
			resource: n.Spec.ResourceName, network: n,
		}
		id := a.namespace + "/" + n.Name
		written[id] = true
		if nad := rendered[id]; nad != nil {
			a.prefix, _ = splitResource(nad.Value.Metadata.Annotations[k8s.AnnotationResourceName])
		}
		out = append(out, a)
	}
	for _, nad := range m.nads {
		if written[nad.Namespace+"/"+nad.Name] {
			continue
		}
		a := attachable{Object: nad.Object, namespace: nad.Namespace}
		if first := pluginsOf(nad.Value.Spec.Config); len(first) == 0 || first[0].Type != "ovs" {
			a.prefix, a.resource = splitResource(nad.Value.Metadata.Annotations[k8s.AnnotationResourceName])
		} // a resource of ovs-cni is a mark of nodes with the bridge, and pods needn't request it
		out = append(out, a)
	}
	return out
}

// splitResource splits "nvidia.com/rail0" into prefix and name.
func splitResource(s string) (prefix, name string) {
	if i := strings.LastIndexByte(s, '/'); i >= 0 {
		return s[:i], s[i+1:]
	}
	return "", s
}
