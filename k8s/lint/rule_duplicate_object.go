package lint

import (
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkDuplicateObject(p *pass) {
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
}
