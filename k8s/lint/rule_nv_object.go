package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkNVObject(p *pass, o *manifest.Object) {
	schema := k8s.NVIDIASchema(o.APIVersion, o.Kind)
	if schema == nil {
		return
	}
	p.jsonText(o, path{"spec", "ipam"}, "{")
	p.jsonText(o, path{"spec", "metaPlugins"}, "[")
	checkTypes(p.as("nv-object-value"), o, o.Find("spec"), schema, path{"spec"})
	checkValues(p.as("nv-object-value"), o, o.Find("spec"), schema, path{"spec"})
	checkNVFields(p.as("nv-object-field"), o, o.Find("spec"), schema, path{"spec"})
	if o.Kind == k8s.KindHostDeviceNetwork && o.Find("spec", "resourceName") == nil {
		p.as("nv-object-field").error(o, path{"spec"}, "spec has no resourceName, so the webhook rejects the object")
	}
}

// checkNVFields reports fields that an object of a schema doesn't have, and required ones that are
// missing.
func checkNVFields(p *pass, o *manifest.Object, v *manifest.Value, schema *k8s.Field, at path) {
	if schema == nil || v != nil && v.Kind == manifest.Null || v == nil && len(at) > 1 {
		return
	}
	if schema.Type == k8s.TypeList {
		for i, item := range v.List() {
			checkNVFields(p, o, item, schema.Items, append(slices.Clone(at), i))
		}
	}
	if schema.Type != k8s.TypeObject || v != nil && v.Kind != manifest.Mapping {
		return
	}
	var names, missing []string
	for _, f := range schema.Fields {
		names = append(names, f.Name)
		if f.Required && v.Get(f.Name) == nil {
			missing = append(missing, f.Name)
		}
	}
	if len(missing) > 0 {
		p.error(o, at, "%s has no %s, so the API server rejects the object", manifest.PathText(at...),
			strings.Join(missing, ", "))
	}
	if v == nil {
		return
	}
	for _, f := range v.Fields {
		way := append(slices.Clone(at), f.Key)
		child := schema.Find(f.Key)
		if child == nil {
			finding := p.error(o, way, "%s has no field %q", o.Kind, f.Key).place(o.KeyAt(way...))
			if near := spelling.Nearest(f.Key, names, spelling.Strict); near != "" {
				finding.Remedy = "rename it to " + near
			}
			continue
		}
		checkNVFields(p, o, f.Value, child, way)
	}
}
