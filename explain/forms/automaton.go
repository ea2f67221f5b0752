package forms

import "math"

// automaton finds many patterns in one pass over a text (Aho and Corasick, 1975). Its transitions
// are a complete table: a byte of the text costs one load.
type automaton struct {
	next [][256]uint16 // by state and byte
	hits [][]uint16    // patterns that end in a state
}

// newAutomaton returns the automaton of patterns, which are not empty. It panics if it has more
// than 65,535 states, which tables of forms don't come near: each byte of a pattern makes one.
func newAutomaton(patterns []string) *automaton {
	a := &automaton{next: make([][256]uint16, 1), hits: make([][]uint16, 1)}
	for i, p := range patterns {
		state := uint16(0)
		for j := range len(p) {
			to := a.next[state][p[j]]
			if to == 0 {
				if len(a.next) > math.MaxUint16 {
					panic("forms: too many texts to search for")
				}
				to = uint16(len(a.next)) //nolint:gosec // see above
				a.next, a.hits = append(a.next, [256]uint16{}), append(a.hits, nil)
				a.next[state][p[j]] = to
			}
			state = to
		}
		a.hits[state] = append(a.hits[state], uint16(i)) //nolint:gosec // see above
	}
	a.complete()
	return a
}

// complete replaces missing transitions by those of the longest suffix that is a prefix of a
// pattern, state by state in the order of their depth.
func (a *automaton) complete() {
	suffix := make([]uint16, len(a.next))
	var queue []uint16
	for _, to := range a.next[0] {
		if to != 0 {
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		a.hits[state] = append(a.hits[state], a.hits[suffix[state]]...)
		for c := range 256 {
			fallback := a.next[suffix[state]][c]
			if to := a.next[state][c]; to != 0 {
				suffix[to] = fallback
				queue = append(queue, to)
			} else {
				a.next[state][c] = fallback
			}
		}
	}
}

// scan calls found for each place at which a pattern ends, in the order of the text: end is the
// position behind it.
func (a *automaton) scan(text string, found func(pattern uint16, end int)) {
	state := uint16(0)
	for i := range len(text) {
		state = a.next[state][text[i]]
		if hits := a.hits[state]; hits != nil {
			for _, p := range hits {
				found(p, i+1)
			}
		}
	}
}

// contains reports whether one of the patterns is in the text.
func (a *automaton) contains(text []byte) bool {
	state := uint16(0)
	for _, c := range text {
		state = a.next[state][c]
		if a.hits[state] != nil {
			return true
		}
	}
	return false
}
