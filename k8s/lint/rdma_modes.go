package lint

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/k8s/source"
)

// place is the text of a place, as a fmt.Stringer.
type place string

// String returns the text.
func (p place) String() string { return string(p) }

// namespaceMode is the RDMA network namespace mode, shared or exclusive, and the place where it was
// found.
type namespaceMode struct {
	name string // "" if unknown
	why  fmt.Stringer
}

// namespaceModes are the modes of nodes.
type namespaceModes struct {
	*model
	pools      []modePool
	byNode     map[*source.Node]namespaceMode // of nodes with known labels
	byResource map[string]namespaceMode
}

// modePool is a pool that sets the mode.
type modePool struct {
	namespaceMode
	nodes conditions
}

// maxModePools limits the pools whose selectors are compared with others, more than a cluster has.
const maxModePools = 64

// rdmaModes returns the mode of each node: that of its pool, or its current one.
func (m *model) rdmaModes() *namespaceModes {
	modes := &namespaceModes{
		model: m, byNode: map[*source.Node]namespaceMode{}, byResource: map[string]namespaceMode{},
	}
	for _, pool := range m.pools {
		if s := pool.Value.Spec.RdmaMode; s != "" {
			mode := namespaceMode{s, pool.At("spec", "rdmaMode")}
			modes.pools = append(modes.pools, modePool{mode, conditionsOf(pool)})
		}
	}
	for i := range m.nodes {
		if n := &m.nodes[i]; n.Labels != nil {
			modes.byNode[n] = modes.ofNode(n)
		}
	}
	return modes
}

// ofNode returns the mode of a node with known labels.
func (s *namespaceModes) ofNode(n *source.Node) namespaceMode {
	for _, pool := range s.pools {
		if pool.nodes.metBy(n.Labels) {
			return pool.namespaceMode
		}
	}
	return currentMode(n)
}

// currentMode returns the mode of a node outside of pools.
func currentMode(n *source.Node) namespaceMode {
	return namespaceMode{n.RDMAMode, place("node " + n.Name)}
}

// ofResource returns the common mode of the nodes on which policies provide a resource.
func (s *namespaceModes) ofResource(resource string) namespaceMode {
	mode, known := s.byResource[resource]
	if !known {
		mode = s.ofPolicies(s.policiesOf(resource))
		s.byResource[resource] = mode
	}
	return mode
}

// ofPolicies returns the common mode of the nodes of policies: those with selected cards, or if no
// policy selects any, those that the labels select.
func (s *namespaceModes) ofPolicies(policies []*policy) namespaceMode {
	if len(policies) == 0 {
		return s.on(nil)
	}
	var byCards, byLabels []namespaceMode
	for _, pol := range policies {
		where := matching(pol.Value.Spec.NodeSelector)
		if cards := s.cards(pol); len(cards) > 0 {
			nodes := make([]*source.Node, len(cards))
			for i, c := range cards {
				nodes[i] = c.Node
			}
			byCards = append(byCards, s.on(nodes, where))
		} else if len(byCards) == 0 {
			byLabels = append(byLabels, s.on(s.candidates(pol), where))
		}
	}
	if len(byCards) > 0 {
		return common(byCards)
	}
	return common(byLabels)
}

// on returns the common mode of nodes that meet one of several lists of conditions. Without nodes,
// because they are unknown, it is the common mode of the pools that may have such nodes.
func (s *namespaceModes) on(nodes []*source.Node, where ...conditions) namespaceMode {
	planned, possible := s.planned(where)
	if len(nodes) == 0 {
		return planned
	}
	var modes []namespaceMode
	for _, n := range nodes {
		mode, labelled := s.byNode[n]
		switch {
		case labelled:
		case possible:
			mode = planned
		default:
			mode = currentMode(n)
		}
		modes = append(modes, mode)
	}
	return common(modes)
}

// planned returns the common mode of the pools that may have nodes that meet one of several lists
// of conditions. possible reports whether there is such a pool. If no pool sets a mode, it is the
// mode of all nodes.
func (s *namespaceModes) planned(where []conditions) (mode namespaceMode, possible bool) {
	if len(s.pools) == 0 {
		return s.ofAllNodes(), true
	}
	var modes []namespaceMode
	for _, pool := range s.pools {
		if len(s.pools) > maxModePools || !pool.excludes(where) {
			modes = append(modes, pool.namespaceMode)
		}
	}
	return common(modes), len(modes) > 0
}

// excludes reports whether no node of the pool meets one of several lists of conditions.
func (p modePool) excludes(where []conditions) bool {
	return len(where) > 0 && !slices.ContainsFunc(where, func(c conditions) bool { return !p.nodes.excludes(c) })
}

// includes reports whether all nodes that meet one of several lists of conditions are in the pool.
func (p modePool) includes(where []conditions) bool {
	return !slices.ContainsFunc(where, func(c conditions) bool { return !c.implies(p.nodes) })
}

// decided reports whether all nodes that meet one of several lists of conditions have the mode that
// on returns. Otherwise some of them may be in no pool.
func (s *namespaceModes) decided(nodes []*source.Node, where []conditions) bool {
	unlabelled := func(n *source.Node) bool { return n.Labels == nil }
	return len(s.pools) == 0 || len(nodes) > 0 && !slices.ContainsFunc(nodes, unlabelled) ||
		len(s.pools) <= maxModePools &&
			slices.ContainsFunc(s.pools, func(p modePool) bool { return p.includes(where) })
}

// ofAllNodes returns the mode of all nodes whose mode is known.
func (s *namespaceModes) ofAllNodes() namespaceMode {
	var modes []namespaceMode
	for i := range s.nodes {
		if s.nodes[i].RDMAMode != "" {
			modes = append(modes, currentMode(&s.nodes[i]))
		}
	}
	return common(modes)
}

// common returns the first of modes, or an empty one if they differ or there are none.
func common(modes []namespaceMode) namespaceMode {
	if len(modes) == 0 || slices.ContainsFunc(modes, func(m namespaceMode) bool { return m.name != modes[0].name }) {
		return namespaceMode{}
	}
	return modes[0]
}
