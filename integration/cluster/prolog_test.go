//go:build cluster

package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/integration/cluster/lab"
)

// TestProlog runs the script of docs/verification.md that verifies the nodes of a job before it, in
// an allocation of Slurm: it lets a healthy cluster pass, and refuses one with a slow card.
func TestProlog(t *testing.T) {
	l := cluster(t)
	if err := l.StartSlurm(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "prolog")
	if err := os.WriteFile(script, []byte(documentedProlog(t, dir)), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if exit, said := salloc(t, l, script); exit != 0 {
		t.Errorf("a healthy cluster: exit status %d: %s", exit, said)
	}
	plant(t, l, startedSlow(l))
	if exit, said := salloc(t, l, script); exit != 1 || !strings.Contains(said, "slow or broken") {
		t.Errorf("a slow card: exit status %d: %s", exit, said)
	}
	reports, err := filepath.Glob(filepath.Join(dir, "*.xml"))
	if err != nil || len(reports) != 2 {
		t.Fatalf("reports %v, want one of each job (%v)", reports, err)
	}
	for i, failures := range []string{`failures="0"`, `failures="1"`} {
		text, err := os.ReadFile(reports[i])
		if head, _, _ := strings.Cut(string(text), "<testsuite "); err != nil || !strings.Contains(head, failures) {
			t.Errorf("%s: %v: %s, want %s", reports[i], err, head, failures)
		}
	}
}

// documentedProlog is the script of the documentation, with the program under test, and its reports
// in another folder.
func documentedProlog(t *testing.T, dir string) string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/verification.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(doc), "```bash\n")
	script, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatal("docs/verification.md has no script")
	}
	return strings.NewReplacer("/var/log/rdmakit", dir, "rdmactl cluster", program()+" cluster").Replace(script)
}

// salloc runs a script in an allocation of all nodes.
func salloc(t *testing.T, l *lab.Lab, script string) (exit int, said string) {
	t.Helper()
	out, err := l.Leader.Command(t.Context(), "salloc", "-N", fmt.Sprint(labNodes), script).CombinedOutput()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode(), string(out)
	} else if err != nil {
		t.Fatalf("salloc: %v: %s", err, out)
	}
	return 0, string(out)
}
