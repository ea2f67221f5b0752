package manifest

import (
	"bytes"
	"fmt"
	"slices"
)

// Parse reads a file. Parts that can't be read are problems of the set. Mappings that don't look
// like objects, such as values of a chart, are skipped. A file without objects gives an empty set.
func Parse(file string, data []byte) *Set {
	set := &Set{Files: []string{file}}
	parseInto(set, file, data, false)
	return set
}

// parseInto adds the content of a file to a set. If all is true, it adds every mapping as an
// object.
func parseInto(set *Set, file string, data []byte, all bool) {
	if len(data) > MaxFile {
		set.fail(ProblemLimit, Region{Pos: Pos{File: file}}, fmt.Sprintf("larger than %d MiB", MaxFile>>20),
			"split the file")
		return
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	p := &parser{set: set, source: newText(file, data), budget: 10_000 + 4*len(data), all: all}
	if bytes.IndexByte(data, 0) >= 0 {
		set.fail(ProblemSyntax, Region{Pos: Pos{File: file, Line: 1, Column: 1}, Length: 1},
			"not a text in UTF-8: it contains zero bytes, like binary files and UTF-16", "save it as text in UTF-8")
		return
	}
	if f, ok := findConflict(p.source); ok {
		set.fail(ProblemSyntax, f.at, f.text, f.remedy)
		return
	}
	if looksLikeJSON(data) && p.json(data) {
		return
	}
	p.yaml()
}

// fail adds a problem.
func (s *Set) fail(kind ProblemType, at Region, what, remedy string) {
	s.Problems = append(s.Problems, Problem{At: at, Type: kind, Text: what, Remedy: remedy})
}

// parser reads one file.
type parser struct {
	set    *Set
	source *text
	budget int // values that may still be created
	all    bool
}

// document adds the objects of a document.
func (p *parser) document(root *Value) {
	switch {
	case root == nil || root.Kind == Null:
	case root.Kind == List && !slices.ContainsFunc(root.Items, isMapping): // data of another program
	case root.Kind == List: // output of jq, for example
		for _, item := range root.Items {
			p.object(item)
		}
	default:
		p.object(root)
	}
}

func isMapping(v *Value) bool { return v.Kind == Mapping }

func (p *parser) object(root *Value) {
	if root.Kind != Mapping {
		p.set.fail(ProblemObject, root.At, "this is "+root.Kind.String()+", not a Kubernetes object",
			"write an object with apiVersion and kind")
		return
	}
	o := newObject(p.source.file, root, p.source)
	switch {
	case !p.all && !o.isObject():
	case o.isList():
		for _, item := range o.Find("items").Items {
			p.object(item)
		}
	case len(p.set.Objects) >= MaxObjects:
		if len(p.set.Objects) == MaxObjects && !p.limited() {
			p.set.fail(ProblemLimit, root.At, fmt.Sprintf("more than %d objects in a file", MaxObjects),
				"split the file")
		}
	default:
		if o.Kind == KindCRD {
			o.dropSpec()
		}
		p.set.Objects = append(p.set.Objects, o)
	}
}

// limited reports whether the set already has a problem with a limit.
func (p *parser) limited() bool {
	for _, problem := range p.set.Problems {
		if problem.Type == ProblemLimit {
			return true
		}
	}
	return false
}
