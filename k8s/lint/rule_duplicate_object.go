package lint

import (
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func duplicateObject() Rule {
	return Rule{
		ID: "duplicate-object", Title: "an object twice among the manifests", Severity: SeverityError,
		Explanation: "Of two objects with one kind, namespace and name the one that is applied last replaces the " +
			"other, and in a folder that is the one whose file has the later name.",
		Remedy:  "keep one of them, or give it another name",
		Wrong:   "  name: rail0\n  namespace: sriov-network-operator\nspec:\n  resourceName: rail1",
		Right:   "  name: rail1\n  namespace: sriov-network-operator\nspec:\n  resourceName: rail1",
		Sources: []string{srcKubernetes},
		check: func(p *pass) {
			first := map[string]*manifest.Object{}
			for _, o := range p.in.Manifests.Objects {
				// Patches of kustomize lie beside what they patch: only kinds that are judged
				// are told.
				if o.Kind == "" || o.Name == "" || o.Find("metadata", "name") == nil ||
					k8s.Schema(o.Kind) == nil && len(podsOf(o)) == 0 {
					continue
				}
				id := o.APIVersion + " " + o.String()
				if other := first[id]; other != nil {
					p.error(o, path{"metadata", "name"}, "the %s is there twice", o).because(
						other.At("metadata", "name"), "the first one")
					continue
				}
				first[id] = o
			}
		},
	}
}
