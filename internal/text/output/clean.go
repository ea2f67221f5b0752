package output

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns s as one line that can't control a terminal: control characters (C0, DEL, C1), line
// separators and invisible formatting characters (bidirectional overrides among them) become
// backslash escapes such as \n, \x1b and \u202e, and bytes that are not UTF-8 become \xNN.
// Zero-width joiners are kept, because emoji contain them.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case hostile(r):
			b.WriteString(escapeText(r))
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// CleanLines is like [Clean] for text with intended line breaks; it returns the lines without the
// line breaks.
func CleanLines(s string) []string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, line := range lines {
		lines[i] = Clean(line)
	}
	return lines
}

func isClean(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || hostile(r) {
			return false
		}
	}
	return true
}

// hostile reports whether r, written without an escape, may have another effect on a terminal than
// to show a glyph.
func hostile(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r < 0x20 || r == 0x7f
	case r == 0x200c || r == 0x200d: // joiners
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

func escapeText(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x80: // not up to 0xff: \x9b would mean one byte, but U+009B has two
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}
