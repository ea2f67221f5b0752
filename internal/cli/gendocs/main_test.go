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
	for _, pattern := range []string{"cli/*", "man/*", "schema/*", "*.svg"} {
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

// TestPictures looks for what the pictures are there to show: findings in their colours and what
// was planted.
func TestPictures(t *testing.T) {
	for name, tt := range map[string]struct {
		draw       func() ([]byte, error)
		want, left []string
	}{
		"node": {nodePicture, []string{
			`<text class="title" x="16.0" y="20" textLength="148.2"`, `>$ rdmactl demo node<`,
			`>EMULATED<`, `<text class="r" x="16.0"`, `>FAIL<`, `>gid-routable<`, `>…<`, `>planted and found<`,
		}, []string{"Network devices that could", "export NCCL"}},
		"cluster": {clusterPicture, []string{
			`>$ rdmactl demo<`, `>EMULATED`, `>no-gid<`, `>slow<`, `style="fill:#`,
			`5 planted faults found, and nothing else`,
		}, []string{"all-reduce over host memory", "rail 0: bandwidth"}},
	} {
		picture, err := tt.draw()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range tt.want {
			if !strings.Contains(string(picture), want) {
				t.Errorf("%s: the picture has no %s", name, want)
			}
		}
		for _, left := range tt.left {
			if strings.Contains(string(picture), left) {
				t.Errorf("%s: the picture shows %q, which it should leave out", name, left)
			}
		}
	}
}

func TestLeaveOut(t *testing.T) {
	lines := []string{"a", "\x1b[1mfrom\x1b[m here", "b", "to there", "c"}
	got, err := leaveOut(lines, "from", "to")
	if diff := cmp.Diff([]string{"a", "…", "", "to there", "c"}, got); err != nil || diff != "" {
		t.Errorf("leaveOut = %v (-want +got):\n%s", err, diff)
	}
	for _, names := range [][2]string{{"gone", "to"}, {"from", "gone"}, {"to", "from"}} {
		if _, err := leaveOut(lines, names[0], names[1]); err == nil {
			t.Errorf("leaveOut(%q, %q) reports no error", names[0], names[1])
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
