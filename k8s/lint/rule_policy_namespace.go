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
		Explanation: "The operator reads policies and pools only from its own namespace. In any other namespace the " +
			"object is accepted, at most with a warning, and ignored.",
		Remedy:  "move the object to the operator's namespace, or set that with --operator-namespace",
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
			"no namespace: kubectl applies the %s to its current namespace, but the operator reads only its own",
			o.Kind)
		if operator != "" {
			f.fix("namespace: %s", operator)
		}
	case o.Namespace == operator || operator == "" && slices.Contains(usualNamespaces(), o.Namespace):
	case certain:
		p.error(o, at, "the operator runs in %s and ignores a %s in %s", operator, o.Kind, o.Namespace).fix(
			"namespace: %s", operator)
	case slices.Contains([]string{"default", "kube-system"}, o.Namespace) || operator != "":
		f := p.warn(o, at, "%s is probably not the operator's namespace, and the operator ignores a %s elsewhere",
			o.Namespace, o.Kind)
		if operator != "" {
			f.fix("namespace: %s", operator)
		}
	case !strings.Contains(o.Namespace, "operator"):
		p.note(o, at, "the operator ignores a %s unless it runs in %s", o.Kind, o.Namespace)
	}
}
