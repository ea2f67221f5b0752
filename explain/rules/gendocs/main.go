// Command gendocs writes docs/explain-rules.md from the list of rules and of findings of captures.
//
//	go run ./explain/rules/gendocs -o docs/explain-rules.md
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/rdmakit/rdmakit/explain/capture"
	"github.com/rdmakit/rdmakit/explain/rules"
)

func main() {
	out := flag.String("o", "docs/explain-rules.md", "file to write")
	flag.Parse()
	if err := os.WriteFile(*out, page(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}

// page returns the page.
func page() []byte { return append(rules.Markdown(rules.All()), findings()...) }

// findings returns the table of the findings of captures.
func findings() string {
	var b strings.Builder
	b.WriteString("\n## Findings of captures\n\n" +
		"What a capture shows is named by these words, and is evidence for the rules above. The status is the\n" +
		"one that the requester's completion gets if it comes to that.\n\n" +
		"| finding | weight | status | meaning |\n|---|---|---|---|\n")
	for _, d := range capture.Descriptions() {
		status := "–"
		if d.Status != capture.StatusNone {
			status = fmt.Sprint(uint8(d.Status))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.Name, d.Severity, status, strings.ReplaceAll(d.Means, "|", "\\|"))
	}
	return b.String()
}
