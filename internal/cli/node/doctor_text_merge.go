package node

import (
	"regexp"
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

	objects  []string
	findings []doctor.Finding
}

// sameFix reports whether the fixes of two lines differ in names and numbers only.
func (m *alikeFindings) sameFix(o *alikeFindings, names map[string]bool) bool {
	form := func(line string) string { return digits.ReplaceAllString(alike.Of(line, names).Key, "0") }
	return slices.EqualFunc(m.findings[0].Remedy, o.findings[0].Remedy, func(x, y string) bool {
		return form(x) == form(y)
	})
}

var digits = regexp.MustCompile(`[0-9]+`)

// mergeAlike makes one of findings whose texts are alike and for which same holds.
func mergeAlike(
	findings []doctor.Finding, names map[string]bool, same func(a, b doctor.Finding) bool,
) []*alikeFindings {
	var merged []*alikeFindings
	for _, f := range findings {
		t := alike.Of(f.Summary, names)
		i := slices.IndexFunc(merged, func(m *alikeFindings) bool { return m.Key == t.Key && same(m.findings[0], f) })
		if i < 0 {
			i = len(merged)
			merged = append(merged, &alikeFindings{Text: t})
		}
		m := merged[i]
		m.Add(t)
		m.findings = append(m.findings, f)
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
