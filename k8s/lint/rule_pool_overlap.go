package lint

import (
	"slices"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkPoolOverlap(p *pass) {
	if !slices.ContainsFunc(p.nodes, func(n source.Node) bool { return n.Labels != nil }) {
		checkPoolsOfAll(p)
		return
	}
	reported := map[[2]*pool]bool{}
	for i := range p.nodes {
		first := map[string]*pool{} // by namespace
		for _, pool := range p.pools {
			if n := &p.nodes[i]; n.Labels != nil && !offloads(pool) && poolSelects(pool, n.Labels) {
				checkPoolNode(p, first, pool, n, reported)
			}
		}
	}
}

type pool = typed[k8s.SriovNetworkPoolConfig]

// offloads reports whether a pool configures Open vSwitch only.
func offloads(p *pool) bool {
	name, _ := p.Value.Spec.OvsHardwareOffload["name"].(string)
	return name != ""
}

// selectsAll reports whether a pool selects all nodes.
func selectsAll(p *pool) bool {
	s := p.Value.Spec.NodeSelector
	return s == nil || len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0
}

// checkPoolNode reports a pool that selects a node of an earlier pool.
func checkPoolNode(p *pass, first map[string]*pool, b *pool, n *source.Node, reported map[[2]*pool]bool) {
	a := first[b.Namespace]
	if a == nil {
		first[b.Namespace] = b
		return
	}
	if a.String() == b.String() || reported[[2]*pool{a, b}] {
		return
	}
	reported[[2]*pool{a, b}] = true
	reportPools(p, a, b, "%s also selects node %s", n.Name).onNode(n.Name, "is in both pools")
}

// checkPoolsOfAll reports pools that select all nodes, for use without the labels of nodes.
func checkPoolsOfAll(p *pass) {
	for i, b := range p.pools {
		for _, a := range p.pools[:i] {
			if a.String() != b.String() && a.Namespace == b.Namespace && !offloads(a) && !offloads(b) &&
				(selectsAll(a) || selectsAll(b)) {
				reportPools(p, a, b, "%s also selects nodes of this pool: one of the two selects all nodes")
				break
			}
		}
	}
}

// reportPools reports the later pool, or the earlier one if only that is to be checked.
func reportPools(p *pass, a, b *pool, format string, more ...any) *Finding {
	if !p.checked[b.Object] {
		a, b = b, a
	}
	at := path{"spec", "nodeSelector"}
	return p.error(b.Object, at, format, append([]any{a}, more...)...).because(a.At(at...), "the other pool")
}

// poolSelects reports whether the pool's metav1.LabelSelector matches the labels of a node.
func poolSelects(p *pool, labels map[string]string) bool { return conditionsOf(p).metBy(labels) }
