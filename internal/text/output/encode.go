package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// encodeJSON encodes v with the fields in the order of their structs and map keys sorted, indented
// by two spaces, or on one line if compact. Characters that can control a terminal are written as
// \u escapes, which is equivalent JSON.
func encodeJSON(v any, compact bool) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if !compact {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode json: %w", err)
	}
	// Outside of strings JSON is ASCII, so a hostile character can only be in a string, where an
	// escape is allowed; the line feeds of the encoder are the only exception.
	return escapeHostile(buf.Bytes(), func(r rune) string {
		if r <= 0xffff {
			return fmt.Sprintf(`\u%04x`, r)
		}
		hi, lo := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, hi, lo)
	}), nil
}

// encodeYAML converts the JSON form of v to YAML, so that json tags and the order of fields apply
// to both. Numbers keep all their digits, and strings that look like another type (no, 1e3, 12:30)
// are quoted.
func encodeYAML(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode yaml: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	node, err := yamlNode(dec)
	if err != nil {
		return nil, fmt.Errorf("encode yaml: %w", err)
	}
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := errors.Join(enc.Encode(node), enc.Close()); err != nil {
		return nil, fmt.Errorf("encode yaml: %w", err)
	}
	// yamlNode puts every string with a hostile character in double quotes, where \U escapes are
	// allowed.
	return escapeHostile(buf.Bytes(), func(r rune) string { return fmt.Sprintf(`\U%08X`, r) }), nil
}

// yamlNode converts the next JSON value. It builds nodes because a map would lose the order of the
// keys.
func yamlNode(dec *json.Decoder) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		return yamlCollection(dec, t)
	case string:
		return yamlString(t), nil
	case json.Number:
		tag := "!!int"
		if strings.ContainsAny(t.String(), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: t.String()}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(t)}, nil
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	}
}

func yamlCollection(dec *json.Decoder, open json.Delim) (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	if open == '[' {
		node = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	}
	for dec.More() { // in a mapping, keys and values alternate in Content just as in the token stream
		child, err := yamlNode(dec)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, child)
	}
	if len(node.Content) == 0 {
		node.Style = yaml.FlowStyle
	}
	if _, err := dec.Token(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return node, nil
}

// yamlString quotes more strings than the library: in YAML 1.2 no and the PCI address 0000:17:00.0
// are strings, but in YAML 1.1, which PyYAML and Ansible use, they are a boolean and a number.
func yamlString(s string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch strings.ToLower(s) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "<<", "=":
		node.Style = yaml.DoubleQuotedStyle
		return node
	}
	if strings.IndexByte("0123456789+-.", s[0]) >= 0 {
		node.Style = yaml.DoubleQuotedStyle
	}
	for _, r := range s {
		if hostile(r) && r != '\n' {
			node.Style = yaml.DoubleQuotedStyle
		}
	}
	return node
}

// escapeHostile replaces each hostile character except the line feed by the result of escape.
func escapeHostile(data []byte, escape func(rune) string) []byte {
	clean := true
	for _, r := range string(data) {
		if r != '\n' && hostile(r) {
			clean = false
			break
		}
	}
	if clean {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	for _, r := range string(data) {
		if r != '\n' && hostile(r) {
			out = append(out, escape(r)...)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}
