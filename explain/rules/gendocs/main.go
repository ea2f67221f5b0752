// Command gendocs writes docs/explain-rules.md from the list of rules.
//
//	go run ./explain/rules/gendocs -o docs/explain-rules.md
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/rdmakit/rdmakit/explain/rules"
)

func main() {
	out := flag.String("o", "docs/explain-rules.md", "file to write")
	flag.Parse()
	if err := os.WriteFile(*out, rules.Markdown(rules.All()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}
