package forms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Follower reads what a program prints over several lines, such as a dump. It has the state of one
// input.
type Follower interface {
	// Read reads a line that has a marker of the table, or one of those that were asked for. It
	// returns an event if the line completes one, and how many of the next lines it wants to see,
	// whether they have a marker or not. Lines of other processes can stand between those of a
	// dump, so a follower asks for some more than the dump has.
	Read(l *evidence.Line) (e *evidence.Event, more int)
}

// follow passes a line to the followers that want it.
func (m *Matcher) follow(l *evidence.Line) {
	for i := range m.states {
		t := &m.states[i]
		if t.follower == nil || !m.marked.has(i) && t.more == 0 {
			continue
		}
		e, more := t.follower.Read(l)
		t.more = max(more, 0)
		if e == nil {
			continue
		}
		m.found = append(m.found, e)
		m.counts[t.Program]++
	}
}

// Awaits reports whether the next line matters whatever is in it: it may continue what a program
// prints over several lines.
func (m *Matcher) Awaits() bool {
	for i := range m.states {
		if m.states[i].more > 0 {
			return true
		}
	}
	return false
}
