package forms

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// Row is a form whose values are read from the text around its anchor.
type Row struct {
	Name         string // within the program
	Kind         evidence.Kind
	Anchor       string
	Since, Until string
	Source       string
	// Info marks lines that are no errors.
	Info bool
	// Standing is that of the events.
	Standing evidence.Standing
	// Parse reads the text from the anchor on, and what comes before it; it reports whether the
	// line has the form. nil: each line with the anchor has it.
	Parse func(m, before string, f evidence.Fields) bool
}

// Rows returns the forms of rows, whose names begin with that of the program. head, if set, reads
// the program's own prefix of a line.
func Rows(program string, rows []Row, head func(text string, e *evidence.Event)) []evidence.Form {
	list := make([]evidence.Form, 0, len(rows))
	for _, r := range rows {
		list = append(list, evidence.Form{
			Name:   program + "/" + r.Name,
			Kind:   r.Kind,
			Anchor: r.Anchor,
			Since:  r.Since,
			Until:  r.Until,
			Source: r.Source,
			Parse: func(l *evidence.Line, at int, e *evidence.Event) bool {
				e.Text, e.Standing = strings.TrimSpace(l.Text), r.Standing
				if !r.Info {
					e.Severity = evidence.Error
				}
				if r.Parse != nil && !r.Parse(l.Text[at:], l.Text[:at], e.Fields) {
					return false
				}
				if head != nil {
					head(l.Text, e)
				}
				for name, value := range e.Fields {
					if value == "" {
						delete(e.Fields, name)
					}
				}
				return true
			},
		})
	}
	return list
}

// Between returns the text between two marks, and to the end if the second is "" or missing.
func Between(s, before, after string) string {
	_, rest, ok := strings.Cut(s, before)
	if !ok {
		return ""
	}
	if after != "" {
		rest, _, _ = strings.Cut(rest, after)
	}
	return strings.TrimSpace(rest)
}

// Word returns the first word behind a mark, without punctuation around it; "" if the mark is
// missing.
func Word(s, mark string) string {
	_, rest, ok := strings.Cut(s, mark)
	if !ok {
		return ""
	}
	rest = strings.TrimLeft(rest, " \t")
	if i := strings.IndexAny(rest, " \t,;()[]"); i >= 0 {
		rest = rest[:i]
	}
	return strings.TrimRight(strings.TrimLeft(rest, `"'`), `"':.`)
}

// Fixed returns a parser that sets fields, given as name, value, name, value, to constants.
func Fixed(fields ...string) func(m, before string, f evidence.Fields) bool {
	return func(_, _ string, f evidence.Fields) bool {
		for i := 0; i+1 < len(fields); i += 2 {
			f[fields[i]] = fields[i+1]
		}
		return true
	}
}

// Words returns a parser that takes the words behind marks, given as field, mark, field, mark. The
// first field must not be empty.
func Words(fields ...string) func(m, before string, f evidence.Fields) bool {
	return func(m, _ string, f evidence.Fields) bool {
		for i := 0; i+1 < len(fields); i += 2 {
			f[fields[i]] = Word(m, fields[i+1])
		}
		return f[fields[0]] != ""
	}
}
