package plan

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// Difference is an object in which a plan and a folder differ.
type Difference struct {
	Object string `json:"object"` // kind, namespace and name
	// Change is added (in the plan only), removed (in the folder only) or changed.
	Change string `json:"change"`
	// File is the file in the folder that contains it.
	File   string        `json:"file,omitempty"`
	Fields []FieldChange `json:"fields,omitempty"`
}

// FieldChange is a field that differs. An absent value is "".
type FieldChange struct {
	Path string `json:"path"` // spec.nicSelector.rootDevices[0]
	Old  string `json:"old"`  // in the folder
	New  string `json:"new"`  // in the plan
}

// The changes of a [Difference].
const (
	ChangeAdded   = "added"   // in the plan only
	ChangeRemoved = "removed" // in the folder only
	ChangeChanged = "changed" // in both, with other fields
)

// Diff compares a plan with the manifests in a folder, object by object. It ignores comments, order
// and file names, and documents that are not objects, such as the values of a chart. It returns an
// error for files that can't be read or parsed.
func (p Plan) Diff(dir string) ([]Difference, error) {
	have, err := manifest.Read([]string{dir}, strings.NewReader(""))
	if errors.Is(err, manifest.ErrEmpty) {
		err = nil // all objects are missing in an empty folder
	}
	for _, problem := range have.Problems {
		err = errors.Join(err, fmt.Errorf("%s: %s", problem.At, problem.Text))
	}
	if err != nil {
		return nil, fmt.Errorf("compare with %s: %w", dir, err)
	}
	want := &manifest.Set{}
	for _, f := range p.Files {
		if f.Object != "" {
			want.Add(manifest.Parse(f.Name, []byte(f.Text)))
		}
	}
	old, next := byName(have.Objects), byName(want.Objects)
	var out []Difference
	for _, name := range slices.Sorted(maps.Keys(next)) {
		o := old[name]
		if o == nil {
			out = append(out, Difference{Object: name, Change: ChangeAdded})
			continue
		}
		if fields := compare("", o.Root.Plain(), next[name].Root.Plain()); len(fields) > 0 {
			out = append(out, Difference{Object: name, Change: ChangeChanged, File: o.File, Fields: fields})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if next[name] == nil {
			out = append(out, Difference{Object: name, Change: ChangeRemoved, File: old[name].File})
		}
	}
	return out, nil
}

func byName(objects []*manifest.Object) map[string]*manifest.Object {
	out := map[string]*manifest.Object{}
	for _, o := range objects {
		if o.APIVersion != "" && o.Kind != "" && o.Name != "" {
			out[o.String()] = o
		}
	}
	return out
}

// compare returns the fields in which two values differ, by path.
func compare(path string, old, next any) []FieldChange {
	a, aok := old.(map[string]any)
	b, bok := next.(map[string]any)
	if x, y := listOf(old), listOf(next); len(x) > 0 && len(x) == len(y) {
		var out []FieldChange
		for i := range x {
			out = append(out, compare(fmt.Sprintf("%s[%d]", path, i), x[i], y[i])...)
		}
		return out
	}
	if !aok || !bok {
		if reflect.DeepEqual(old, next) {
			return nil
		}
		return []FieldChange{{Path: path, Old: plainText(old), New: plainText(next)}}
	}
	keys := slices.Collect(maps.Keys(a))
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var out []FieldChange
	for _, key := range keys {
		out = append(out, compare(strings.TrimPrefix(path+"."+key, "."), a[key], b[key])...)
	}
	return out
}

// listOf returns v as a list, nil if it is not a list.
func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

func plainText(v any) string {
	if v == nil {
		return ""
	}
	if s, ok := v.(string); ok {
		return s
	}
	text, err := compactJSON(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return text
}
