package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// findConflict returns the fault for the markers of a merge conflict. In the first column they
// can't be the text of a block scalar.
func findConflict(t *text) (fault, bool) {
	first := 0
	for i, line := range t.lines {
		switch {
		case first == 0 && (bytes.HasPrefix(line, []byte("<<<<<<< ")) || string(line) == "<<<<<<<"):
			first = i + 1
		case first > 0 && (bytes.HasPrefix(line, []byte(">>>>>>> ")) || string(line) == ">>>>>>>"):
			return fault{
				t.region(first),
				fmt.Sprintf("an unresolved merge conflict: lines %d to %d contain two versions", first, i+1),
				"keep the lines of one version, and remove those that start with <<<<<<<, ======= and >>>>>>>",
			}, true
		}
	}
	return fault{}, false
}

// findAlias returns the fault for an alias without an anchor, with its place.
func findAlias(t *text, from, to int, name string) fault {
	alias := regexp.MustCompile(`(?:^|[\s\[{,])(\*` + regexp.QuoteMeta(name) + `)(?:[\s\]},]|$)`)
	at := t.region(from + 1)
	for n := from + 1; n <= to; n++ {
		line := t.line(n)
		m := alias.FindSubmatchIndex(line)
		if len(m) == 0 || bytes.Contains(line[:m[2]], []byte(" #")) ||
			bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) {
			continue
		}
		at = Region{Pos: t.pos(n-1, m[2]), Length: 1 + utf8.RuneCountInString(name)}
		break
	}
	return fault{
		at, fmt.Sprintf("the alias *%s has no anchor: there is no &%s above it in this document", name, name),
		fmt.Sprintf("write &%s before the intended value, or put *%s in quotes if it is a string", name, name),
	}
}

// isOdd reports whether a character is a blank or invisible character that YAML treats as text.
func isOdd(r rune) bool {
	return r != ' ' && unicode.Is(unicode.Zs, r) || r >= '\u200b' && r <= '\u200f' || r == '\u2060' || r == '\ufeff'
}

// findOdd finds an odd blank in a line of the text, among the bytes that begin in [from, to).
func (t *text) findOdd(n, from, to int) (fault, bool) {
	line := t.line(n)
	for i, r := range string(line) {
		if i < from || i >= to || !isOdd(r) {
			continue
		}
		return fault{
			Region{Pos: t.pos(n-1, i), Length: 1},
			fmt.Sprintf(
				"the character U+%04X looks like a blank or is invisible, but YAML treats it as text", r),
			"replace it with spaces, or delete it; such characters are often copied from a web page or a chat",
		}, true
	}
	return fault{}, false
}

// oddScalar returns the fault for an odd blank at the end of a text, or where a blank would make
// the text a key or an entry of a list.
func (c *converter) oddScalar(n *yaml.Node) (fault, bool) {
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 ||
		strings.IndexFunc(n.Value, isOdd) < 0 {
		return fault{}, false
	}
	before := ':'
	for i, r := range n.Value {
		if isOdd(r) && (strings.ContainsRune(":-", before) || i+utf8.RuneLen(r) == len(n.Value)) {
			f, ok := c.source.findOdd(n.Line+c.offset, 0, len(c.source.line(n.Line+c.offset)))
			return f, ok
		}
		before = r
	}
	return fault{}, false
}

// deeperDash returns the fault for an entry of a list that is indented more than the one before,
// and so becomes part of its text.
func (c *converter) deeperDash(item *yaml.Node) (fault, bool) {
	line := item.Line + c.offset + 1
	body, isDash := strings.CutPrefix(strings.TrimLeft(string(c.source.line(line)), " "), "- ")
	if item.Kind != yaml.ScalarNode || item.Style != 0 || !isDash ||
		!strings.Contains(item.Value, " - "+strings.TrimSpace(body)) {
		return fault{}, false
	}
	dash := bytes.IndexByte(c.source.line(line-1), '-')
	return fault{
		c.source.region(line),
		fmt.Sprintf("indented more than the entry in line %d, so both are one string: %q",
			line-1, shorten(item.Value)),
		fmt.Sprintf("indent the line by %d, like line %d", max(dash, 0), line-1),
	}, true
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return s
}
