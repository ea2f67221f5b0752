package output

import (
	"slices"

	"github.com/charmbracelet/x/ansi"
)

// Minimum widths of columns whose content is wider.
const (
	leastText  = 24 // a column that wraps gets this width, even if others are left out for it
	longWord   = 32 // so does the longest word in it, up to this width
	leastPiece = 8  // no column is narrower
)

// column is a column of a table that is printed.
type column struct {
	Column
	cells []Cell // beginning with the heading
	empty bool   // no cell has a value
	full  int    // width of the widest text
	least int    // minimum width
	word  int    // width of the longest word
	width int    // width on the screen
	short bool   // short texts are shown
}

// measure sets the widths according to the cells.
func (c *column) measure() {
	for i, cell := range c.cells {
		full := ansi.StringWidth(cell.Text)
		least := full
		if cell.Short != "" {
			least = min(full, ansi.StringWidth(cell.Short))
		}
		if c.Wrap && i > 0 {
			word := 0
			for w := range words(cell.Text) {
				word = max(word, ansi.StringWidth(w))
			}
			c.word = max(c.word, word)
			least = min(full, max(leastText, min(word, longWord)))
		}
		c.full, c.least = max(c.full, full), max(c.least, least)
	}
	c.width = c.full
}

// text returns the cell of a row, broken into lines of the column's width.
func (c *column) text(row int) []string {
	cell := c.cells[row]
	text := cell.Text
	if cell.Short != "" && (c.short || c.Wrap && ansi.StringWidth(text) > c.width) {
		text = cell.Short
	}
	switch {
	case ansi.StringWidth(text) <= c.width:
		return []string{text}
	case c.Wrap && row > 0:
		return wrap(text, c.width)
	}
	return []string{ansi.Truncate(text, c.width, "…")}
}

// fit fits a table to a terminal of the given width, 0 for no limit. It returns the remaining
// columns and the names of those that are left out. A table whose columns can't be narrower stays
// too wide: a truncated number or port name would be a different one.
func fit(columns []*column, width int) (left []*column, dropped []string) {
	if width <= 0 || sum(columns, (*column).fullWidth) <= width {
		return columns, nil
	}
	all := columns
	for sum(columns, (*column).leastWidth) > width {
		worst := leastImportant(columns)
		if worst == nil {
			break
		}
		columns = slices.DeleteFunc(slices.Clone(columns), func(c *column) bool { return c.rank(worst) == 0 })
	}
	for _, c := range all {
		if !slices.Contains(columns, c) {
			dropped = append(dropped, c.cells[0].Text)
		}
		c.width, c.short = c.least, c.least < c.full && !c.Wrap
	}
	if room := width - sum(columns, (*column).current); room >= 0 {
		spread(columns, room)
	} else {
		squeeze(columns, -room)
	}
	return columns, dropped
}

func (c *column) fullWidth() int  { return c.full }
func (c *column) leastWidth() int { return c.least }
func (c *column) current() int    { return c.width }

// sum is the width of a table whose columns have the widths that of returns.
func sum(columns []*column, of func(*column) int) int {
	n := max(len(columns)-1, 0) * len(gap)
	for _, c := range columns {
		n += of(c)
	}
	return n
}

// leastImportant returns one of the columns to leave out next, nil if all must stay.
func leastImportant(columns []*column) *column {
	var worst *column
	for _, c := range columns {
		if c.Priority > 0 && (worst == nil || c.rank(worst) > 0) {
			worst = c
		}
	}
	return worst
}

// rank is positive if c is left out before other, and 0 if they are left out together.
func (c *column) rank(other *column) int {
	switch {
	case c.empty == other.empty || c.Priority <= 0:
		return c.Priority - other.Priority
	case c.empty:
		return 1
	}
	return -1
}

// spread distributes the remaining room. First the columns that wrap get equal shares, because each
// line less makes the whole table shorter; then full texts replace short ones, from left to right.
func spread(columns []*column, room int) {
	var open []*column
	for _, c := range columns {
		if c.Wrap && c.width < c.full {
			open = append(open, c)
		}
	}
	slices.SortStableFunc(open, func(a, b *column) int { return (a.full - a.width) - (b.full - b.width) })
	for i, c := range open {
		more := min(c.full-c.width, room/(len(open)-i))
		c.width += more
		room -= more
	}
	for _, c := range columns {
		if need := c.full - c.width; c.short && need <= room {
			c.width, c.short = c.full, false
			room -= need
		}
	}
}

// squeeze narrows columns, always the widest one: first those that wrap, between words and then
// within words, then the others, except for the first column and numbers.
func squeeze(columns []*column, excess int) {
	for _, may := range []func(i int, c *column) bool{
		func(_ int, c *column) bool { return c.Wrap && c.width > c.word },
		func(_ int, c *column) bool { return c.Wrap },
		func(i int, c *column) bool { return i > 0 && c.Align == AlignLeft },
	} {
		for ; excess > 0; excess-- {
			var widest *column
			for i, c := range columns {
				if may(i, c) && c.width > leastPiece && (widest == nil || c.width > widest.width) {
					widest = c
				}
			}
			if widest == nil {
				break
			}
			widest.width--
		}
	}
}
