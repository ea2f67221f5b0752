package plan

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rdmakit/rdmakit/internal/text/output"
)

// document is an object with comments.
type document struct {
	file, kind, namespace, name string
	value                       any // its JSON form is the object
	head                        []string
	notes                       []note
}

// note is a comment above a field.
type note struct {
	path []string
	text string
}

// because explains a field.
func (d *document) because(text string, path ...string) { d.notes = append(d.notes, note{path, text}) }

// object returns the name of the object in the form of package manifest.
func (d *document) object() string {
	if d.namespace == "" {
		return d.kind + " " + d.name
	}
	return d.kind + " " + d.namespace + "/" + d.name
}

// width is the maximum width of comments.
const width = 110

// text returns the object as YAML with comments.
func (d *document) text() (string, error) {
	data, err := output.New(output.Options{Format: output.FormatYAML}).Render(d.value)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", d.object(), err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return "", fmt.Errorf("write %s: %w", d.object(), err)
	}
	for _, n := range d.notes {
		key := find(&root, n.path)
		if key == nil {
			return "", fmt.Errorf("write %s: no field %s to explain", d.object(), strings.Join(n.path, "."))
		}
		if key.HeadComment != "" {
			key.HeadComment += "\n"
		}
		key.HeadComment += comment(n.text, width-2*len(n.path))
	}
	var b bytes.Buffer
	for _, line := range d.head {
		b.WriteString(comment(line, width) + "\n")
	}
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := errors.Join(enc.Encode(&root), enc.Close()); err != nil {
		return "", fmt.Errorf("write %s: %w", d.object(), err)
	}
	return b.String(), nil
}

// find returns the key at a path, nil if there is none.
func find(n *yaml.Node, path []string) *yaml.Node {
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		return find(n.Content[0], path)
	}
	if n.Kind != yaml.MappingNode || len(path) == 0 {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != path[0] {
			continue
		}
		if len(path) == 1 {
			return n.Content[i]
		}
		return find(n.Content[i+1], path[1:])
	}
	return nil
}

// comment wraps a text to lines of a comment. A text that starts with a blank is a table or a
// command, and is not wrapped. Commands within a text stay on one line.
func comment(text string, width int) string {
	// Texts from nodes must not end the comment.
	text = output.Clean(text)
	switch {
	case text == "":
		return "#"
	case strings.HasPrefix(text, " "):
		return "#" + text
	}
	var lines []string
	line := "#"
	for word := range strings.FieldsFuncSeq(output.KeepCommands(text), func(r rune) bool { return r == ' ' }) {
		word = output.Breakable(word)
		if len(line)+1+len(word) > width && line != "#" {
			lines = append(lines, line)
			line = "#"
		}
		line += " " + word
	}
	return strings.Join(append(lines, line), "\n")
}

// render adds the files of all documents to the plan, with the header before the first document.
func (m *maker) render() error {
	m.docs = slices.DeleteFunc(m.docs, func(d *document) bool { return slices.Contains(m.opts.Omit, d.kind) })
	for i, d := range m.docs {
		if i == 0 {
			d.head = slices.Concat(m.header(), d.head)
		}
		text, err := d.text()
		if err != nil {
			return err
		}
		m.plan.Files = append(m.plan.Files, File{Name: d.file, Object: d.object(), Text: text})
	}
	if slices.ContainsFunc(m.docs, func(d *document) bool { return d.kind == kindGUIDs && d.name == guidsName }) {
		m.plan.Files = append(m.plan.Files, m.guidFiles()...)
	}
	return nil
}

// YAML returns the objects as one stream of documents.
func (p Plan) YAML() []byte {
	var b bytes.Buffer
	for _, f := range p.Files {
		if f.Object == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("---\n")
		}
		b.WriteString(f.Text)
	}
	return b.Bytes()
}
