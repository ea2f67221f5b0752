package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

func TestExitCode(t *testing.T) {
	dialTimeout := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	tests := []struct {
		err  error
		want int
	}{
		{nil, ExitOK},
		{errors.New("x"), ExitFault},
		{Exitf(ExitPending, "x"), ExitPending},
		{fmt.Errorf("apply: %w", Exitf(ExitPartial, "open x: %w", fs.ErrPermission)), ExitPartial},
		{&fs.PathError{Op: "open", Path: "/dev/infiniband/uverbs0", Err: syscall.EACCES}, ExitPermission},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EPERM}, ExitPermission},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, ExitNotFound},
		{errors.Join(errors.New("x"), context.DeadlineExceeded), ExitTimeout},
		{&TimeoutError{Limit: time.Second}, ExitTimeout},
		{dialTimeout, ExitTimeout},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, ExitUnreachable},
		{&net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}, ExitUnreachable},
		{&net.OpError{Op: "dial", Err: syscall.ETIMEDOUT}, ExitTimeout},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, ExitUnreachable},
		{&SignalError{Signal: os.Interrupt}, 130},
		{&SignalError{Signal: syscall.SIGTERM}, 143},
		{context.Canceled, ExitFault},
	}
	for _, tt := range tests {
		if got := ExitCode(tt.err); got != tt.want {
			t.Errorf("ExitCode(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestUsageArity(t *testing.T) {
	tests := []struct {
		use  string
		want arity
	}{
		{"version", arity{}},
		{"show DEVICE", arity{names: []string{"DEVICE"}, least: 1}},
		{"validate [FILE]", arity{names: []string{"FILE"}}},
		{"ping HOST [COUNT]", arity{names: []string{"HOST", "COUNT"}, least: 1}},
		{"exec [flags] -- CMD...", arity{names: []string{"CMD"}, least: 1, any: true}},
		{"help [COMMAND...]", arity{names: []string{"COMMAND"}, any: true}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, usageArity(tt.use), cmp.AllowUnexported(arity{})); diff != "" {
			t.Errorf("usageArity(%q), -want +got:\n%s", tt.use, diff)
		}
	}
}

func TestCheckArgs(t *testing.T) {
	tests := []struct {
		use  string
		args []string
		want string
	}{
		{"show DEVICE", []string{"a"}, ""},
		{"show DEVICE", nil, "missing argument DEVICE"},
		{"ping HOST PORT", []string{"h"}, "missing argument PORT"},
		{"show DEVICE", []string{"a", "b\x1b"}, `unexpected argument "b\x1b"`},
		{"validate [FILE]", nil, ""},
		{"exec -- CMD...", []string{"a", "b", "c"}, ""},
		{"exec -- CMD...", nil, "missing argument CMD"},
	}
	for _, tt := range tests {
		got := ""
		if err := checkArgs(&cobra.Command{Use: tt.use}, tt.args); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("checkArgs(%q, %q) = %q, want %q", tt.use, tt.args, got, tt.want)
		}
	}
}

func TestSourceFlags(t *testing.T) {
	run := func(env []string, args ...string) (source SourceFlags, cfg *config.Config, message string) {
		var errOut bytes.Buffer
		app := newTestApp()
		app.Stderr = &errOut
		app.Environ = env
		app.Commands = []Entry{{Group: GroupNode, Build: func(app *App) *cobra.Command {
			cmd := labCommand("read", func(*cobra.Command) error { cfg = app.Config; return nil })
			source.AddTo(cmd)
			return cmd
		}}}
		app.Run(context.Background(), append([]string{"read"}, args...))
		return source, cfg, errOut.String()
	}
	if source, cfg, _ := run([]string{"RDMAKIT_ROOT=/a"}, "--root", "/b"); source.Root != "/b" || cfg.Root != "/b" {
		t.Errorf("--root /b gives %+v and setting %q, want /b", source, cfg.Root)
	}
	if source, cfg, _ := run([]string{"RDMAKIT_ROOT=/a"}); source.Root != "" || cfg.Root != "/a" {
		t.Errorf("RDMAKIT_ROOT=/a gives %+v and setting %q, want /a in the setting", source, cfg.Root)
	}
	if source, _, _ := run(nil, "--from", "node.tar.gz"); source.From != "node.tar.gz" {
		t.Errorf("--from node.tar.gz gives %+v", source)
	}
	_, cfg, message := run(nil, "--from", "x", "--root", "/b")
	if want := "rdmactl: read: --from and --root can't be combined\n"; cfg != nil ||
		!strings.HasPrefix(message, want) {
		t.Errorf("--from and --root together print %q, want %q", message, want)
	}
}

func TestUnknownSettingFlagShows(t *testing.T) {
	cmd := &cobra.Command{Use: "x"}
	AddSettings(cmd, "mtuu")
	if f := cmd.Flags().Lookup("mtuu"); f == nil || f.Usage != "" {
		t.Errorf("AddSettings(mtuu) adds %+v, want a flag without usage, which TestCommandsAreDocumented refuses", f)
	}
}

// TestWriteErrorsAreNotLost covers commands that ignore what Print returns.
func TestWriteErrorsAreNotLost(t *testing.T) {
	tests := []struct {
		err  error
		code int
		want string
	}{
		{syscall.ENOSPC, ExitFault, "rdmactl: careless: write standard output: no space left on device\n"},
		{syscall.EPIPE, exitBrokenPipe, ""},
	}
	for i, tt := range append(tests, tests...) {
		var end error // of the command itself, the second time
		if i >= len(tests) {
			end = ExitSilently(ExitNotFound)
		}
		var errOut bytes.Buffer
		app := newTestApp()
		app.Stdout, app.Stderr = failingWriter{tt.err}, &errOut
		app.Commands = []Entry{{Group: GroupNode, Build: func(app *App) *cobra.Command {
			return labCommand("careless", func(*cobra.Command) error {
				_ = app.Out.Print(nil, output.Paragraph("data"))
				return end
			})
		}}}
		code := app.Run(context.Background(), []string{"careless"})
		if code != tt.code || errOut.String() != tt.want {
			t.Errorf("writing to %v: exit code %d and %q, want %d and %q",
				tt.err, code, errOut.String(), tt.code, tt.want)
		}
	}
}

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: f.err}
}

func TestExplain(t *testing.T) {
	ended, cancel := context.WithCancelCause(context.Background())
	interrupt := &SignalError{Signal: os.Interrupt}
	cancel(interrupt)
	tests := []struct {
		name string
		over bool // the context has ended
		err  error
		want string
		code int
	}{
		{"no error", true, nil, "<nil>", 0},
		{"running", false, errors.New("x"), "x", ExitFault},
		{"bare", true, context.Canceled, "interrupted", 130},
		{"wrapped", true, fmt.Errorf("scan: %w", context.Canceled), "interrupted: scan: context canceled", 130},
		{"cause", true, fmt.Errorf("scan: %w", context.Cause(ended)), "scan: interrupted", 130},
		{"consequence", true, errors.New("signal: killed"), "interrupted: signal: killed", 130},
		{"considered", true, Exitf(ExitPartial, "3 of 9 nodes"), "3 of 9 nodes", ExitPartial},
	}
	for _, tt := range tests {
		ctx := context.Background()
		if tt.over {
			ctx = ended
		}
		got := explain(ctx, tt.err)
		if fmt.Sprint(got) != tt.want || ExitCode(got) != tt.code {
			t.Errorf("%s: explain = %v (code %d), want %s (code %d)", tt.name, got, ExitCode(got), tt.want, tt.code)
		}
	}
}

// TestHelpFollowsTheTable checks that the help lists commands in the order of the table.
func TestHelpFollowsTheTable(t *testing.T) {
	var out bytes.Buffer
	app := newTestApp()
	app.Stdout = &out
	app.Commands = []Entry{
		{Group: GroupNode, Build: func(*App) *cobra.Command { return labCommand("zeta", nil) }},
		{Group: GroupNode, Build: func(*App) *cobra.Command { return labCommand("alpha", nil) }},
	}
	if code := app.Run(context.Background(), []string{"--help"}); code != ExitOK {
		t.Fatalf("--help = %d", code)
	}
	zeta, alpha := strings.Index(out.String(), "\n  zeta"), strings.Index(out.String(), "\n  alpha")
	if zeta < 0 || alpha < zeta {
		t.Errorf("--help printed %q, want zeta before alpha", out.String())
	}
}

// newTestApp returns an App without commands, streams and environment.
func newTestApp() *App {
	return &App{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
		IsTerminal: func(any) bool { return false },
	}
}

func labCommand(name string, run func(cmd *cobra.Command) error) *cobra.Command {
	return &cobra.Command{Use: name, RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd) }}
}

// TestErrorsFitTerminal holds that errors and hints are wrapped on a terminal only, and that no
// line is broken within a command.
func TestErrorsFitTerminal(t *testing.T) {
	const hint = "hint: show it with rdmactl read --from FILE or so"
	for _, tt := range []struct {
		terminal bool
		want     string
	}{
		{false, "rdmactl: read: open the file that was named: not a file\n" + hint + "\n"},
		{true, "rdmactl: read: open the file that was\n  named: not a file\n" +
			"hint: show it with\n  rdmactl read --from FILE or so\n"},
	} {
		var errOut bytes.Buffer
		app := newTestApp()
		app.Stderr = &errOut
		app.IsTerminal = func(stream any) bool { return tt.terminal && stream == app.Stderr }
		app.Size = func() (int, int) { return 40, 24 }
		app.Commands = []Entry{{Group: GroupNode, Build: func(*App) *cobra.Command {
			return labCommand("read", func(*cobra.Command) error {
				return WithHints(errors.New("open the file that was named: not a file"),
					strings.TrimPrefix(hint, "hint: "))
			})
		}}}
		app.Run(context.Background(), []string{"read"})
		if errOut.String() != tt.want {
			t.Errorf("terminal %t: the error is %q, want %q", tt.terminal, errOut.String(), tt.want)
		}
	}
}

func TestPermissionHint(t *testing.T) {
	denied := func(path string) error { return &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission} }
	const missing = "; in a container a device or a capability may be missing"
	for _, tt := range []struct {
		err  error
		want []string
	}{
		{errors.New("other"), nil},
		{denied("/home/a/x.json"), []string{`sudo runs rdmactl as root; "ls -ld /home/a/x.json" shows who has access`}},
		{&ExitError{Code: 126, Err: denied("/etc/passwd")}, nil},
		{denied("dev"), []string{`sudo runs rdmactl as root; "ls -ld dev" shows who has access`}},
		{denied("/dev/infiniband/umad0"), []string{"sudo runs rdmactl as root" + missing}},
		{fmt.Errorf("read: %w", syscall.EPERM), []string{"sudo runs rdmactl as root" + missing}},
		{WithHints(denied("/x"), "run as root"), []string{"run as root"}},
	} {
		if diff := cmp.Diff(tt.want, withPermissionHint(tt.err, Hints(tt.err))); diff != "" {
			t.Errorf("hints of %v (-want +got):\n%s", tt.err, diff)
		}
	}
}

// TestSignalEndsReadOfInput holds that Ctrl-C doesn't wait for a read of standard input, and that
// the message names the command and what it waited for.
func TestSignalEndsReadOfInput(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	var errOut bytes.Buffer
	app := newTestApp()
	app.Stdin, app.Stderr, app.Grace = in, &errOut, time.Hour
	app.Commands = []Entry{{Group: GroupNode, Build: func(app *App) *cobra.Command {
		return labCommand("read", func(*cobra.Command) error {
			r, err := app.TakeStdin("FILE")
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, r)
			return err
		})
	}}}
	go func() {
		_, _ = typed.Write([]byte("x")) // returns when the command has read it
		for !app.state.reading.Load() {
			time.Sleep(time.Millisecond)
		}
		cancel(&SignalError{Signal: os.Interrupt})
	}()
	code := app.Run(ctx, []string{"read"})
	want := "rdmactl: read: interrupted while reading standard input\n"
	if code != 130 || errOut.String() != want {
		t.Errorf("interrupted: exit code %d, %q, want 130, %q", code, errOut.String(), want)
	}
}
