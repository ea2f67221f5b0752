package output

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Align is the alignment of the cells of a column.
type Align uint8

// Text is left-aligned, numbers are right-aligned.
const (
	AlignLeft Align = iota
	AlignRight
)

// Column is the head of a column. The name is printed in capitals. A Wide column is shown only with
// -o wide.
type Column struct {
	Name  string
	Wide  bool
	Align Align
	// Priority determines which columns a narrow terminal doesn't show. Columns without any value
	// are left out first, then those with the highest number; columns of equal priority are left
	// out together. Columns of priority 0 stay.
	Priority int
	// Wrap breaks long text into several lines within the column if the table is too wide for the
	// terminal. It is for sentences, never for the cell that identifies the row.
	Wrap bool
	// Below moves the column below each row if the table is too wide for the terminal even after
	// wrapping. It is for texts with commands, which are [Unbroken] so that they can be copied.
	Below bool
}

// Table shows rows in aligned columns without ruled lines. Every row has one cell for each column.
// A table without rows shows only its heading; a command that has nothing to show prints the
// reason instead of a table.
//
// On a terminal the table fits the width: columns are left out by priority and named in the last
// line, cells show their short texts, and long texts are wrapped or moved below the row.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]Cell
}

func (t Table) lines(pg page) ([]string, error) {
	for i, row := range t.Rows {
		if len(row) != len(t.Columns) {
			return nil, fmt.Errorf("print table %q: row %d has %d cells for %d columns",
				t.Title, i, len(row), len(t.Columns))
		}
	}
	columns := t.visible(pg.wide)
	columns, below := moveBelow(columns, pg.width)
	columns, dropped := fit(columns, pg.width)
	lines := titleLines(pg, t.Title)
	for row := range 1 + len(t.Rows) {
		lines = append(lines, rowLines(pg.pal, columns, row)...)
		if row > 0 {
			lines = append(lines, belowLines(pg, below, row)...)
		}
	}
	if len(dropped) > 0 {
		note := "not shown: " + strings.Join(dropped, ", ") + " (-o wide has all columns)"
		lines = append(lines, lineOf(pg, []Cell{Dim(note).Flow(0)})...)
	}
	return lines, nil
}

// moveBelow separates the columns to show below the rows, if the table is too wide for a terminal
// of the given width even after wrapping. A width of 0 means no limit.
func moveBelow(columns []*column, width int) (table, below []*column) {
	if width <= 0 || sum(columns, (*column).leastWidth) <= width {
		return columns, nil
	}
	for _, c := range columns {
		if c.Below {
			below = append(below, c)
		} else {
			table = append(table, c)
		}
	}
	return table, below
}

// belowLines renders the cells that are shown below a row, each after the name of its column.
func belowLines(pg page, columns []*column, row int) []string {
	var lines []string
	for _, c := range columns {
		cell := c.cells[row]
		if cell.Text == "-" {
			continue
		}
		head := gap + Clean(c.Name) + ": "
		for _, part := range cell.partsOrText() {
			lines = append(lines, lineOf(pg, []Cell{Dim(head), {Text: part, Style: cell.Style, flows: true}})...)
			head = strings.Repeat(" ", ansi.StringWidth(head))
		}
	}
	return lines
}

// visible returns the columns with their cells, which are printable and begin with the heading.
// Wide columns are included only if wide.
func (t Table) visible(wide bool) []*column {
	var columns []*column
	for i, head := range t.Columns {
		if head.Wide && !wide {
			continue
		}
		c := &column{Column: head, cells: make([]Cell, 1, 1+len(t.Rows)), empty: len(t.Rows) > 0}
		c.cells[0] = Bold(strings.ToUpper(Clean(head.Name)))
		for _, row := range t.Rows {
			cell := printable(row[i])
			cell.Short = Clean(cell.Short)
			c.empty = c.empty && cell.Text == "-"
			c.cells = append(c.cells, cell)
		}
		c.measure()
		columns = append(columns, c)
	}
	return columns
}

// rowLines renders a row, as several lines if text is wrapped.
func rowLines(pal palette, columns []*column, row int) []string {
	height := 1
	parts := make([][]string, len(columns))
	for i, c := range columns {
		parts[i] = c.text(row)
		height = max(height, len(parts[i]))
	}
	lines := make([]string, 0, height)
	for n := range height {
		var b strings.Builder
		pending := 0 // blanks to write if text follows
		for i, c := range columns {
			text := ""
			if n < len(parts[i]) {
				text = parts[i][n]
			}
			fill := c.width - ansi.StringWidth(text)
			if c.Align == AlignRight {
				pending, fill = pending+fill, 0
			}
			if text != "" {
				b.WriteString(strings.Repeat(" ", pending) + pal.paint(c.cells[row].Style, Breakable(text)))
				pending = 0
			}
			pending += fill + len(gap)
		}
		lines = append(lines, b.String())
	}
	return lines
}
