package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func duplicateObject() Rule {
	return Rule{
		ID: "duplicate-object", Title: "a duplicate object in the manifests", Severity: SeverityError,
		Explanation: prose.Join(`
			Of two objects with the same kind, namespace and name, the one that is applied last
			replaces the other. In a folder that is the one whose file name sorts last. Objects in
			separate folders are not compared: they may be for separate clusters.`),
		Remedy:  "remove one of the objects, or rename it",
		Wrong:   "  name: rail0\n  namespace: sriov-network-operator\nspec:\n  resourceName: rail1",
		Right:   "  name: rail1\n  namespace: sriov-network-operator\nspec:\n  resourceName: rail1",
		Sources: []string{srcKubernetes},
		check: func(p *pass) {
			first := map[string]*manifest.Object{}
			for _, o := range p.in.Manifests.Objects {
				// A kustomize patch has the name of the object that it patches, so only kinds that
				// rules check are reported.
				if o.Kind == "" || o.Name == "" || o.Find("metadata", "name") == nil || !p.takesPart(o) {
					continue
				}
				id := o.Unit + "\n" + o.APIVersion + " " + o.String()
				if other := first[id]; other != nil {
					p.error(o, path{"metadata", "name"}, "duplicate object %s", o).because(
						other.At("metadata", "name"), "first object")
					continue
				}
				first[id] = o
			}
		},
	}
}
