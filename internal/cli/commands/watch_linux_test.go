package commands

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// watching is status --watch on a terminal of its own.
type watching struct {
	cmd               *exec.Cmd
	control, terminal *os.File
	before            *unix.Termios
	text              bytes.Buffer // until the first frame was there
	ended             chan struct{}
}

// watchOnTerminal starts status --watch and waits for its first frame.
func watchOnTerminal(t *testing.T) *watching {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &watching{ended: make(chan struct{})}
	w.control, w.terminal = openPTY(t)
	w.before = w.settings(t)
	w.cmd = &exec.Cmd{
		Path: exe,
		Args: []string{
			"rdmactl", "status", "--watch", "--interval", "100ms", "--from", "../../testkit/testtrees/01_ib_8hca.tree",
		},
		Env: []string{"TERM=xterm", "HOME=" + t.TempDir()}, Stdin: w.terminal, Stdout: w.terminal, Stderr: w.terminal,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: true},
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	go func() {
		_ = w.cmd.Wait() // ProcessState says how it ended
		close(w.ended)
	}()
	framed := make(chan struct{})
	go func() { // keeps reading, or else the program would wait
		buf := make([]byte, 4096)
		for seen := false; ; {
			n, err := w.control.Read(buf)
			if err != nil {
				return
			}
			if !seen {
				w.text.Write(buf[:n])
				if seen = bytes.Contains(w.text.Bytes(), []byte("\x1b[J")); seen {
					close(framed)
				}
			}
		}
	}()
	select {
	case <-framed:
	case <-time.After(30 * time.Second):
		t.Fatal("no frame within 30 s")
	}
	return w
}

// settings are those of the terminal.
func (w *watching) settings(t *testing.T) *unix.Termios {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(w.control.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// await waits for settings with or without echo.
func (w *watching) await(t *testing.T, echo bool) {
	t.Helper()
	for range 300 {
		if (w.settings(t).Lflag&unix.ECHO != 0) == echo {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("the terminal's echo is not %t", echo)
}

// end waits for the end of the program.
func (w *watching) end(t *testing.T) syscall.WaitStatus {
	t.Helper()
	select {
	case <-w.ended:
	case <-time.After(30 * time.Second):
		t.Fatal("it doesn't end within 30 s")
	}
	status, _ := w.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if after := w.settings(t); *after != *w.before {
		t.Errorf("settings of the terminal: %+v, want those before: %+v", *after, *w.before)
	}
	return status
}

// TestWatchEnds holds how status --watch ends, and that the terminal is as before then.
func TestWatchEnds(t *testing.T) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // under nohup, children would inherit that it is ignored
	defer signal.Stop(hangup)
	kill := func(signals ...syscall.Signal) func(*watching) error {
		return func(w *watching) error {
			for _, s := range signals {
				if err := w.cmd.Process.Signal(s); err != nil {
					return err
				}
			}
			return nil
		}
	}
	press := func(key string) func(*watching) error {
		return func(w *watching) error {
			_, err := w.control.WriteString(key)
			return err
		}
	}
	tests := []struct {
		name string
		do   func(*watching) error
		want string
	}{
		{"q", press("q"), "exit 0"},
		{"other keys", press("xyz\nQ"), "exit 0"},
		{"Ctrl-C", press("\x03"), "exit 0"},
		{"SIGTERM", kill(syscall.SIGTERM), "exit 143"},
		{"SIGQUIT", press("\x1c"), "exit 2"}, // as every Go program, with its stacks,
		{"SIGHUP", kill(syscall.SIGHUP), "hangup"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := watchOnTerminal(t)
			if w.settings(t).Lflag&(unix.ECHO|unix.ICANON) != 0 {
				t.Error("status --watch shows the keys that are pressed")
			}
			if err := tt.do(w); err != nil {
				t.Fatal(err)
			}
			status := w.end(t)
			got := fmt.Sprintf("exit %d", status.ExitStatus())
			if status.Signaled() {
				got = status.Signal().String()
			}
			if got != tt.want {
				t.Errorf("status --watch ends with %s, want %s", got, tt.want)
			}
		})
	}
}

// TestWatchStops holds that the terminal is as before while status --watch is stopped.
func TestWatchStops(t *testing.T) {
	w := watchOnTerminal(t)
	if err := w.cmd.Process.Signal(syscall.SIGTSTP); err != nil {
		t.Fatal(err)
	}
	w.await(t, true)
	state := ""
	for range 300 {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		if _, rest, _ := strings.Cut(string(data), ") "); rest != "" {
			state = rest[:1]
		}
		if state == "T" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if state != "T" {
		t.Errorf("state of the stopped process: %s, want T", state)
	}
	if err := w.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.await(t, false)
	if _, err := w.control.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	if status := w.end(t); status.ExitStatus() != 0 {
		t.Errorf("status --watch ends with %v, want 0", status)
	}
}
