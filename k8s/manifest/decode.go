package manifest

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Misfit is a value with the wrong type for its field.
type Misfit struct {
	Path []any  // to the value: field names and, in lists, indexes
	At   Region // of the value
	Want string // type of the field: "a string"
	Got  *Value // the value
}

// Decode fills a struct with JSON tags from the object. It skips values of the wrong type, except
// that a number or boolean in a string field is stored as written, and returns all of them. It
// ignores fields that the struct doesn't have.
func (o *Object) Decode(into any) []Misfit { return o.Root.Decode(into) }

// Decode fills a struct from a part of an object, like [Object.Decode].
func (v *Value) Decode(into any) []Misfit {
	d := &decoder{}
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return nil
	}
	d.decode(v, target.Elem(), nil)
	return d.misfits
}

type decoder struct{ misfits []Misfit }

func (d *decoder) misfit(v *Value, path []any, want string) {
	d.misfits = append(d.misfits, Misfit{Path: slices.Clone(path), At: v.At, Want: want, Got: v})
}

func (d *decoder) decode(v *Value, into reflect.Value, path []any) {
	if v == nil || v.Kind == Null {
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		target := reflect.New(into.Type().Elem())
		before := len(d.misfits)
		d.decode(v, target.Elem(), path)
		if len(d.misfits) == before || v.Kind == Mapping || v.Kind == List {
			into.Set(target)
		}
	case reflect.Struct:
		d.structure(v, into, path)
	case reflect.Map:
		d.mapping(v, into, path)
	case reflect.Slice:
		d.list(v, into, path)
	case reflect.Interface:
		if plain := reflect.ValueOf(v.Plain()); plain.IsValid() {
			into.Set(plain)
		}
	default:
		d.scalar(v, into, path)
	}
}

func (d *decoder) structure(v *Value, into reflect.Value, path []any) {
	if v.Kind != Mapping {
		d.misfit(v, path, Mapping.String())
		return
	}
	t := into.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			d.structure(v, into.Field(i), path)
			continue
		}
		if child := v.Get(name); name != "" && child != nil && f.IsExported() {
			d.decode(child, into.Field(i), append(path, name))
		}
	}
}

func (d *decoder) mapping(v *Value, into reflect.Value, path []any) {
	if v.Kind != Mapping {
		d.misfit(v, path, Mapping.String())
		return
	}
	out := reflect.MakeMapWithSize(into.Type(), len(v.Fields))
	for _, f := range v.Fields {
		item := reflect.New(into.Type().Elem()).Elem()
		d.decode(f.Value, item, append(path, f.Key))
		out.SetMapIndex(reflect.ValueOf(f.Key).Convert(into.Type().Key()), item)
	}
	into.Set(out)
}

func (d *decoder) list(v *Value, into reflect.Value, path []any) {
	if v.Kind != List {
		d.misfit(v, path, List.String())
		return
	}
	out := reflect.MakeSlice(into.Type(), len(v.Items), len(v.Items))
	for i, item := range v.Items {
		d.decode(item, out.Index(i), append(path, i))
	}
	into.Set(out)
}

func (d *decoder) scalar(v *Value, into reflect.Value, path []any) {
	if v.Kind == Mapping || v.Kind == List {
		want := String
		switch into.Kind() {
		case reflect.Int:
			want = Int
		case reflect.Bool:
			want = Bool
		}
		d.misfit(v, path, want.String())
		return
	}
	switch into.Kind() {
	case reflect.String:
		into.SetString(v.Text)
		if v.Kind != String && !intOrText(into.Type()) {
			d.misfit(v, path, String.String())
		}
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(v.Text, 0, 64)
		if err != nil || v.Kind != Int {
			d.misfit(v, path, Int.String())
			return
		}
		into.SetInt(n)
	case reflect.Bool:
		b, err := strconv.ParseBool(strings.ToLower(v.Text))
		if err != nil || v.Kind != Bool {
			d.misfit(v, path, Bool.String())
			return
		}
		into.SetBool(b)
	}
}

// intOrText reports whether a type accepts both numbers and strings: quantities, and numbers or
// percentages.
func intOrText(t reflect.Type) bool { return t.Name() == "Quantity" || t.Name() == "IntOrString" }

// Plain returns the value as a map, slice, string, int, float64, bool or nil, like package
// encoding/json except for int.
func (v *Value) Plain() any {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case Mapping:
		out := make(map[string]any, len(v.Fields))
		for _, f := range v.Fields {
			out[f.Key] = f.Value.Plain()
		}
		return out
	case List:
		out := make([]any, 0, len(v.Items))
		for _, item := range v.Items {
			out = append(out, item.Plain())
		}
		return out
	case Int:
		if n, err := strconv.Atoi(v.Text); err == nil {
			return n
		}
	case Float:
		if f, err := strconv.ParseFloat(v.Text, 64); err == nil {
			return f
		}
	case Bool:
		if b, err := strconv.ParseBool(strings.ToLower(v.Text)); err == nil {
			return b
		}
	case Null:
		return nil
	}
	return v.Text
}
