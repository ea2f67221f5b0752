package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func policyNamespace() Rule {
	return Rule{
		ID: "policy-namespace", Title: "a policy outside the operator's namespace", Severity: SeverityError,
		Kinds: []string{k8s.KindPolicy, k8s.KindPoolConfig},
		Explanation: "The operator reads policies and pools in its own namespace only. One elsewhere is admitted, at " +
			"most with a warning, and ignored for ever.",
		Remedy:  "put it into the namespace of the operator; --operator-namespace says which that is",
		Wrong:   "  name: rail0\n  namespace: default",
		Right:   "  name: rail0\n  namespace: sriov-network-operator",
		Sources: []string{srcScope, srcWebhook},
		check: func(p *pass) {
			operator, certain := p.operatorNamespace()
			for _, o := range p.objects {
				if slices.Contains(p.rule.Kinds, o.Kind) {
					checkOperatorNamespace(p, o, operator, certain)
				}
			}
		},
	}
}

func checkOperatorNamespace(p *pass, o *manifest.Object, operator string, certain bool) {
	at := path{"metadata", "namespace"}
	switch {
	case o.Namespace == "":
		f := p.warn(o, path{"metadata"},
			"no namespace: the %s goes wherever kubectl points, and counts in the operator's only", o.Kind)
		if operator != "" {
			f.fix("namespace: %s", operator)
		}
	case o.Namespace == operator || operator == "" && slices.Contains(usualNamespaces(), o.Namespace):
	case certain:
		p.error(o, at, "the operator is in %s: it ignores a %s in %s", operator, o.Kind, o.Namespace).fix(
			"namespace: %s", operator)
	case slices.Contains([]string{"default", "kube-system"}, o.Namespace) || operator != "":
		f := p.warn(o, at, "%s is hardly the operator's namespace, in which alone a %s counts", o.Namespace, o.Kind)
		if operator != "" {
			f.fix("namespace: %s", operator)
		}
	case !strings.Contains(o.Namespace, "operator"):
		p.note(o, at, "a %s counts in the operator's namespace only: is it in %s?", o.Kind, o.Namespace)
	}
}
