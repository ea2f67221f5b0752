package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// explain converts an error of the YAML library to a problem. The library reports a line, which may
// be the one before or after the mistake, and the missing element of its grammar. To name the text
// to change, explain checks the indentation of the document line by line, and reports the first
// line that is wrong.
func explain(t *text, from, to int, err error) Problem {
	problem := explainSyntax(t, from, to, err)
	if hasTemplate(t.lines[from:to]) {
		problem.Type = ProblemTemplate
	}
	return problem
}

func explainSyntax(t *text, from, to int, err error) Problem {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := from + 1
	if m := errorLine.FindStringSubmatch(message); m != nil {
		if n, convErr := strconv.Atoi(m[1]); convErr == nil {
			line = min(from+n, to)
		}
		message = m[2]
	}
	for line > from+1 && len(bytes.TrimSpace(t.line(line))) == 0 {
		line--
	}
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		fault := findAlias(t, from, to, m[1])
		return Problem{At: fault.at, Type: ProblemSyntax, Text: fault.text, Remedy: fault.remedy}
	}
	if fault, ok := findFault(t, from, to); ok {
		return Problem{At: fault.at, Type: ProblemSyntax, Text: fault.text, Remedy: fault.remedy}
	}
	return Problem{
		At: t.region(line), Type: ProblemSyntax, Text: "not valid YAML: " + message,
		Remedy: "check indentation, quotes and brackets of this line and the one before it",
	}
}

var (
	errorLine     = regexp.MustCompile(`^line (\d+): ((?s).*)$`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// fault is a mistake that the check of the lines found.
type fault struct {
	at           Region
	text, remedy string
}

// level is a level of indentation in the document.
type level struct {
	indent int  // columns before the keys or the dash
	line   int  // its first line, from 1
	list   bool // its lines start with a dash
}

// indentReader checks the indentation of block style line by line.
type indentReader struct {
	t      *text
	levels []level
	// block is the indentation of the line with the current block scalar (| or >), -1 for none.
	block int
	// blockText is the minimum indentation of the block scalar's lines, 0 before its first line.
	blockText int
	// flow is the number of open brackets. Within brackets any indentation is allowed.
	flow int
	// value is the indentation of the last line if it has a value, so that no content is possible
	// below it. Otherwise it is -1.
	value     int
	valueLine int
	valueKey  string
	// keyColumn is the column of valueKey.
	keyColumn int
}

// findFault returns the first mistake in a document. It checks all lines, because the library may
// report the line where an unfinished block starts.
func findFault(t *text, from, to int) (fault, bool) {
	r := &indentReader{t: t, block: -1, value: -1}
	for n := from + 1; n <= to; n++ {
		if f, ok := r.next(n); ok {
			return f, true
		}
	}
	if f, ok := openBracket(t, from, to); ok {
		return f, true
	}
	for n := from + 1; n <= to; n++ { // YAML allows no tab before a comment
		body := bytes.TrimLeft(t.line(n), " ")
		if bytes.HasPrefix(body, []byte("\t")) && bytes.HasPrefix(bytes.TrimLeft(body, " \t"), []byte("#")) {
			at := Region{Pos: t.pos(n-1, len(t.line(n))-len(body)), Length: 1}
			return fault{
				at, "a tab before a comment: YAML allows only spaces for indentation", "indent the comment with spaces",
			}, true
		}
	}
	return fault{}, false
}

var (
	keyLine  = regexp.MustCompile(`^("[^"]*"|'[^']*'|[^\s#"'\[\]{},&*!|>%@\x60-][^#:]*|-[^\s:][^:]*)\s*:(\s+(.*))?$`)
	blockEnd = regexp.MustCompile(`(^|\s)[|>][+-]?[1-9]?[+-]?\s*(#.*)?$`)
)

// next checks one line.
func (r *indentReader) next(n int) (fault, bool) {
	raw := string(r.t.line(n))
	body := strings.TrimLeft(raw, " \t")
	blanks := raw[:len(raw)-len(body)]
	if body == "" || strings.HasPrefix(body, "#") || strings.HasPrefix(raw, "---") {
		return fault{}, false
	}
	indent := len(blanks)
	oddBlank, odd := r.t.findOdd(n, len(blanks), len(blanks)+1)
	if r.block >= 0 && (indent > r.block || strings.Contains(blanks, "\t") && r.block > 0) {
		if strings.Contains(blanks, "\t") && strings.Trim(blanks[:min(indent, r.block+1)], " ") != "" {
			return r.tab(n, blanks), true
		}
		return r.blockLine(n, indent)
	}
	r.block = -1
	if f, ok := r.helm(n, body); ok {
		return f, true
	}
	if odd {
		return oddBlank, true
	}
	if r.flow > 0 {
		r.flow = max(0, r.flow+brackets(body))
		return fault{}, false
	}
	if strings.Contains(blanks, "\t") {
		return r.tab(n, blanks), true
	}
	if f, ok := r.content(n, body); ok {
		return f, true
	}
	return r.indentation(n, indent, body)
}

// blockLine checks the indentation of a line of a block scalar.
func (r *indentReader) blockLine(n, indent int) (fault, bool) {
	if r.blockText == 0 {
		r.blockText = indent
	}
	if indent >= r.blockText {
		return fault{}, false
	}
	return fault{
		r.t.region(n),
		fmt.Sprintf("indented by %d within the text that starts below line %d, whose lines are indented by %d",
			indent, r.valueLine, r.blockText),
		fmt.Sprintf("indent the line by %d to keep it in the text, or by %s to end it", r.blockText, r.expected()),
	}, true
}

// tab returns the fault for a tab, with the indentation that the open levels allow.
func (r *indentReader) tab(n int, blanks string) fault {
	at := Region{Pos: r.t.pos(n-1, strings.IndexByte(blanks, '\t')), Length: strings.Count(blanks, "\t")}
	return fault{at, "indented with a tab: YAML allows only spaces", r.remedy()}
}

// remedy says where the line may begin.
func (r *indentReader) remedy() string {
	if text, only := strings.CutPrefix(r.expected(), "0 (as "); only && !strings.Contains(text, " or ") {
		return "begin the line in the first column, as " + strings.TrimSuffix(text, ") spaces") + " does"
	}
	return "indent the line by " + r.expected()
}

// expected lists the indentations that a line may have: those of the open levels, and a deeper one
// after a key without a value.
func (r *indentReader) expected() string {
	var texts []string
	last := -1
	for _, l := range slices.Backward(r.levels) {
		if l.indent == last { // a list in the column of its key
			continue
		}
		last = l.indent
		texts = append(texts, fmt.Sprintf("%d (as line %d)", l.indent, l.line))
	}
	if len(texts) == 0 {
		return "0 spaces"
	}
	if r.value < 0 && len(r.levels) > 0 {
		texts = append([]string{fmt.Sprintf("%d (below line %d)", r.levels[len(r.levels)-1].indent+2, r.valueLine)},
			texts...)
	}
	if len(texts) == 1 {
		return texts[0] + " spaces"
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " or " + texts[len(texts)-1] + " spaces"
}

// content checks the content of a line.
func (r *indentReader) content(n int, body string) (fault, bool) {
	at := r.t.region(n)
	if r.value < 0 && noBlankDash.MatchString(body) && !numberLine.MatchString(body) {
		return fault{at, "no space after the dash: this is not an entry of a list", "write - " +
			strings.TrimPrefix(body, "-")}, true
	}
	entry := strings.TrimLeft(strings.TrimPrefix(body, "- "), " ")
	m := keyLine.FindStringSubmatch(entry)
	if m == nil {
		if f, ok := r.openQuote(n, entry); ok && strings.HasPrefix(body, "- ") {
			return f, true
		}
		if key, rest, ok := strings.Cut(entry, ":"); ok && rest != "" && !strings.HasPrefix(rest, "//") &&
			plainKey.MatchString(key) && r.value < 0 && !strings.HasPrefix(body, "-") {
			wrong := fmt.Sprintf("no space after the colon of %q", key)
			return fault{at, wrong, fmt.Sprintf("write %s: %s", key, rest)}, true
		}
		return fault{}, false
	}
	value := strings.TrimSpace(m[3])
	switch {
	case value == "" || strings.HasPrefix(value, "#"):
	case strings.ContainsRune("@`%", rune(value[0])):
		return fault{
			at, fmt.Sprintf("the value starts with %q, which YAML reserves", value[:1]), "put the value in quotes",
		}, true
	case value[0] == '*' && (len(value) == 1 || !aliasName.MatchString(value)):
		return fault{at, "the value starts with *, which means an alias", "put the value in quotes"}, true
	case value[0] != '"' && value[0] != '\'' && value[0] != '{' && value[0] != '[' && value[0] != '&' &&
		value[0] != '!' && strings.Contains(strings.SplitN(value, " #", 2)[0], ": "):
		return fault{at, fmt.Sprintf("the value of %q contains a colon and a space, which starts another mapping",
			strings.TrimSpace(m[1])), "put the value in quotes, or break the line"}, true
	default:
		return r.openQuote(n, value)
	}
	return fault{}, false
}

// helm returns the fault for a Helm template outside of quotes.
func (r *indentReader) helm(n int, body string) (fault, bool) {
	before, _, ok := strings.Cut(body, "{{")
	if !ok || strings.ContainsAny(before, `"'`) || strings.Contains(before, " #") {
		return fault{}, false
	}
	return helmFault(r.t.region(n)), true
}

const helmText = "a Helm template, not YAML"

func helmFault(at Region) fault {
	return fault{at, helmText, "render it first: helm template CHART | rdmactl k8s lint -"}
}

func (f fault) problemType() ProblemType {
	if f.text == helmText {
		return ProblemTemplate
	}
	return ProblemSyntax
}

// openQuote returns the fault for a quote that is not closed: there is no other quote after it, or
// the next one starts another value.
func (r *indentReader) openQuote(n int, value string) (fault, bool) {
	if value == "" || value[0] != '"' && value[0] != '\'' || closed(value) {
		return fault{}, false
	}
	if rest, ok := r.behindQuote(n, value[0]); ok && (rest == "" || rest[0] == '#') {
		return fault{}, false
	}
	return fault{r.t.region(n), "the quote is not closed", "add " + value[:1] + " at the end of the value"}, true
}

var (
	plainKey = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
	// A dash directly followed by its entry, except "---" and numbers.
	noBlankDash = regexp.MustCompile(`^-[^\s-]`)
	numberLine  = regexp.MustCompile(`^-[\d.]+$`)
	aliasName   = regexp.MustCompile(`^\*[A-Za-z0-9_-]+\s*(#.*)?$`)
)

// closed reports whether a quoted value ends on its line.
func closed(value string) bool {
	quote := value[0]
	for i := 1; i < len(value); i++ {
		switch {
		case quote == '"' && value[i] == '\\':
			i++
		case value[i] == quote && quote == '\'' && i+1 < len(value) && value[i+1] == quote:
			i++
		case value[i] == quote:
			return true
		}
	}
	return false
}

// behindQuote returns the text after the next quote in the lines below line n, without blanks. ok
// is false if there is no quote.
func (r *indentReader) behindQuote(n int, quote byte) (rest string, ok bool) {
	for i := n + 1; i <= len(r.t.lines); i++ {
		line := r.t.line(i)
		if isDocumentStart(line) {
			return "", false
		}
		for j := 0; j < len(line); j++ {
			switch {
			case quote == '"' && line[j] == '\\':
				j++
			case line[j] == quote && quote == '\'' && j+1 < len(line) && line[j+1] == quote:
				j++
			case line[j] == quote:
				return strings.TrimSpace(string(line[j+1:])), true
			}
		}
	}
	return "", false
}

// openBracket returns the fault for a bracket that is still open at the end of the document.
func openBracket(t *text, from, to int) (fault, bool) {
	r := &indentReader{t: t, block: -1, value: -1}
	opened := 0
	for n := from + 1; n <= to; n++ {
		before := r.flow
		r.next(n)
		if before == 0 && r.flow > 0 {
			opened = n
		}
	}
	if r.flow == 0 || opened == 0 {
		return fault{}, false
	}
	if line := string(t.line(opened)); strings.Count(line, `"`)%2 != 0 {
		return fault{t.region(opened), "a quote is not closed", "check the quotes of this line: each value has two"},
			true
	}
	return fault{t.region(opened), "a bracket is not closed", "add the closing } or ], or fix the lines " +
		"after the opening bracket"}, true
}

// brackets returns the number of opening minus closing brackets outside of quotes.
func brackets(body string) int {
	depth := 0
	var quote rune
	for _, c := range body {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return depth
}
