package lint

import (
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkSelectorEmpty(p *pass, pol *policy) {
	if v := pol.Find("spec", "nicSelector"); v != nil && v.Kind == manifest.Mapping &&
		pol.Value.Spec.NicSelector.Empty() && len(v.Fields) == 0 {
		p.error(pol.Object, path{"spec", "nicSelector"}, "nicSelector is empty: the policy selects no card")
	}
}
