package manifest

import (
	"slices"
	"strings"
)

// Object is a Kubernetes object.
type Object struct {
	File string // the file that contains it
	// Unit is what is applied as one with it: a kustomization, the folder that was named, or the
	// file itself if it was found in a folder below that; "" for files that were named.
	Unit string
	// Found reports that the file was found in a folder, and may belong to another program.
	Found bool
	// Root is the whole object, a mapping.
	Root       *Value
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
	// Patched are the changes by patches of kustomizations, which are not applied.
	Patched []Patched

	source *text
}

// Problem is a mistake in the text of a file.
type Problem struct {
	At     Region      // its place
	Type   ProblemType // its type
	Text   string      // its description
	Remedy string      // what to write instead, "" if unknown
	Other  Pos         // the first of two duplicate keys
}

// ProblemType is the type of a problem.
type ProblemType string

// The types of problems.
const (
	ProblemSyntax    ProblemType = "syntax"        // invalid YAML or JSON
	ProblemDuplicate ProblemType = "duplicate-key" // a duplicate key in a mapping
	ProblemLimit     ProblemType = "limit"         // too large, too deep, too many aliases
	ProblemObject    ProblemType = "object"        // a document that is not a Kubernetes object
	ProblemTemplate  ProblemType = "template"      // a document that is a template of one
	ProblemNode      ProblemType = "node"          // a snapshot that contradicts another (package k8s/source)
)

// Set is the content of files.
type Set struct {
	Files    []string  // the files that were read, in order
	Objects  []*Object // in the order of the files
	Problems []Problem // in the order of the files
	// Notes describe what Read skipped or did not apply, by file.
	Notes []string

	patches []patch // of the kustomization that was read
}

// Add appends the content of another set.
func (s *Set) Add(other *Set) {
	s.Files = append(s.Files, other.Files...)
	s.Objects = append(s.Objects, other.Objects...)
	s.Problems = append(s.Problems, other.Problems...)
	s.Notes = append(s.Notes, other.Notes...)
}

// String returns kind, namespace and name: "SriovNetwork sriov/rail0".
func (o *Object) String() string {
	name := o.Name
	if name == "" {
		name = "without a name"
	}
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return o.Kind + " " + name
}

// Find returns a value of the object, nil if there is none.
func (o *Object) Find(path ...any) *Value { return o.Root.Find(path...) }

// At returns the place of a value. If the value is absent, it returns the place of the nearest key
// above it.
func (o *Object) At(path ...any) Region {
	v, at := o.Root, o.Root.At
	for _, step := range path {
		if key, ok := step.(string); ok {
			if f := v.field(key); f != nil {
				at = f.At
			}
		}
		v = v.Find(step)
		if v == nil {
			return at
		}
		if v.Kind != Mapping && v.Kind != List && v.Kind != Null && v.At.Line > 0 {
			at = v.At
		} else if _, isIndex := step.(int); isIndex {
			at = v.At
		}
	}
	return at
}

// KeyAt returns the place of the key of a value.
func (o *Object) KeyAt(path ...any) Region {
	if len(path) > 0 {
		if key, ok := path[len(path)-1].(string); ok {
			if f := o.Root.Find(path[:len(path)-1]...).field(key); f != nil {
				return f.At
			}
		}
	}
	return o.At(path...)
}

// Inside returns the place of a byte of a scalar's text, for example of an error in JSON within a
// string.
func (o *Object) Inside(v *Value, offset int) Region {
	if v == nil {
		return o.Root.At
	}
	if at, ok := o.source.inside(v, offset); ok {
		return at
	}
	return v.At
}

// newObject returns a mapping as an object.
func newObject(file string, root *Value, source *text) *Object {
	scalar := func(path ...any) string {
		if v := root.Find(path...); v != nil && v.Kind != Mapping && v.Kind != List {
			return v.Text
		}
		return ""
	}
	o := &Object{
		File: file, Root: root, source: source,
		APIVersion: scalar("apiVersion"), Kind: scalar("kind"),
		Namespace: scalar("metadata", "namespace"), Name: scalar("metadata", "name"),
	}
	if o.Name == "" {
		if prefix := scalar("metadata", "generateName"); prefix != "" {
			o.Name = prefix + "*"
		}
	}
	return o
}

// KindCRD is the kind of the definitions of custom resources. Their objects are kept without spec:
// nobody checks the schemas, which are most of the text of many repositories.
const KindCRD = "CustomResourceDefinition"

func (o *Object) dropSpec() {
	if spec := o.Root.field("spec"); spec != nil {
		spec.Value = &Value{Kind: Mapping, At: spec.Value.At}
	}
}

// isObject reports whether a mapping is meant as an object: it has a kind or an API group, or
// metadata like an object. Values of charts, Chart.yaml and configurations of other programs may be
// in the same folders and are not objects.
func (o *Object) isObject() bool {
	if o.Kind != "" || strings.Contains(o.APIVersion, "/") {
		return true
	}
	return o.Name != "" || o.Find("metadata") != nil && o.Find("spec") != nil
}

// isList reports whether the object is a List, whose items are objects.
func (o *Object) isList() bool {
	items := o.Find("items")
	return items != nil && items.Kind == List && (o.Kind == "List" || slices.Contains(listKinds(), o.Kind))
}

// listKinds returns the kinds of lists that kubectl get --raw and API clients write.
func listKinds() []string {
	return []string{
		"SriovNetworkNodePolicyList", "SriovNetworkList", "SriovIBNetworkList", "SriovNetworkPoolConfigList",
		"SriovOperatorConfigList", "SriovNetworkNodeStateList", "NetworkAttachmentDefinitionList", "PodList",
		"NodeList", "ConfigMapList", "NamespaceList", "DeploymentList", "StatefulSetList", "DaemonSetList", "JobList",
	}
}
