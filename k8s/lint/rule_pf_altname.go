package lint

import (
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkPFAltname(p *pass, pol *policy) {
	for i, text := range pol.Value.Spec.NicSelector.PfNames {
		if n, err := source.ParsePFName(text); err == nil && n.Ranged {
			checkAltname(p, pol, i, n)
		}
	}
}

func checkAltname(p *pass, pol *policy, i int, n source.PFName) {
	for _, c := range p.cards(pol) {
		if c.PF.Named(n.Name) && c.PF.Netdev != n.Name {
			f := p.error(pol.Object, path{"spec", "nicSelector", "pfNames", i},
				"%s is an alternative name of %s: the operator drops the range and uses all VFs", n.Name, c.PF.Netdev)
			f.fix("\"%s#%d-%d\"", c.PF.Netdev, n.First, n.Last).onNode(c.Node.Name, "%s has the alternative names %v",
				c, c.PF.AltNames)
			return
		}
	}
}
