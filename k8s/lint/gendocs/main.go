// Command gendocs writes docs/k8s-lint.md from the list of rules.
//
//	go run ./k8s/lint/gendocs -o docs/k8s-lint.md
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/rdmakit/rdmakit/k8s/lint"
)

func main() {
	out := flag.String("o", "docs/k8s-lint.md", "file to write")
	flag.Parse()
	if err := os.WriteFile(*out, page(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}

func page() []byte { return lint.Markdown(lint.Rules()) }
