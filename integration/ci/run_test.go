package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// table matches the table of rings in the text of .ci/run.
var table = regexp.MustCompile(`(?s)(cat <<'EOF'\n)(.*?)(EOF\n)`)

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ring is a line of the table: name, budget, target of make, demand.
type ring [4]string

func rings(t *testing.T) []ring {
	t.Helper()
	var out []ring
	for line := range strings.Lines(table.FindStringSubmatch(readFile(t, ".ci/run"))[2]) {
		f := strings.Fields(line)
		if len(f) != len(ring{}) {
			t.Fatalf("ring %q has %d columns, want %d", line, len(f), len(ring{}))
		}
		out = append(out, ring(f))
	}
	return out
}

// TestBudgetsInContributing compares the rings in CONTRIBUTING.md with those in .ci/run.
func TestBudgetsInContributing(t *testing.T) {
	var want, got [][3]string
	for _, r := range rings(t) {
		want = append(want, [3]string{r[0], r[1], r[2]})
	}
	row := regexp.MustCompile("(?m)^\\| ([a-z]+) \\| (\\d+) \\| `make ([a-z-]+)`")
	for _, m := range row.FindAllStringSubmatch(readFile(t, "CONTRIBUTING.md"), -1) {
		got = append(got, [3]string(m[1:]))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rings, budgets and targets in CONTRIBUTING.md differ (-.ci/run +CONTRIBUTING.md):\n%s", diff)
	}
}

// TestTargets checks that make has the targets of the rings.
func TestTargets(t *testing.T) {
	makefile := readFile(t, "Makefile")
	for _, r := range rings(t) {
		if !regexp.MustCompile(`(?m)^`+r[2]+`:.* ## `).MatchString(makefile) &&
			!strings.Contains(makefile, "\n"+r[2]+": ") {
			t.Errorf("ring %s runs make %s, which the Makefile does not have", r[0], r[2])
		}
		if r[3] != "first" && r[3] != "tests" && r[3] != "-" {
			t.Errorf("ring %s demands %q, want first, tests or -", r[0], r[3])
		}
	}
}

// fakeMake is a make that simulates the rings: make TARGET [COUNTS=FILE].
const fakeMake = `#!/bin/bash
ring=${1#to-}
case $ring in
  bad) exit 3 ;;
  slow) sleep 5.1 ;;
  hung) exec sleep 60 ;;
esac
[ $# -eq 2 ] || exit 0
case $ring in
  idle) printf 'idle\t0\t0\t4\n' ;;
  mute) ;;
  *) printf '%s\t5\t0\t1\n' "$ring" ;;
esac >>"${2#COUNTS=}"
`

// TestRun runs .ci/run with other rings.
func TestRun(t *testing.T) {
	tests := []struct {
		name, rings string
		fails       bool
		want        []string // lines of the report, single-spaced
	}{
		{
			"all is well", "a 30 to-a first\nb 40 to-b tests\n", false,
			[]string{"a N 30 - - - ok", "b N 40 5 0 1 ok", "total N 70", "5 passed, 0 failed, 1 skipped"},
		},
		{
			"a later ring runs all the same", "bad 30 to-bad -\nb 40 to-b tests\n", true,
			[]string{"bad N 30 - - - FAILED: exit status 3", "b N 40 5 0 1 ok"},
		},
		{
			"nothing runs without the first", "bad 30 to-bad first\nb 40 to-b tests\n", true,
			[]string{"bad N 30 - - - FAILED: exit status 3", "total N 30"},
		},
		{
			"no test ran", "idle 30 to-idle tests\nmute 30 to-mute tests\n", true,
			[]string{"idle N 30 0 0 4 FAILED: no test ran", "mute N 30 - - - FAILED: no test ran"},
		},
		{
			"too slow", "slow 2 to-slow tests\n", true,
			[]string{"slow N 2 5 0 1 FAILED: more than twice its budget"},
		},
		{
			"never ends", "hung 1 to-hung tests\n", true,
			[]string{"hung N 1 - - - FAILED: still running after 4 s"},
		},
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "make"), []byte(fakeMake), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report, err := runRings(t, bin, tt.rings)
			if (err != nil) != tt.fails {
				t.Errorf(".ci/run = %v, want failure %t:\n%s", err, tt.fails, report)
			}
			for _, want := range tt.want {
				if !strings.Contains(report, "\n"+want+"\n") {
					t.Errorf("report is missing %q:\n%s", want, report)
				}
			}
		})
	}
}

// ringTime is the seconds in a line of the report, which depend on the machine.
var ringTime = regexp.MustCompile(`(?m)^(\w+) \d+ (\d+)`)

// runRings runs .ci/run with another table and the fake make, and returns its output with single
// spaces.
func runRings(t *testing.T, bin, rings string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, ".ci", "run")
	if err := os.Mkdir(filepath.Dir(script), 0o755); err != nil {
		t.Fatal(err)
	}
	text := table.ReplaceAllString(readFile(t, ".ci/run"), "${1}"+rings+"${3}")
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", script)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	spaces := regexp.MustCompile(`[ \t]+`).ReplaceAllString(string(out), " ")
	return ringTime.ReplaceAllString(spaces, "$1 N $2"), err
}
