package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkPolicyNamespace(p *pass) {
	operator, certain := p.operatorNamespace()
	for _, o := range p.objects {
		if slices.Contains(p.rule.Kinds, o.Kind) {
			checkOperatorNamespace(p, o, operator, certain)
		}
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
