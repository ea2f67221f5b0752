package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/commands"
	"github.com/rdmakit/rdmakit/internal/cli/self"
)

// readTree returns the files below dir with their contents.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	for _, pattern := range []string{"cli/*", "man/*", "schema/*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.ToSlash(rel)] = string(text)
		}
	}
	return files
}

func TestGenerate(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	stale := filepath.Join(second, "cli", "rdmactl-gone.md")
	if err := os.MkdirAll(filepath.Dir(stale), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{first, second} {
		if err := generate(dir); err != nil {
			t.Fatalf("generate = %v", err)
		}
	}
	pages := readTree(t, first)
	if diff := cmp.Diff(pages, readTree(t, second)); diff != "" {
		t.Errorf("generate makes other pages the second time, or leaves stale ones, -first +second:\n%s", diff)
	}
	for _, cmd := range self.Reference(cli.NewApp(commands.All()).Root()) {
		name := self.PageName(cmd)
		for _, page := range []string{"cli/" + name + ".md", "man/" + name + ".1"} {
			if !strings.Contains(pages[page], cmd.Short) {
				t.Errorf("generate: %s lacks the summary %q", page, cmd.Short)
			}
		}
	}
}

func TestLinksLead(t *testing.T) {
	dir := t.TempDir()
	if err := generate(dir); err != nil {
		t.Fatalf("generate = %v", err)
	}
	pages := readTree(t, dir)
	links := 0
	for name, text := range pages {
		for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1) {
			links++
			if _, ok := pages["cli/"+m[1]]; !ok {
				t.Errorf("%s links to %s, which doesn't exist", name, m[1])
			}
		}
	}
	if links == 0 {
		t.Error("no page links to another")
	}
}
