package forms

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms/posix"
	"github.com/rdmakit/rdmakit/explain/symptoms"
)

// Symptoms returns the table of the lines that package symptoms has for a program. head, if set,
// reads the program's own prefix of a line. It comes before the program's other table.
func Symptoms(program string, head func(text string, e *evidence.Event)) Table {
	t := Table{Program: program, Strict: true}
	var rows []Row
	for _, m := range symptoms.Of(program) {
		t.Markers = append(t.Markers, m.Line.All[0])
		rows = append(rows, SymptomRow(m))
	}
	t.Forms = Rows(strings.ToLower(strings.Fields(program + " x")[0]), rows, head)
	return t
}

// SymptomRow returns the form of a line of package symptoms.
func SymptomRow(m symptoms.Match) Row {
	standing := m.Line.Standing
	if standing == evidence.ByKind {
		standing = m.Symptom.Standing
	}
	return Row{
		Name: m.Line.Name, Kind: evidence.Symptom, Anchor: m.Line.All[0], Source: m.Line.Source, Standing: standing,
		Info: standing == evidence.Harmless,
		Parse: func(text, before string, f evidence.Fields) bool {
			whole := before + text
			missing := func(s string) bool { return !strings.Contains(whole, s) }
			present := func(s string) bool { return strings.Contains(whole, s) }
			if slices.ContainsFunc(m.Line.All[1:], missing) || slices.ContainsFunc(m.Line.None, present) ||
				len(m.Line.Any) > 0 && !slices.ContainsFunc(m.Line.Any, present) {
				return false
			}
			f["symptom"], f["line"] = m.Symptom.ID, m.Line.Name
			for _, field := range m.Line.Fields {
				f[field.Name] = Word(whole, field.After)
			}
			if f["errno"] == "" {
				f["errno"] = posix.Errno(whole)
			}
			return true
		},
	}
}
