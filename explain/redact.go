package explain

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Redact replaces the names of nodes, inputs and users, and gives all other text to replace, which
// hides addresses in it. Nodes become "node-1", "node-2" in the order of the facts, and inputs
// "input-1.log", so that relations between them stay visible.
func (d *Document) Redact(replace func(string) string) {
	type alias struct{ name, by string }
	var list []alias
	inputs := map[string]bool{"-": true}
	for i, in := range d.Inputs {
		if !inputs[in.Name] {
			list = append(list, alias{in.Name, fmt.Sprintf("input-%d", i+1) + kindOf(in.Name)})
		}
		inputs[in.Name] = true
	}
	for i, n := range d.Facts.Nodes {
		if !inputs[n.Name] { // a node without a name has that of its input
			list = append(list, alias{n.Name, fmt.Sprintf("node-%d", i+1)})
		}
	}
	// The longest name first: a name can be the beginning of another one.
	slices.SortFunc(list, func(a, b alias) int { return cmp.Compare(len(b.name), len(a.name)) })
	hide := func(s string) string {
		for _, a := range list {
			s = replaceWord(s, a.name, a.by)
		}
		return homes.ReplaceAllString(replace(s), "${1}user")
	}
	walkStrings(reflect.ValueOf(d).Elem(), hide)
}

// kindOf returns the end of a file's name if it says what kind of file it is and nothing else.
func kindOf(name string) string {
	ext := path.Ext(name)
	if slices.Contains([]string{".log", ".txt", ".json", ".gz", ".zst", ".tar", ".zip", ".pcap", ".pcapng"}, ext) {
		return ext
	}
	return ""
}

// homes are the beginnings of paths that name a user.
var homes = regexp.MustCompile(`(/home/|/Users/)[^/\s:'"]+`)

// replaceWord replaces a name where it isn't a part of a longer word.
func replaceWord(s, name, by string) string {
	if name == "" {
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(s, name)
		if i < 0 {
			return b.String() + s
		}
		end := i + len(name)
		part := i > 0 && inWord(s[i-1]) || end < len(s) && inWord(s[end])
		b.WriteString(s[:i])
		if part {
			b.WriteString(name)
		} else {
			b.WriteString(by)
		}
		s = s[end:]
	}
}

func inWord(c byte) bool {
	return c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// walkStrings replaces the strings in a value: fields and elements of slices, except fields with
// the tag redact:"-", which come from the rules and not from the inputs.
func walkStrings(v reflect.Value, replace func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(replace(v.String()))
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.Tag.Get("redact") != "-" {
				walkStrings(value, replace)
			}
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
