package main

import (
	"encoding"
	"errors"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

const module = "github.com/rdmakit/rdmakit"

// comments finds the doc comments of the module's types.
type comments struct {
	root     string                        // folder of go.mod
	packages map[string]map[string]typeDoc // by import path, then by type
}

// typeDoc is the documentation of a type.
type typeDoc struct {
	text      string
	fields    map[string]string // by Go name
	constants []constantDoc
}

// constantDoc is a constant of a type: one of its values.
type constantDoc struct {
	literal, text string
}

// newComments finds the module above the working directory.
func newComments() (*comments, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod")) //nolint:gosec // the source that is documented
		if err == nil && strings.HasPrefix(string(data), "module "+module+"\n") {
			return &comments{root: dir, packages: map[string]map[string]typeDoc{}}, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil, errors.New("find the source of " + module + ": no go.mod above the working directory")
		}
		dir = parent
	}
}

// of returns the documentation of a type; a type without any is an error.
func (c *comments) of(t reflect.Type) (typeDoc, error) {
	dir, ok := strings.CutPrefix(t.PkgPath(), module+"/")
	if !ok {
		return typeDoc{}, fmt.Errorf("package %s is not in this module", t.PkgPath())
	}
	if c.packages[dir] == nil {
		types, err := readComments(filepath.Join(c.root, filepath.FromSlash(dir)))
		if err != nil {
			return typeDoc{}, err
		}
		c.packages[dir] = types
	}
	doc := c.packages[dir][t.Name()]
	if doc.text == "" {
		return doc, errors.New("no doc comment")
	}
	return doc, nil
}

// readComments reads the files of a package; constants may be in a different file than their type.
func readComments(dir string) (map[string]typeDoc, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	types := map[string]typeDoc{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, decl := range tree.Decls {
			if g, ok := decl.(*ast.GenDecl); ok {
				readDeclaration(g, types)
			}
		}
	}
	return types, nil
}

func readDeclaration(g *ast.GenDecl, types map[string]typeDoc) {
	for _, spec := range g.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := types[spec.Name.Name]
			doc.text = join(g.Doc, spec.Doc, spec.Comment)
			if s, ok := spec.Type.(*ast.StructType); ok {
				doc.fields = fieldComments(s)
			}
			types[spec.Name.Name] = doc
		case *ast.ValueSpec:
			id, ok := spec.Type.(*ast.Ident)
			if g.Tok != token.CONST || !ok || len(spec.Values) != 1 {
				continue
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				doc := types[id.Name]
				doc.constants = append(doc.constants,
					constantDoc{lit.Value, strings.TrimSuffix(constantText(spec), ".")})
				types[id.Name] = doc
			}
		}
	}
}

// constantText returns the comment of a constant without its Go name.
func constantText(spec *ast.ValueSpec) string {
	return strings.TrimPrefix(join(spec.Doc, spec.Comment), spec.Names[0].Name+": ")
}

func fieldComments(s *ast.StructType) map[string]string {
	out := map[string]string{}
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			out[name.Name] = join(f.Doc, f.Comment)
		}
	}
	return out
}

// join joins comments into one line, without the brackets of doc links.
func join(groups ...*ast.CommentGroup) string {
	var words []string
	for _, g := range groups {
		words = append(words, strings.Fields(unlinked(g.Text()))...)
	}
	return strings.Join(words, " ")
}

// unlinked removes the brackets from the doc links of a comment. A word in capitals is kept,
// because it may be a placeholder, as in [FILE].
func unlinked(text string) string {
	parser := comment.Parser{
		LookupPackage: func(name string) (string, bool) { return name, true },
		LookupSym:     func(recv, name string) bool { return recv != "" || strings.ToUpper(name) != name },
	}
	for _, block := range parser.Parse(text).Content {
		p, ok := block.(*comment.Paragraph)
		if !ok {
			continue
		}
		for _, part := range p.Text {
			link, ok := part.(*comment.DocLink)
			if !ok || link.Name == "" || len(link.Text) != 1 {
				continue
			}
			if name, ok := link.Text[0].(comment.Plain); ok {
				text = strings.ReplaceAll(text, "["+string(name)+"]", strings.TrimPrefix(string(name), "*"))
			}
		}
	}
	return text
}

// word returns the constant as encoding/json writes it.
func (c constantDoc) word(t reflect.Type) (any, error) {
	if t.Kind() == reflect.String {
		return strconv.Unquote(c.literal)
	}
	n, err := strconv.ParseInt(c.literal, 0, 64)
	if err != nil {
		return nil, fmt.Errorf("constant %s of %v is not a number", c.literal, t)
	}
	v := reflect.New(t).Elem()
	if v.CanUint() {
		v.SetUint(uint64(n)) //nolint:gosec // a constant of the source that compiled
	} else {
		v.SetInt(n)
	}
	if m, ok := reflect.TypeAssert[encoding.TextMarshaler](v); ok {
		text, err := m.MarshalText()
		return string(text), err
	}
	return n, nil
}

var zeroWords = regexp.MustCompile(`"" and 0\b|""|\bnil\b|\b0 (when|if|for|without|where|while)\b`)

// absent rewrites the comment of a Go field for JSON, where a field that is nil, "" or 0 is absent.
func absent(text string) string {
	return zeroWords.ReplaceAllStringFunc(text, func(s string) string {
		if word, ok := strings.CutPrefix(s, "0 "); ok {
			return "absent " + word
		}
		return "absent"
	})
}
