package lint

import (
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func networkNamespace() Rule {
	return Rule{
		ID: "network-namespace", Title: "a network for a namespace that is missing or not allowed",
		Severity: SeverityError,
		Kinds:    []string{k8s.KindNetwork, k8s.KindIBNetwork},
		Explanation: prose.Join(`
			The operator creates the NetworkAttachmentDefinition in networkNamespace, which must
			exist; without networkNamespace, in the network's own namespace. The webhook accepts
			networkNamespace only in a network that is in the operator's namespace. The rule checks
			whether a namespace exists only if the cluster's namespaces are known (--nodes with the
			output of kubectl get namespaces -o yaml).`),
		Remedy:  "create the namespace first, or write the pods' namespace",
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
						n.Object, at, "networkNamespace requires a network in the operator's namespace "+
							"%s, but this one is in %s", operator, n.Namespace,
					).Remedy = "move the network to " + operator + ", or remove networkNamespace"
				case p.namespacesKnown() && !p.namespaces[target]:
					p.error(n.Object, at, "namespace %s doesn't exist", target)
				}
			}
		},
	}
}

// namespacesKnown reports whether the cluster's namespaces are known.
func (m *model) namespacesKnown() bool {
	return slices.ContainsFunc(m.in.Cluster.Objects,
		func(o *manifest.Object) bool { return o.Kind == k8s.KindNamespace })
}
