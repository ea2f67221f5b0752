package kserve

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// grepPattern matches like `grep -q PATTERN FILE`: a line of the file must match one of the lines
// of the pattern, which is a basic regular expression of GNU grep.
type grepPattern struct{ lines []*regexp.Regexp }

// compileGrep translates a pattern for GNU grep. It returns an error for patterns that grep parses
// as an option or rejects, and for syntax that RE2 does not support: back-references, \< and \>,
// equivalence classes, and repetitions above 1000.
func compileGrep(pattern string) (grepPattern, error) {
	var out grepPattern
	switch {
	case strings.HasPrefix(pattern, "-"):
		return out, patternError(pattern, "grep would parse it as options")
	case !utf8.ValidString(pattern):
		return out, patternError(pattern, "not UTF-8")
	case strings.ContainsRune(pattern, 0):
		return out, patternError(pattern, "a NUL byte can't be passed to grep")
	}
	for line := range strings.SplitSeq(pattern, "\n") {
		text, err := translateBRE(line)
		if err != nil {
			return out, patternError(pattern, err.Error())
		}
		re, err := regexp.Compile(text)
		if err != nil {
			return out, patternError(pattern, err.Error())
		}
		out.lines = append(out.lines, re)
	}
	return out, nil
}

func patternError(pattern, cause string) error {
	return fmt.Errorf("translate grep pattern %q: %s", pattern, cause)
}

// match reports whether a line of the file's content matches. An empty file has no line.
func (p grepPattern) match(content string) bool {
	if content == "" {
		return false
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(content, "\n"), "\n") {
		for _, re := range p.lines {
			if re.MatchString(line) {
				return true
			}
		}
	}
	return false
}

// translateBRE turns one line of a basic regular expression into RE2 syntax.
func translateBRE(line string) (string, error) {
	t := breTranslator{in: line, atStart: true}
	for t.pos < len(t.in) {
		if err := t.next(); err != nil {
			return "", err
		}
	}
	if t.depth > 0 {
		return "", fmt.Errorf(`\( without \)`)
	}
	return t.out.String(), nil
}

// breTranslator translates a basic regular expression from left to right.
type breTranslator struct {
	in    string
	pos   int
	out   strings.Builder
	depth int // open groups
	// atStart: nothing to repeat comes before, so that * is a plain character.
	atStart bool
	// afterAnchor: the last piece was an anchor ^, and a second ^ is a plain character.
	afterAnchor bool
	// atom is where the last repeatable piece begins in out.
	atom int
	// opens has the position in out at which each open group begins.
	opens []int
}

func (t *breTranslator) next() error {
	c := t.in[t.pos]
	switch c {
	case '\\':
		return t.escape()
	case '[':
		return t.bracket()
	case '*':
		t.pos++
		if t.atStart {
			t.literal("*")
			return nil
		}
		t.repeat("*")
		return nil
	case '^':
		t.pos++
		if t.atStart && !t.afterAnchor {
			t.out.WriteString("^")
			t.afterAnchor = true
			return nil
		}
		t.literal("^")
		return nil
	case '$':
		t.pos++
		if rest := t.in[t.pos:]; rest == "" || strings.HasPrefix(rest, `\)`) || strings.HasPrefix(rest, `\|`) {
			t.begin()
			t.out.WriteString("$")
			return nil
		}
		t.literal("$")
		return nil
	case '.':
		t.pos++
		t.begin()
		t.out.WriteString(".")
		return nil
	}
	_, n := utf8.DecodeRuneInString(t.in[t.pos:])
	t.pos += n
	t.literal(t.in[t.pos-n : t.pos])
	return nil
}

// begin records the start of a new repeatable piece.
func (t *breTranslator) begin() {
	t.atom, t.atStart, t.afterAnchor = t.out.Len(), false, false
}

func (t *breTranslator) literal(s string) {
	t.begin()
	t.out.WriteString(regexp.QuoteMeta(s))
}

// repeat wraps the last piece, so that a second repetition applies to the first.
func (t *breTranslator) repeat(op string) {
	piece := t.out.String()[t.atom:]
	head := t.out.String()[:t.atom]
	t.out.Reset()
	t.out.WriteString(head + "(?:" + piece + ")" + op)
}

func (t *breTranslator) open(text string) {
	t.opens = append(t.opens, t.out.Len())
	t.depth++
	t.out.WriteString(text)
	t.atStart, t.afterAnchor = true, false
}

// escape handles the character after a backslash.
func (t *breTranslator) escape() error {
	if t.pos+1 >= len(t.in) {
		return fmt.Errorf("trailing backslash")
	}
	r, n := utf8.DecodeRuneInString(t.in[t.pos+1:])
	t.pos += 1 + n
	switch r {
	case '(':
		t.open("(?:")
	case ')':
		if t.depth == 0 {
			return fmt.Errorf(`\) without \(`)
		}
		t.depth--
		t.out.WriteString(")")
		t.atom, t.atStart, t.afterAnchor = t.opens[t.depth], false, false
		t.opens = t.opens[:t.depth]
	case '|':
		t.out.WriteString("|")
		t.atStart, t.afterAnchor = true, false
	case '+', '?':
		if t.atStart {
			t.literal(string(r))
			return nil
		}
		t.repeat(string(r))
	case '{':
		return t.interval()
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return fmt.Errorf(`back-reference \%c is not supported`, r)
	case '<', '>':
		return fmt.Errorf(`word edge \%c is not supported, \b is`, r)
	case 'w':
		t.piece("[0-9A-Za-z_]")
	case 'W':
		t.piece("[^0-9A-Za-z_]")
	case 's':
		t.piece("[[:space:]]")
	case 'S':
		t.piece("[^[:space:]]")
	case 'b', 'B':
		t.piece(`\` + string(r))
	case '`':
		t.piece(`\A`)
	case '\'':
		t.piece(`\z`)
	default:
		t.literal(string(r))
	}
	return nil
}

func (t *breTranslator) piece(s string) {
	t.begin()
	t.out.WriteString(s)
}

// interval handles \{m,n\}; pos is behind the brace.
func (t *breTranslator) interval() error {
	if t.atStart {
		return fmt.Errorf(`\{ has nothing to repeat`)
	}
	body, _, ok := strings.Cut(t.in[t.pos:], `\}`)
	if !ok {
		return fmt.Errorf(`\{ without \}`)
	}
	t.pos += len(body) + 2
	low, high, two := strings.Cut(body, ",")
	if low == "" && two {
		low = "0"
	}
	bad := fmt.Errorf(`bad repetition \{%s\}`, body)
	m, err := repetition(low)
	if err != nil {
		return bad
	}
	switch {
	case !two:
		t.repeat(fmt.Sprintf("{%d}", m))
	case high == "":
		t.repeat(fmt.Sprintf("{%d,}", m))
	default:
		n, err := repetition(high)
		if err != nil || n < m {
			return bad
		}
		t.repeat(fmt.Sprintf("{%d,%d}", m, n))
	}
	return nil
}

func repetition(s string) (uint64, error) {
	if strings.HasPrefix(s, "+") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(s, 10, 16)
}

// bracket handles [...]; in it a backslash is a plain character.
func (t *breTranslator) bracket() error {
	rest := t.in[t.pos+1:]
	if body, _, _ := strings.Cut(rest, "]"); len(body) > 1 && body[0] == ':' && body[len(body)-1] == ':' {
		return fmt.Errorf("[%s] must be written [[%s]]", body, body)
	}
	var set strings.Builder
	set.WriteString("[")
	if strings.HasPrefix(rest, "^") {
		set.WriteString("^")
		rest = rest[1:]
	}
	for first := true; ; first = false {
		switch {
		case rest == "":
			return fmt.Errorf("[ without ]")
		case rest[0] == ']' && !first:
			t.pos = len(t.in) - len(rest) + 1
			set.WriteString("]")
			t.piece(set.String())
			return nil
		}
		item, after, err := bracketItem(rest)
		if err != nil {
			return err
		}
		set.WriteString(item)
		rest = after
	}
}

// bracketItem parses a class, a range or a character at the beginning of s, inside a bracket.
func bracketItem(s string) (item, rest string, err error) {
	if name, after, ok := classAt(s); ok {
		if !slices.Contains(breClasses, name) {
			return "", "", fmt.Errorf("unknown class [:%s:]", name)
		}
		return "[:" + name + ":]", after, nil
	}
	if strings.HasPrefix(s, "[=") || strings.HasPrefix(s, "[.") || strings.HasPrefix(s, "[:") {
		return "", "", fmt.Errorf("%s inside a bracket is not supported", s[:2])
	}
	low, n := utf8.DecodeRuneInString(s)
	rest = s[n:]
	if len(rest) < 2 || rest[0] != '-' || rest[1] == ']' {
		return quoteInBracket(low), rest, nil
	}
	if strings.HasPrefix(rest[1:], "[=") || strings.HasPrefix(rest[1:], "[.") || strings.HasPrefix(rest[1:], "[:") {
		return "", "", fmt.Errorf("a range that ends in %s is not supported", rest[1:3])
	}
	high, n := utf8.DecodeRuneInString(rest[1:])
	if high < low {
		return "", "", fmt.Errorf("bad range %c-%c", low, high)
	}
	return quoteInBracket(low) + "-" + quoteInBracket(high), rest[1+n:], nil
}

// breClasses are the character classes of POSIX.
var breClasses = []string{
	"alpha", "digit", "alnum", "upper", "lower", "space", "blank", "punct", "print", "graph", "cntrl", "xdigit",
}

func classAt(s string) (name, rest string, ok bool) {
	if !strings.HasPrefix(s, "[:") {
		return "", "", false
	}
	return strings.Cut(s[2:], ":]")
}

func quoteInBracket(r rune) string { return fmt.Sprintf(`\x{%x}`, r) }
