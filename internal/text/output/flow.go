package output

import (
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// noBreak is a blank at which no line is broken. It is printed as a plain blank.
const noBreak = "\u00a0"

// maxQuoted is the maximum width of quoted text that is kept on one line.
const maxQuoted = 60

// Unbroken returns s, such as a command or the name of a file, in a form that stays on one line
// where it is part of running text.
func Unbroken(s string) string { return strings.ReplaceAll(s, " ", noBreak) }

// Breakable undoes [Unbroken], for text that isn't printed by this package.
func Breakable(s string) string { return strings.ReplaceAll(s, noBreak, " ") }

// commands are commands in running text: in parentheses, or from a colon to the end of the
// sentence.
var commands = regexp.MustCompile(`\((?:kubectl|rdmactl|mstconfig|modprobe) [^()]*\)|: kubectl (?:[^.]|\.[^ ])*`)

// KeepCommands returns running text in which the kubectl, rdmactl, mstconfig and modprobe commands
// in parentheses and the kubectl commands after colons are [Unbroken].
func KeepCommands(text string) string {
	return commands.ReplaceAllStringFunc(text, func(s string) string {
		if command, ok := strings.CutPrefix(s, ": "); ok {
			return ": " + Unbroken(command)
		}
		return Unbroken(s)
	})
}

// Wrap breaks running text into lines of at most width columns, 0 for no limit. Lines after the
// first are indented by two columns. Text in double quotes, commands that [KeepCommands] finds and
// [Unbroken] text stay on one line.
func Wrap(text string, width int) []string {
	text = keepQuoted(KeepCommands(text))
	return lineOf(page{width: width}, []Cell{Plain(text).Flow(0).Hang(len(gap))})
}

// Flow returns a cell of running text for a [Text] or a [List]. On a terminal its line is wrapped,
// and the lines after the first are aligned with the start of the text. Elsewhere the text wraps at
// width columns, or not at all if width is 0. Text that begins with "# " is a shell comment, so
// every line gets this prefix.
func (c Cell) Flow(width int) Cell {
	c.flows, c.width = true, width
	return c
}

// Hang returns a cell of running text whose lines after the first are indented by n more columns.
func (c Cell) Hang(n int) Cell {
	c.hang = n
	return c
}

// lineOf renders the cells of a line, as one line if it fits or contains no running text.
func lineOf(pg page, cells []Cell) []string {
	cells = slices.Clone(cells)
	first, start, columns := -1, 0, 0
	for i := range cells {
		if cells[i].flows && cells[i].width > 0 { // line breaks have no meaning in it
			cells[i].Text = oneLine(cells[i].Text)
		}
		cells[i].Text = Clean(cells[i].Text)
		if i == len(cells)-1 {
			cells[i].Text = strings.TrimRight(cells[i].Text, " ")
		}
		if first < 0 && cells[i].flows {
			first, start = i, columns
		}
		columns += ansi.StringWidth(cells[i].Text)
	}
	limit := pg.textWidth()
	if limit == 0 && first >= 0 && cells[first].width > 0 {
		limit = start + cells[first].width
	}
	if first < 0 || limit == 0 || columns <= limit {
		return []string{paintLine(pg.pal, cells)}
	}
	f := filling{limit: limit, line: cells[:first:first], column: start}
	f.indent = start
	const least = 24 // with fewer columns left, lines after the first begin further left
	if limit-start < least {
		blanks := len(cells[0].Text) - len(strings.TrimLeft(cells[0].Text, " "))
		f.indent = blanks + 2*len(gap)
	}
	f.indent += cells[first].hang
	if strings.HasPrefix(cells[first].Text, "# ") {
		f.prefix = "# "
	}
	for _, w := range wordsOf(cells[first:]) {
		f.add(w)
	}
	f.flush()
	var lines []string
	for _, line := range f.lines {
		lines = append(lines, paintLine(pg.pal, line))
	}
	return lines
}

// oneLine joins the words of a text by single blanks. A blank at either end is kept.
func oneLine(s string) string {
	words := strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }), " ")
	switch {
	case words == "":
		return ""
	case s[0] == ' ':
		words = " " + words
	}
	if s[len(s)-1] == ' ' {
		words += " "
	}
	return words
}

func paintLine(pal palette, cells []Cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(pal.paint(c.Style, Breakable(c.Text)))
	}
	return b.String()
}

// word is a piece of text that is not broken: parts of cells without a blank between them.
type word []Cell

func (w word) width() int {
	n := 0
	for _, c := range w {
		n += ansi.StringWidth(c.Text)
	}
	return n
}

// wordsOf splits cells of running text at blanks. Other cells stay in one piece.
func wordsOf(cells []Cell) []word {
	var words []word
	var current word
	end := func() {
		if len(current) > 0 {
			words = append(words, current)
		}
		current = nil
	}
	for _, c := range cells {
		if !c.flows {
			current = append(current, c)
			continue
		}
		for i, part := range strings.Split(c.Text, " ") {
			if i > 0 {
				end()
			}
			if part != "" {
				current = append(current, Cell{Text: part, Style: c.Style})
			}
		}
	}
	end()
	return words
}

// keepQuoted marks the text between double quotes as [Unbroken], unless it is long.
func keepQuoted(s string) string {
	if strings.Count(s, `"`) < 2 {
		return s
	}
	var b strings.Builder
	for {
		before, rest, _ := strings.Cut(s, `"`)
		quoted, after, closed := strings.Cut(rest, `"`)
		if !closed {
			b.WriteString(s)
			return b.String()
		}
		if ansi.StringWidth(quoted) <= maxQuoted {
			quoted = Unbroken(quoted)
		}
		b.WriteString(before + `"` + quoted + `"`)
		s = after
	}
}

// filling fills lines with words.
type filling struct {
	limit, indent int
	prefix        string
	lines         [][]Cell
	line          []Cell
	column        int
	words         int // on the line
}

func (f *filling) add(w word) {
	columns := w.width()
	switch {
	case f.words == 0:
	case f.column+1+columns > f.limit:
		f.flush()
		head := strings.Repeat(" ", f.indent) + f.prefix
		f.line, f.column = []Cell{Plain(head)}, len(head)
	default:
		last := &f.line[len(f.line)-1]
		if last.Style == w[0].Style {
			last.Text += " "
		} else {
			f.line = append(f.line, Plain(" "))
		}
		f.column++
	}
	for _, c := range w {
		if last := len(f.line) - 1; f.words > 0 && f.line[last].Style == c.Style {
			f.line[last].Text += c.Text
		} else {
			f.line = append(f.line, c)
		}
		f.words++
	}
	f.column += columns
}

func (f *filling) flush() {
	f.lines = append(f.lines, f.line)
	f.line, f.words = nil, 0
}

// wrap breaks a text at blanks into lines of at most width columns. A word that is wider is broken
// too, after a comma or slash if it has one.
func wrap(text string, width int) []string {
	width = max(width, 1)
	var lines []string
	line, column := "", 0
	for w := range words(text) {
		columns := ansi.StringWidth(w)
		if line != "" && column+1+columns <= width {
			line, column = line+" "+w, column+1+columns
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for columns > width {
			head := ansi.Truncate(w, width, "")
			if i := strings.LastIndexAny(head, ",/"); i >= len(head)/2 {
				head = head[:i+1]
			}
			if head == "" { // a character that is wider than the column
				break
			}
			lines = append(lines, head)
			w = w[len(head):]
			columns = ansi.StringWidth(w)
		}
		line, column = w, columns
	}
	return append(lines, line)
}

// words returns the words of a text that a line break may separate.
func words(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' })
}
