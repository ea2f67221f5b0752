package output

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

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
	// Priority says which columns a terminal has that is too narrow for all of them: those of the
	// highest number are left out first, equal ones together, and before any other those without a
	// value. Columns of priority 0 stay.
	Priority int
	// Wrap lets a long text go on in further lines within its column, where the table is too wide
	// for the terminal. It is for sentences, never for what identifies the row.
	Wrap bool
}

// Table shows rows in aligned columns without lines. Every row has one cell a column. A table
// without rows shows its heading only; a command that has nothing to show says why instead of
// printing one.
//
// On a terminal it fits the width: columns are left out by their priority, which a last line says,
// cells show their short texts, and texts of columns that wrap go on in further lines.
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
	columns, dropped := fit(columns, pg.width)
	lines := titleLines(pg, t.Title)
	for row := range 1 + len(t.Rows) {
		lines = append(lines, rowLines(pg.pal, columns, row)...)
	}
	if len(dropped) > 0 {
		note := "not shown: " + strings.Join(dropped, ", ") + " (-o wide has all columns)"
		lines = append(lines, lineOf(pg, []Cell{Dim(note).Flow(0)})...)
	}
	return lines, nil
}

// visible returns the columns with their cells, the wide ones only if wide; the heading is a cell,
// and every cell is printable.
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

// rowLines renders a row: one line, or more where texts are wrapped.
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
		pending := 0 // blanks that stand there only if something follows
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
				b.WriteString(strings.Repeat(" ", pending) + pal.paint(c.cells[row].Style, text))
				pending = 0
			}
			pending += fill + len(gap)
		}
		lines = append(lines, b.String())
	}
	return lines
}
