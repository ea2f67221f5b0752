package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/output"
)

//go:generate go run ./gendocs -o ../../docs/explain-rules.md

// Markdown returns the page of the rules.
func Markdown(all []Rule) []byte {
	var b strings.Builder
	b.WriteString("# Rules of rdmactl explain\n\n" +
		"<!-- Written by explain/rules/gendocs from the rules: change it there. -->\n\n" +
		"Each rule finds one kind of symptom in logs and captures, and ranks the causes that it can have.\n" +
		"Identifiers are given once. [explain.md](explain.md) describes the command.\n")
	list := slices.SortedFunc(slices.Values(all), func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	for _, r := range list {
		fmt.Fprintf(&b, "\n## %s\n\n", r.ID)
		writeWrapped(&b, fmt.Sprintf("**%s**: %s.", r.Name, r.Title))
		b.WriteString("\n")
		writeWrapped(&b, r.Explanation)
		b.WriteString("\n")
		writeWrapped(&b, "Sources: "+strings.Join(r.Sources, ", ")+".")
	}
	return []byte(b.String())
}

// writeWrapped writes a paragraph.
func writeWrapped(b *strings.Builder, s string) {
	for _, line := range output.Wrap(s, output.MaxTextWidth) {
		b.WriteString(strings.TrimLeft(line, " ") + "\n")
	}
}
