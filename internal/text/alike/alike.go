// Package alike finds texts that differ only in the names of objects, and writes several of them as
// one.
//
//	names := map[string]bool{"mlx5_0": true, "mlx5_1": true}
//	a, b := alike.Of("mlx5_0 is down", names), alike.Of("mlx5_1 is down", names)
//	if a.Key == b.Key {
//		a.Add(b)
//	}
//	a.Format(list) // "mlx5_0, mlx5_1 is down", if list joins names with commas
package alike

import (
	"regexp"
	"slices"
	"strings"
)

// Text is a text, or several that share all but the names in them.
type Text struct {
	Key   string     // the text with marks instead of names: texts with equal keys are alike
	names [][]string // those of each mark, each once
}

const mark = "\x00"

// token is a word that may be a name.
var token = regexp.MustCompile(`[\w.:-]+`)

// Of splits a text at the names in it.
func Of(text string, names map[string]bool) Text {
	var t Text
	t.Key = token.ReplaceAllStringFunc(strings.ReplaceAll(text, mark, " "), func(word string) string {
		name := strings.TrimRight(word, ".:-")
		if !names[name] {
			return word
		}
		t.names = append(t.names, []string{name})
		return mark + word[len(name):]
	})
	return t
}

// Add adds the names of another text with the same key.
func (t *Text) Add(other Text) {
	for i, list := range other.names {
		for _, name := range list {
			if !slices.Contains(t.names[i], name) {
				t.names[i] = append(t.names[i], name)
			}
		}
	}
}

// Format returns the text with the names as list writes them; one star instead of several that are
// in a path.
func (t Text) Format(list func([]string) string) string {
	parts := strings.Split(t.Key, mark)
	text := parts[0]
	for i, part := range parts[1:] {
		if len(t.names[i]) > 1 && strings.HasSuffix(text, "/") {
			text += "*" + part
			continue
		}
		text += list(t.names[i]) + part
	}
	return text
}
