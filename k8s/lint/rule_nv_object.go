package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// srcNVNetworks is the source of the rules for the networks of NVIDIA's network operator.
const srcNVNetworks = "Mellanox/network-operator b06827e (2026-08-19): api/v1alpha1, pkg/state, manifests"

func nvObject() []Rule {
	return group("nv-object", Rule{
		ID: "nv-object-json", Title: "invalid JSON in a network of NVIDIA's operator", Severity: SeverityError,
		Kinds: k8s.NVIDIAKinds(),
		Explanation: prose.Join(`
			ipam of a MacvlanNetwork, HostDeviceNetwork and IPoIBNetwork is a JSON object in a
			string, and metaPlugins are JSON objects separated by commas. The operator copies both
			into a NetworkAttachmentDefinition without a check, so multus fails on each pod of the
			network.`),
		Remedy:  "make it valid JSON",
		Wrong:   "      \"poolName\": \"rail0\",\n    }",
		Right:   "      \"poolName\": \"rail0\"\n    }",
		Sources: []string{srcNVNetworks, srcNVIPAM, srcAPIServer},
		check:   checkNVObjects,
	}, Rule{
		ID: "nv-object-field", Title: "an unknown or missing field of NVIDIA's kinds", Severity: SeverityError,
		Explanation: prose.Join(`
			kubectl rejects unknown fields; without its check the API server drops them, and the
			object is created without the setting. An IPPool needs subnet and perNodeBlockSize, a
			CIDRPool cidr and perNodeNetworkPrefix. A HostDeviceNetwork without resourceName is
			rejected by the webhook.`),
		Remedy: "write the fields as in the CRD",
		Wrong:  "  interface: ens1f0np0",
		Right:  "  master: ens1f0np0",
	}, Rule{
		ID: "nv-object-value", Title: "a value that a field of NVIDIA's kinds doesn't allow", Severity: SeverityError,
		Explanation: prose.Join(`
			The API server rejects the object. mode of a MacvlanNetwork is bridge, private, vepa or
			passthru; ipam is a string, so the JSON needs quotes or a block (|).`),
		Remedy: "write a value that the field allows",
		Wrong:  "  mode: bridged",
		Right:  "  mode: bridge",
	})
}

func checkNVObjects(p *pass) {
	for _, o := range p.objects {
		schema := k8s.NVIDIASchema(o.APIVersion, o.Kind)
		if schema == nil {
			continue
		}
		p.jsonText(o, path{"spec", "ipam"}, "{")
		p.jsonText(o, path{"spec", "metaPlugins"}, "[")
		checkTypes(p.as("nv-object-value"), o, o.Find("spec"), schema, path{"spec"})
		checkValues(p.as("nv-object-value"), o, o.Find("spec"), schema, path{"spec"})
		checkNVFields(p.as("nv-object-field"), o, o.Find("spec"), schema, path{"spec"})
		if o.Kind == k8s.KindHostDeviceNetwork && o.Find("spec", "resourceName") == nil {
			p.as("nv-object-field").error(o, path{"spec"},
				"spec has no resourceName, so the webhook rejects the object")
		}
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
