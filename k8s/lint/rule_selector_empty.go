package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func selectorEmpty() Rule {
	return Rule{
		ID: "selector-empty", Title: "an empty nicSelector", Severity: SeverityError,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			The CRD allows an empty nicSelector, the webhook rejects it. Without the webhook the
			policy selects no card, and no error is reported. The cause is often wrong indentation:
			the fields of nicSelector are at the level of nicSelector itself.`),
		Remedy:  "select cards by pfNames, rootDevices, or vendor and deviceID",
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
