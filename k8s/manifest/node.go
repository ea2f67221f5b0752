package manifest

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is the kind of a value.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Mapping
	List
	String
	Int
	Float
	Bool
)

// String returns the kind with its article: "a mapping".
func (k Kind) String() string {
	return [...]string{
		"null", "a mapping", "a list", "a string", "an integer", "a number with a fraction", "a boolean",
	}[min(int(k), 6)]
}

// Pos is a place in a file. Line and column count from 1, columns in characters. 0 means unknown.
type Pos struct {
	File   string `json:"file"`             // name of the file
	Line   int    `json:"line,omitempty"`   // from 1
	Column int    `json:"column,omitempty"` // from 1, in characters
}

// String returns "file:line:column", without unknown parts.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Region is a part of a line: Length characters from [Pos] on.
type Region struct {
	Pos
	Length int // in characters, on the line of Pos
}

// Value is a value with its place.
type Value struct {
	Kind Kind   // null, mapping, list, or the kind of scalar
	At   Region // where it starts
	// Text is the text of a scalar, without quotes and with escapes resolved.
	Text string
	// Quoted reports whether a string is in quotes or a block scalar.
	Quoted bool
	// Fields are the entries of a mapping in their order. Of duplicate keys it contains the last.
	Fields []Field
	// Items are the entries of a list.
	Items []*Value
}

// Field is an entry of a mapping.
type Field struct {
	Key   string // name of the field
	At    Region // of the key
	Value *Value // of the field
}

// Get returns the value of a key, nil if there is none.
func (v *Value) Get(key string) *Value {
	if f := v.field(key); f != nil {
		return f.Value
	}
	return nil
}

func (v *Value) field(key string) *Field {
	if v == nil || v.Kind != Mapping {
		return nil
	}
	for i := range v.Fields {
		if v.Fields[i].Key == key {
			return &v.Fields[i]
		}
	}
	return nil
}

// Find returns the value at a path of keys (string) and indices (int), nil if there is none.
func (v *Value) Find(path ...any) *Value {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			v = v.Get(s)
		case int:
			if v == nil || v.Kind != List || s < 0 || s >= len(v.Items) {
				return nil
			}
			v = v.Items[s]
		default:
			return nil
		}
	}
	return v
}

// Empty reports whether the value is absent, null, an empty string, or a mapping or list without
// entries.
func (v *Value) Empty() bool {
	if v == nil {
		return true
	}
	switch v.Kind {
	case Null:
		return true
	case Mapping:
		return len(v.Fields) == 0
	case List:
		return len(v.Items) == 0
	}
	return v.Text == ""
}

// PathText returns a path as text: spec.nicSelector.pfNames[0], metadata.annotations["a/b"].
func PathText(path ...any) string {
	var b strings.Builder
	for _, step := range path {
		switch s := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		case string:
			switch {
			case strings.ContainsAny(s, "./[] \""):
				b.WriteString("[" + strconv.Quote(s) + "]")
			case b.Len() > 0:
				b.WriteString("." + s)
			default:
				b.WriteString(s)
			}
		}
	}
	return b.String()
}

// List returns the entries of a list, nil for other values.
func (v *Value) List() []*Value {
	if v == nil || v.Kind != List {
		return nil
	}
	return v.Items
}
