package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/rdmakit/rdmakit/internal/text/output"
)

// Measures of the text that commands print, in columns and lines.
const (
	TextWidth     = output.MaxTextWidth // where sentences wrap; paths and commands never do
	EvidenceShown = 3                   // lines of evidence for each finding without -o wide

	// IndentedWidth is the width of a text after a label.
	IndentedWidth = TextWidth - labelWidth
)

// WrapWords breaks a sentence at blanks, so that no line is longer than width where words allow.
func WrapWords(s string, width int) string {
	var out strings.Builder
	column := 0
	for word := range strings.FieldsSeq(s) {
		columns := ansi.StringWidth(word)
		switch {
		case column == 0:
		case column+1+columns > width:
			out.WriteByte('\n')
			column = 0
		default:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += columns
	}
	return out.String()
}

// labelWidth is that of a label in front of a text: "  why  ".
const labelWidth = 7

// LabelledText puts a word in front of running text, whose further lines are aligned with it.
// Elsewhere than on a terminal it is broken at width columns.
func LabelledText(label, text string, width int) []output.Cell {
	return []output.Cell{output.Bold("  " + label + "  "), output.Plain(text).Flow(width)}
}

// LabelledLines puts a word in front of the first line and aligns the others with it. Lines are
// commands, which stay in one piece, and remarks that begin with "#".
func LabelledLines(label string, text []string) [][]output.Cell {
	var lines [][]output.Cell
	for i, line := range text {
		head, cell := output.Plain(strings.Repeat(" ", labelWidth)), output.Plain(line)
		if i == 0 {
			head = output.Bold("  " + label + "  ")
		}
		if strings.HasPrefix(line, "#") {
			cell = output.Dim(line).Flow(0)
		}
		lines = append(lines, []output.Cell{head, cell})
	}
	return lines
}

// FirstOnly returns the key for the first of several lines and nothing for the rest.
func FirstOnly(i int, key string) string {
	if i == 0 {
		return key
	}
	return ""
}

// SomeNames joins names, and without -o wide only a few.
func SomeNames(names []string, wide bool) string {
	const shown = 8
	if wide || len(names) <= shown {
		return strings.Join(names, ", ")
	}
	first := strings.Join(names[:shown-2], ", ")
	return first + fmt.Sprintf(", … %s (%d more)", names[len(names)-1], len(names)-shown+1)
}

// Figures returns right-aligned columns for numbers; the columns in wide are shown with -o wide
// only.
func Figures(names []string, wide ...string) []output.Column {
	var out []output.Column
	for _, n := range names {
		out = append(out, output.Column{Name: n, Align: output.AlignRight})
	}
	for _, n := range wide {
		out = append(out, output.Column{Name: n, Align: output.AlignRight, Wide: true})
	}
	return out
}

// Droppable gives the named columns priorities: a terminal that is too narrow doesn't show them,
// the first name first.
func Droppable(columns []output.Column, names ...string) []output.Column {
	for i := range columns {
		if at := slices.Index(names, columns[i].Name); at >= 0 {
			columns[i].Priority = len(names) - at
		}
	}
	return columns
}

// Figure formats a measured value with two decimals, or four below 1.
func Figure(v float64) string {
	if v < 1 {
		return strconv.FormatFloat(v, 'f', 4, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// Cells returns plain cells.
func Cells(texts ...string) []output.Cell {
	out := make([]output.Cell, len(texts))
	for i, s := range texts {
		out[i] = output.Plain(s)
	}
	return out
}
