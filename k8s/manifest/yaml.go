package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// yaml reads a YAML file document by document, so that an error in one doesn't affect the others.
func (p *parser) yaml() {
	start := 0
	for i := range p.source.lines {
		if i > start && isDocumentStart(p.source.lines[i]) {
			p.chunk(start, i)
			start = i
		}
	}
	p.chunk(start, len(p.source.lines))
}

// isDocumentStart reports whether a line is "---", which starts a document even in a block scalar.
func isDocumentStart(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t')
}

// chunk reads the lines of one document.
func (p *parser) chunk(from, to int) {
	body := bytes.Join(p.source.lines[from:to], []byte("\n"))
	if to < len(p.source.lines) {
		body = append(body, '\n') // the line break before "---", which may belong to a block scalar
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return
	}
	dec := yaml.NewDecoder(bytes.NewReader(body))
	for { // another document may follow "..."
		var doc yaml.Node
		err := decode(dec, &doc)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			p.set.Problems = append(p.set.Problems, explain(p.source, from, to, err))
			return
		}
		for _, part := range p.split(&doc, from) {
			c := &converter{parser: p, offset: from}
			root, err := c.value(part, 0)
			if f, ok := errors.AsType[*faultError](err); ok {
				p.set.fail(f.problemType(), f.at, f.text, f.remedy)
				return
			}
			if err != nil {
				p.set.fail(ProblemLimit, p.source.region(from+1), err.Error(), "replace the aliases with their values")
				return
			}
			p.document(root)
		}
	}
}

// faultError is the error for a document that the YAML library accepts, but no program that reads
// manifests.
type faultError struct{ fault }

func (e *faultError) Error() string { return e.text }

// split separates objects that are one mapping because of a missing "---".
func (p *parser) split(doc *yaml.Node, offset int) []*yaml.Node {
	whole := []*yaml.Node{doc}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return whole
	}
	root := doc.Content[0]
	starts := []int{0}
	seen, counts := map[string]*yaml.Node{}, map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := root.Content[i]
		counts[key.Value]++
		if first := seen[key.Value]; first != nil && (key.Value == "apiVersion" || key.Value == "kind") {
			starts = append(starts, i)
			clear(seen)
		}
		seen[key.Value] = key
	}
	if len(starts) != counts["apiVersion"] || len(starts) != counts["kind"] || len(starts) == 1 {
		return whole
	}
	var parts []*yaml.Node
	for n, start := range starts {
		end := len(root.Content)
		if n+1 < len(starts) {
			end = starts[n+1]
		}
		key := root.Content[start]
		if n > 0 {
			c := &converter{parser: p, offset: offset}
			p.set.Problems = append(p.set.Problems, Problem{
				At: c.region(key), Type: ProblemSyntax, Other: c.region(root.Content[starts[n-1]]).Pos,
				Text: "another object starts here without --- above it, so its fields are duplicate keys of the " +
					"first object",
				Remedy: "add a line with --- above this one",
			})
		}
		parts = append(parts,
			&yaml.Node{Kind: yaml.MappingNode, Line: key.Line, Column: key.Column, Content: root.Content[start:end]})
	}
	return parts
}

// decode returns a panic of the YAML library as an error.
func decode(dec *yaml.Decoder, doc *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return dec.Decode(doc)
}

// converter converts the library's tree to values and resolves aliases.
type converter struct {
	*parser
	offset int // lines before the document
	alias  *yaml.Node
	// runes is the length of line measured in characters, without blanks at its end. It is cached,
	// because a line may have megabytes of values.
	measured, runes int
}

func (c *converter) value(n *yaml.Node, depth int) (*Value, error) {
	if c.budget--; c.budget < 0 {
		return nil, errors.New("too many values: aliases multiply them")
	}
	if depth > MaxDepth {
		return nil, fmt.Errorf("deeper than %d levels", MaxDepth)
	}
	v := &Value{At: c.region(n)}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return c.value(n.Content[0], depth)
	case yaml.AliasNode:
		return c.resolve(n, depth)
	case yaml.MappingNode:
		v.Kind = Mapping
		return v, c.fields(v, n, depth)
	case yaml.SequenceNode:
		v.Kind = List
		for _, item := range n.Content {
			child, err := c.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			if f, ok := c.deeperDash(item); ok {
				c.set.fail(ProblemSyntax, f.at, f.text, f.remedy)
				for part := range strings.SplitSeq(item.Value, " - ") { // the intended entries, for the rules
					v.Items = append(v.Items, &Value{Kind: String, At: child.At, Text: part})
				}
				continue
			}
			v.Items = append(v.Items, child)
		}
	case yaml.ScalarNode:
		c.scalar(v, n)
	}
	return v, nil
}

// resolve returns the value of an alias. Its place is the place of the alias.
func (c *converter) resolve(n *yaml.Node, depth int) (*Value, error) {
	if n.Alias == nil {
		return &Value{At: c.region(n)}, nil
	}
	outer := c.alias
	if outer == nil {
		c.alias = n
	}
	v, err := c.value(n.Alias, depth+1)
	c.alias = outer
	return v, err
}

func (c *converter) region(n *yaml.Node) Region {
	length := max(1, utf8.RuneCountInString(n.Value))
	if c.alias != nil {
		n, length = c.alias, utf8.RuneCountInString(c.alias.Value)+1
	}
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		length += 2
	}
	line, column := n.Line+c.offset, n.Column
	if line != c.measured {
		c.measured, c.runes = line, utf8.RuneCount(bytes.TrimRight(c.source.line(line), " "))
	}
	if column > 0 { // the library counts bytes or characters
		length = min(length, max(1, c.runes-column+1))
	}
	return Region{Pos: Pos{File: c.source.file, Line: line, Column: column}, Length: length}
}

func (c *converter) scalar(v *Value, n *yaml.Node) {
	if f, ok := c.oddScalar(n); ok && c.alias == nil {
		c.set.fail(ProblemSyntax, f.at, f.text, f.remedy)
	}
	v.Text = n.Value
	v.Quoted = n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	switch n.ShortTag() {
	case "!!int":
		v.Kind = Int
	case "!!float":
		v.Kind = Float
	case "!!bool":
		v.Kind = Bool
	case "!!null":
		v.Kind, v.Text = Null, ""
	default:
		v.Kind = String
		// The API server's decoder still reads YAML 1.1, in which these are true or false.
		if !v.Quoted && slices.Contains([]string{"yes", "no", "on", "off", "y", "n"}, strings.ToLower(n.Value)) {
			v.Kind = Bool
		}
	}
}

func (c *converter) fields(v *Value, n *yaml.Node, depth int) error {
	seen := map[string]int{}
	var merged []*Value
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		value, err := c.value(n.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		if key.Kind == yaml.AliasNode && key.Alias != nil {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return c.noKey(key)
		}
		if f, ok := c.oddScalar(key); ok {
			return &faultError{f}
		}
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if value == nil {
			value = &Value{At: c.region(key)}
		}
		c.add(v, seen, Field{Key: key.Value, At: c.region(n.Content[i]), Value: value})
	}
	for _, m := range merged {
		c.merge(v, seen, m)
	}
	return nil
}

// noKey returns the error for a key that is a mapping or a list. YAML allows such keys and reads
// {{ .Values.x }} as one, JSON doesn't.
func (c *converter) noKey(key *yaml.Node) error {
	at := c.region(key)
	if strings.Contains(string(c.source.line(at.Line)), "{{") {
		return &faultError{helmFault(c.source.region(at.Line))}
	}
	return &faultError{fault{
		at, "a mapping or a list is used as a key",
		"put the key in quotes, or check the brackets of this line: keys must be strings",
	}}
}

// merge adds the fields of a merge key that the mapping doesn't have.
func (c *converter) merge(v *Value, seen map[string]int, from *Value) {
	if from == nil {
		return
	}
	for _, item := range from.Items {
		if item.Kind == Mapping {
			c.merge(v, seen, item)
		}
	}
	for _, f := range from.Fields {
		if _, ok := seen[f.Key]; !ok {
			c.add(v, seen, f)
		}
	}
}
