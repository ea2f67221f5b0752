package output

// Bounds of the width of running text on a terminal, in columns. A terminal that is narrower than
// the least breaks lines itself; one that is wider than the most has text that the eye can follow.
const (
	minTextWidth = 40
	maxTextWidth = 100
)

// gap separates columns; two spaces let text with single spaces stay in one column for the eye.
const gap = "  "

// page is what blocks are rendered for.
type page struct {
	pal  palette
	wide bool
	// width is that of the terminal that the text must fit, in columns; 0 where it need not: in a
	// pipe, with -o wide, and where the size is unknown.
	width int
}

// textWidth is where running text is broken on a terminal, 0 elsewhere.
func (pg page) textWidth() int {
	if pg.width <= 0 {
		return 0
	}
	return min(max(pg.width, minTextWidth), maxTextWidth)
}
