package explain

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Redact replaces the names of nodes, and gives all other text to replace, which hides addresses in
// it. Nodes become "node-1", "node-2" in the order of the facts, so that relations between them
// stay visible.
func (d *Document) Redact(replace func(string) string) {
	type alias struct{ name, by string }
	var list []alias
	for i, n := range d.Facts.Nodes {
		list = append(list, alias{n.Name, fmt.Sprintf("node-%d", i+1)})
	}
	// The longest name first: a name can be the beginning of another one.
	slices.SortFunc(list, func(a, b alias) int { return cmp.Compare(len(b.name), len(a.name)) })
	var pairs []string
	for _, a := range list {
		pairs = append(pairs, a.name, a.by)
	}
	nodes := strings.NewReplacer(pairs...)
	walkStrings(reflect.ValueOf(d).Elem(), func(s string) string { return replace(nodes.Replace(s)) })
}

// walkStrings replaces the strings in a value: fields, elements of slices, and values of maps. Keys
// and constants of rules have no names of nodes or addresses, which replace leaves as they are.
func walkStrings(v reflect.Value, replace func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(replace(v.String()))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			walkStrings(field, replace)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walkStrings(v.Index(i), replace)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			walkStrings(v.Elem(), replace)
		}
	}
}
