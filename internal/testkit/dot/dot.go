// Package dot checks graphs in Graphviz's DOT language, for tests.
package dot

import (
	"regexp"
	"strings"
	"testing"
)

// Check checks a graph against the part of the grammar that fabrics use: balanced braces outside of
// quotes, closed strings, a declaration for each end of an edge, and the numbers of nodes and
// edges.
func Check(t testing.TB, text string, nodes, edges int) {
	t.Helper()
	unquoted := regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`).ReplaceAllString(text, "Q")
	unquoted = regexp.MustCompile(`//.*`).ReplaceAllString(unquoted, "")
	balanced := func(open, end string) bool { return strings.Count(unquoted, open) == strings.Count(unquoted, end) }
	if strings.Contains(unquoted, `"`) || !balanced("{", "}") || !balanced("[", "]") {
		t.Errorf("graph is not balanced:\n%s", text)
	}
	statement := regexp.MustCompile(`^\s*(|graph \w+ \{|\}|\{ rank=same;\s*|\w+=\w+;|` +
		`(node|edge|Q|Q -- Q) \[(\w+=(Q|[\w.]+)(, )?)+\];)\s*$`)
	for line := range strings.Lines(unquoted) {
		if !statement.MatchString(strings.TrimRight(line, "\n")) {
			t.Errorf("graph has the statement %q", line)
		}
	}
	declared := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\s*("0x[0-9a-f]{16}") \[`).FindAllStringSubmatch(text, -1) {
		declared[m[1]] = true
	}
	found := regexp.MustCompile(`("0x[0-9a-f]{16}") -- ("0x[0-9a-f]{16}")`).FindAllStringSubmatch(text, -1)
	for _, m := range found {
		if !declared[m[1]] || !declared[m[2]] {
			t.Errorf("edge %s has an end that is not declared", m[0])
		}
	}
	if len(declared) != nodes || len(found) != edges {
		t.Errorf("graph has %d nodes and %d edges, want %d and %d", len(declared), len(found), nodes, edges)
	}
}
