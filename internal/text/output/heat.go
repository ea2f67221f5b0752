package output

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Heat shows a square of values. On a terminal with at least 256 colours a cell of a small square
// is two blocks, and each character of a larger one is an upper half block and shows two rows;
// elsewhere a cell is one of a few characters. A square that is wider than the screen is reduced: a
// cell then shows the worst value of several rows and columns.
type Heat struct {
	Title string
	// Values are the rows: 0 is the best value and 1 the worst, NaN is no value and +Inf a failure.
	Values [][]float32
	Labels []string // of the rows
	// Items is what a row stands for: "node". Per is how many of them, 1 unless the caller has
	// reduced the square.
	Items string
	Per   int
	// Best and Worst are the values that 0 and 1 stand for; Failed and None name the others.
	Best, Worst, Failed, None string
}

// wholeRows is the largest square with a line, and a label, for each row.
const wholeRows = 24

// shades are the characters without colours, from the best value to the worst.
const shades = "·░▒▓█"

// noValue and failedShade are the characters for no value and for a failure.
const (
	noValue     = " "
	failedShade = "x"
)

func (h Heat) lines(pg page) ([]string, error) {
	for i, row := range h.Values {
		if len(row) != len(h.Values) || len(h.Labels) != len(h.Values) {
			return nil, fmt.Errorf("print heat map %q: row %d has %d values, and %d labels, for %d rows",
				h.Title, i, len(row), len(h.Labels), len(h.Values))
		}
	}
	width := MaxTextWidth
	if pg.width > 0 {
		width = max(pg.width, minTextWidth)
	}
	labels := make([]string, len(h.Labels))
	indent := 0
	for i, l := range h.Labels {
		const most = 16
		labels[i] = ansi.Truncate(Clean(l), most, "…")
		indent = max(indent, ansi.StringWidth(labels[i]))
	}
	by := max(1, (len(h.Values)+width-indent-len(gap)-1)/(width-indent-len(gap)))
	values := reduce(h.Values, by)
	lines := titleLines(pg, h.Title)
	step, whole := 1, len(values) <= wholeRows && indent+len(gap)+2*len(values) <= width
	if pg.pal.hasRamp() && !whole {
		step = 2
	}
	for y := 0; y < len(values); y += step {
		label := labels[y*by]
		label += strings.Repeat(" ", indent-ansi.StringWidth(label)) + gap
		row := shadeRow(values[y])
		switch {
		case !pg.pal.hasRamp():
		case whole:
			row = pg.pal.wholeBlocks(values[y])
		default:
			row = pg.pal.halfBlocks(values[y:min(y+2, len(values))])
		}
		lines = append(lines, strings.TrimRight(pg.pal.paint(StyleDim, label)+row, " "))
	}
	return append(lines, h.legend(pg, by)...), nil
}

// reduce returns a square whose values are the worst of by rows and columns each.
func reduce(values [][]float32, by int) [][]float32 {
	if by == 1 {
		return values
	}
	out := make([][]float32, (len(values)+by-1)/by)
	for y := range out {
		out[y] = make([]float32, len(out))
		for x := range out {
			worst := float32(math.NaN())
			for _, row := range values[y*by : min((y+1)*by, len(values))] {
				for _, v := range row[x*by : min((x+1)*by, len(row))] {
					if !(v <= worst) && !isNone(v) { // also if there is none yet
						worst = v
					}
				}
			}
			out[y][x] = worst
		}
	}
	return out
}

func isNone(v float32) bool   { return v != v }
func isFailed(v float32) bool { return v > math.MaxFloat32 }

func shadeRow(row []float32) string {
	var b strings.Builder
	all := []rune(shades)
	for _, v := range row {
		switch {
		case isNone(v):
			b.WriteString(noValue)
		case isFailed(v):
			b.WriteString(failedShade)
		default:
			b.WriteRune(all[step(v, len(all))])
		}
	}
	return b.String()
}

// step returns which of n steps a value from 0 to 1 is in.
func step(v float32, n int) int { return min(max(int(v*float32(n)), 0), n-1) }

// rampSteps is the number of colours that a map has.
const rampSteps = 32

// hasRamp reports whether the colours of [Ramp] can be shown.
func (p palette) hasRamp() bool { return p.color && p.depth != depth16 }

// shade returns the colour of a value; nil is that of the background.
func (p palette) shade(v float32) color.Color {
	switch {
	case isNone(v):
		return nil
	case isFailed(v):
		return p.convert(RampFailed())
	}
	return p.convert(Ramp(rampSteps)[step(v, rampSteps)])
}

func (p palette) convert(c color.RGBA) color.Color {
	if p.depth == depthTrue {
		return ansi.RGBColor{R: c.R, G: c.G, B: c.B}
	}
	return ansi.Convert256(c)
}

// wholeBlocks draws a row with two characters for each cell, which is about a square.
func (p palette) wholeBlocks(row []float32) string {
	var b strings.Builder
	for x := 0; x < len(row); {
		shade, n := p.shade(row[x]), 1
		for x+n < len(row) && p.shade(row[x+n]) == shade {
			n++
		}
		if shade == nil {
			b.WriteString(strings.Repeat(noValue, 2*n))
		} else {
			b.WriteString(ansi.NewStyle().ForegroundColor(shade).Styled(strings.Repeat("█", 2*n)))
		}
		x += n
	}
	return b.String()
}

// halfBlocks draws one or two rows in one line. Cells of equal colours share an escape sequence.
func (p palette) halfBlocks(rows [][]float32) string {
	var b strings.Builder
	shades := map[float32]color.Color{}
	shade := func(v float32) color.Color {
		if isNone(v) {
			return nil
		}
		c, ok := shades[v]
		if !ok {
			c = p.shade(v)
			shades[v] = c
		}
		return c
	}
	for x := 0; x < len(rows[0]); {
		upper, lower := shade(rows[0][x]), color.Color(nil)
		n := 0
		for ; x+n < len(rows[0]) && shade(rows[0][x+n]) == upper; n++ {
			next := color.Color(nil)
			if len(rows) == 2 {
				next = shade(rows[1][x+n])
			}
			if n > 0 && next != lower {
				break
			}
			lower = next
		}
		b.WriteString(halves(upper, lower, n))
		x += n
	}
	return b.String()
}

// halves returns n characters of two colours.
func halves(upper, lower color.Color, n int) string {
	switch {
	case upper == nil && lower == nil:
		return strings.Repeat(noValue, n)
	case upper == nil:
		return ansi.NewStyle().ForegroundColor(lower).Styled(strings.Repeat("▄", n))
	case lower == nil:
		return ansi.NewStyle().ForegroundColor(upper).Styled(strings.Repeat("▀", n))
	}
	return ansi.NewStyle().ForegroundColor(upper).BackgroundColor(lower).Styled(strings.Repeat("▀", n))
}

// legend explains the colours or characters, and what a cell shows.
func (h Heat) legend(pg page, by int) []string {
	scale, failed := shades, failedShade
	if pg.pal.hasRamp() {
		var b strings.Builder
		const blocks = 16
		for i := range blocks {
			b.WriteString(ansi.NewStyle().ForegroundColor(pg.pal.shade((float32(i) + 0.5) / blocks)).Styled("█"))
		}
		scale = b.String()
		failed = ansi.NewStyle().ForegroundColor(pg.pal.convert(RampFailed())).Styled("█")
	}
	lines := []string{
		Clean(h.Best) + " " + scale + " " + Clean(h.Worst),
		failed + " " + Clean(h.Failed) + ", blank: " + Clean(h.None),
	}
	if n := by * max(h.Per, 1); n > 1 {
		text := fmt.Sprintf("Each cell shows the worst value of %d by %d %ss.", n, n, h.Items)
		lines = append(lines, lineOf(pg, []Cell{Dim(text).Flow(0)})...)
	}
	return lines
}
