package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// madeUp is a module: b imports a, c's tests do, d does so through b only, e stands alone.
var madeUp = map[string]string{
	"go.mod":      "module example.org/m\n\ngo 1.26\n",
	"README.md":   "nothing\n",
	"a/a.go":      "package a\n",
	"a/a_test.go": fuzzFile("a", "FuzzOne", "FuzzTwo"),
	"b/b.go":      "package b\n\nimport _ \"example.org/m/a\"\n",
	"b/b_test.go": fuzzFile("b", "FuzzB"),
	"c/c.go":      "package c\n",
	"c/c_test.go": "package c_test\n\nimport (\n\t\"testing\"\n\n\t_ \"example.org/m/a\"\n)\n\n" +
		"func FuzzC(f *testing.F) {}\n",
	"d/d.go":            "package d\n\nimport _ \"example.org/m/b\"\n",
	"d/d_test.go":       fuzzFile("d", "FuzzD"),
	"d/plan9_test.go":   "//go:build plan9\n\n" + fuzzFile("d", "FuzzElsewhere"),
	"d/text_test.go":    "package d\n\nconst text = `\nfunc FuzzText(f *testing.F) {}\n`\n",
	"e/e.go":            "package e\n",
	"e/e_test.go":       fuzzFile("e", "FuzzE"),
	"e/testdata/in/bin": "1\n",
}

func fuzzFile(pkg string, targets ...string) string {
	text := "package " + pkg + "\n\nimport \"testing\"\n"
	for _, name := range targets {
		text += "\nfunc " + name + "(f *testing.F) {}\n"
	}
	return text
}

// writeFiles writes files below a folder.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// shell runs a script in a folder, with git isolated from this machine's configuration.
func shell(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// outcome runs the command and returns its targets, as "package.target", and its messages.
func outcome(t *testing.T, dir, base string, args ...string) (targets []string, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	getenv := func(name string) string { return map[string]string{"FUZZ_BASE": base}[name] }
	if code := run(t.Context(), dir, args, getenv, &stdout, &stderr); code != 0 {
		return nil, stderr.String()
	}
	for line := range strings.Lines(stdout.String()) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 || "./"+strings.TrimPrefix(f[1], "example.org/m/") != f[0] {
			t.Fatalf("printed %q", line)
		}
		targets = append(targets, strings.TrimPrefix(f[0], "./")+"."+f[2])
	}
	return targets, stderr.String()
}

func TestAll(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, madeUp)
	got, said := outcome(t, dir, "")
	want := []string{"a.FuzzOne", "a.FuzzTwo", "b.FuzzB", "c.FuzzC", "d.FuzzD", "e.FuzzE"}
	if diff := cmp.Diff(want, got); diff != "" || said != "" {
		t.Errorf("targets differ (-want +got), said %q:\n%s", said, diff)
	}
}

// TestSmoke makes changes in clones of several kinds. main has two commits; the second touches e.
func TestSmoke(t *testing.T) {
	upstream := t.TempDir()
	writeFiles(t, upstream, madeUp)
	shell(t, upstream,
		"git init -q -b main; git add .; git commit -qm one; echo 2 >e/testdata/in/bin; git commit -qam two")
	tests := []struct {
		name, script string // script makes and changes the clone "m"
		base         string
		want         []string // first of the targets
		said         []string
	}{
		{
			"a branch", "git clone -q $U m; cd m; git checkout -qb work; echo //1 >>b/b.go; git commit -qam three; " +
				"echo 1 >>README.md; git commit -qam four", "",
			[]string{"b.FuzzB", "a.FuzzOne", "a.FuzzTwo", "c.FuzzC", "e.FuzzE", "d.FuzzD"},
			[]string{"where this branch left origin/main: 2 files changed, in 1 packages", "6 of 6 targets: of 1 " +
				"whose package changed, 1 that import such a package and 4 others; turn 4, the number of commits"},
		},
		{
			"the main branch", "git clone -q $U m", "",
			[]string{"e.FuzzE", "a.FuzzOne"},
			[]string{"the commit before HEAD (origin/main contains HEAD): 1 files changed, in 1 packages", "turn 2, "},
		},
		{
			"tests import what changed, not committed yet", "git clone -q $U m; echo package a >m/a/new.go",
			"origin/main",
			[]string{"a.FuzzOne", "a.FuzzTwo", "c.FuzzC", "e.FuzzE", "b.FuzzB", "d.FuzzD"},
			[]string{
				"the commit of FUZZ_BASE: 1 files changed",
				"of 2 whose package changed, 2 that import such a package and 2 others",
			},
		},
		{
			"a file was deleted, a package renamed", "git clone -q $U m; cd m; git rm -q c/c.go; git mv e f; sed -i " +
				"'s/package e/package f/' f/*.go; git commit -qm three", "",
			[]string{"c.FuzzC", "f.FuzzE", "a.FuzzOne"},
			[]string{"in 2 packages"},
		},
		{
			"no remote", "git clone -q $U m; git -C m remote remove origin", "",
			[]string{"e.FuzzE", "a.FuzzOne"},
			[]string{"the commit before HEAD (there is no common commit with origin/main)"},
		},
		{
			"one commit deep", "git clone -q --depth 1 file://$U m", "",
			[]string{},
			[]string{
				"nothing to compare with: origin/main contains HEAD, and the commit before HEAD is missing",
				"of 0 whose package changed", "from the hash of this shallow clone's HEAD",
			},
		},
		{
			"one commit deep, on a detached HEAD",
			"git clone -q --depth 1 file://$U m; cd m; git checkout -q --detach; git remote remove origin", "",
			[]string{},
			[]string{"nothing to compare with: there is no common commit with origin/main, and the " +
				"commit before HEAD is missing"},
		},
		{
			"no git", "mkdir m; cp -r $U/? $U/go.mod m", "",
			[]string{"a.FuzzOne"},
			[]string{"git finds no commit", "turn 0, because there is no commit"},
		},
		{
			"a base that isn't there", "git clone -q $U m", "nosuch",
			nil,
			[]string{"FUZZ_BASE=nosuch is not a commit of this clone"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			shell(t, dir, "U="+upstream+"; "+tt.script)
			dir = filepath.Join(dir, "m")
			got, said := outcome(t, dir, tt.base, "-smoke")
			if len(got) < len(tt.want) || (got == nil) != (tt.want == nil) ||
				cmp.Diff(tt.want, got[:len(tt.want)]) != "" {
				t.Errorf("targets = %q, want first %q", got, tt.want)
			}
			for _, want := range tt.said {
				if !strings.Contains(said, want) {
					t.Errorf("said %q, want %q", said, want)
				}
			}
			if again, _ := outcome(t, dir, tt.base, "-smoke"); cmp.Diff(got, again) != "" {
				t.Errorf("targets the second time = %q, want %q as the first time", again, got)
			}
		})
	}
}
