package forms

import "strings"

// automaton finds many patterns in one pass over a text (Aho and Corasick, 1975). Its transitions
// are a complete table: a byte of the text costs two loads. Bytes that are in no pattern share a
// column of the table. Only the beginning of a pattern is in the table, which is then much smaller;
// what follows is compared.
type automaton struct {
	patterns []string
	column   [256]uint16
	columns  int
	next     []uint32   // by row and column: the row of the next state, and ends
	hits     [][]uint16 // patterns that end in a state
}

// headLen is how much of a pattern is in the table: enough to tell most of them apart.
const headLen = 16

// ends marks a transition to a state in which patterns end.
const ends = 1 << 31

// newAutomaton returns the automaton of patterns, which are not empty.
func newAutomaton(patterns []string) *automaton {
	a := &automaton{patterns: patterns, columns: 1}
	for _, p := range patterns {
		for i := range head(p) {
			if a.column[p[i]] == 0 {
				a.column[p[i]] = uint16(a.columns) //nolint:gosec // at most 256
				a.columns++
			}
		}
	}
	a.grow()
	for i, p := range patterns {
		row := uint32(0)
		for j := range head(p) {
			place := row + uint32(a.column[p[j]])
			if a.next[place] == 0 {
				a.next[place] = a.grow()
			}
			row = a.next[place]
		}
		at := a.ending(row)
		*at = append(*at, uint16(i)) //nolint:gosec // each is a row of a table
	}
	a.complete()
	return a
}

// head returns how many bytes of a pattern are in the table.
func head(pattern string) int { return min(len(pattern), headLen) }

// grow adds a state and returns its row.
func (a *automaton) grow() uint32 {
	row := len(a.next)
	if row+a.columns > ends {
		panic("forms: too many texts to search for")
	}
	a.next = append(a.next, make([]uint32, a.columns)...)
	a.hits = append(a.hits, nil)
	return uint32(row) //nolint:gosec // checked
}

// ending returns the patterns that end in the state of a row.
func (a *automaton) ending(row uint32) *[]uint16 { return &a.hits[int(row)/a.columns] }

// complete replaces missing transitions by those of the longest suffix that is a prefix of a
// pattern, state by state in the order of their depth.
func (a *automaton) complete() {
	suffix := make([]uint32, len(a.hits)) // rows, by state
	var queue []uint32
	for _, to := range a.next[:a.columns] {
		if to != 0 {
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		row := queue[0]
		queue = queue[1:]
		shorter := suffix[int(row)/a.columns]
		at := a.ending(row)
		*at = append(*at, *a.ending(shorter)...)
		for c := range uint32(a.columns) { //nolint:gosec // at most 256
			fallback := a.next[shorter+c]
			if to := a.next[row+c]; to != 0 {
				suffix[int(to)/a.columns] = fallback
				queue = append(queue, to)
			} else {
				a.next[row+c] = fallback
			}
		}
	}
	for i, to := range a.next {
		if *a.ending(to) != nil {
			a.next[i] |= ends
		}
	}
}

// scan calls found for each place at which a pattern is, for each pattern in the order of the text:
// end is the position behind it.
func (a *automaton) scan(text string, found func(pattern uint16, end int)) {
	row := uint32(0)
	for i := range len(text) {
		row = a.next[row+uint32(a.column[text[i]])]
		if row&ends == 0 {
			continue
		}
		row &^= ends
		for _, n := range *a.ending(row) {
			p := a.patterns[n]
			if len(p) <= headLen || strings.HasPrefix(text[i+1:], p[headLen:]) {
				found(n, i+1+len(p)-head(p))
			}
		}
	}
}

// contains reports whether one of the patterns is in the text.
func (a *automaton) contains(text []byte) bool {
	row := uint32(0)
	for i, c := range text {
		row = a.next[row+uint32(a.column[c])]
		if row&ends == 0 {
			continue
		}
		row &^= ends
		for _, n := range *a.ending(row) {
			p := a.patterns[n]
			rest := len(p) - head(p)
			if rest == 0 || len(text)-i-1 >= rest && string(text[i+1:i+1+rest]) == p[headLen:] {
				return true
			}
		}
	}
	return false
}
