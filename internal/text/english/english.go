// Package english formats numbers with nouns.
package english

import (
	"strconv"
	"strings"
)

// Count returns "1 node", "2 nodes", "2 policies", "0 addresses".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + plural(noun)
}

// plural returns the plural of a regular noun.
func plural(noun string) string {
	head, y := strings.CutSuffix(noun, "y")
	switch {
	case y && head != "" && !strings.ContainsAny(head[len(head)-1:], "aeiou"):
		return head + "ies"
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"),
		strings.HasSuffix(noun, "sh"):
		return noun + "es"
	}
	return noun + "s"
}
