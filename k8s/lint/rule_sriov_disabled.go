package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s"
)

func checkSRIOVDisabled(p *pass, pol *policy) {
	checkDisabled(p, pol)
	checkCapableLabel(p, pol)
}

func checkDisabled(p *pass, pol *policy) {
	var off []card
	for _, c := range p.cards(pol) {
		if have, ok := c.PF.FirmwareVFs(); ok && have == 0 {
			off = append(off, c)
		}
	}
	at := path{"spec", "nicSelector"}
	switch {
	case len(off) == 0:
	case k8s.ValueOf(pol.Value.Spec.ExternallyManaged) || p.mellanoxDisabled():
		p.error(pol.Object, at, "SR-IOV is off in the firmware of %s, and the operator can't turn it on",
			english.Count(len(off), "card")).onCards(off)
	default:
		p.warn(pol.Object, at, "SR-IOV is off in the firmware of %s; %s rebooted to turn it on",
			english.Count(len(off), "card"), are(nodesOf(off), "node")).onCards(off)
	}
}

// checkCapableLabel reports nodes that the policy doesn't select by the label network-sriov.capable
// because it has not turned SR-IOV on there yet.
func checkCapableLabel(p *pass, pol *policy) {
	const label = "feature.node.kubernetes.io/network-sriov.capable"
	if _, ok := pol.Value.Spec.NodeSelector[label]; !ok {
		return
	}
	var off []card
	for i := range p.nodes {
		n := &p.nodes[i]
		if _, found, known := n.Label(label); found || !known {
			continue
		}
		for j := range n.PFs {
			pf := &n.PFs[j]
			if first, last, ok := pf.Matches(pol.Value.Spec); ok && pf.TotalVFs == 0 {
				off = append(off, card{Node: n, PF: pf, First: first, Last: last})
			}
		}
	}
	if len(off) > 0 {
		at := path{"spec", "nodeSelector", label}
		report := p.warn
		if len(p.cards(pol)) == 0 {
			report = p.error
		}
		report(pol.Object, at,
			"%s not selected: the label requires SR-IOV in the firmware, which only this policy would turn on",
			are(nodesOf(off), "node")).place(pol.KeyAt(at...)).onCards(off)
	}
}
