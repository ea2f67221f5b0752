package commands

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/doctor/checks"
)

// The rules of explain name checks of doctor that decide between causes.
func TestExplainNamesChecks(t *testing.T) {
	files, err := filepath.Glob("../../../explain/rules/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range checks.All() {
		ids = append(ids, c.ID)
	}
	found := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`--only ([a-z][a-z-]*)`).FindAllSubmatch(data, -1) {
			found++
			if !slices.Contains(ids, string(m[1])) {
				t.Errorf("%s names check %s, which doesn't exist", name, m[1])
			}
		}
	}
	if found < 5 {
		t.Errorf("%d checks named, want at least 5", found)
	}
}
