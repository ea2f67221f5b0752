package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func missingField() Rule {
	return Rule{
		ID: "missing-field", Title: "a missing required field", Severity: SeverityError,
		Kinds: k8s.SchemaKinds(),
		Explanation: prose.Join(`
			The API server rejects the object ("Required value"). A policy needs resourceName,
			nodeSelector, numVfs and nicSelector; NVIDIA's own example for InfiniBand has no
			nodeSelector and is rejected.`),
		Remedy: "add the field",
		Wrong:  "  resourceName: rail0\n  numVfs: 8",
		Right: "  resourceName: rail0\n  nodeSelector:\n    " +
			"feature.node.kubernetes.io/network-sriov.capable: \"true\"\n  numVfs: 8",
		Sources: []string{srcCRD, srcAPIServer, srcNVIDIA},
		check: func(p *pass) {
			for _, o := range p.objects {
				schema := k8s.Schema(o.Kind)
				if schema == nil {
					continue
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
		},
	}
}
