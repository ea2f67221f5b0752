package forms

import "math"

// automaton finds many patterns in one pass over a text (Aho and Corasick, 1975). Its transitions
// are a complete table: a byte of the text costs two loads. Bytes that are in no pattern share a
// column of the table.
type automaton struct {
	column  [256]uint16
	columns int
	next    []uint16   // by state and column
	hits    [][]uint16 // patterns that end in a state
}

// newAutomaton returns the automaton of patterns, which are not empty. It panics if it has more
// than 65,535 states, which tables of forms don't come near: each byte of a pattern makes one.
func newAutomaton(patterns []string) *automaton {
	a := &automaton{columns: 1}
	for _, p := range patterns {
		for i := range len(p) {
			if a.column[p[i]] == 0 {
				a.column[p[i]] = uint16(a.columns) //nolint:gosec // at most 256
				a.columns++
			}
		}
	}
	a.grow()
	for i, p := range patterns {
		state := uint16(0)
		for j := range len(p) {
			to := a.next[a.place(state, p[j])]
			if to == 0 {
				to = a.grow()
				a.next[a.place(state, p[j])] = to
			}
			state = to
		}
		a.hits[state] = append(a.hits[state], uint16(i)) //nolint:gosec // see above
	}
	a.complete()
	return a
}

// grow adds a state.
func (a *automaton) grow() uint16 {
	if len(a.hits) > math.MaxUint16 {
		panic("forms: too many texts to search for")
	}
	a.next = append(a.next, make([]uint16, a.columns)...)
	a.hits = append(a.hits, nil)
	return uint16(len(a.hits) - 1) //nolint:gosec // see above
}

// place returns where the transition of a state for a byte is in the table.
func (a *automaton) place(state uint16, c byte) int { return int(state)*a.columns + int(a.column[c]) }

// complete replaces missing transitions by those of the longest suffix that is a prefix of a
// pattern, state by state in the order of their depth.
func (a *automaton) complete() {
	suffix := make([]uint16, len(a.hits))
	var queue []uint16
	for _, to := range a.next[:a.columns] {
		if to != 0 {
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		a.hits[state] = append(a.hits[state], a.hits[suffix[state]]...)
		row, shorter := int(state)*a.columns, int(suffix[state])*a.columns
		for c := range a.columns {
			fallback := a.next[shorter+c]
			if to := a.next[row+c]; to != 0 {
				suffix[to] = fallback
				queue = append(queue, to)
			} else {
				a.next[row+c] = fallback
			}
		}
	}
}

// scan calls found for each place at which a pattern ends, in the order of the text: end is the
// position behind it.
func (a *automaton) scan(text string, found func(pattern uint16, end int)) {
	state := uint16(0)
	for i := range len(text) {
		state = a.next[a.place(state, text[i])]
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
		state = a.next[a.place(state, c)]
		if a.hits[state] != nil {
			return true
		}
	}
	return false
}
