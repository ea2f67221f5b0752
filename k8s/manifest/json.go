package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

func looksLikeJSON(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && (data[0] == '{' || data[0] == '[')
}

// jsonReader reads JSON values with their places.
type jsonReader struct {
	*parser
	data []byte
	dec  *json.Decoder
	// line and column are those of offset from, all from 0.
	from, line, column int
}

// json reads a file of JSON values. It returns false if the file may be YAML, in the flow style or
// after the first values.
func (p *parser) json(data []byte) bool {
	r := &jsonReader{parser: p, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	read, budget := 0, p.budget
	for n := 0; ; n++ {
		token, at, err := r.token()
		if errors.Is(err, io.EOF) {
			return true
		}
		var root *Value
		if err == nil {
			root, err = r.value(token, at, 0)
		}
		if err != nil && n == 0 && !strings.HasPrefix(err.Error(), "limit: ") {
			return r.whole(err)
		}
		if err != nil && r.yamlFollows(read) {
			p.set.Objects, p.set.Problems, p.budget = nil, nil, budget
			return false
		}
		if err != nil {
			r.syntax(err)
			return true
		}
		read = int(r.dec.InputOffset())
		p.document(root)
	}
}

// yamlFollows reports whether the line --- or a comment follows the value that ends at offset.
// These occur in YAML only, and kubectl reads such files as YAML.
func (r *jsonReader) yamlFollows(offset int) bool {
	rest := bytes.TrimLeft(r.data[offset:], " \t\r\n")
	return bytes.HasPrefix(rest, []byte("---")) || bytes.HasPrefix(rest, []byte("#"))
}

// whole distinguishes YAML in the flow style from invalid JSON: a quoted key means JSON.
func (r *jsonReader) whole(err error) bool {
	if body := bytes.TrimLeft(r.data, " \t\r\n[{"); len(body) == 0 || body[0] != '"' {
		r.set.Problems = nil
		return false
	}
	r.syntax(err)
	return true
}

func (r *jsonReader) syntax(err error) {
	if what, ok := strings.CutPrefix(err.Error(), "limit: "); ok {
		r.set.fail(ProblemLimit, Region{Pos: Pos{File: r.source.file}}, what, "")
		return
	}
	offset := int(r.dec.InputOffset())
	if e, ok := errors.AsType[*json.SyntaxError](err); ok && int(e.Offset) > offset {
		offset = int(e.Offset) - 1
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		offset = len(r.data)
		err = errors.New("unexpected end of the file")
	}
	r.set.fail(ProblemSyntax, r.region(offset, 1), "not valid JSON: "+strings.TrimPrefix(err.Error(), "json: "),
		jsonRemedy(r.data, offset))
}

// jsonRemedy returns the remedy for common mistakes, "" for others.
func jsonRemedy(data []byte, offset int) string {
	offset = min(offset, len(data))
	before := bytes.TrimRight(data[:offset], " \t\r\n")
	after := bytes.TrimLeft(data[offset:], " \t\r\n")
	ends := len(after) > 0 && (after[0] == '}' || after[0] == ']')
	switch {
	case ends && bytes.HasSuffix(before, []byte(",")):
		return "remove the comma before the closing bracket"
	case len(after) > 0 && after[0] == '\'':
		return `use double quotes: "`
	case len(after) > 0 && (after[0] == '#' || bytes.HasPrefix(after, []byte("//"))):
		return "remove the comment: JSON has no comments"
	case len(after) > 0 && after[0] == '"' && len(before) > 0 && before[len(before)-1] != ',':
		return "add the missing comma before it"
	}
	return ""
}

// token returns the next token and its offset.
func (r *jsonReader) token() (json.Token, int, error) {
	at := int(r.dec.InputOffset())
	for at < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[at]) >= 0 {
		at++
	}
	token, err := r.dec.Token()
	return token, at, err
}

// region returns the place of an offset. It counts lines and characters from the previous offset,
// because offsets mostly grow and a file may have a single line of megabytes.
func (r *jsonReader) region(offset, length int) Region {
	offset = min(offset, len(r.data))
	if offset < r.from {
		r.from, r.line, r.column = 0, 0, 0
	}
	passed := r.data[r.from:offset]
	if end := bytes.LastIndexByte(passed, '\n'); end >= 0 {
		r.line += bytes.Count(passed, []byte("\n"))
		r.column, passed = 0, passed[end+1:]
	}
	r.column += utf8.RuneCount(passed)
	r.from = offset
	return Region{Pos: Pos{File: r.source.file, Line: r.line + 1, Column: r.column + 1}, Length: length}
}

func (r *jsonReader) value(token json.Token, at, depth int) (*Value, error) {
	if r.budget--; r.budget < 0 || depth > MaxDepth {
		return nil, fmt.Errorf("limit: deeper than %d levels, or too many values", MaxDepth)
	}
	length := max(1, utf8.RuneCount(r.data[at:max(at, int(r.dec.InputOffset()))]))
	v := &Value{At: r.region(at, length)}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			v.Kind = Mapping
			return v, r.fields(v, depth)
		}
		v.Kind = List
		return v, r.items(v, depth)
	case string:
		v.Kind, v.Text, v.Quoted = String, t, true
	case json.Number:
		v.Kind, v.Text = Int, t.String()
		if strings.ContainsAny(v.Text, ".eE") {
			v.Kind = Float
		}
	case bool:
		v.Kind, v.Text = Bool, fmt.Sprint(t)
	}
	return v, nil
}

func (r *jsonReader) fields(v *Value, depth int) error {
	seen := map[string]int{}
	for {
		token, at, err := r.token()
		if err != nil {
			return unexpected(err)
		}
		key, ok := token.(string)
		if !ok {
			return nil // the closing bracket, the only other token that the decoder returns here
		}
		place := r.region(at, max(1, utf8.RuneCount(r.data[at:r.dec.InputOffset()])))
		if token, at, err = r.token(); err != nil {
			return unexpected(err)
		}
		value, err := r.value(token, at, depth+1)
		if err != nil {
			return err
		}
		r.add(v, seen, Field{Key: key, At: place, Value: value})
	}
}

func (r *jsonReader) items(v *Value, depth int) error {
	for {
		token, at, err := r.token()
		if err != nil {
			return unexpected(err)
		}
		if token == json.Delim(']') {
			return nil
		}
		item, err := r.value(token, at, depth+1)
		if err != nil {
			return err
		}
		v.Items = append(v.Items, item)
	}
}

// unexpected returns io.ErrUnexpectedEOF for the end of the file within a value.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// add adds a field to a mapping, and a problem for a duplicate key.
func (p *parser) add(v *Value, seen map[string]int, f Field) {
	i, twice := seen[f.Key]
	if !twice {
		seen[f.Key] = len(v.Fields)
		v.Fields = append(v.Fields, f)
		return
	}
	p.set.Problems = append(p.set.Problems, Problem{
		At: f.At, Type: ProblemDuplicate, Other: v.Fields[i].At.Pos,
		Text:   fmt.Sprintf("duplicate key %q (first at line %d)", f.Key, v.Fields[i].At.Line),
		Remedy: "keep one of the keys; the API server rejects duplicates, other programs use the last",
	})
	v.Fields[i] = f
}
