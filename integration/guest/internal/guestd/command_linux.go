package guestd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/integration/guest/internal/frame"
)

// command is a running script. Its output goes to files rather than pipes, so that background
// processes of the script can neither delay its end nor die of a closed pipe.
type command struct {
	cmd      *exec.Cmd
	out, err *os.File // unlinked
	script   string
	cgroup   string // empty when there is none
	killed   atomic.Bool
}

// startCommand starts the script and returns; the job sends output and result
// when the script has ended.
func (c *conn) startCommand(session string, req frame.RunRequest) (*job, error) {
	cmd, err := c.server.newCommand(session, req.Script)
	if err != nil {
		return nil, err
	}
	if err := cmd.start(); err != nil {
		cmd.cleanUp()
		return nil, err
	}
	j := &job{session: session, kill: cmd.kill, quiet: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(j.done)
		defer cmd.cleanUp()
		c.report(j, cmd, cmd.wait())
	}()
	return j, nil
}

func (c *conn) report(j *job, cmd *command, e frame.End) {
	err := errors.Join(c.sendOutput(j, frame.KindOut, cmd.out), c.sendOutput(j, frame.KindErr, cmd.err))
	if err != nil && e.Error == "" {
		e.Error = fmt.Sprintf("read the output of the command: %v", err)
	}
	select {
	case <-j.quiet:
	default:
		c.end(j.session, e)
	}
}

// sendOutput sends the present contents of f; later output of background processes is discarded.
func (c *conn) sendOutput(j *job, kind string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return c.copyFrames(j, kind, io.NewSectionReader(f, 0, info.Size()))
}

func (s *Server) newCommand(session, script string) (*command, error) {
	c := &command{}
	var err error
	if c.script, err = writeTemp(s.TempDir, script); err != nil {
		return nil, err
	}
	if c.out, err = unlinkedTemp(s.TempDir); err != nil {
		c.cleanUp()
		return nil, err
	}
	if c.err, err = unlinkedTemp(s.TempDir); err != nil {
		c.cleanUp()
		return nil, err
	}
	if s.CgroupDir != "" {
		c.cgroup = filepath.Join(s.CgroupDir, "run-"+session)
		if err := os.Mkdir(c.cgroup, 0o755); err != nil {
			c.cleanUp()
			return nil, fmt.Errorf("create cgroup: %w", err)
		}
	}
	// No context: kill reaches more processes than a context's cancellation.
	c.cmd = exec.CommandContext(context.Background(), "/bin/bash", c.script)
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.err
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c, nil
}

func (c *command) start() error {
	if c.cgroup != "" {
		dir, err := os.Open(c.cgroup)
		if err != nil {
			return fmt.Errorf("open cgroup: %w", err)
		}
		defer dir.Close()
		c.cmd.SysProcAttr.UseCgroupFD = true
		c.cmd.SysProcAttr.CgroupFD = int(dir.Fd())
	}
	return c.cmd.Start()
}

func (c *command) wait() frame.End {
	err := c.cmd.Wait()
	e := frame.End{Code: -1, Killed: c.killed.Load()}
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		e.Error = err.Error()
		return e
	}
	e.Code = c.cmd.ProcessState.ExitCode()
	if ws, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Code = 128 + int(ws.Signal())
	}
	return e
}

// kill ends the script and all processes that it started. Errors are ignored: the processes have
// already ended.
func (c *command) kill() {
	c.killed.Store(true)
	if c.cgroup != "" {
		_ = os.WriteFile(filepath.Join(c.cgroup, "cgroup.kill"), []byte("1"), 0)
	}
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
}

func (c *command) cleanUp() {
	if c.script != "" {
		_ = os.Remove(c.script)
	}
	for _, f := range []*os.File{c.out, c.err} {
		if f != nil {
			_ = f.Close()
		}
	}
	if c.cgroup != "" {
		c.removeCgroup()
	}
}

// removeCgroup keeps the group if background processes are still in it. Killed processes only need
// a moment to disappear.
func (c *command) removeCgroup() {
	for range 50 {
		if err := os.Remove(c.cgroup); err == nil || !c.killed.Load() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func writeTemp(dir, text string) (string, error) {
	f, err := os.CreateTemp(dir, "run-*.sh")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

func unlinkedTemp(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "run-*.out")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}
