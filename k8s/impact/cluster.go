package impact

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// model is the input of a prediction, indexed.
type model struct {
	in    Input
	nodes []source.Node

	namespace string
	before    []*policy
	after     []*policy
	// withWebhook is after with the priorities that the webhook would set in the policies that
	// implied names.
	withWebhook []*policy
	implied     []string
	// known are the names of all policies, including those to delete.
	known map[string]bool
	// complete reports whether before and after are all policies of the cluster.
	complete             bool
	poolsBefore, pools   []*pool
	poolsKnown           bool // the pools of the cluster are known
	webhook              *bool
	noDrain, systemd     bool
	firmwareOff, bridges bool
	daemons              map[string]string // configDaemonNodeSelector
	removed, ignored     []string
	strays               int // applied policies outside of the operator's namespace
	// unwritten are the applied policies without a priority, unwrittenBefore those of the cluster.
	unwritten, unwrittenBefore []string
}

// pool is a SriovNetworkPoolConfig.
type pool struct {
	name string
	spec k8s.PoolSpec
	// unavailable is the value of maxUnavailable, nil for none. The YAML value distinguishes 1 from
	// "1".
	unavailable *manifest.Value
}

func newModel(in Input) *model {
	m := &model{in: in}
	m.gatherNodes()
	now, then := m.merge()
	m.namespace = m.operatorNamespace(then)
	m.readOperator(then)
	m.before = m.policiesOf(now, nil)
	m.after = m.policiesOf(then, &m.ignored)
	m.poolsBefore, m.pools = poolsOf(now), poolsOf(then)
	m.poolsKnown = len(m.poolsBefore) > 0
	m.complete = in.Options.Prune || len(m.before) > 0
	m.checkDeleted()
	m.assumeWebhook()
	m.known = map[string]bool{}
	for _, p := range slices.Concat(m.before, m.after) {
		m.known[p.name] = true
	}
	for _, name := range m.in.Options.Delete {
		m.known[name] = true
	}
	return m
}

// assumeWebhook sets withWebhook and implied.
func (m *model) assumeWebhook() {
	for _, p := range m.after {
		q := *p
		if q.implied {
			q.priority = k8s.WebhookPriority
			m.implied = append(m.implied, q.name)
		}
		m.withWebhook = append(m.withWebhook, &q)
	}
	sortPolicies(m.withWebhook)
}

// PolicyNames returns the sorted names of all policies that [Options] may delete: those in the
// manifests, in the cluster, and in the states of nodes.
func PolicyNames(in Input) []string {
	m := &model{in: in}
	m.gatherNodes()
	return m.policyNames()
}

func (m *model) policyNames() []string {
	names := map[string]bool{}
	for _, o := range slices.Concat(m.in.Manifests.Objects, m.in.Cluster.Objects) {
		if o.Kind == k8s.KindPolicy {
			names[o.Name] = true
		}
	}
	for i := range m.nodes {
		s := m.nodes[i].State
		if s == nil || s.Spec == nil {
			continue
		}
		for _, card := range s.Spec.Interfaces {
			for _, g := range card.VfGroups {
				names[g.PolicyName] = true
			}
		}
	}
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}

// checkDeleted reports policies to delete that don't exist.
func (m *model) checkDeleted() {
	if len(m.in.Options.Delete) == 0 {
		return
	}
	known := m.policyNames()
	for _, name := range m.in.Options.Delete {
		if !slices.Contains(known, name) {
			m.ignored = append(m.ignored, fmt.Sprintf(
				"policy %s, which is to be deleted: it is neither in the manifests, nor in the cluster, nor in a "+
					"state", name))
		}
	}
}

// gatherNodes joins the nodes of the cluster with those in the manifests.
func (m *model) gatherNodes() {
	m.nodes = m.in.Cluster.Nodes
	var more []source.Node
	for _, o := range m.in.Manifests.Objects {
		switch o.Kind {
		case k8s.KindNodeState:
			var state k8s.SriovNetworkNodeState
			o.Decode(&state)
			more = append(more, source.FromNodeState(state, o.File))
		case k8s.KindNode:
			var node k8s.Node
			o.Decode(&node)
			more = append(more, source.FromNode(node, o.File))
		}
	}
	if len(more) > 0 {
		m.nodes = source.Join(append(slices.Clone(m.nodes), more...))
	}
	m.nodes = slices.DeleteFunc(slices.Clone(m.nodes), func(n source.Node) bool { return n.Name == "" })
}

// merge returns the objects of the cluster before and after the manifests are applied.
func (m *model) merge() (now, then []*manifest.Object) {
	now = lastOf(m.in.Cluster.Objects)
	applied := slices.DeleteFunc(lastOf(m.in.Manifests.Objects), m.deleted)
	for _, o := range now {
		switch {
		case slices.ContainsFunc(applied, func(a *manifest.Object) bool { return same(a, o) }):
		case m.deleted(o), o.Kind == k8s.KindPolicy && m.in.Options.Prune:
			m.removed = append(m.removed, o.Name)
		default:
			then = append(then, o)
		}
	}
	return now, append(then, applied...)
}

// deleted reports whether an object is a policy to delete.
func (m *model) deleted(o *manifest.Object) bool {
	return o.Kind == k8s.KindPolicy && slices.Contains(m.in.Options.Delete, o.Name)
}

// lastOf returns the policies, pools and operator configurations among objects. Of duplicate
// objects it returns the last, which kubectl applies last.
func lastOf(objects []*manifest.Object) []*manifest.Object {
	place := map[string]int{}
	for i, o := range objects {
		place[o.String()] = i
	}
	var out []*manifest.Object
	for i, o := range objects {
		if place[o.String()] == i &&
			slices.Contains([]string{k8s.KindPolicy, k8s.KindPoolConfig, k8s.KindOperatorConfig}, o.Kind) {
			out = append(out, o)
		}
	}
	return out
}

// same reports whether a and b are the same object. A manifest without a namespace matches any
// namespace.
func same(a, b *manifest.Object) bool {
	return a.Kind == b.Kind && a.Name == b.Name &&
		(a.Namespace == b.Namespace || a.Namespace == "" || b.Namespace == "")
}

// operatorNamespace returns the operator's namespace, "" if it is unknown.
func (m *model) operatorNamespace(objects []*manifest.Object) string {
	if ns := m.in.Options.OperatorNamespace; ns != "" {
		return ns
	}
	for _, o := range objects {
		if o.Kind == k8s.KindOperatorConfig && o.Namespace != "" {
			return o.Namespace
		}
	}
	for i := range m.nodes {
		if s := m.nodes[i].State; s != nil && s.Metadata.Namespace != "" {
			return s.Metadata.Namespace
		}
	}
	return ""
}

// readOperator reads the SriovOperatorConfig named default.
func (m *model) readOperator(objects []*manifest.Object) {
	for _, o := range objects {
		if o.Kind != k8s.KindOperatorConfig || o.Name != "default" {
			continue
		}
		var c k8s.SriovOperatorConfig
		o.Decode(&c)
		m.noDrain = k8s.ValueOf(c.Spec.DisableDrain)
		m.systemd = c.Spec.ConfigurationMode == "systemd"
		m.firmwareOff = slices.Contains(c.Spec.DisablePlugins, "mellanox")
		m.bridges = c.Spec.FeatureGates["manageSoftwareBridges"]
		m.daemons = c.Spec.ConfigDaemonNodeSelector
		// absent means off (controllers/sriovoperatorconfig_controller.go)
		m.webhook = cmp.Or(c.Spec.EnableOperatorWebhook, new(false))
	}
}

// policiesOf returns the policies among objects that the operator reads, in its order.
func (m *model) policiesOf(objects []*manifest.Object, ignored *[]string) []*policy {
	var out []*policy
	for _, o := range objects {
		if o.Kind != k8s.KindPolicy {
			continue
		}
		if o.Namespace != "" && m.namespace != "" && o.Namespace != m.namespace {
			if ignored != nil {
				*ignored = append(*ignored,
					fmt.Sprintf("%s: the operator reads only its own namespace, %s", o, m.namespace))
				if m.applies(o) {
					m.strays++
				}
			}
			continue
		}
		var decoded k8s.SriovNetworkNodePolicy
		o.Decode(&decoded)
		applied, unwritten := m.applies(o), decoded.Spec.Priority == nil
		out = append(out, &policy{
			name: o.Name, spec: decoded.Spec,
			priority: decoded.Spec.EffectivePriority(applied && k8s.ValueOf(m.webhook)),
			implied:  unwritten && applied && m.webhook == nil, // the webhook doesn't change policies of the cluster
		})
		switch {
		case !unwritten || ignored == nil:
		case applied:
			m.unwritten = append(m.unwritten, o.Name)
		default:
			m.unwrittenBefore = append(m.unwrittenBefore, o.Name)
		}
	}
	sortPolicies(out)
	return out
}

// applies reports whether an object is in the manifests.
func (m *model) applies(o *manifest.Object) bool { return slices.Contains(m.in.Manifests.Objects, o) }

// poolsOf returns the pools that limit drains. Pools for hardware offload of Open vSwitch don't.
func poolsOf(objects []*manifest.Object) []*pool {
	var out []*pool
	for _, o := range objects {
		if o.Kind != k8s.KindPoolConfig {
			continue
		}
		var decoded k8s.SriovNetworkPoolConfig
		o.Decode(&decoded)
		if name, _ := decoded.Spec.OvsHardwareOffload["name"].(string); name != "" {
			continue
		}
		p := &pool{name: o.Name, spec: decoded.Spec}
		if v := o.Find("spec", "maxUnavailable"); v != nil && v.Kind != manifest.Null {
			p.unavailable = v
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b *pool) int { return cmp.Compare(a.name, b.name) })
	return out
}

// poolOf returns the pool of a node, nil for none. maybe is set if unknown labels decide. problem
// is set if several pools select the node, which the operator then never drains.
func poolOf(n *source.Node, pools []*pool) (found *pool, maybe bool, problem string) {
	var sure, perhaps []*pool
	for _, p := range pools {
		switch selected, unknown := selects(p.spec.NodeSelector, n); {
		case selected:
			sure = append(sure, p)
		case unknown:
			perhaps = append(perhaps, p)
		}
	}
	switch {
	case len(sure) > 1:
		return nil, false, fmt.Sprintf(
			"the node is in pools %s and %s: the operator drains no node that is in more than one pool",
			sure[0].name, sure[1].name)
	case len(sure) == 1:
		return sure[0], len(perhaps) > 0, ""
	case len(perhaps) == 1:
		return perhaps[0], true, ""
	}
	return nil, len(perhaps) > 0, ""
}

// selects reports whether a label selector matches a node. A nil or empty selector matches every
// node. unknown is set if it depends on unknown labels.
func selects(s *k8s.LabelSelector, n *source.Node) (selected, unknown bool) {
	if s == nil {
		return true, false
	}
	selected, unknown = n.Selected(s.MatchLabels)
	if !selected && !unknown {
		return false, false
	}
	for _, r := range s.MatchExpressions {
		value, found, known := n.Label(r.Key)
		if !known {
			unknown = true
			continue
		}
		ok := false
		switch r.Operator {
		case "In":
			ok = found && slices.Contains(r.Values, value)
		case "NotIn":
			ok = !found || !slices.Contains(r.Values, value)
		case "Exists":
			ok = found
		case "DoesNotExist":
			ok = !found
		}
		if !ok {
			return false, false
		}
	}
	return !unknown, unknown
}
