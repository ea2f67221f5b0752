// Command gendocs writes docs/checks.md from the list of checks.
//
//	go run ./doctor/gendocs -o docs/checks.md
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
)

func main() {
	out := flag.String("o", "docs/checks.md", "file to write")
	flag.Parse()
	if err := os.WriteFile(*out, page(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}

func page() []byte { return doctor.Markdown(checks.All()) }
