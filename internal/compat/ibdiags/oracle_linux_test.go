package ibdiags

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

// output is the output of a run.
type output struct {
	Stdout, Stderr string
	Code           int
}

// ours runs a program of this package at a node of a simulated subnet.
func ours(t testing.TB, sim *ibsimtest.Simulator, node, name string, args ...string) output {
	t.Helper()
	p, ok := Find(name)
	if !ok {
		t.Fatalf("no program %s", name)
	}
	var stdout, stderr strings.Builder
	code := p.Run(t.Context(), Host{
		Name: name, Args: args, Stdout: &stdout, Stderr: &stderr, PID: os.Getpid(),
		Open: func(ctx context.Context, device string, port int) (fabric.Transport, error) {
			return fabric.Open(ctx, fabric.OpenOptions{Device: device, Port: port, Getenv: sim.Getenv(node)})
		},
		ReadFile: os.ReadFile, Hostname: func() string { return "worker.lab" },
		WriteFile: func(name string, data []byte) error { return os.WriteFile(name, data, 0o600) },
	})
	return output{stdout.String(), stderr.String(), code}
}

// masked masks values that differ from run to run: dates, and the activity count of subnet
// managers.
func masked(text string) string {
	for _, m := range []struct{ pattern, with string }{
		{`(?m)^# Topology file: generated on .*$`, "# Topology file: generated on DATE"},
		{`activity count \d+`, "activity count N"},
	} {
		text = regexp.MustCompile(m.pattern).ReplaceAllString(text, m.with)
	}
	return text
}

// lines returns the lines of a text in alphabetical order.
func lines(text string) []string { return slices.Sorted(strings.Lines(masked(text))) }

// compare runs the C program and ours at a node and requires equal exit codes and equal lines on
// standard output, in any order.
func compare(t *testing.T, sim *ibsimtest.Simulator, node, name string, args ...string) {
	t.Helper()
	theirs, theirErrors, code := sim.Try(node, name, args...)
	got := ours(t, sim, node, name, args...)
	line := strings.Join(append([]string{name}, args...), " ")
	if got.Code != code {
		t.Errorf("%s: exit code %d, the C program's is %d\nours: %s\ntheirs: %s",
			line, got.Code, code, got.Stderr, theirErrors)
	}
	if diff := cmp.Diff(lines(theirs), lines(got.Stdout)); diff != "" {
		t.Errorf("%s (-C +ours):\n%s", line, diff)
	}
}

func TestSminfo(t *testing.T) {
	sim := ibsimtest.Start(t, "../../../fabric/testdata/dualsm/net")
	sim.StartSM("host0", "-p", "5")
	for _, args := range []string{
		"", "1", "-D 0", "-D 0,1", "-L 9999", "-G 0x2c90300000001", "abc", "-C nosuch", "-C ibsim0", "-Z", "-V",
	} {
		compare(t, sim, "host1", "sminfo", strings.Fields(args)...)
	}
}
