package ssh_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/ssh"
	"github.com/rdmakit/rdmakit/internal/testkit/script"
)

// program writes a shell script that takes the part of ssh.
func program(t *testing.T, body string) ssh.Client {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ssh")
	script.Write(t, name, body)
	return ssh.Client{Command: []string{name, "-F", "conf"}}
}

func start(t *testing.T, script string) *ssh.Session {
	t.Helper()
	s, err := program(t, script).Start(t.Context(), "node", []string{"-T"}, "exec true")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestArguments checks the command line, and that the program has a session of its own, without the
// terminal that this process may have.
func TestArguments(t *testing.T) {
	t.Parallel()
	s := start(t, `printf '[%s]' "$@"; echo "$SSH_ASKPASS_REQUIRE"; read -r _ _ _ _ _ sid _ </proc/$$/stat; `+
		`[ $sid = $$ ] && echo own session`)
	out, err := io.ReadAll(s)
	if string(out) != "[-F][conf][-T][--][node][exec true]never\nown session\n" || err != nil || s.Wait() != nil {
		t.Errorf("arguments %q, %v, %v", out, err, s.Wait())
	}
	if s.RemoteAddr().String() != "node" || s.LocalAddr().String() != "localhost" || s.LocalAddr().Network() != "ssh" {
		t.Errorf("addresses %v, %v", s.LocalAddr(), s.RemoteAddr())
	}
}

func TestCheckHost(t *testing.T) {
	for _, name := range []string{"", "-x", "a b", "a\n", "a\tb", "a\x7f"} {
		if err := ssh.CheckHost(name); !errors.Is(err, ssh.ErrHost) {
			t.Errorf("CheckHost(%q) = %v", name, err)
		}
		if _, err := (ssh.Client{}).Start(t.Context(), name, nil, "true"); !errors.Is(err, ssh.ErrHost) {
			t.Errorf("Start(%q) = %v", name, err)
		}
		if _, err := (ssh.Client{}).Settings(t.Context(), name); !errors.Is(err, ssh.ErrHost) {
			t.Errorf("Settings(%q) = %v", name, err)
		}
	}
	for _, name := range []string{"a", "me@a-b.c", "ssh://me@a:22", "fe80::1%eth0", "10.0.0.1"} {
		if err := ssh.CheckHost(name); err != nil {
			t.Errorf("CheckHost(%q) = %v", name, err)
		}
	}
}

// TestOptions checks the options for settings as OpenSSH prints them.
func TestOptions(t *testing.T) {
	const always = "-T -a -x BatchMode=yes ClearAllForwardings=yes ControlMaster=no"
	for _, tt := range []struct{ config, want string }{
		{"", "ConnectTimeout=3 ServerAliveCountMax=3 ServerAliveInterval=10"},
		{"ConnectTimeout 7\nServerAliveInterval 5", ""},
		{"ConnectTimeout 7\nServerAliveInterval 5\nLogLevel ERROR", "LogLevel=INFO"},
		{"ConnectTimeout 7\nServerAliveInterval 5\nLogLevel QUIET", "LogLevel=INFO"},
		{"ConnectTimeout 7\nServerAliveInterval 5\nLogLevel DEBUG", ""},
		{
			"ConnectTimeout 7\nServerAliveInterval 5\nRemoteCommand top\nSessionType none\nStdinNull yes\n" +
				"ForkAfterAuthentication yes",
			"ForkAfterAuthentication=no RemoteCommand=none SessionType=default StdinNull=no",
		},
	} {
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(tt.config), 0o600); err != nil {
			t.Fatal(err)
		}
		client := ssh.Client{Command: []string{"ssh", "-F", file}}
		settings, err := client.Settings(t.Context(), "node")
		if err != nil || settings["hostname"] != "node" || settings["port"] != "22" {
			t.Fatalf("Settings = %v, %v", settings, err)
		}
		options := slices.DeleteFunc(settings.Options(2001*time.Millisecond), func(o string) bool { return o == "-o" })
		slices.Sort(options[6:])
		if got, want := strings.Join(options, " "), strings.TrimSpace(always+" "+tt.want); got != want {
			t.Errorf("options for %q:\n%s, want\n%s", tt.config, got, want)
		}
	}
	if got := fmt.Sprint(ssh.Settings(nil).Options(0)); !strings.Contains(got, "ConnectTimeout=1 ") {
		t.Errorf("options without settings: %s", got)
	}
}

// TestOptionsOrder checks that the options are in the same order each time.
func TestOptionsOrder(t *testing.T) {
	settings := ssh.Settings{
		"remotecommand": "top", "sessiontype": "none", "stdinnull": "yes", "forkafterauthentication": "yes",
	}
	const want = "-o RemoteCommand=none -o SessionType=default -o StdinNull=no -o ForkAfterAuthentication=no"
	for range 20 {
		if got := strings.Join(settings.Options(0), " "); !strings.HasSuffix(got, want) {
			t.Fatalf("options %s, want %s at the end", got, want)
		}
	}
}

// TestSettingsKill checks that a command of the configuration that hangs ends with ssh -G.
func TestSettingsKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config, number := filepath.Join(dir, "config"), filepath.Join(dir, "pid")
	text := `Match exec "echo $$ > ` + number + `; exec sleep 1000"` + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	pid := make(chan int, 1)
	go func() {
		defer cancel(errors.New("enough"))
		for range 500 {
			b, err := os.ReadFile(number)
			if n, numErr := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && numErr == nil {
				pid <- n
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		pid <- 0
	}()
	_, err := ssh.Client{Command: []string{"ssh", "-F", config}}.Settings(ctx, "node")
	n := <-pid
	if n == 0 || err == nil || !strings.HasSuffix(err.Error(), ": enough") {
		t.Fatalf("Settings = %v, with the command as process %d", err, n)
	}
	for range 500 { // until init has taken it
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", n)); err != nil || len(text) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the command of the configuration is left as process %d", n)
	_ = syscall.Kill(n, syscall.SIGKILL) // it has been there just now
}

// TestSettingsErrors checks programs that print no settings.
func TestSettingsErrors(t *testing.T) {
	t.Parallel()
	_, err := program(t, `echo "$*: one" >&2; echo two >&2; exit 255`).Settings(t.Context(), "node")
	if err == nil || !strings.HasSuffix(err.Error(), " -G node: exit status 255: -F conf -G -- node: one") {
		t.Errorf("Settings = %v", err)
	}
	settings, err := program(t, "sleep 60 & echo port 1; echo port 2").Settings(t.Context(), "node")
	if settings["port"] != "1" || err != nil {
		t.Errorf("Settings of a program that leaves another one = %v, %v", settings, err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("enough"))
	defer cancel()
	_, err = program(t, "exec sleep 60").Settings(ctx, "node")
	if err == nil || !strings.HasSuffix(err.Error(), ": enough") {
		t.Errorf("Settings of a program that hangs = %v", err)
	}
	client := ssh.Client{Command: []string{"no-such-program"}}
	if _, err := client.Settings(t.Context(), "node"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("Settings = %v", err)
	}
	if _, err := client.Start(t.Context(), "node", nil, "true"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("Start = %v", err)
	}
}

// TestExit checks the error and standard error of a program, of which the end is kept.
func TestExit(t *testing.T) {
	t.Parallel()
	s := start(t, `i=0; while [ $i -lt 2000 ]; do echo "line $i" >&2; i=$((i+1)); done; echo "  last " >&2; exit 7`)
	exit, ok := errors.AsType[*ssh.ExitError](s.Wait())
	if !ok || exit.Status != 7 || len(exit.Stderr) > 8<<10 || len(exit.Stderr) < 8<<10-20 ||
		!strings.HasPrefix(exit.Stderr, "line 1") || !strings.HasSuffix(exit.Stderr, "line 1999\n  last") ||
		s.Stderr() != exit.Stderr {
		t.Errorf("Wait = %v", s.Wait())
	}
	s = start(t, "kill -9 $$")
	exit, ok = errors.AsType[*ssh.ExitError](s.Wait())
	if !ok || exit.Status != -1 || exit.Error() != "exit status -1" {
		t.Errorf("Wait = %v", s.Wait())
	}
}

// TestHeldPipes ends a program that leaves another one in the background, which holds the pipes.
func TestHeldPipes(t *testing.T) {
	t.Parallel()
	s := start(t, "sleep 5 & echo one; echo two >&2")
	<-s.Done()
	if err := s.Wait(); err != nil || s.Stderr() != "two" {
		t.Errorf("Wait = %v, stderr %q", err, s.Stderr())
	}
	if err := s.SetReadDeadline(time.Unix(1, 0)); err != nil { // has no effect
		t.Error(err)
	}
	out, err := io.ReadAll(s) // also late
	if string(out) != "one\n" || err != nil {
		t.Errorf("Read = %q, %v", out, err)
	}
	began := time.Now()
	s = start(t, "sleep 20 & echo $!")
	out, err = io.ReadAll(s)
	pid, numErr := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || numErr != nil {
		t.Fatalf("Read = %q, %v", out, err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // fails if it has ended
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("Read waited for %v, until the other program had ended", took)
	}
}

// TestCloseStubborn closes programs that don't end with their input: ssh and its children get
// SIGTERM, and SIGKILL.
func TestCloseStubborn(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"echo x; sleep 60", "trap '' TERM; echo x; sleep 60; sleep 60"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			s := start(t, script)
			if _, err := s.Read(make([]byte, 2)); err != nil {
				t.Error(err)
			}
			began := time.Now()
			reading := make(chan error)
			go func() {
				_, err := io.ReadAll(s)
				reading <- err
			}()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if err := <-reading; err != nil && !errors.Is(err, net.ErrClosed) {
				t.Errorf("Read = %v", err)
			}
			if took := time.Since(began); took < time.Second || took > 30*time.Second {
				t.Errorf("closed after %v", took)
			}
			if _, err := s.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Write = %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCloseWrite ends a program by its input.
func TestCloseWrite(t *testing.T) {
	t.Parallel()
	s := start(t, "cat; echo end")
	if _, err := s.Write([]byte("a\n")); err != nil {
		t.Error(err)
	}
	if err := s.CloseWrite(); err != nil {
		t.Error(err)
	}
	out, err := io.ReadAll(s)
	if string(out) != "a\nend\n" || err != nil || s.Wait() != nil {
		t.Errorf("Read = %q, %v; Wait = %v", out, err, s.Wait())
	}
	if err := s.CloseWrite(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("second CloseWrite = %v", err)
	}
}
