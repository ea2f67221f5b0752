package output

import "github.com/charmbracelet/x/ansi"

// Style is the meaning of a piece of text; the [Printer] chooses its appearance. Text must be
// understandable without it.
type Style uint8

// The styles.
const (
	StylePlain Style = iota
	StyleGood        // correct: green
	StyleWarn        // works, but needs attention: yellow
	StyleBad         // broken: red
	StyleDim         // less important: faint
	StyleBold        // a heading
)

// Cell is a piece of text with its style. The text may come from untrusted sources, because the
// Printer cleans it.
type Cell struct {
	Text  string
	Style Style
	// Short replaces Text in a [Table] if its column is too narrow for Text; "" if there is no
	// shorter text.
	Short string

	parts []string // see Parts
	flows bool
	width int // see Flow
	hang  int // see Hang
}

// Plain returns an unstyled cell.
func Plain(text string) Cell { return Cell{Text: text} }

// Good returns a cell for a correct state.
func Good(text string) Cell { return Cell{Text: text, Style: StyleGood} }

// Warn returns a cell for something that works but needs attention.
func Warn(text string) Cell { return Cell{Text: text, Style: StyleWarn} }

// Bad returns a cell for something broken.
func Bad(text string) Cell { return Cell{Text: text, Style: StyleBad} }

// Dim returns a cell for less important text.
func Dim(text string) Cell { return Cell{Text: text, Style: StyleDim} }

// Bold returns a cell that is a heading or a key figure.
func Bold(text string) Cell { return Cell{Text: text, Style: StyleBold} }

// Parts returns a cell whose parts are on separate lines if its column is moved below the row. Text
// is still what a table column shows.
func (c Cell) Parts(parts ...string) Cell {
	c.parts = parts
	return c
}

// partsOrText returns the parts of the cell, cleaned, or else its text.
func (c Cell) partsOrText() []string {
	if len(c.parts) == 0 {
		return []string{c.Text}
	}
	out := make([]string, len(c.parts))
	for i, part := range c.parts {
		out[i] = Clean(part)
	}
	return out
}

// palette converts styles to escape sequences; a palette without colour does not change text. The
// sixteen basic colours follow the user's theme, so they are readable on light and dark
// backgrounds.
type palette struct {
	color bool
	depth depth
}

// depth is how many colours a terminal has.
type depth uint8

const (
	depth256  depth = iota // as nearly all terminals
	depth16                // the console of Linux, and terminals of the last century
	depthTrue              // 24 bits
)

// depthOf returns the depth that the environment announces: COLORTERM has no standard, but only
// terminals with 24 bits set it to these values.
func depthOf(lookup func(string) (string, bool)) depth {
	if c, _ := lookup("COLORTERM"); c == "truecolor" || c == "24bit" {
		return depthTrue
	}
	switch term, _ := lookup("TERM"); term {
	case "linux", "ansi", "vt100", "vt102", "vt220":
		return depth16
	}
	return depth256
}

func (p palette) paint(style Style, text string) string {
	if !p.color || text == "" {
		return text
	}
	switch style {
	case StyleGood:
		return ansi.NewStyle(ansi.AttrGreenForegroundColor).Styled(text)
	case StyleWarn:
		return ansi.NewStyle(ansi.AttrYellowForegroundColor).Styled(text)
	case StyleBad:
		return ansi.NewStyle(ansi.AttrRedForegroundColor).Styled(text)
	case StyleDim:
		return ansi.NewStyle(ansi.AttrFaint).Styled(text)
	case StyleBold:
		return ansi.NewStyle(ansi.AttrBold).Styled(text)
	default:
		return text
	}
}
