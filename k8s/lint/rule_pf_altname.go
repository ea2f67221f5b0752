package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func pfAltname() Rule {
	return Rule{
		ID: "pf-altname", Title: "a range of VFs with an alternative interface name", Severity: SeverityError,
		Nodes: true,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			pfNames selects a PF by its name or an alternative name (altname), but in
			NAME#FIRST-LAST only the name works. With an alternative name the operator drops the
			range, and the policy gets all VFs of the PF, including those of other policies.`),
		Remedy:  "write the range with the name of the network device",
		Wrong:   "    pfNames: [\"enp59s0f0np0#0-3\"]",
		Right:   "    pfNames: [\"ens1f0np0#0-3\"]",
		Sources: []string{srcSelector},
		check: func(p *pass) {
			for _, pol := range p.policies {
				for i, text := range pol.Value.Spec.NicSelector.PfNames {
					if n, err := source.ParsePFName(text); err == nil && n.Ranged {
						checkAltname(p, pol, i, n)
					}
				}
			}
		},
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
