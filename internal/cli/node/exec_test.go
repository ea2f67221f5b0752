package node

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

func TestCandidates(t *testing.T) {
	tests := []struct {
		name, path string
		want       []string
	}{
		{"vllm", "/usr/bin:/opt/bin/", []string{"/usr/bin/vllm", "/opt/bin/vllm"}},
		{"vllm", ":/bin:", []string{"./vllm", "/bin/vllm", "./vllm"}},
		{"vllm", "", []string{"./vllm"}},
		{"vllm", "/", []string{"/vllm"}},
		{"./vllm", "/usr/bin", []string{"./vllm"}},
		{"/opt/vllm", "/usr/bin", []string{"/opt/vllm"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, candidates(tt.name, tt.path)); diff != "" {
			t.Errorf("candidates(%q, %q) (-want +got):\n%s", tt.name, tt.path, diff)
		}
	}
}

// TestProgramStart answers for the kernel: what is tried, and with which code it ends.
func TestProgramStart(t *testing.T) {
	tests := []struct {
		name    string
		kernel  map[string]error // what execve says of a file; ENOENT of others
		want    []string
		code    int
		message string
	}{
		{"first", map[string]error{"/a/x": nil}, []string{"/a/x b"}, cli.ExitOK, ""},
		{"second", map[string]error{"/b/x": nil, "/a/x": syscall.ENOTDIR}, []string{"/a/x b", "/b/x b"}, cli.ExitOK, ""},
		{"nowhere", nil, []string{"/a/x b", "/b/x b", "/c/x b"}, exitNoProgram, "start x: not found in PATH"},
		{"denied, then found", map[string]error{"/a/x": syscall.EACCES, "/b/x": nil}, []string{"/a/x b", "/b/x b"}, cli.ExitOK, ""},
		{"denied, then nowhere", map[string]error{"/a/x": syscall.EACCES}, []string{"/a/x b", "/b/x b", "/c/x b"}, exitCannotStart, "start /a/x: permission denied"},
		{"too long", map[string]error{"/a/x": syscall.E2BIG}, []string{"/a/x b"}, exitCannotStart, "start /a/x: argument list too long"},
		{"script without a first line", map[string]error{"/a/x": syscall.ENOEXEC, "/bin/sh": nil}, []string{"/a/x b", "/bin/sh /a/x b"}, cli.ExitOK, ""},
		{"unsupported", map[string]error{"/a/x": errors.ErrUnsupported}, []string{"/a/x b"}, exitCannotStart, "start /a/x: unsupported operation"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var tried []string
			p := program{args: []string{"x", "b"}, candidates: candidates("x", "/a:/b:/c"), environ: []string{"A=1"}}
			err := p.start(func(file string, args, environ []string) error {
				tried = append(tried, strings.Join(append([]string{file}, args[1:]...), " "))
				if !slices.Equal(environ, p.environ) {
					t.Errorf("environment = %v, want %v", environ, p.environ)
				}
				if err, known := tt.kernel[file]; known {
					return err
				}
				return syscall.ENOENT
			})
			if diff := cmp.Diff(tt.want, tried); diff != "" {
				t.Errorf("tried (-want +got):\n%s", diff)
			}
			if code := cli.ExitCode(err); code != tt.code || err != nil && err.Error() != tt.message {
				t.Errorf("start = %v (%d), want %q (%d)", err, code, tt.message, tt.code)
			}
		})
	}
}

func TestExecEnviron(t *testing.T) {
	plan := launch.Plan{
		Variables: []launch.Variable{{Name: "A", Value: "1"}, {Name: "B", Value: "x=y"}},
		Unset:     []launch.Unset{{Name: "C"}},
	}
	environ := []string{"PATH=/bin", "A=old", "odd", "C=3", "A=older", "B=", "AA=2", "=C:=x", "Z=\xff"}
	before := slices.Clone(environ)
	want := []string{"PATH=/bin", "odd", "AA=2", "=C:=x", "Z=\xff", "A=1", "B=x=y"}
	if diff := cmp.Diff(want, execEnviron(environ, plan)); diff != "" {
		t.Errorf("execEnviron (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, environ); diff != "" {
		t.Errorf("execEnviron changes its argument:\n%s", diff)
	}
}

func TestExecRefusal(t *testing.T) {
	none := launch.Plan{Outcome: launch.OutcomeNone, Warnings: []launch.Warning{{Rule: "other", Text: "x"}, {Rule: "nothing-usable", Text: "no RDMA: no device"}}}
	partial := launch.Plan{Outcome: launch.OutcomeRDMA, Incomplete: []inventory.Problem{{Path: "/a", Error: "b"}}}
	both := partial
	both.Outcome = launch.OutcomeNone
	tests := []struct {
		plan  launch.Plan
		flags execFlags
		want  int
	}{
		{launch.Plan{Outcome: launch.OutcomeRDMA}, execFlags{}, cli.ExitOK},
		{launch.Plan{Outcome: launch.OutcomeLibfabric}, execFlags{}, cli.ExitOK},
		{launch.Plan{Outcome: launch.OutcomeOff}, execFlags{}, cli.ExitOK},
		{none, execFlags{}, cli.ExitNotFound},
		{none, execFlags{allowPartial: true}, cli.ExitNotFound},
		{none, execFlags{allowNone: true}, cli.ExitOK},
		{none, execFlags{planFlags: planFlags{tcpFallback: true}}, cli.ExitOK},
		{partial, execFlags{}, cli.ExitPartial},
		{partial, execFlags{allowNone: true}, cli.ExitPartial},
		{partial, execFlags{allowPartial: true}, cli.ExitOK},
		{both, execFlags{}, cli.ExitPartial},
		{both, execFlags{allowPartial: true}, cli.ExitNotFound},
		{both, execFlags{allowPartial: true, allowNone: true}, cli.ExitOK},
	}
	for _, tt := range tests {
		if got := cli.ExitCode(execRefusal(tt.plan, tt.flags)); got != tt.want {
			t.Errorf("execRefusal(%s, %d incomplete, %+v) = %d, want %d", tt.plan.Outcome, len(tt.plan.Incomplete), tt.flags, got, tt.want)
		}
	}
}
