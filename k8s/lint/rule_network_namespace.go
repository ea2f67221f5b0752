package lint

import (
	"slices"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkNetworkNamespace(p *pass) {
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
}

// namespacesKnown reports whether the cluster's namespaces are known.
func (m *model) namespacesKnown() bool {
	return slices.ContainsFunc(m.in.Cluster.Objects,
		func(o *manifest.Object) bool { return o.Kind == k8s.KindNamespace })
}
