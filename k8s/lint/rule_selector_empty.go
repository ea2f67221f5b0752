package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func selectorEmpty() Rule {
	return Rule{
		ID: "selector-empty", Title: "a nicSelector that says nothing", Severity: SeverityError,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			The CRD admits an empty nicSelector. The webhook refuses it where it runs; where it does
			not, the policy selects no card and nothing tells so. A misplaced selector (its fields
			beside nicSelector) looks the same.`),
		Remedy:  "choose cards by pfNames, rootDevices, or vendor and deviceID",
		Wrong:   "  nicSelector: {}",
		Right:   "  nicSelector:\n    pfNames: [\"ens1f0np0\"]",
		Sources: []string{srcWebhook, srcSelector, srcAPIServer},
		check: func(p *pass) {
			for _, pol := range p.policies {
				if v := pol.Find("spec", "nicSelector"); v != nil && v.Kind == manifest.Mapping &&
					pol.Value.Spec.NicSelector.Empty() && len(v.Fields) == 0 {
					p.error(pol.Object, path{"spec", "nicSelector"}, "nicSelector is empty: the policy selects no card")
				}
			}
		},
	}
}
