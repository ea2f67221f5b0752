package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func pfRange() Rule {
	return Rule{
		ID: "pf-range", Title: "an invalid range of VFs in pfNames", Severity: SeverityError,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			An entry of pfNames is the name of a network device, or NAME#FIRST-LAST for some of its
			VFs. VFs are numbered from 0: with numVfs 8 the last is 7. Policies that share a PF by
			ranges must all have the numVfs of the whole PF.`),
		Remedy:  "write NAME#FIRST-LAST with LAST below numVfs",
		Wrong:   "  numVfs: 8\n  nicSelector:\n    pfNames: [\"ens1f0#0-8\"]",
		Right:   "  numVfs: 8\n  nicSelector:\n    pfNames: [\"ens1f0#0-7\"]",
		Sources: []string{srcWebhook},
		check: func(p *pass) {
			for _, pol := range p.policies {
				for i, text := range pol.Value.Spec.NicSelector.PfNames {
					at := path{"spec", "nicSelector", "pfNames", i}
					n, err := source.ParsePFName(text)
					switch {
					case err != nil:
						p.error(pol.Object, at, "%v", err)
					case n.Ranged && pol.Value.Spec.NumVfs != nil && n.Last >= numVfs(pol):
						p.error(pol.Object, at, "VF %d of %s does not exist: with numVfs %d the last is %d",
							n.Last, n.Name, numVfs(pol), numVfs(pol)-1)
					}
				}
			}
		},
	}
}
