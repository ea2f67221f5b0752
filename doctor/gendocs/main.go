// Command gendocs writes docs/checks.md from the list of checks, the catalogue and the examples,
// which the tests of package checks write.
//
//	go run ./doctor/gendocs -examples doctor/checks/testdata/examples.json -o docs/checks.md
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/doctor/nodes"
)

func main() {
	out := flag.String("o", "docs/checks.md", "file to write")
	examples := flag.String("examples", "doctor/checks/testdata/examples.json", "file with an example for each check")
	flag.Parse()
	text, err := page(*examples)
	if err == nil {
		err = os.WriteFile(*out, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}

// page returns the page with the examples of a file: a list of findings.
func page(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var examples []doctor.Finding
	if err := json.Unmarshal(data, &examples); err != nil {
		return nil, fmt.Errorf("read examples %s: %w", file, err)
	}
	var rows []doctor.CatalogueRow
	compared := nodes.ByNumber()
	for _, e := range checks.Catalogue() {
		rows = append(rows, doctor.CatalogueRow{
			Number: e.Number, What: e.What, Comparisons: compared[e.Number], Uncovered: e.Uncovered,
		})
	}
	return doctor.Markdown(checks.All(), examples, rows), nil
}
