package node

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/cli"
)

// alike is a text that several findings share but for the names of objects in it.
type alike struct {
	key   string     // the text with marks instead of names
	names [][]string // those of each mark, each once
}

const nameMark = "\x00"

// nameToken is a word that may be the name of an object.
var nameToken = regexp.MustCompile(`[\w.:-]+`)

// namesOf returns the names of the node's objects.
func namesOf(r doctor.Report) map[string]bool {
	names := map[string]bool{}
	for _, o := range r.Objects {
		names[o.Name] = true
	}
	return names
}

// alikeOf splits a text at the names in it.
func alikeOf(text string, names map[string]bool) alike {
	var a alike
	a.key = nameToken.ReplaceAllStringFunc(strings.ReplaceAll(text, nameMark, " "), func(word string) string {
		name := strings.TrimRight(word, ".:-")
		if !names[name] {
			return word
		}
		a.names = append(a.names, []string{name})
		return nameMark + word[len(name):]
	})
	return a
}

// add adds the names of another text with the same key.
func (a *alike) add(other alike) {
	for i, list := range other.names {
		for _, name := range list {
			if !slices.Contains(a.names[i], name) {
				a.names[i] = append(a.names[i], name)
			}
		}
	}
}

// text returns the text with all names; one star instead of several that are in a path.
func (a *alike) text() string {
	parts := strings.Split(a.key, nameMark)
	text := parts[0]
	for i, part := range parts[1:] {
		if len(a.names[i]) > 1 && strings.HasSuffix(text, "/") {
			text += "*" + part
			continue
		}
		text += cli.SomeNames(a.names[i], false) + part
	}
	return text
}
