package manifest

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// text is the text of a file, split into lines.
type text struct {
	file  string
	lines [][]byte // without line breaks
}

func newText(file string, data []byte) *text {
	lines := bytes.Split(data, []byte("\n"))
	for i := range lines {
		lines[i] = bytes.TrimSuffix(lines[i], []byte("\r"))
	}
	return &text{file: file, lines: lines}
}

// line returns line n, from 1.
func (t *text) line(n int) []byte {
	if t == nil || n < 1 || n > len(t.lines) {
		return nil
	}
	return t.lines[n-1]
}

// pos returns the place of a byte in a line, both from 0.
func (t *text) pos(line, offset int) Pos {
	l := t.line(line + 1)
	return Pos{File: t.file, Line: line + 1, Column: utf8.RuneCount(l[:min(max(offset, 0), len(l))]) + 1}
}

// region returns the region of a line without its indentation.
func (t *text) region(line int) Region {
	l := t.line(line)
	trimmed := bytes.TrimLeft(l, " \t")
	return Region{
		Pos: t.pos(line-1, len(l)-len(trimmed)), Length: max(1, utf8.RuneCount(bytes.TrimRight(trimmed, " \t"))),
	}
}

// inside returns the place of a byte of a scalar's text, by counting the characters that are not
// blanks: folding, block scalars and plain scalars of several lines change blanks only. It returns
// false for texts with escapes.
func (t *text) inside(v *Value, offset int) (Region, bool) {
	if t == nil || offset < 0 || offset > len(v.Text) || v.At.Line == 0 {
		return Region{}, false
	}
	want := 0
	for _, r := range v.Text[:offset] {
		if !blank(r) {
			want++
		}
	}
	row, column := v.At.Line, v.At.Column-1
	first, ok := runeAt(t.line(row), column)
	if !ok {
		return Region{}, false
	}
	switch first {
	case '|', '>':
		row, column = row+1, 0
	case '\'', '"':
		if strings.ContainsAny(v.Text, "'\"\\") && first == '"' || strings.Contains(v.Text, "'") {
			return Region{}, false
		}
		column++
	}
	for ; row <= len(t.lines); row, column = row+1, 0 {
		i := -1
		for _, r := range string(t.line(row)) { // the compiler makes no copy of it
			i++
			if i < column || blank(r) {
				continue
			}
			if want == 0 {
				return Region{Pos: Pos{File: t.file, Line: row, Column: i + 1}, Length: 1}, true
			}
			want--
		}
	}
	return Region{}, false
}

func blank(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }

// runeAt returns a character of a line by its number from 0.
func runeAt(line []byte, n int) (rune, bool) {
	for _, r := range string(line) {
		if n == 0 {
			return r, true
		}
		n--
	}
	return 0, false
}
