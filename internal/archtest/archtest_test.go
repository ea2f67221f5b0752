package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestThisModule checks all rules on this module.
func TestThisModule(t *testing.T) {
	tree, err := Load(t.Context(), filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Files) == 0 || len(tree.Graph) == 0 {
		t.Fatalf("Load found %d files and %d packages, want some", len(tree.Files), len(tree.Graph))
	}
	for _, rule := range Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			found := rule.Check(tree)
			for _, v := range found {
				t.Error(v)
			}
			if len(found) > 0 {
				t.Errorf("rule %s: %s", rule.ID, rule.Reason)
			}
		})
	}
}

// TestPlanted checks that each rule finds violations: testdata/ID.txtar is a module, and its file
// "want" lists exactly the violations that rule ID must find in it.
func TestPlanted(t *testing.T) {
	for _, rule := range Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			tree, want := planted(t, rule.ID)
			var got strings.Builder
			for _, v := range rule.Check(tree) {
				fmt.Fprintln(&got, v)
			}
			if want == "" {
				t.Errorf("testdata/%s.txtar wants no violation: it proves nothing", rule.ID)
			}
			if diff := cmp.Diff(want, got.String()); diff != "" {
				t.Errorf("rule %s differs (-want +got):\n%s", rule.ID, diff)
			}
		})
	}
}

// TestClean checks code that the rules deliberately allow: exceptions, tests, generated files.
func TestClean(t *testing.T) {
	tree, _ := planted(t, "clean")
	for _, rule := range Rules() {
		for _, v := range rule.Check(tree) {
			t.Errorf("%s: %v", rule.ID, v)
		}
	}
}

// TestRules checks that each rule has the fields of the report, and a violation in testdata.
func TestRules(t *testing.T) {
	ids := map[string]bool{"clean": true}
	for _, r := range Rules() {
		if r.ID == "" || r.Reason == "" || ids[r.ID] {
			t.Errorf("rule %q has no ID, no reason, or the ID of another", r.ID)
		}
		ids[r.ID] = true
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if id := strings.TrimSuffix(filepath.Base(f), ".txtar"); !ids[id] {
			t.Errorf("%s belongs to no rule", f)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	module := "-- go.mod --\nmodule example.com/m\n\ngo 1.26.0\n"
	for name, archive := range map[string]string{
		"go mod edit":           "-- a.go --\npackage a\n",
		"parse: a_windows.go:1": module + "-- a_windows.go --\npackage\n",
		"no required module":    module + "-- a.go --\npackage a\n\nimport _ \"example.com/absent\"\n",
	} {
		if _, err := Load(t.Context(), unpack(t, txtar.Parse([]byte(archive)))); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("Load(%q) = %v, want an error with %q", archive, err, name)
		}
	}
}

// planted loads a module from testdata and returns it with the content of its file "want". A line
// "LINES n" in a Go file stands for n lines that do nothing.
func planted(t *testing.T, id string) (tree *Tree, want string) {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", id+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if f.Name == "want" {
			want = string(f.Data)
		}
	}
	tree, err = Load(t.Context(), unpack(t, archive))
	if err != nil {
		t.Fatal(err)
	}
	return tree, want
}

func unpack(t *testing.T, archive *txtar.Archive) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, f := range archive.Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(expand(t, string(f.Data))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func expand(t *testing.T, src string) string {
	t.Helper()
	lines := strings.Split(src, "\n")
	for i, line := range lines {
		count, ok := strings.CutPrefix(strings.TrimSpace(line), "LINES ")
		if !ok {
			continue
		}
		var n int
		if _, err := fmt.Sscan(count, &n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		lines[i] = strings.Repeat("\t// one more line\n", n-1) + "\t// one more line"
	}
	return strings.Join(lines, "\n")
}
