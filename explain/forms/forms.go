// Package forms matches lines with the forms in which programs print them. The forms themselves are
// in the packages below, one for each family of programs, as tables by release.
//
//	matcher := forms.NewMatcher(nccl.Table(), ucx.Table())
//	for _, e := range matcher.Read(line) { store.Add(e) }
package forms

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// Table is the forms of one program.
type Table struct {
	// Program is its name: "NCCL", "UCX", "mlx5 driver".
	Program string
	// Markers are texts one of which each line of the program contains. A line with a marker counts
	// as recognized, even if none of the forms matches.
	Markers []string
	// Forms are tried in this order; the first that matches ends the search.
	Forms []evidence.Form
	// Split, if set, cuts a line in which the lines of several processes are glued together.
	Split func(text string) []string
}

// Matcher matches lines with the forms of several tables. One goroutine may use it.
type Matcher struct {
	tables []Table
	found  []*evidence.Event
	counts map[string]int
}

// NewMatcher returns a matcher for the tables, which are tried in this order.
func NewMatcher(tables ...Table) *Matcher {
	return &Matcher{tables: tables, counts: map[string]int{}}
}

// Read returns the events of a line; the slice is valid until the next call.
func (m *Matcher) Read(l *evidence.Line) []*evidence.Event {
	m.found = m.found[:0]
	for i := range m.tables {
		t := &m.tables[i]
		if !t.marks(l.Text) {
			continue
		}
		m.counts[t.Program]++
		if t.Split == nil {
			m.match(t, l)
		} else {
			whole := l.Text
			for _, part := range t.Split(whole) {
				l.Text = part
				m.match(t, l)
			}
			l.Text = whole
		}
		if len(m.found) > 0 {
			break
		}
	}
	return m.found
}

func (t *Table) marks(text string) bool {
	for _, marker := range t.Markers {
		if strings.Contains(text, marker) {
			return true
		}
	}
	return false
}

func (m *Matcher) match(t *Table, l *evidence.Line) {
	for i := range t.Forms {
		f := &t.Forms[i]
		at := strings.Index(l.Text, f.Anchor)
		if at < 0 {
			continue
		}
		e := &evidence.Event{
			Kind: f.Kind, Place: l.Place, Process: l.Process, Time: l.Time, Fields: evidence.Fields{},
			Form: f.Name, Since: f.Since, Until: f.Until,
		}
		if f.Parse(l, at, e) {
			m.found = append(m.found, e)
			return
		}
	}
}

// Counts returns how many lines were recognized as those of each program.
func (m *Matcher) Counts() map[string]int { return m.counts }
