package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ev returns one event line; test and output may be empty.
func ev(action, pkg, test, output string) string {
	s := `{"Action":"` + action + `","Package":"` + pkg + `"`
	if test != "" {
		s += `,"Test":"` + test + `"`
	}
	if output != "" {
		s += `,"Output":"` + output + `\n"`
	}
	return s + "}\n"
}

func TestRun(t *testing.T) {
	tests := []struct {
		name, in string
		status   int
		last     string   // last line on stdout
		want     []string // pieces of stdout
	}{
		{"empty stream", "", 1, "0 passed, 0 failed, 0 skipped", nil},
		{
			"pass, skip with its reason",
			ev("run", "p", "TestA", "") + ev("pass", "p", "TestA", "") +
				ev("output", "p", "TestB", "=== RUN   TestB") + ev("output", "p", "TestB", "    b_test.go:3: no qemu") +
				ev("skip", "p", "TestB", "") + ev("pass", "p", "", ""),
			0, "1 passed, 0 failed, 1 skipped",
			[]string{"ok   p 0.0s: 1 passed, 1 skipped\n", "p TestB: b_test.go:3: no qemu\n"},
		},
		{
			"two packages at a time, a package without tests",
			ev("run", "p", "TestA", "") + ev("run", "q", "TestA", "") + ev("pass", "q", "TestA", "") +
				ev("pass", "q", "",
					"") + ev("fail", "p", "TestA", "") + ev("fail", "p", "", "") + ev("skip", "r", "", ""),
			1, "1 passed, 1 failed, 0 skipped",
			[]string{"ok   q 0.0s: 1 passed\n", "FAIL p 0.0s: 0 passed, 1 failed\n"},
		},
		{
			"only skipped tests is a failure",
			ev("skip", "p", "TestB", "") + ev("pass", "p", "", ""),
			1, "0 passed, 0 failed, 1 skipped",
			[]string{"p TestB: no reason given"},
		},
		{
			"leaves only, and a slash in a subtest's name",
			ev("pass", "p", "TestA/one", "") + ev("output", "p", "TestA/two/x", "detail of two") +
				ev("fail", "p", "TestA/two/x", "") + ev("fail", "p", "TestA", "") + ev("fail", "p", "", ""),
			1, "1 passed, 1 failed, 0 skipped",
			[]string{"detail of two\n", "FAIL p 0.0s: 1 passed, 1 failed\n"},
		},
		{
			"a parent that failed by itself",
			ev("pass", "p", "TestA/one", "") + ev("fail", "p", "TestA", "") + ev("fail", "p", "", ""),
			1, "1 passed, 1 failed, 0 skipped", nil,
		},
		{
			"died in a test",
			ev("run", "p", "TestA", "") + ev("output", "p", "", "exit status 3") + ev("fail", "p", "", ""),
			1, "0 passed, 1 failed, 0 skipped",
			[]string{"exit status 3\n", "p TestA\n"},
		},
		{
			"stream cut off after a passed test",
			ev("pass", "p", "TestA", ""), 1, "1 passed, 1 failed, 0 skipped",
			[]string{"the event stream ended"},
		},
		{
			"did not build",
			`{"ImportPath":"p [p.test]","Action":"build-output","Output":"p.go:1:1: oops\n"}` + "\n" +
				`{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}` + "\n",
			1, "0 passed, 1 failed, 0 skipped",
			[]string{"p.go:1:1: oops\n", "p (outside of any test)"},
		},
		{
			"TestMain fails after the tests passed",
			ev("pass", "p", "TestA", "") + ev("output", "p", "", "leak: goroutine 7") + ev("fail", "p", "", ""),
			1, "1 passed, 1 failed, 0 skipped",
			[]string{"leak: goroutine 7\n"},
		},
		{
			"not JSON", "go: cannot find main module\n{broken\n", 1, "0 passed, 0 failed, 0 skipped",
			[]string{"go: cannot find main module\n{broken\n"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if got := run(nil, strings.NewReader(tt.in), &stdout, &stderr); got != tt.status {
				t.Errorf("run() = %d, want %d; stderr %q", got, tt.status, &stderr)
			}
			lines := strings.Split(strings.TrimRight(stdout.String(), "\n"), "\n")
			if last := lines[len(lines)-1]; last != tt.last {
				t.Errorf("last line = %q, want %q", last, tt.last)
			}
			for _, w := range tt.want {
				if !strings.Contains(stdout.String(), w) {
					t.Errorf("stdout doesn't contain %q:\n%s", w, &stdout)
				}
			}
		})
	}
}

func TestCountsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "counts.tsv")
	in := ev("pass", "p", "TestA", "") + ev("pass", "p", "", "")
	for _, name := range []string{"test", "kernel"} {
		var stderr bytes.Buffer
		if got := run([]string{"-o", file, "-name", name}, strings.NewReader(in), &bytes.Buffer{}, &stderr); got != 0 {
			t.Fatalf("run(-name %s) = %d, want 0; stderr %q", name, got, &stderr)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("test\t1\t0\t0\nkernel\t1\t0\t0\n", string(got)); diff != "" {
		t.Errorf("counts file differs (-want +got):\n%s", diff)
	}
}

// full is a writer that fails as on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestLostOutput(t *testing.T) {
	var stderr bytes.Buffer
	in := ev("pass", "p", "TestA", "") + ev("pass", "p", "", "")
	if got := run(nil, strings.NewReader(in), full{}, &stderr); got != 2 ||
		!strings.Contains(stderr.String(), "no space left") {
		t.Errorf("run() to a full disk = %d with stderr %q, want 2 and the reason", got, &stderr)
	}
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{{"-nonsense"}, {"-o", filepath.Join(t.TempDir(), "no", "such", "dir")}} {
		var stderr bytes.Buffer
		in := ev("pass", "p", "TestA", "") + ev("pass", "p", "", "")
		if got := run(args, strings.NewReader(in), &bytes.Buffer{}, &stderr); got != 2 || stderr.Len() == 0 {
			t.Errorf("run(%q) = %d with stderr %q, want 2 and a reason", args, got, &stderr)
		}
	}
}
