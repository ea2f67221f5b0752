// Package prose formats long texts in the source: explanations, remedies, help of commands, pages
// of documentation.
//
// Join converts a text that is wrapped in the source to one line per paragraph:
//
//	Explanation: prose.Join(`
//		A queue pair needs the GID of a port, and a port whose network device has no address
//		has only a link-local one.`),
//
// WrapMarkdown wraps generated pages.
package prose

import (
	"strings"
	"unicode/utf8"
)

// PageWidth is the width of the project's pages, in columns.
const PageWidth = 100

// Join returns the text of a wrapped and indented raw string. Blank lines around it and the
// indentation of its first line are removed, and the lines of a paragraph are joined by one space.
// Blank lines between paragraphs are kept. A line that is indented more than the first is not
// joined with its neighbours and keeps its additional indentation.
func Join(raw string) string {
	raw = strings.TrimLeft(strings.TrimRight(raw, " \t\n"), "\n")
	indent := raw[:len(raw)-len(strings.TrimLeft(raw, " \t"))]
	var b strings.Builder
	inParagraph := false
	for i, line := range strings.Split(raw, "\n") {
		line = strings.TrimRight(strings.TrimPrefix(line, indent), " \t")
		words := strings.TrimLeft(line, " \t")
		paragraph := line != "" && words == line
		switch {
		case i == 0:
		case paragraph && inParagraph:
			b.WriteByte(' ')
		default:
			b.WriteByte('\n')
		}
		b.WriteString(line)
		inParagraph = paragraph
	}
	return b.String()
}

// WrapMarkdown wraps the paragraphs and list items of a page that have a line longer than width.
// The rendered page does not change: fences, tables, headings, HTML, quotations and indented lines
// are not changed, and there is no line break within a code span or before text that would be a
// Markdown marker at the beginning of a line. A word longer than width is on a separate line.
func WrapMarkdown(page string, width int) string {
	w := wrapper{width: width}
	fence := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		words := strings.TrimLeft(line, " ")
		switch {
		case fence != "":
			if strings.HasPrefix(words, fence) {
				fence = ""
			}
			w.verbatim(line)
		case strings.HasPrefix(words, "```"), strings.HasPrefix(words, "~~~"):
			fence = words[:3]
			w.verbatim(line)
		case words == "" || strings.ContainsAny(words[:1], "|#<>=\t"):
			w.verbatim(line)
		case len(w.paragraph) == 0 && len(line)-len(words) >= 4:
			w.verbatim(line)
		case listMarker(line) != "":
			w.flush()
			w.paragraph = append(w.paragraph, line)
		default:
			w.paragraph = append(w.paragraph, line)
		}
	}
	w.flush()
	if !strings.HasSuffix(page, "\n") {
		return strings.TrimSuffix(w.out.String(), "\n")
	}
	return w.out.String()
}

// wrapper collects the lines of a paragraph until its end.
type wrapper struct {
	width     int
	paragraph []string
	out       strings.Builder
}

// verbatim ends the paragraph and writes a line unchanged.
func (w *wrapper) verbatim(line string) {
	w.flush()
	w.out.WriteString(line + "\n")
}

// flush writes the paragraph, wrapped if one of its lines is too long.
func (w *wrapper) flush() {
	lines := w.paragraph
	w.paragraph = nil
	long := false
	for _, line := range lines {
		long = long || utf8.RuneCountInString(line) > w.width
	}
	if !long {
		for _, line := range lines {
			w.out.WriteString(line + "\n")
		}
		return
	}
	first := listMarker(lines[0])
	if first == "" {
		first = lines[0][:len(lines[0])-len(strings.TrimLeft(lines[0], " "))]
	}
	lines[0] = lines[0][len(first):]
	hanging := strings.Repeat(" ", utf8.RuneCountInString(first))
	var text []string // up to an intended line break
	for i, line := range lines {
		text = append(text, strings.TrimLeft(line, " "))
		if i == len(lines)-1 || strings.HasSuffix(line, "  ") || strings.HasSuffix(line, `\`) {
			w.fill(first, hanging, strings.Join(text, " "))
			first, text = hanging, nil
		}
	}
}

// fill writes a text in lines of at most width columns, with their indentation.
func (w *wrapper) fill(first, hanging, text string) {
	breaks := text[len(strings.TrimRight(text, " ")):] // two spaces are a line break
	line := first
	empty := true
	for _, word := range pieces(text) {
		switch {
		case empty:
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > w.width:
			w.out.WriteString(line + "\n")
			line = hanging
		default:
			line += " "
		}
		line += word
		empty = false
	}
	w.out.WriteString(line + breaks + "\n")
}

// pieces splits a text where a line may end: at spaces, but not within code spans, and not before
// text that would be a marker at the beginning of a line.
func pieces(text string) []string {
	var out []string
	ticks := 0 // of the current code span
	for word := range strings.FieldsSeq(text) {
		if len(out) > 0 && (ticks > 0 || isLineMarker(word)) {
			out[len(out)-1] += " " + word
		} else {
			out = append(out, word)
		}
		for run := range strings.FieldsFuncSeq(word, func(r rune) bool { return r != '`' }) {
			switch ticks {
			case 0:
				ticks = len(run)
			case len(run):
				ticks = 0
			}
		}
	}
	return out
}

// listMarker returns the marker of a list item with the spaces around it; "" if line does not begin
// a list item.
func listMarker(line string) string {
	text := strings.TrimLeft(line, " ")
	marker, rest, ok := strings.Cut(text, " ")
	if !ok || !isBullet(marker) && !isNumber(marker) {
		return ""
	}
	return line[:len(line)-len(strings.TrimLeft(rest, " "))]
}

func isBullet(word string) bool { return word == "-" || word == "+" || word == "*" }

func isNumber(word string) bool {
	digits := strings.TrimLeft(word, "0123456789")
	return len(digits) < len(word) && (digits == "." || digits == ")")
}

// isLineMarker reports whether a word at the beginning of a line would be Markdown syntax.
func isLineMarker(word string) bool {
	if isBullet(word) || isNumber(word) || strings.Trim(word, "-=:|") == "" || strings.Trim(word, "#") == "" {
		return true
	}
	return strings.ContainsAny(word[:1], "<>|") || strings.HasPrefix(word, "```") || strings.HasPrefix(word, "~~~")
}
