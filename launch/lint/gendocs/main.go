// Command gendocs writes docs/lint.md from the list of rules.
//
//	go run ./launch/lint/gendocs -o docs/lint.md
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/rdmakit/rdmakit/launch/lint"
)

func main() {
	out := flag.String("o", "docs/lint.md", "file to write")
	flag.Parse()
	if err := os.WriteFile(*out, page(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}

func page() []byte { return lint.Markdown(lint.Rules()) }
