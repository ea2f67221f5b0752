package output

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Flow returns a cell of running text, for a [Text] or a [List]: on a terminal its line is broken
// at blanks to fit, and further lines begin where the text began. Elsewhere the text is broken at
// width columns, 0 for nowhere. Text that begins with "# " stays a remark of a shell on each line.
func (c Cell) Flow(width int) Cell {
	c.flows, c.width = true, width
	return c
}

// Hang returns a cell of running text whose further lines are indented by n columns more than
// the first.
func (c Cell) Hang(n int) Cell {
	c.hang = n
	return c
}

// lineOf renders the cells of a line: one line where nothing flows.
func lineOf(pg page, cells []Cell) []string {
	cells = slices.Clone(cells)
	first, start, columns := -1, 0, 0
	for i := range cells {
		if cells[i].flows && cells[i].width > 0 { // its line breaks mean nothing
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
	const least = 24 // columns that are worth beginning a line there
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

// oneLine joins the words of a text by single blanks; a blank at its ends stays.
func oneLine(s string) string {
	words := strings.Join(strings.Fields(s), " ")
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
		b.WriteString(pal.paint(c.Style, c.Text))
	}
	return b.String()
}

// word is what stays in one piece: parts of cells without a blank between them.
type word []Cell

func (w word) width() int {
	n := 0
	for _, c := range w {
		n += ansi.StringWidth(c.Text)
	}
	return n
}

// wordsOf splits cells that flow at blanks. Others stay in one piece.
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

// filling is the filling of lines with words.
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

// wrap breaks a text at blanks, so that no line is wider than width columns; a word that is wider
// is broken too, behind a comma or slash where there is one.
func wrap(text string, width int) []string {
	width = max(width, 1)
	var lines []string
	line, column := "", 0
	for w := range strings.FieldsSeq(text) {
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
