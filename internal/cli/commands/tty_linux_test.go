package commands

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openPTY returns the two ends of a new pseudo-terminal of 80 columns and 24 rows.
func openPTY(t *testing.T) (control, terminal *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = control.Close() })
	fd := int(control.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	return control, terminal
}

// runOnTerminal runs the lab with both outputs on a terminal and returns its output.
func runOnTerminal(t *testing.T, env []string, args ...string) string {
	t.Helper()
	return programOnTerminal(t, "lab", env, args...)
}

// programOnTerminal runs one of the programs that the tests' binary is.
func programOnTerminal(t *testing.T, program string, env []string, args ...string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	control, terminal := openPTY(t)
	cmd := &exec.Cmd{
		Path: exe, Args: append([]string{program}, args...), Env: append([]string{"HOME=" + t.TempDir()}, env...),
		Stdin: terminal, Stdout: terminal, Stderr: terminal,
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close() // the child's copies stay
	var text bytes.Buffer
	_, _ = text.ReadFrom(control) // EIO once the last writer is gone
	_ = cmd.Wait()                // the exit code is not what is tested here
	return strings.ReplaceAll(text.String(), "\r\n", "\n")
}

const colored = "\x1b[32mup\x1b[m\n"

func TestColorOnTerminal(t *testing.T) {
	xterm := "TERM=xterm-256color"
	tests := []struct {
		name string
		env  []string
		args []string
		want bool
	}{
		{"terminal", []string{xterm}, nil, true},
		{"no_color", []string{xterm, "NO_COLOR=1"}, nil, false},
		{"dumb", []string{"TERM=dumb"}, nil, false},
		{"no term", nil, nil, false},
		{"never", []string{xterm}, []string{"--color", "never"}, false},
		{"never by variable", []string{xterm, "RDMAKIT_COLOR=never"}, nil, false},
		{"always", []string{"TERM=dumb"}, []string{"--color", "always"}, true},
		{"always over no_color", []string{xterm, "NO_COLOR=1"}, []string{"--color=always"}, true},
		{"always by variable under no_color", []string{xterm, "NO_COLOR=1", "RDMAKIT_COLOR=always"}, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := runOnTerminal(t, tt.env, append([]string{"hostile"}, tt.args...)...)
			if !strings.Contains(text, "STATE") {
				t.Fatalf("lab hostile printed %q, want a table", text)
			}
			if got := strings.Contains(text, colored); got != tt.want {
				t.Errorf("lab hostile printed %q; coloured %t, want %t", text, got, tt.want)
			}
			if !tt.want && strings.Contains(text, "\x1b") {
				t.Errorf("lab hostile printed %q, want no escape at all", text)
			}
			if strings.Contains(text, "\x1b[2J") || strings.Contains(text, "\u009b") {
				t.Errorf("lab hostile printed %q, with an escape from the data", text)
			}
		})
	}
}

func TestHelpOnTerminal(t *testing.T) {
	if text := runOnTerminal(t, []string{"TERM=xterm"}, "--help"); !strings.Contains(text, "\x1b[1mUsage:\x1b[m\n") {
		t.Errorf("--help printed %q, want bold headings", text)
	}
	if text := runOnTerminal(t, []string{"TERM=xterm"}, "--help", "--color=never"); strings.Contains(text, "\x1b") {
		t.Errorf("--help --color=never printed %q, want no escapes", text)
	}
}

func TestProgressOnTerminal(t *testing.T) {
	want := "\r\x1b[Kreading 0/2\r\x1b[Kdone\n"
	if got := runOnTerminal(t, []string{"TERM=xterm"}, "progress"); got != want {
		t.Errorf("lab progress printed %q, want %q", got, want)
	}
	for _, tt := range []struct{ env, flag string }{{"TERM=dumb", "-v=false"}, {"TERM=xterm", "-q"}} {
		if got := runOnTerminal(t, []string{tt.env}, "progress", tt.flag); got != "done\n" {
			t.Errorf("lab progress with %s and %s printed %q, want no progress", tt.env, tt.flag, got)
		}
	}
}

// TestLongWorkShowsProgress checks that long work shows its progress, on a terminal only, and
// removes the line at its end.
func TestLongWorkShowsProgress(t *testing.T) {
	tree := "../../testkit/testtrees/58_two_ib_fabrics.tree"
	job := "../../../examples/job.env"
	dir := t.TempDir()
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{
			[]string{"snapshot", "-o", dir + "/a.tar.gz", "--from", tree},
			[]string{"recording: entries 0", "recording: what commands say 0/4"},
		},
		{
			[]string{"k8s", "lint", "../../../examples/kubernetes/sriov", "--nodes", tree},
			[]string{"reading manifests: files 0", "reading nodes: files 0"},
		},
		{
			[]string{"env", "lint", "--from", tree, "--env", job, "--env", job},
			[]string{"reading environments: files 0/2"},
		},
		{[]string{"env", "consensus", "../../testkit/testtrees/consensus"}, []string{"reading nodes: inputs 0"}},
	} {
		text := programOnTerminal(t, "rdmactl", []string{"TERM=xterm"}, tt.args...)
		for _, want := range tt.want {
			if i := strings.Index(text, "\r\x1b[K"+want); i < 0 || !strings.Contains(text[i+len(want):], "\r\x1b[K") {
				t.Errorf("rdmactl %v printed %q, want %q and its end", tt.args, text, want)
			}
		}
		again := append([]string{"-q"}, tt.args...)
		if tt.args[0] == "snapshot" {
			again = append(again, "--force")
		}
		quiet := programOnTerminal(t, "rdmactl", []string{"TERM=xterm"}, again...)
		if strings.Contains(quiet, "\r\x1b[K") {
			t.Errorf("rdmactl -q %v printed %q, want no progress", tt.args, quiet)
		}
	}
}

// TestBenchShowsProgress checks that a test of a given duration shows the elapsed time, and a test
// of all sizes how many of them are measured.
func TestBenchShowsProgress(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags []string
		want  []string
	}{
		{
			"duration",
			[]string{"-p", "18917", "-s", "4096", "-D", "2"},
			[]string{"\r\x1b[Kmeasuring 0s of 2s", "\r\x1b[Kmeasuring 1s of 2s", "AVERAGE GBIT/S"},
		},
		{
			"sizes",
			[]string{"-p", "18918", "-a", "-n", "20"},
			[]string{"\r\x1b[Kmeasured: sizes 0/23", "AVERAGE GBIT/S"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			test := append([]string{"bench", "write-bw"}, tt.flags...)
			startBenchServer(t, append(slices.Clone(test), "-d", "roce@127.0.6.1"))
			text := programOnTerminal(t, "rdmactl", []string{"TERM=xterm"},
				append(test, "-d", "roce@127.0.6.2", "127.0.6.1")...)
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("bench %v printed %q, want %q", tt.flags, text, want)
				}
			}
		})
	}
}

// startBenchServer starts a server and waits until it waits for a client.
func startBenchServer(t *testing.T, args []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := &exec.Cmd{
		Path: exe, Args: append([]string{"rdmactl"}, args...), Env: []string{"HOME=" + t.TempDir()},
	}
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	if _, err := stderr.Read(make([]byte, 256)); err != nil {
		t.Fatal(err)
	}
}

// TestStartAsksNobody checks that no program is started and the terminal isn't queried for its
// colours before a command runs, not even in tmux: that would cost time in every run and read the
// user's input.
func TestStartAsksNobody(t *testing.T) {
	dir := t.TempDir()
	trap := "#!/bin/sh\ntouch " + dir + "/started\n"
	if err := os.WriteFile(dir+"/tmux", []byte(trap), 0o700); err != nil { //nolint:gosec // it must be executable
		t.Fatal(err)
	}
	text := runOnTerminal(t,
		[]string{"TERM=tmux-256color", "TMUX=/tmp/tmux-0/default,1,0", "PATH=" + dir + ":/usr/bin:/bin"}, "version")
	if !strings.HasPrefix(text, "rdmactl ") || strings.Contains(text, "\x1b") {
		t.Errorf("version printed %q, want one plain line", text)
	}
	if _, err := os.Stat(dir + "/started"); err == nil {
		t.Error("version started tmux")
	}
}

// TestInterruptOnTerminal checks that Ctrl-C works twice on a terminal: the second one ends a
// command that ignores the first.
func TestInterruptOnTerminal(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	control, terminal := openPTY(t)
	cmd := &exec.Cmd{
		Path: exe, Args: []string{"lab", "hang"}, Env: []string{"TERM=xterm"},
		Stdin: terminal, Stdout: terminal, Stderr: terminal,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: true},
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close() // the child's copies stay
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // ProcessState says how it ended
		close(ended)
	}()
	buf := make([]byte, 256)
	if _, err := control.Read(buf); err != nil { // "hanging": the handler is in place
		t.Fatal(err)
	}
	for range 100 {
		if _, err := control.Write([]byte{3}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
			status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !status.Signaled() || status.Signal() != syscall.SIGINT {
				t.Errorf("lab hang ended with %v, want by SIGINT", cmd.ProcessState)
			}
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	_ = cmd.Process.Kill()
	t.Error("lab hang outlived a hundred Ctrl-C")
}
