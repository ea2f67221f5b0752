package guest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// readHost reads the facts about this machine.
func readHost() hostFacts {
	h := hostFacts{GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, Root: os.Geteuid() == 0, Programs: map[string]bool{}}
	if text, err := os.ReadFile("/etc/os-release"); err == nil {
		h.OSRelease = string(text)
	}
	if f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); err == nil {
		h.Tun = true
		_ = f.Close()
	}
	names := []string{"go"}
	for _, p := range bootPrograms {
		names = append(names, p[0])
	}
	for _, name := range names {
		_, err := exec.LookPath(name)
		h.Programs[name] = err == nil
	}
	return h
}

// runner runs programs. It writes their output to a log and keeps the end of it for errors.
type runner struct {
	mu  sync.Mutex
	log io.Writer
}

// Write implements io.Writer: one program's line is not cut by another's.
func (r *runner) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(b)
}

// run runs cmd, made with ctx, to its end. Standard error goes to the log, and so does
// standard output unless the caller has set it. When ctx ends, the program and
// its children are killed.
func (r *runner) run(ctx context.Context, cmd *exec.Cmd) error {
	tail := &tailBuffer{}
	_, _ = fmt.Fprintf(r, "+ %s\n", strings.Join(cmd.Args, " "))
	cmd.Stderr = io.MultiWriter(r, tail)
	if cmd.Stdout == nil {
		cmd.Stdout = cmd.Stderr
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.WaitDelay = 5 * time.Second
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("run %s: %w", cmd.Args[0], context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("run %s: %w: %s", cmd.Args[0], err, tail.text())
	}
	return nil
}

// output is run, and returns the standard output.
func (r *runner) output(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var b bytes.Buffer
	cmd.Stdout = &b
	err := r.run(ctx, cmd)
	return b.String(), err
}

// tailBuffer keeps the last 2 KiB written to it.
type tailBuffer struct {
	mu sync.Mutex
	b  []byte
}

// Write implements io.Writer.
func (t *tailBuffer) Write(b []byte) (int, error) {
	const keep = 2048
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if len(t.b) > keep {
		t.b = append(t.b[:0], t.b[len(t.b)-keep:]...)
	}
	return len(b), nil
}

func (t *tailBuffer) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}
