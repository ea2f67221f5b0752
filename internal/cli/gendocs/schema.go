package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rdmakit/rdmakit/internal/cli/commands"
)

// schemaPages returns the files of dir/schema: a JSON Schema (draft 2020-12) for
// each document that commands print, from the Go types and their comments.
func schemaPages(dir string) (map[string][]byte, error) {
	docs, err := newComments()
	if err != nil {
		return nil, err
	}
	documents := commands.Schemas()
	names := make(map[reflect.Type]string, len(documents))
	for name, v := range documents {
		names[reflect.TypeOf(v)] = name
	}
	pages := make(map[string][]byte, len(documents))
	for name, v := range documents {
		w := &schemaWriter{
			docs: docs, documents: names, defs: map[string]*jsonschema.Schema{}, types: map[string]reflect.Type{},
		}
		page, err := w.page(name, reflect.TypeOf(v))
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", name, err)
		}
		pages[filepath.Join(dir, "schema", schemaFile(name))] = page
	}
	return pages, nil
}

// schemaFile returns the file of a schema: detect.v1.json for rdmakit.detect/v1.
func schemaFile(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "rdmakit."), "/", ".") + ".json"
}

// schemaWriter generates the schema of one document. Every named type becomes a definition, so that
// a type is described only once.
type schemaWriter struct {
	docs      *comments
	documents map[reflect.Type]string // names of the documents by their types
	defs      map[string]*jsonschema.Schema
	types     map[string]reflect.Type // by name in defs
}

func (w *schemaWriter) page(name string, t reflect.Type) ([]byte, error) {
	root, err := w.schema(t)
	if err != nil {
		return nil, err
	}
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Comment = "Written by internal/cli/gendocs from the Go types: change it there. docs/schema.md " +
		"describes the versions."
	root.Title = name
	root.Defs = w.defs
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		return nil, err
	}
	// The library escapes HTML, which is not wanted here.
	return []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(buf.String())), nil
}

// schema returns the schema of the values of a type, for named types as a reference.
func (w *schemaWriter) schema(t reflect.Type) (*jsonschema.Schema, error) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}, nil
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "integer"}, nil // the field's name includes the unit
	case reflect.TypeFor[[]byte]():
		return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}, nil
	case reflect.TypeFor[netip.Prefix]():
		return &jsonschema.Schema{Type: "string", Description: "IP address/length"}, nil
	case reflect.TypeFor[netip.Addr]():
		return &jsonschema.Schema{Type: "string", Description: "IP address"}, nil
	}
	if t.Kind() == reflect.Pointer {
		return w.schema(t.Elem())
	}
	if t.PkgPath() == "" {
		return w.plain(t)
	}
	name := definitionName(t)
	if known, ok := w.types[name]; ok && known != t {
		return nil, fmt.Errorf("both %v and %v would be the definition %s", known, t, name)
	}
	if _, ok := w.types[name]; !ok {
		w.types[name] = t // before its fields, which may refer to it
		def, err := w.named(t)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", t, err)
		}
		w.defs[name] = def
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}, nil
}

// definitionName returns the name of a type in "$defs". Schemas are public, but the packages of
// commands are not: the reports of all commands have the prefix "cli" and a lower-case name.
func definitionName(t reflect.Type) string {
	dir, name := strings.TrimPrefix(t.PkgPath(), module+"/"), t.Name()
	if group, ok := strings.CutPrefix(dir, "internal/cli/"); ok && group != "config" {
		return "cli." + strings.ToLower(name[:1]) + name[1:]
	}
	return path.Base(dir) + "." + name
}

// named returns the definition of a named type.
func (w *schemaWriter) named(t reflect.Type) (*jsonschema.Schema, error) {
	doc, err := w.docs.of(t)
	if err != nil {
		return nil, err
	}
	if t.Kind() == reflect.Struct {
		return w.object(t, doc)
	}
	s := &jsonschema.Schema{Type: "string"}
	if !isText(t) {
		if s, err = w.plain(t); err != nil {
			return nil, err
		}
	}
	s.Description = doc.text
	var notes []string
	for _, c := range doc.constants {
		word, err := c.word(t)
		if err != nil {
			return nil, err
		}
		s.Examples = append(s.Examples, word)
		if c.text != "" {
			notes = append(notes, fmt.Sprintf("%#v: %s", word, c.text))
		}
	}
	if len(notes) > 0 {
		s.Description += " " + strings.Join(notes, "; ") + "."
	}
	return s, nil
}

// isText reports whether encoding/json writes the type as a string.
func isText(t reflect.Type) bool {
	marshaler := reflect.TypeFor[encoding.TextMarshaler]()
	return t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)
}

// plain returns the schema of a type by its kind alone.
func (w *schemaWriter) plain(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Implements(reflect.TypeFor[json.Marshaler]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
		return nil, errors.New("the schema of a type with its own marshaler can't be derived from its fields")
	}
	zero := 0.0
	switch t.Kind() {
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}, nil
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &jsonschema.Schema{Type: "integer"}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &jsonschema.Schema{Type: "integer", Minimum: &zero}, nil
	case reflect.Float32, reflect.Float64:
		return &jsonschema.Schema{Type: "number"}, nil
	case reflect.Slice:
		items, err := w.schema(t.Elem())
		return &jsonschema.Schema{Type: "array", Items: items}, err
	case reflect.Map:
		return w.dictionary(t)
	}
	return nil, fmt.Errorf("no schema for a %v", t.Kind())
}

func (w *schemaWriter) dictionary(t reflect.Type) (*jsonschema.Schema, error) {
	values, err := w.schema(t.Elem())
	if err != nil {
		return nil, err
	}
	s := &jsonschema.Schema{Type: "object", AdditionalProperties: values}
	switch t.Key().Kind() {
	case reflect.String:
	case reflect.Int:
		s.PropertyNames = &jsonschema.Schema{Pattern: "^-?[0-9]+$"}
	default:
		return nil, fmt.Errorf("no schema for keys of type %v", t.Key())
	}
	return s, nil
}

// object returns the schema of a struct. It allows unknown fields, because a
// later release of the same version may add some.
func (w *schemaWriter) object(t reflect.Type, doc typeDoc) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{Type: "object", Description: doc.text, Properties: map[string]*jsonschema.Schema{}}
	return s, w.addFields(s, t, doc)
}

func (w *schemaWriter) addFields(s *jsonschema.Schema, t reflect.Type, doc typeDoc) error {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct: // its fields are inlined
			inner, err := w.docs.of(f.Type)
			if err != nil {
				return fmt.Errorf("%v: %w", f.Type, err)
			}
			if err := w.addFields(s, f.Type, inner); err != nil {
				return fmt.Errorf("%v: %w", f.Type, err)
			}
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			return fmt.Errorf("field %s has no name for JSON", f.Name)
		}
		p, err := w.schema(f.Type)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		text := doc.fields[f.Name]
		switch options {
		case "":
			s.Required = append(s.Required, name)
		case "omitempty", "omitzero":
			text = absent(text)
		default:
			return fmt.Errorf("field %s: option %q", f.Name, options)
		}
		if text != "" {
			p.Description = text
		}
		if document := w.documents[t]; name == "schema" && document != "" {
			var constant any = document
			p.Const = &constant
		}
		s.Properties[name] = p
		s.PropertyOrder = append(s.PropertyOrder, name)
	}
	return nil
}
