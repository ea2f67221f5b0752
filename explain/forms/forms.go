// Package forms matches lines with the forms in which programs print them. The forms themselves are
// in the packages below, one for each family of programs, as tables by release.
//
//	matcher := forms.NewMatcher(nccl.Table(), ucx.Table())
//	for _, e := range matcher.Read(line) { store.Add(e) }
package forms

import (
	"slices"
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
	// Strict reports that the markers are words that others print too: a line counts as recognized
	// only if one of the forms matches.
	Strict bool
	// Not are texts of lines that have a marker and are of other programs, such as compilers.
	Not []string
	// Trouble are words in lines of the program that say that something failed. A line of none of
	// the forms with one of them is an event of kind [evidence.OtherFailure].
	Trouble []string
	// Split, if set, cuts a line in which the lines of several processes are glued together.
	Split func(text string) []string
	// Follow, if set, returns a reader of what the program prints over several lines.
	Follow func() Follower
}

// Set is tables with the searches for their texts. It is read only, so matchers share it.
type Set struct {
	tables  []Table
	anchors []*automaton // of a table: those of its forms
	markers *automaton
	owner   []int // of a marker: the table
}

// Marks are the tables of a [Set] that have a marker in a line.
type Marks uint64

// maxTables is the number of tables in a set: each has a bit in [Marks].
const maxTables = 64

func (m Marks) has(table int) bool { return m>>table&1 != 0 }

// Compile returns the set of tables, which are tried in this order. It panics if there are more
// than 64.
func Compile(tables ...Table) *Set {
	if len(tables) > maxTables {
		panic("forms: too many tables")
	}
	s := &Set{tables: tables}
	var markers []string
	for i, t := range tables {
		var anchors []string
		for _, f := range t.Forms {
			anchors = append(anchors, f.Anchor)
		}
		s.anchors = append(s.anchors, newAutomaton(anchors))
		for _, marker := range t.Markers {
			markers = append(markers, marker)
			s.owner = append(s.owner, i)
		}
	}
	s.markers = newAutomaton(markers)
	return s
}

// Matcher returns a matcher with the tables of the set, for one input.
func (s *Set) Matcher() *Matcher {
	m := &Matcher{Set: s, counts: map[string]int{}}
	for i := range s.tables {
		t := &s.tables[i]
		state := state{Table: t, anchors: s.anchors[i], at: make([]int, len(t.Forms))}
		if t.Follow != nil {
			state.follower = t.Follow()
		}
		m.states = append(m.states, state)
	}
	return m
}

// Matcher matches the lines of an input with the forms of several tables. One goroutine may use it.
type Matcher struct {
	*Set

	states []state // of the tables
	marked Marks
	found  []*evidence.Event
	counts map[string]int
}

// state is what a matcher knows of a table.
type state struct {
	*Table

	anchors *automaton
	at      []int // of a form: where its anchor is first found in the line, -1 if it isn't

	follower Follower
	more     int // how many of the next lines follower wants to see
}

// NewMatcher returns a matcher for the tables, which are tried in this order.
func NewMatcher(tables ...Table) *Matcher { return Compile(tables...).Matcher() }

// Marked reports whether a raw line may be one of a known program: all others have no events,
// except for those that a [Matcher] awaits. Goroutines may share it.
func (s *Set) Marked(raw []byte) bool { return s.markers.contains(raw) }

// Wants reports whether the matcher reads a raw line: it is marked or awaited.
func (m *Matcher) Wants(raw []byte) bool { return m.Awaits() || m.Marked(raw) }

// Marks returns the tables with a marker in the text of a line. Goroutines may share the set.
func (s *Set) Marks(text string) (marks Marks) {
	s.markers.scan(text, func(marker uint16, _ int) { marks |= 1 << s.owner[marker] })
	return marks
}

// Read returns the events of a line; the slice is valid until the next call. It is called for each
// line of an input, in their order; lines that aren't wanted may be empty.
func (m *Matcher) Read(l *evidence.Line) []*evidence.Event { return m.ReadMarked(l, m.Marks(l.Text)) }

// ReadMarked is Read for a line whose [Set.Marks] are known.
func (m *Matcher) ReadMarked(l *evidence.Line, marks Marks) []*evidence.Event {
	m.found = m.found[:0]
	m.marked = marks
	m.follow(l)
	if len(m.found) > 0 {
		return m.found
	}
	for i := range m.states {
		if !marks.has(i) {
			continue
		}
		t := &m.states[i]
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
			if t.Program != "" {
				m.counts[t.Program]++
			}
			return m.found
		}
	}
	has := func(word string) bool { return strings.Contains(l.Text, word) }
	for i := range m.states {
		if t := &m.states[i]; marks.has(i) && !t.Strict && !slices.ContainsFunc(t.Not, has) {
			m.counts[t.Program]++
			m.trouble(t, l)
			break
		}
	}
	return m.found
}

// trouble adds an event for a line of no known form that says that something failed.
func (m *Matcher) trouble(t *state, l *evidence.Line) {
	if !slices.ContainsFunc(t.Trouble, func(word string) bool { return strings.Contains(l.Text, word) }) {
		return
	}
	m.found = append(m.found, &evidence.Event{
		Kind: evidence.OtherFailure, Place: l.Place, Process: l.Process, Time: l.Time, Severity: evidence.Error,
		Standing: evidence.Vague, Fields: evidence.Fields{"program": t.Program}, Form: t.Program + "/trouble",
		Text: strings.TrimSpace(l.Text),
	})
}

// match adds the event of the first form that the line has.
func (m *Matcher) match(t *state, l *evidence.Line) {
	for i := range t.at {
		t.at[i] = -1
	}
	t.anchors.scan(l.Text, func(form uint16, end int) {
		if t.at[form] < 0 {
			t.at[form] = end - len(t.Forms[form].Anchor)
		}
	})
	for i := range t.Forms {
		f := &t.Forms[i]
		if t.at[i] < 0 {
			continue
		}
		e := &evidence.Event{
			Kind: f.Kind, Place: l.Place, Process: l.Process, Time: l.Time, Fields: evidence.Fields{},
			Form: f.Name, Since: f.Since, Until: f.Until,
		}
		if f.Parse(l, t.at[i], e) {
			m.found = append(m.found, e)
			return
		}
	}
}

// Counts returns how many lines were recognized as those of each program.
func (m *Matcher) Counts() map[string]int { return m.counts }
