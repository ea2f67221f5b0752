package lint

import (
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkPoolSelector(p *pass, pool *pool) {
	s := pool.Value.Spec
	if offloads(pool) && (s.MaxUnavailable != nil || s.NodeSelector != nil) {
		p.error(pool.Object, path{"spec", "ovsHardwareOffloadConfig"},
			"ovsHardwareOffloadConfig can't be combined with maxUnavailable and nodeSelector").Remedy = "write two " +
			"objects"
		return
	}
	if s.NodeSelector == nil {
		return
	}
	valid := true
	for i, e := range s.NodeSelector.MatchExpressions {
		at := path{"spec", "nodeSelector", "matchExpressions", i}
		takes := slices.Contains([]string{"In", "NotIn"}, e.Operator)
		switch {
		case !takes && !slices.Contains([]string{"Exists", "DoesNotExist"}, e.Operator):
			p.error(pool.Object, append(at, "operator"), "%q is not one of In, NotIn, Exists, DoesNotExist", e.Operator)
		case takes && len(e.Values) == 0:
			p.error(pool.Object, append(at, "operator"), "%s requires values", e.Operator)
		case !takes && len(e.Values) > 0:
			p.error(pool.Object, append(at, "values"), "%s must have no values", e.Operator)
		default:
			continue
		}
		valid = false
	}
	known := slices.ContainsFunc(p.nodes, func(n source.Node) bool { return n.Labels != nil })
	if valid && known && !slices.ContainsFunc(p.nodes,
		func(n source.Node) bool { return n.Labels == nil || poolSelects(pool, n.Labels) }) {
		nodes := english.Count(len(p.nodes), "node")
		f := p.warn(pool.Object, path{"spec", "nodeSelector"}, "the pool selects none of %s", nodes)
		f.Remedy = "select by labels that the nodes have; kubectl get nodes --show-labels lists them"
	}
}
