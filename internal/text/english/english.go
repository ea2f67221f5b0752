// Package english formats numbers with nouns, and lists.
package english

import (
	"fmt"
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

// plural returns the plural of a regular noun, or of leaf.
func plural(noun string) string {
	head, y := strings.CutSuffix(noun, "y")
	switch {
	case noun == "leaf":
		return "leaves"
	case y && head != "" && !strings.ContainsAny(head[len(head)-1:], "aeiou"):
		return head + "ies"
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"),
		strings.HasSuffix(noun, "sh"):
		return noun + "es"
	}
	return noun + "s"
}

// Bytes returns a number of bytes in the largest unit that divides it: "64 KiB".
func Bytes(n int64) string {
	for i, unit := range [...]string{"GiB", "MiB", "KiB"} {
		if size := int64(1) << (30 - 10*i); n >= size && n%size == 0 {
			return fmt.Sprintf("%d %s", n/size, unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// List joins names with commas. If there are more than most, it lists that many and counts the
// others: "a, b and 3 more".
func List(names []string, most int) string {
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
