package doctor

import (
	"strings"
	"unicode"
)

// Quote quotes a name for a POSIX shell. It also quotes "=", because zsh replaces a word that
// begins with it by the path of a command. Control characters, which no kernel name has, become
// question marks.
func Quote(name string) string {
	name = Printable(name)
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_@%+:,./-", r)
	}
	if name != "" && strings.IndexFunc(name, func(r rune) bool { return !safe(r) }) < 0 {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// Printable replaces control characters and line separators by question marks.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return '?'
		}
		return r
	}, text)
}
