package lint

import (
	"maps"
	"slices"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkDaemonSelector(p *pass, c *typed[k8s.SriovOperatorConfig]) {
	want := c.Value.Spec.ConfigDaemonNodeSelector
	if c.Name != "default" || len(want) == 0 {
		return
	}
	for _, pol := range p.policies {
		checkDaemon(p, pol, c, want)
	}
}

func checkDaemon(p *pass, pol *policy, c *typed[k8s.SriovOperatorConfig], want map[string]string) {
	where := c.At("spec", "configDaemonNodeSelector")
	for _, key := range slices.Sorted(maps.Keys(pol.Value.Spec.NodeSelector)) {
		if value, ok := want[key]; ok && value != pol.Value.Spec.NodeSelector[key] {
			at := path{"spec", "nodeSelector", key}
			p.error(pol.Object, at, "the operator's daemon runs only on nodes with %s: %s", key, value).because(where,
				"configDaemonNodeSelector")
			return
		}
	}
	var without []*source.Node
	selected := 0
	for _, n := range p.candidates(pol) {
		if n.Labels == nil {
			continue
		}
		selected++
		if ok, _ := n.Selected(want); !ok {
			without = append(without, n)
		}
	}
	if len(without) == 0 {
		return
	}
	report := p.warn
	if len(without) == selected {
		report = p.error
	}
	f := report(pol.Object, path{"spec", "nodeSelector"},
		"the operator's daemon doesn't run on %d of the %d nodes that the policy selects", len(without), selected)
	f.because(where, "configDaemonNodeSelector")
	for _, n := range without[:min(len(without), cardsShown)] {
		f.onNode(n.Name, "doesn't have all labels of configDaemonNodeSelector")
	}
}
