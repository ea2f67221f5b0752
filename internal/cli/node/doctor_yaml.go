package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// document returns the only document of a YAML file, nil if it has none. Errors have file and line.
func document(file string, data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, yamlError(file, data, err)
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		return nil, fmt.Errorf("%s:%d: more than one document", file, second.Line)
	case !errors.Is(err, io.EOF):
		return nil, yamlError(file, data, err)
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	return root, nil
}

// yamlError returns an error of the YAML library with file and line. The library gives no line for
// errors in the first one and for errors of characters and anchors, and counts from 0 in errors of
// its parser.
func yamlError(file string, data []byte, err error) error {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		number, message, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			text, line = message, n
			if isParserError(message) {
				line++
			}
		}
	} else if at := badCharacter(data); at >= 0 {
		line = lineAt(data, at)
	} else if name, ok := strings.CutPrefix(text, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		line = lineAt(data, max(bytes.Index(data, []byte("*"+name)), 0))
	}
	// The parser places what is missing at the end behind the last line.
	line = min(line, lineAt(data, len(bytes.TrimRight(data, "\n"))))
	return fmt.Errorf("%s:%d: %s", file, line, text)
}

// isParserError reports whether the message is of the library's parser, not of its scanner.
func isParserError(message string) bool {
	for _, start := range []string{
		"did not find expected <", "did not find expected node content", "did not find expected '-' indicator",
		"did not find expected key", "did not find expected ',' or", "found undefined tag handle",
	} {
		if strings.HasPrefix(message, start) {
			return true
		}
	}
	return false
}

// badCharacter returns the position of the first byte that is no UTF-8 or of a control character
// that YAML forbids, -1 if there is none.
func badCharacter(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 || unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r) {
			return i
		}
		i += n
	}
	return -1
}

// lineAt returns the number of the line of a position, from 1.
func lineAt(data []byte, at int) int { return 1 + bytes.Count(data[:at], []byte("\n")) }
