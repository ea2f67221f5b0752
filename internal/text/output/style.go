package output

import "github.com/charmbracelet/x/ansi"

// Style is what a piece of text means; the [Printer] chooses how that looks. Text must make sense
// without it.
type Style uint8

// The styles: plain text, the verdicts, and the two weights.
const (
	StylePlain Style = iota
	StyleGood        // as it should be: green
	StyleWarn        // works, but look: yellow
	StyleBad         // broken: red
	StyleDim         // of little interest: faint
	StyleBold        // a heading
)

// Cell is a piece of text with its meaning. The text may come from anywhere: it is cleaned when it
// is printed.
type Cell struct {
	Text  string
	Style Style
	// Short replaces Text in a [Table] where its column has not the room for Text; "" where there
	// is nothing shorter.
	Short string

	flows bool
	width int // see Flow
	hang  int // see Hang
}

// Plain returns an unstyled cell.
func Plain(text string) Cell { return Cell{Text: text} }

// Good returns a cell for something that is as it should be.
func Good(text string) Cell { return Cell{Text: text, Style: StyleGood} }

// Warn returns a cell for something that works but deserves a look.
func Warn(text string) Cell { return Cell{Text: text, Style: StyleWarn} }

// Bad returns a cell for something broken.
func Bad(text string) Cell { return Cell{Text: text, Style: StyleBad} }

// Dim returns a cell of little interest.
func Dim(text string) Cell { return Cell{Text: text, Style: StyleDim} }

// Bold returns a cell that is a heading or a key figure.
func Bold(text string) Cell { return Cell{Text: text, Style: StyleBold} }

// palette turns styles into escape sequences; a palette without colour leaves text as it is. The
// sixteen basic colours follow the user's theme, so they stay readable on light and dark grounds.
type palette struct {
	color bool
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
