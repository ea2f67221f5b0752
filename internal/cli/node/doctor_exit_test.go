package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/inventory"
)

func exitCode(err error) int {
	if exit, ok := errors.AsType[*cli.ExitError](err); ok {
		return exit.Code
	}
	return 0
}

// TestExitWithoutDevices runs checks of any node on a node without RDMA devices: the exit code
// doesn't depend on their selection.
func TestExitWithoutDevices(t *testing.T) {
	app := &cli.App{Out: output.New(output.Options{})}
	for o, want := range map[doctor.Outcome]int{
		doctor.OutcomePass: cli.ExitNotFound, doctor.OutcomeWarn: cli.ExitNotFound,
		doctor.OutcomeUnknown: cli.ExitPartial, doctor.OutcomeFail: cli.ExitFault,
	} {
		r := reportOf(t, []doctor.Finding{finding(o, "node", "x")})
		r.Verdict = o
		for _, only := range [][]string{nil, {"a"}} {
			if got := exitCode(doctorFlags{only: only}.result(&inventory.Snapshot{}, r)); got != want {
				t.Errorf("--only %v, %s: exit code %d, want %d", only, o, got, want)
			}
		}
	}
	r := reportOf(t, []doctor.Finding{finding(doctor.OutcomeFail, "node", "x")})
	r.Verdict = doctor.OutcomeFail
	if got := exitCode(printNagios(app, r)); got != doctor.NagiosCritical {
		t.Errorf("nagios: exit code %d of a failed check, want %d", got, doctor.NagiosCritical)
	}
}

// TestNodeFaultsAreShort shows the findings of one of several nodes without their fixes.
func TestNodeFaultsAreShort(t *testing.T) {
	f := finding(doctor.OutcomeFail, "mlx5_0:1", "port is down")
	f.Remedy = []string{"ip link set dev ens0 up"}
	got, err := output.New(output.Options{}).Render(nil, nodeFaults(reportOf(t, []doctor.Finding{f}), DetailShort)...)
	want := "  FAIL     a mlx5_0:1: port is down\n  1 check: 1 failed\n"
	if string(got) != want || err != nil {
		t.Errorf("nodeFaults = %q, %v, want %q", got, err, want)
	}
}

func TestFingerprint(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	a, copied, b := write("a", "x"), write("copy", "x"), write("b", "y")
	if fingerprint(a) != fingerprint(copied) || fingerprint(a) == fingerprint(b) {
		t.Error("fingerprint: want that of a copy equal, and that of another file different")
	}
	if got := fingerprint(link); got == "" || got != fingerprint(dir) || !strings.Contains(got, filepath.Base(dir)) {
		t.Errorf("fingerprint of a link to a directory = %q, want that of the directory", got)
	}
	if got := fingerprint(filepath.Join(dir, "nowhere")); got != "" {
		t.Errorf("fingerprint of no file = %q", got)
	}
}
