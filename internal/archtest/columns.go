package archtest

import (
	"go/ast"
	"go/token"
	"strings"
	"unicode/utf8"
)

// The widest lines of the house style, in columns.
const (
	maxCodeColumns = 120
	maxTextColumns = 100 // comments and Markdown
	tabColumns     = 4
)

// checkColumns ignores text that can't be wrapped (a URL, a long name), recorded text (the output
// of an example, raw strings of tests), directives, and generated files.
func checkColumns(t *Tree) (found []Violation) {
	for _, file := range t.Files {
		if !file.Generated {
			found = append(found, t.goColumns(file)...)
		}
	}
	for _, page := range t.Pages {
		found = append(found, pageColumns(page)...)
	}
	return found
}

// goColumns checks lines of code against one limit and comment lines against another.
func (t *Tree) goColumns(file *File) (found []Violation) {
	limits := t.lineLimits(file)
	n := 0
	for line := range strings.Lines(string(file.Source)) {
		n++
		most, ok := limits[n]
		if !ok {
			most = maxCodeColumns
		}
		if v, wide := tooWide(file.Path, n, strings.TrimRight(line, "\r\n"), most); wide {
			found = append(found, v)
		}
	}
	return found
}

// lineLimits returns the limits of the lines that are not ordinary code; 0 means none.
func (t *Tree) lineLimits(file *File) map[int]int {
	limits := map[int]int{}
	for _, group := range file.AST.Comments {
		most := maxTextColumns
		for _, c := range group.List {
			if file.Test && isOutput(c.Text) {
				most = 0
			}
			from, to := t.fset.Position(c.Pos()), t.fset.Position(c.End())
			for n := from.Line; n <= to.Line; n++ {
				if n > from.Line || t.beginsLine(file, c.Pos()) {
					limits[n] = commentLimit(c.Text, most)
				}
			}
		}
	}
	if !file.Test {
		return limits
	}
	ast.Inspect(file.AST, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			from, to := t.fset.Position(lit.Pos()).Line, t.fset.Position(lit.End()).Line
			for n := from; n <= to && from < to; n++ {
				limits[n] = 0
			}
		}
		return true
	})
	return limits
}

// commentLimit returns the limit of a comment: that of text, or that of code for code in a comment.
func commentLimit(comment string, text int) int {
	switch {
	case text == 0, isDirective(comment):
		return 0
	case strings.HasPrefix(comment, "//\t"):
		return max(text, maxCodeColumns)
	}
	return text
}

// isDirective reports whether a comment is for a tool, such as //go:generate and //nolint.
func isDirective(comment string) bool {
	name, ok := strings.CutPrefix(comment, "//")
	return ok && name != "" && name[0] >= 'a' && name[0] <= 'z'
}

func isOutput(comment string) bool {
	text := strings.ToLower(strings.TrimLeft(comment, "/ \t"))
	return strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:")
}

// beginsLine reports whether only blanks precede pos on its line.
func (t *Tree) beginsLine(file *File, pos token.Pos) bool {
	p := t.fset.Position(pos)
	return strings.TrimSpace(string(file.Source[p.Offset-p.Column+1:p.Offset])) == ""
}

// pageColumns ignores tables, fenced blocks, headings and HTML.
func pageColumns(page *Page) (found []Violation) {
	if page.Generated {
		return nil
	}
	fenced := false
	n := 0
	for line := range strings.Lines(page.Text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		text := strings.TrimLeft(line, " >")
		if strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~") {
			fenced = !fenced
			continue
		}
		if fenced || text == "" || strings.ContainsAny(text[:1], "|#<") {
			continue
		}
		if v, wide := tooWide(page.Path, n, joinCode(line), maxTextColumns); wide {
			found = append(found, v)
		}
	}
	return found
}

// joinCode fills the blanks of code spans: a span is one word, because it is never wrapped.
func joinCode(line string) string {
	parts := strings.Split(line, "`")
	for i := 1; i < len(parts)-1; i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], " ", "_")
	}
	return strings.Join(parts, "`")
}

// tooWide checks one line; most is 0 if there is no limit.
func tooWide(path string, n int, line string, most int) (v Violation, wide bool) {
	width := columns(line)
	if most == 0 || width <= most || unbreakable(line, most) {
		return Violation{}, false
	}
	v = wrong(path, "%d columns, %d at most", width, most)
	v.Line = n
	return v, true
}

// unbreakable reports whether a single word of a line is too wide for any line.
func unbreakable(line string, most int) bool {
	text := strings.TrimLeft(line, "\t ")
	rest, _ := strings.CutPrefix(text, "// ")
	margin := columns(line) - columns(rest)
	for word := range strings.FieldsSeq(rest) {
		if margin+columns(word) > most {
			return true
		}
	}
	return false
}

func columns(line string) int {
	return utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
}
