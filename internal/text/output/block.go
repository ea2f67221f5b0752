package output

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// gap separates columns; two spaces let text with single spaces stay in one column for the eye.
const gap = "  "

// Block is a part of what people see: a [Table], a [List] or a [Text]. Blocks are set apart by an
// empty line.
type Block interface {
	// lines renders the block, wide or not, without line breaks; the lines may hold escape
	// sequences of pal.
	lines(pal palette, wide bool) ([]string, error)
}

// Align says on which side of its column a text stands.
type Align uint8

// Text stands left, figures stand right.
const (
	AlignLeft Align = iota
	AlignRight
)

// Column is the head of a column. The name is printed in capitals; a Wide column shows with -o
// wide only.
type Column struct {
	Name  string
	Wide  bool
	Align Align
}

// Table shows rows in aligned columns without lines. Every row has one cell a column. A table
// without rows shows its heading only; a command that has nothing to show says why instead of
// printing one.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]Cell
}

// Item is a line of a [List].
type Item struct {
	Key   string
	Value Cell
	Wide  bool // shown with -o wide only
}

// List shows keys and values, one pair a line, the values aligned.
type List struct {
	Title string
	Items []Item
}

// Text shows lines of free text. The cells of a line follow each other as they are, so that a word
// in the middle of a sentence can carry a style; leading spaces indent.
type Text struct {
	Title string
	Lines [][]Cell
}

// Line returns a [Text] of one line: Line(Plain("state "), Bad("down")).
func Line(cells ...Cell) Text { return Text{Lines: [][]Cell{cells}} }

// Paragraph returns a [Text] of unstyled lines, split at the line breaks of s.
func Paragraph(s string) Text {
	var t Text
	for line := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		t.Lines = append(t.Lines, []Cell{Plain(line)})
	}
	return t
}

func (t Table) lines(pal palette, wide bool) ([]string, error) {
	for i, row := range t.Rows {
		if len(row) != len(t.Columns) {
			return nil, fmt.Errorf("print table %q: row %d has %d cells for %d columns",
				t.Title, i, len(row), len(t.Columns))
		}
	}
	columns, grid := t.visible(wide)
	widths := make([]int, len(columns))
	for _, row := range grid {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell.Text))
		}
	}
	lines := titleLines(pal, t.Title)
	for _, row := range grid {
		lines = append(lines, joinRow(pal, row, columns, widths))
	}
	return lines, nil
}

// visible drops wide columns unless wide, puts the heading in front as a row, and makes every
// cell printable.
func (t Table) visible(wide bool) (columns []Column, grid [][]Cell) {
	grid = make([][]Cell, 1+len(t.Rows))
	for i, column := range t.Columns {
		if column.Wide && !wide {
			continue
		}
		columns = append(columns, column)
		grid[0] = append(grid[0], Bold(strings.ToUpper(Clean(column.Name))))
		for r, row := range t.Rows {
			grid[1+r] = append(grid[1+r], printable(row[i]))
		}
	}
	return columns, grid
}

func joinRow(pal palette, row []Cell, columns []Column, widths []int) string {
	var b strings.Builder
	for i, cell := range row {
		fill := strings.Repeat(" ", widths[i]-ansi.StringWidth(cell.Text))
		text := pal.paint(cell.Style, cell.Text)
		switch {
		case columns[i].Align == AlignRight:
			b.WriteString(fill + text)
		case i == len(row)-1: // nothing follows: no trailing spaces
			b.WriteString(text)
		default:
			b.WriteString(text + fill)
		}
		if i < len(row)-1 {
			b.WriteString(gap)
		}
	}
	return b.String()
}

// printable cleans a cell; one without visible text becomes "-", which keeps columns countable
// for awk.
func printable(cell Cell) Cell {
	text := strings.TrimRight(Clean(cell.Text), " ")
	if text == "" {
		return Dim("-")
	}
	return Cell{Text: text, Style: cell.Style}
}

func (l List) lines(pal palette, wide bool) ([]string, error) {
	width := 0
	for _, item := range l.Items {
		if wide || !item.Wide {
			width = max(width, ansi.StringWidth(Clean(item.Key)))
		}
	}
	lines := titleLines(pal, l.Title)
	for _, item := range l.Items {
		if item.Wide && !wide {
			continue
		}
		key, value := Clean(item.Key), printable(item.Value)
		fill := strings.Repeat(" ", width-ansi.StringWidth(key))
		lines = append(lines, pal.paint(StyleDim, key)+fill+gap+pal.paint(value.Style, value.Text))
	}
	return lines, nil
}

func (t Text) lines(pal palette, _ bool) ([]string, error) {
	lines := titleLines(pal, t.Title)
	for _, cells := range t.Lines {
		var b strings.Builder
		for i, cell := range cells {
			text := Clean(cell.Text)
			if i == len(cells)-1 {
				text = strings.TrimRight(text, " ")
			}
			b.WriteString(pal.paint(cell.Style, text))
		}
		lines = append(lines, b.String())
	}
	return lines, nil
}

func titleLines(pal palette, title string) []string {
	if title == "" {
		return nil
	}
	return []string{pal.paint(StyleBold, Clean(title))}
}

// render joins the lines of all blocks, an empty line between two blocks.
func render(pal palette, wide bool, blocks []Block) ([]string, error) {
	var all []string
	for i, block := range blocks {
		lines, err := block.lines(pal, wide)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			all = append(all, "")
		}
		all = append(all, lines...)
	}
	return all, nil
}
