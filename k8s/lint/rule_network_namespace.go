package lint

import (
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func networkNamespace() Rule {
	return Rule{
		ID: "network-namespace", Title: "a network for a namespace where it can't go", Severity: SeverityError,
		Kinds: []string{k8s.KindNetwork, k8s.KindIBNetwork},
		Explanation: prose.Join(`
			The operator writes the NetworkAttachmentDefinition into networkNamespace, which must
			exist; the webhook admits networkNamespace only in an object that is itself in the
			operator's namespace. Without networkNamespace the definition goes to the object's own
			namespace. Namespaces are judged where those of the cluster are known (--nodes with the
			output of kubectl get namespaces -o yaml).`),
		Remedy:  "create the namespace first, or name the one where the pods are",
		Wrong:   "  networkNamespace: trainning",
		Right:   "  networkNamespace: training",
		Sources: []string{srcWebhook, srcRender, srcScope},
		check: func(p *pass) {
			operator, certain := p.operatorNamespace()
			for _, n := range p.networks {
				at := path{"spec", "networkNamespace"}
				target := n.Spec.NetworkNamespace
				switch {
				case target == "":
				case certain && n.Namespace != "" && n.Namespace != operator:
					p.error(
						n.Object, at, "networkNamespace is for networks in the operator's namespace "+
							"%s, and this one is in %s", operator, n.Namespace,
					).Remedy = "put the object into " + operator + ", or remove networkNamespace"
				case p.namespacesKnown() && !p.namespaces[target]:
					p.error(n.Object, at, "there is no namespace %s", target)
				}
			}
		},
	}
}

// namespacesKnown reports that the cluster's namespaces are known.
func (m *model) namespacesKnown() bool {
	return slices.ContainsFunc(m.in.Cluster.Objects,
		func(o *manifest.Object) bool { return o.Kind == k8s.KindNamespace })
}
