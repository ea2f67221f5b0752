package lint

import (
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkPFRange(p *pass, pol *policy) {
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
