// Package formtest tests tables of forms: a file has lines as programs print them, and below each
// its event.
//
//	formtest.Run(t, "testdata/forms.txt", ucx.Table())
package formtest

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
)

// Events returns the events of a line as "kind name=value … (SINCE–UNTIL)", with the fields ordered
// by name, without the field "source".
func Events(line string, tables ...forms.Table) []string {
	var got []string
	for _, e := range forms.NewMatcher(tables...).Read(&evidence.Line{Text: line}) {
		var b strings.Builder
		b.WriteString(string(e.Kind))
		for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
			if name != "source" {
				fmt.Fprintf(&b, " %s=%s", name, e.Fields[name])
			}
		}
		if e.Since != "" || e.Until != "" {
			fmt.Fprintf(&b, " (%s–%s)", e.Since, e.Until)
		}
		got = append(got, b.String())
	}
	return got
}

// Run tests the lines of a file: blocks are separated by empty lines; the first line of a block is
// the input, and the second, which begins with a tab, the event, or "none". It also requires a line
// for each form of the tables, and unique names of forms.
func Run(t *testing.T, file string, tables ...forms.Table) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for block := range strings.SplitSeq(string(data), "\n\n") {
		line, want, ok := strings.Cut(strings.Trim(block, "\n"), "\n\t")
		if !ok {
			continue // the comment
		}
		got := Events(line, tables...)
		if want == "none" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s\n got %q\nwant %q", line, got, want)
		}
		for _, e := range forms.NewMatcher(tables...).Read(&evidence.Line{Text: line}) {
			used[e.Form] = true
		}
	}
	seen := map[string]bool{}
	for _, table := range tables {
		for _, f := range table.Forms {
			if seen[f.Name] {
				t.Errorf("two forms %s", f.Name)
			}
			seen[f.Name] = true
			if !used[f.Name] && f.Kind != evidence.Symptom {
				t.Errorf("no line of %s has the form %s", file, f.Name)
			}
		}
	}
}

// Seed adds the lines of a file of [Run] to the corpus of a fuzz test.
func Seed(f *testing.F, file string) {
	f.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	for block := range strings.SplitSeq(string(data), "\n\n") {
		line, _, _ := strings.Cut(strings.Trim(block, "\n"), "\n")
		f.Add(line)
	}
}
