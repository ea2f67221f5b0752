package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkMissingField(p *pass, o *manifest.Object) {
	schema := k8s.Schema(o.Kind)
	if schema == nil {
		return
	}
	if o.Find("metadata", "name") == nil && o.Find("metadata", "generateName") == nil {
		p.error(o, path{"metadata"}, "the object has no name").fix("metadata: {name: …}")
	}
	var missing []string
	for _, f := range schema.Fields {
		if v := o.Find("spec", f.Name); f.Required && (v == nil || v.Kind == manifest.Null) {
			missing = append(missing, f.Name)
		}
	}
	if len(missing) > 0 {
		f := p.error(o, path{"spec"}, "spec has no %s, so the API server rejects the object",
			strings.Join(missing, ", "))
		if slices.Contains(missing, "nodeSelector") {
			f.fix("nodeSelector: {feature.node.kubernetes.io/network-sriov.capable: \"true\"}")
		}
	}
}
