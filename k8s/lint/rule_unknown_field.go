package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkUnknownField(p *pass) {
	for _, o := range p.objects {
		if root := k8s.Schema(o.Kind); root != nil {
			w := &fieldWalk{pass: p, object: o, root: root}
			w.top()
			w.fields(o.Find("spec"), root, path{"spec"})
		}
	}
	for _, pod := range p.pods {
		checkPodFields(p, pod)
	}
}

// fieldWalk checks the fields of an object against its schema.
type fieldWalk struct {
	*pass
	object *manifest.Object
	root   *k8s.Field
}

// top checks the top-level fields.
func (w *fieldWalk) top() {
	for _, f := range w.object.Root.Fields {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "spec", "status"}, f.Key) {
			w.unknown(path{f.Key}, f.Key, []string{"apiVersion", "kind", "metadata", "spec"})
		}
	}
}

// fields checks the fields of a mapping.
func (w *fieldWalk) fields(v *manifest.Value, schema *k8s.Field, at path) {
	if v == nil || schema == nil {
		return
	}
	if schema.Type == k8s.TypeList && v.Kind == manifest.List {
		for i, item := range v.Items {
			w.fields(item, schema.Items, append(slices.Clone(at), i))
		}
	}
	if schema.Type != k8s.TypeObject || v.Kind != manifest.Mapping {
		return
	}
	var names []string
	for _, f := range schema.Fields {
		names = append(names, f.Name)
	}
	for _, f := range v.Fields {
		way := append(slices.Clone(at), f.Key)
		if known := schema.Find(f.Key); known != nil {
			w.fields(f.Value, known, way)
			continue
		}
		w.unknown(way, f.Key, names)
	}
}

// unknown reports a field. The remedy names the right place or name of the field: the same name
// elsewhere, or a similar name here.
func (w *fieldWalk) unknown(at path, key string, here []string) {
	o := w.object
	where := manifest.PathText(at[:len(at)-1]...)
	if where == "" {
		where = o.Kind
	}
	f := w.error(o, at, "%s has no field %q", where, key).place(o.KeyAt(at...))
	switch near := spelling.Nearest(key, here, spelling.Loose); {
	case w.emptyAbove(at, key) != "":
		f.Remedy = fmt.Sprintf("indent it below %s, which is empty now", w.emptyAbove(at, key))
	case special(o.Kind, where, key) != "":
		f.Remedy = special(o.Kind, where, key)
	case near != "" && strings.EqualFold(near, key):
		f.Remedy = fmt.Sprintf("rename it to %s: field names are case-sensitive", near)
	case len(placesOf(w.root, key, path{"spec"})) > 0:
		place := placesOf(w.root, key, path{"spec"})[0]
		f.Remedy = "move it to " + manifest.PathText(place...)
		if emptyParent := o.Find(place[:len(place)-1]...); len(place) > 2 && emptyParent.Empty() {
			f.Remedy += ": indent it below " + fmt.Sprint(place[len(place)-2])
		}
	case near != "":
		f.Remedy = "rename it to " + near
	default:
		if kind := otherKind(o.Kind, key); kind != "" {
			f.Remedy = fmt.Sprintf("remove it: it is a field of %s", kind)
		} else {
			f.Remedy = "remove it"
		}
	}
}

// emptyAbove returns the empty field above an unknown one, in the same column, that may contain the
// unknown field. It returns "" if there is none.
func (w *fieldWalk) emptyAbove(at path, name string) string {
	schema := &k8s.Field{Type: k8s.TypeObject, Fields: []k8s.Field{
		*w.root, {Name: "metadata", Type: k8s.TypeObject, Fields: []k8s.Field{
			{Name: "name"}, {Name: "namespace"}, {Name: "labels"}, {Name: "annotations"},
		}},
	}}
	for _, step := range at[:len(at)-1] {
		if name, ok := step.(string); ok {
			schema = schema.Find(name)
		} else if schema != nil {
			schema = schema.Items
		}
	}
	if schema == nil {
		return ""
	}
	above := ""
	for _, f := range w.object.Find(at[:len(at)-1]...).Fields {
		if f.Key == name {
			break
		}
		known := schema.Find(f.Key)
		switch {
		case known == nil: // another misplaced field
		case f.Value.Kind == manifest.Null && (known.Type == k8s.TypeMap || known.Find(name) != nil):
			above = f.Key
		default:
			above = ""
		}
	}
	return above
}

// placesOf returns the paths of the fields with a name.
func placesOf(schema *k8s.Field, name string, at path) []path {
	var out []path
	for i := range schema.Fields {
		f := &schema.Fields[i]
		way := append(slices.Clone(at), f.Name)
		if f.Name == name {
			out = append(out, way)
		}
		out = append(out, placesOf(f, name, way)...)
	}
	return out
}

// otherKind returns another kind that has a field with this name.
func otherKind(kind, name string) string {
	for _, other := range k8s.SchemaKinds() {
		if other != kind && len(placesOf(k8s.Schema(other), name, nil)) > 0 {
			return other
		}
	}
	return ""
}

// special returns the remedy for fields that manuals and users write but the CRD doesn't have.
func special(kind, where, key string) string {
	network := kind == k8s.KindIBNetwork || kind == k8s.KindNetwork
	switch {
	case kind == k8s.KindPolicy && key == "pfName":
		return "rename it to pfNames: one of the operator's manuals has the wrong name"
	case network && key == "metaPluginsConfig":
		return "rename it to metaPlugins: the operator's own manual has the wrong name"
	case kind == k8s.KindIBNetwork && strings.HasPrefix(key, "vlan"):
		return "remove it: InfiniBand has no VLANs; the subnet manager assigns partitions (PKeys) to the GUIDs of VFs"
	case kind == k8s.KindIBNetwork && key == "pkey":
		return "remove it: the subnet manager assigns PKeys to the GUIDs of VFs; only a hand-written " +
			"NetworkAttachmentDefinition has pkey, for ib-kubernetes with UFM"
	case kind == k8s.KindIBNetwork && (key == "rdmaIsolation" || key == "ibKubernetesEnabled"):
		return "remove it: SriovIBNetwork has no such setting; write the NetworkAttachmentDefinition yourself"
	case kind == k8s.KindPoolConfig && where == "spec.nodeSelector":
		return "a pool's nodeSelector is a label selector, unlike that of a policy: move the label below matchLabels"
	}
	return ""
}
