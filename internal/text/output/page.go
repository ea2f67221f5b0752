package output

// MaxTextWidth is the number of columns at which running text wraps on terminals that are wider.
// Longer lines are hard to read.
const MaxTextWidth = 100

// minTextWidth is the number of columns at which running text wraps on terminals that are narrower:
// they break the lines themselves.
const minTextWidth = 40

// gap separates columns. Two spaces distinguish it from the single spaces of a text.
const gap = "  "

// page describes the screen or file that blocks are rendered for.
type page struct {
	pal  palette
	wide bool
	// width is that of the terminal in columns; 0 if the text needn't fit one: in a pipe, with -o
	// wide, and if the size is unknown.
	width int
}

// textWidth is the number of columns at which running text wraps; 0 without a terminal.
func (pg page) textWidth() int {
	if pg.width <= 0 {
		return 0
	}
	return min(max(pg.width, minTextWidth), MaxTextWidth)
}
