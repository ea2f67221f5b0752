// Package pairs parses files of names and values: lines of Name=VALUE with comments after #, or a
// YAML mapping.
package pairs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Pair is a name and its value.
type Pair struct {
	Name, Value string
	Line        int // from 1
}

// Parse returns the pairs of a file in their order. A name may occur several times. Errors have the
// line number.
func Parse(data []byte) ([]Pair, error) {
	list, err := assignments(data)
	if list == nil && err == nil {
		return mapping(data)
	}
	return list, err
}

// assignments parses lines of Name=VALUE; it returns nil and no error if no line has that form.
func assignments(data []byte) ([]Pair, error) {
	list := []Pair{}
	other := 0 // the first line of another form
	for i, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			if other == 0 {
				other = i + 1
			}
			continue
		}
		list = append(list, Pair{strings.TrimSpace(name), strings.TrimSpace(value), i + 1})
	}
	switch {
	case other > 0 && len(list) > 0:
		return nil, fmt.Errorf("line %d: not of the form Name=VALUE like the other lines", other)
	case other > 0:
		return nil, nil
	}
	return list, nil
}

// mapping parses a YAML mapping.
func mapping(data []byte) ([]Pair, error) {
	var document yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&document); err != nil {
		return nil, fmt.Errorf("neither lines of Name=VALUE nor YAML: %w", err)
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("neither lines of Name=VALUE nor a YAML mapping of names to values")
	}
	var list []Pair
	content := document.Content[0].Content
	for i := 0; i+1 < len(content); i += 2 {
		name, value := content[i], content[i+1]
		if name.Kind != yaml.ScalarNode || value.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: not a name with a value", name.Line)
		}
		list = append(list, Pair{name.Value, value.Value, name.Line})
	}
	return list, nil
}
