package output

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Block is a part of the text output: a [Table], a [List], a [Text] or a [Heat]. Blocks are
// separated by an empty line.
type Block interface {
	// lines renders the block for a page, without line breaks; the lines may hold escape sequences
	// of its palette.
	lines(pg page) ([]string, error)
}

// Item is a line of a [List].
type Item struct {
	Key   string
	Value Cell
	Wide  bool // only with -o wide
}

// List is a list of keys and values, one pair per line, with aligned values.
type List struct {
	Title string
	Items []Item
}

// Text is free text. The cells of a line are joined without separators, so that a word in a
// sentence can have a style; leading spaces indent the line. A line is broken only in cells that
// flow ([Cell.Flow]): commands, paths and lines of files stay in one piece.
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

// printable cleans a cell. A cell without visible text becomes "-", so that the number of columns
// is constant for awk.
func printable(cell Cell) Cell {
	text := strings.TrimRight(Clean(cell.Text), " ")
	if text == "" {
		return Dim("-")
	}
	cell.Text = text
	return cell
}

func (l List) lines(pg page) ([]string, error) {
	width := 0
	for _, item := range l.Items {
		if pg.wide || !item.Wide {
			width = max(width, ansi.StringWidth(Clean(item.Key)))
		}
	}
	lines := titleLines(pg, l.Title)
	for _, item := range l.Items {
		if item.Wide && !pg.wide {
			continue
		}
		key := Clean(item.Key)
		fill := strings.Repeat(" ", width-ansi.StringWidth(key))
		lines = append(lines, lineOf(pg, []Cell{Dim(key), Plain(fill + gap), printable(item.Value)})...)
	}
	return lines, nil
}

func (t Text) lines(pg page) ([]string, error) {
	lines := titleLines(pg, t.Title)
	for _, cells := range t.Lines {
		lines = append(lines, lineOf(pg, cells)...)
	}
	return lines, nil
}

// titleLines is the title of a block, none for an empty one.
func titleLines(pg page, title string) []string {
	if title == "" {
		return nil
	}
	return lineOf(pg, []Cell{Bold(title).Flow(0).Hang(len(gap))})
}

// render joins the lines of all blocks, an empty line between two blocks.
func render(pg page, blocks []Block) ([]string, error) {
	var all []string
	for i, block := range blocks {
		lines, err := block.lines(pg)
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
