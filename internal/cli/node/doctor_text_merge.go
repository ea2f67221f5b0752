package node

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/alike"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// namesOf returns the names of the node's objects.
func namesOf(r doctor.Report) map[string]bool {
	names := map[string]bool{}
	for _, o := range r.Objects {
		names[o.Name] = true
	}
	return names
}

// textOf returns the text of what is alike, with the names of many objects abbreviated in the short
// form.
func textOf(t alike.Text, d Detail) string {
	return t.Format(func(names []string) string { return cli.SomeNames(names, d != DetailShort) })
}

// alikeFindings are findings of a check that say the same of several objects, but for names.
type alikeFindings struct {
	alike.Text

	first   doctor.Finding
	objects []string
	number  int
}

// mergeAlike makes one of findings whose texts are alike and for which same holds.
func mergeAlike(
	findings []doctor.Finding, names map[string]bool, same func(a, b doctor.Finding) bool,
) []*alikeFindings {
	var merged []*alikeFindings
	for _, f := range findings {
		t := alike.Of(f.Summary, names)
		i := slices.IndexFunc(merged, func(m *alikeFindings) bool { return m.Key == t.Key && same(m.first, f) })
		if i < 0 {
			i = len(merged)
			merged = append(merged, &alikeFindings{Text: t, first: f})
		}
		m := merged[i]
		m.Add(t)
		m.number++
		if object := output.Clean(f.Object); !slices.Contains(m.objects, object) {
			m.objects = append(m.objects, object)
		}
	}
	return merged
}

// objectsText lists the objects; all of them unless the form is short.
func (m *alikeFindings) objectsText(d Detail) string {
	if d == DetailShort {
		return countedNames(m.objects)
	}
	return strings.Join(m.objects, ", ")
}
