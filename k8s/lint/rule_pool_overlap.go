package lint

import (
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func poolOverlap() Rule {
	return Rule{
		ID: "pool-overlap", Title: "a node in two pools", Severity: SeverityError,
		Kinds: []string{k8s.KindPoolConfig},
		Explanation: prose.Join(`
			A node that two SriovNetworkPoolConfigs select is never drained ("node is part of more
			then one pool"), so no change of its VFs takes effect, and its rdmaMode isn't set. A
			pool without nodeSelector, or with an empty one, selects all nodes. Pools with
			ovsHardwareOffloadConfig don't count.`),
		Remedy:  "write selectors that have no node in common",
		Wrong:   "  nodeSelector: {}",
		Right:   "  nodeSelector:\n    matchLabels:\n      node-role.kubernetes.io/pool: storage",
		Sources: []string{srcPools},
		check: func(p *pass) {
			if !slices.ContainsFunc(p.nodes, func(n source.Node) bool { return n.Labels != nil }) {
				checkPoolsOfAll(p)
				return
			}
			told := map[[2]*pool]bool{}
			for i := range p.nodes {
				first := map[string]*pool{} // by namespace
				for _, pool := range p.pools {
					if n := &p.nodes[i]; n.Labels != nil && !offloads(pool) && poolSelects(pool, n.Labels) {
						checkPoolNode(p, first, pool, n, told)
					}
				}
			}
		},
	}
}

type pool = typed[k8s.SriovNetworkPoolConfig]

// offloads reports a pool that is about Open vSwitch only.
func offloads(p *pool) bool {
	name, _ := p.Value.Spec.OvsHardwareOffload["name"].(string)
	return name != ""
}

// selectsAll reports a pool without a condition.
func selectsAll(p *pool) bool {
	s := p.Value.Spec.NodeSelector
	return s == nil || len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0
}

// checkPoolNode tells of a pool on a node that an earlier pool has.
func checkPoolNode(p *pass, first map[string]*pool, b *pool, n *source.Node, told map[[2]*pool]bool) {
	a := first[b.Namespace]
	if a == nil {
		first[b.Namespace] = b
		return
	}
	if a.String() == b.String() || told[[2]*pool{a, b}] {
		return
	}
	told[[2]*pool{a, b}] = true
	tellPools(p, a, b, "%s selects node %s too", n.Name).onNode(n.Name, "is in both")
}

// checkPoolsOfAll looks for pools that have all nodes, where labels of none are known.
func checkPoolsOfAll(p *pass) {
	for i, b := range p.pools {
		for _, a := range p.pools[:i] {
			if a.String() != b.String() && a.Namespace == b.Namespace && !offloads(a) && !offloads(b) &&
				(selectsAll(a) || selectsAll(b)) {
				tellPools(p, a, b, "%s selects nodes of this pool too: one of them selects all nodes")
				break
			}
		}
	}
}

// tellPools tells of the later pool, unless only the earlier is judged.
func tellPools(p *pass, a, b *pool, format string, more ...any) *Finding {
	if !p.judged[b.Object] {
		a, b = b, a
	}
	at := path{"spec", "nodeSelector"}
	return p.error(b.Object, at, format, append([]any{a}, more...)...).because(a.At(at...), "the other pool")
}

// poolSelects judges the labels of a node as a metav1.LabelSelector does.
func poolSelects(p *pool, labels map[string]string) bool {
	s := p.Value.Spec.NodeSelector
	if s == nil {
		return true
	}
	for key, want := range s.MatchLabels {
		if got, ok := labels[key]; !ok || got != want {
			return false
		}
	}
	return !slices.ContainsFunc(s.MatchExpressions, func(e k8s.SelectorRequirement) bool {
		got, ok := labels[e.Key]
		switch e.Operator {
		case "In":
			return !ok || !slices.Contains(e.Values, got)
		case "NotIn":
			return ok && slices.Contains(e.Values, got)
		case "Exists":
			return !ok
		case "DoesNotExist":
			return ok
		}
		return true // an operator that isn't one selects nothing
	})
}
