// Package termsvg draws what a program printed to a terminal as an SVG picture, for documents that
// show the colours which a block of text can't:
//
//	picture, err := termsvg.Draw("$ rdmactl demo", lines)
//
// It knows the escape sequences that package output writes: bold, faint, the colours red, green and
// yellow, those of the palette of 256 that heat maps have, and the reset. Any other control
// character is an error, because a picture without it would show something else than the terminal
// did. Draw is a pure function: the same lines make the same bytes.
package termsvg

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Sizes in pixels. Each piece of text is stretched to its columns, so that tables stay aligned in a
// font whose characters are wider or narrower.
const (
	columnWidth = 7.8
	lineHeight  = 17
	margin      = 16
	titleHeight = 30
)

// head is the beginning of a picture: its size twice, and how the classes look.
const head = `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img">
<style>
rect { fill: #0d1117 }
text { fill: #c9d1d9; font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.title { fill: #8b949e }
.b { fill: #ffffff; font-weight: bold }
.d { fill: #8b949e }
.r { fill: #ff7b72 }
.g { fill: #3fb950 }
.y { fill: #d29922 }
</style>
<rect width="100%%" height="100%%" rx="8"/>
`

// Draw returns a picture of a terminal that shows lines, with title above them. Lines may hold the
// escape sequences of package output; a style that is not reset at the end of its line is an error.
func Draw(title string, lines []string) ([]byte, error) {
	columns := ansi.StringWidth(title)
	for _, line := range lines {
		columns = max(columns, ansi.StringWidth(line))
	}
	var b bytes.Buffer
	width := 2*margin + int(float64(columns)*columnWidth+0.5)
	fmt.Fprintf(&b, head, width, titleHeight+len(lines)*lineHeight+margin)
	if err := piece(&b, "title", title, 0, titleHeight-10); err != nil {
		return nil, err
	}
	for i, line := range lines {
		if err := drawLine(&b, line, titleHeight+(i+1)*lineHeight-4); err != nil {
			return nil, fmt.Errorf("draw line %d: %w", i+1, err)
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes(), nil
}

// style is how a piece of text looks.
type style struct {
	class  string
	ink    string // of the palette, "" for that of the class
	ground string // "" for that of the terminal
}

// drawLine draws the pieces between escape sequences, each where its first column is.
func drawLine(b *bytes.Buffer, line string, y int) error {
	var look style
	column := 0
	for line != "" {
		text, rest, escape := strings.Cut(line, "\x1b[")
		draw := func() error { return piece(b, look.class, text, column, y) }
		if look.ink != "" || look.ground != "" {
			draw = func() error { return cells(b, look, text, column, y) }
		}
		if err := draw(); err != nil {
			return err
		}
		column += ansi.StringWidth(text)
		if !escape {
			break
		}
		code, after, ok := strings.Cut(rest, "m")
		if !ok || !look.change(code) {
			return fmt.Errorf("escape sequence %.10q is not one of a text style", rest)
		}
		line = after
	}
	if look != (style{}) {
		return fmt.Errorf("style %q is not reset at the end of the line", look.class+look.ink+look.ground)
	}
	return nil
}

// change applies the code of an escape sequence, if it knows it.
func (s *style) change(code string) bool {
	for ground, prefix := range []string{"38;5;", "48;5;"} {
		number, ok := strings.CutPrefix(code, prefix)
		if !ok {
			continue
		}
		number, more, both := strings.Cut(number, ";")
		n, err := strconv.ParseUint(number, 10, 8)
		if err != nil || n < firstOfCube {
			return false
		}
		*[...]*string{&s.ink, &s.ground}[ground] = palette(int(n))
		return !both || s.change(more)
	}
	class, known := classOf(code)
	if known {
		*s = style{class: class}
	}
	return known
}

// The palette of xterm: 16 colours of the user, a cube of 6·6·6 colours, and shades of grey.
const (
	firstOfCube = 16
	firstOfGrey = 232
)

// palette returns a colour of the palette of xterm that isn't the user's.
func palette(n int) string {
	if n >= firstOfGrey {
		grey := 8 + 10*(n-firstOfGrey)
		return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
	}
	level := func(part int) int {
		if part %= 6; part > 0 {
			return 55 + 40*part
		}
		return 0
	}
	n -= firstOfCube
	return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6), level(n))
}

// cells draws the cells of a heat map: blocks and half blocks of ink on a ground.
func cells(b *bytes.Buffer, look style, text string, column, y int) error {
	const half = lineHeight / 2.0
	top := float64(y - (lineHeight - 4))
	for _, r := range text {
		box := func(top, height float64, color string) {
			if color != "" {
				fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" style="fill:%s"/>`+"\n",
					margin+float64(column)*columnWidth, top, columnWidth, height, color)
			}
		}
		box(top, lineHeight, look.ground)
		switch r {
		case ' ':
		case '▀':
			box(top, half, look.ink)
		case '▄':
			box(top+half, half, look.ink)
		case '█':
			box(top, lineHeight, look.ink)
		default:
			return fmt.Errorf("character %q in a colour of the palette", r)
		}
		column++
	}
	return nil
}

// classOf returns the class of a piece after the escape sequence with a code; "" resets.
func classOf(code string) (class string, known bool) {
	switch code {
	case "", "0":
		return "", true
	case "1":
		return "b", true
	case "2":
		return "d", true
	case "31":
		return "r", true
	case "32":
		return "g", true
	case "33":
		return "y", true
	}
	return "", false
}

// piece draws text from a column on. Blanks at its ends are left to the place of the next piece.
func piece(b *bytes.Buffer, class, text string, column, y int) error {
	if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }); i >= 0 {
		return fmt.Errorf("control character %q", text[i])
	}
	trimmed := strings.TrimLeft(text, " ")
	column += len(text) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, " ")
	if trimmed == "" {
		return nil
	}
	if class != "" {
		class = ` class="` + class + `"`
	}
	fmt.Fprintf(b, `<text%s x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs" xml:space="preserve">`,
		class, margin+float64(column)*columnWidth, y, float64(ansi.StringWidth(trimmed))*columnWidth)
	if err := xml.EscapeText(b, []byte(trimmed)); err != nil {
		return err
	}
	b.WriteString("</text>\n")
	return nil
}
