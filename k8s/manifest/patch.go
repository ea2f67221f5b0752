package manifest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file finds out which objects the patches of kustomizations change, and where. The patches
// are not applied: what they may change is not checked.

// patch is a patch of a kustomization, with what is known of the objects that it changes. Empty
// fields match all objects.
type patch struct {
	file       string // of the kustomization
	kind, name string
	pattern    bool  // name is a regular expression
	paths      []way // of the values that it writes; none if it may write any
}

// way is a path of mapping keys.
type way []string

// Patched are the changes that kustomizations make to an object after it is read.
type Patched struct {
	File  string // the kustomization
	paths []way
}

// PatchedAt returns the kustomization that may change the value at a path, or a value within it,
// "" if none does. Without a path it returns the first that changes the object.
func (o *Object) PatchedAt(path ...any) string {
	for _, p := range o.Patched {
		if len(path) == 0 || len(p.paths) == 0 ||
			slices.ContainsFunc(p.paths, func(w way) bool { return w.meets(path) }) {
			return p.File
		}
	}
	return ""
}

// meets reports whether one of two paths is the beginning of the other. Indexes of lists match
// everything.
func (w way) meets(path []any) bool {
	for i, step := range w {
		if i == len(path) {
			return true
		}
		key, ok := path[i].(string)
		if !ok {
			return true
		}
		if key != step {
			return false
		}
	}
	return true
}

// harmless reports whether no rule looks at the value of a path.
func harmless(w way) bool {
	return slices.Contains(w, "image") || slices.Contains(w, "imagePullPolicy") ||
		slices.Contains(w, "imagePullSecrets")
}

// patches returns the patches of a kustomization.
func (r *reading) patches(dir, file string, root *Value) []patch {
	var out []patch
	for _, field := range []string{"patches", "patchesStrategicMerge", "patchesJson6902"} {
		for _, entry := range root.Get(field).List() {
			out = append(out, r.patch(dir, file, entry)...)
		}
	}
	for _, field := range []string{"replacements", "vars", "transformers"} {
		if !root.Get(field).Empty() {
			out = append(out, patch{file: file})
		}
	}
	return out
}

// patch reads an entry: the name of a file, the text of a patch, or a mapping with path or patch,
// and target.
func (r *reading) patch(dir, file string, entry *Value) []patch {
	text, name := entry.text(), entry.text()
	if entry.Kind == Mapping {
		text, name = entry.Get("patch").text(), entry.Get("path").text()
	}
	body := &Set{}
	if name != "" && !strings.Contains(name, "\n") {
		data, err := ReadFile(absolute(dir, name), nil)
		if err != nil { // kustomize fails, too
			r.fail(fmt.Errorf("%s: patch: %w", file, err))
			return nil
		}
		text = string(data)
	}
	parseInto(body, file, []byte(text), true)
	target := entry.Get("target")
	general := patch{file: file, kind: target.Get("kind").text(), name: target.Get("name").text(), pattern: true}
	var out []patch
	var operations []way
	for _, o := range body.Objects {
		if p := o.Find("path"); p != nil && o.Find("op") != nil {
			operations = append(operations, pointer(p.Text))
			continue
		}
		p := general
		if target == nil {
			p.kind, p.name, p.pattern = o.Kind, o.Name, false
		}
		p.paths = leaves(nil, o.Root)
		out = append(out, p)
	}
	if len(operations) > 0 || len(out) == 0 {
		general.paths = operations
		out = append(out, general)
	}
	return slices.DeleteFunc(out, func(p patch) bool {
		return len(p.paths) > 0 && !slices.ContainsFunc(p.paths, func(w way) bool { return !harmless(w) })
	})
}

func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// pointer returns the mapping keys of a JSON pointer (RFC 6901) up to the first index of a list.
func pointer(text string) way {
	if text == "" || text == "/" {
		return nil // the whole object
	}
	var out way
	for step := range strings.SplitSeq(strings.TrimPrefix(text, "/"), "/") {
		if _, err := strconv.Atoi(step); err == nil || step == "-" {
			break
		}
		out = append(out, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	return out
}

// leaves returns the paths of the values in a strategic merge patch, down to lists. Those that only
// say which object it is for are not among them.
func leaves(at way, v *Value) []way {
	if v == nil || v.Kind != Mapping || len(v.Fields) == 0 {
		return []way{slices.Clone(at)}
	}
	var out []way
	for _, f := range v.Fields {
		switch {
		case len(at) == 0 && (f.Key == "apiVersion" || f.Key == "kind"),
			len(at) == 1 && at[0] == "metadata" && (f.Key == "name" || f.Key == "namespace"):
		case strings.HasPrefix(f.Key, "$"): // $patch: delete or replace
			out = append(out, slices.Clone(at))
		default:
			out = append(out, leaves(append(slices.Clone(at), f.Key), f.Value)...)
		}
	}
	return out
}

// matches reports whether a patch may be for an object. A base may have added a prefix or a suffix
// to the name, and kustomize still finds the object by its old name.
func (p patch) matches(o *Object) bool {
	if p.kind != "" && p.kind != o.Kind {
		return false
	}
	if p.pattern {
		if re, err := regexp.Compile("^(?:" + p.name + ")$"); p.name == "" || err != nil || re.MatchString(o.Name) {
			return true
		}
	}
	return strings.Contains(o.Name, p.name)
}

// mark records the patches of objects.
func (s *Set) mark(patches []patch) {
	for _, o := range s.Objects {
		for _, p := range patches {
			if p.matches(o) {
				o.Patched = append(slices.Clip(o.Patched), Patched{File: p.file, paths: p.paths})
			}
		}
	}
}
