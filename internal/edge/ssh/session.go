package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	// graceTime is how long ssh and the command have to end when their standard input has; then ssh
	// gets SIGTERM, and SIGKILL after as long again.
	graceTime = 2 * time.Second
	// lingerTime is how long to wait for output after ssh has ended: a process that it has left in
	// the background may hold the pipes open.
	lingerTime = 500 * time.Millisecond
)

// Session is a command that runs on a host: its standard input and output. All methods may be
// called at the same time.
type Session struct {
	host    string
	in, out *os.File
	stderr  tail
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when ssh has ended and err is valid
	err     error

	terminate *time.Timer // nil until the session is cancelled

	mu    sync.Mutex
	ended bool // ssh has ended: Read doesn't wait for more than lingerTime
}

var _ net.Conn = (*Session)(nil)

// ExitError is the error of a session that has ended with a status other than 0.
type ExitError struct {
	// Status is the exit status of the command, or 255 for an error of ssh; -1 for a signal.
	Status int
	// Stderr is the end of what the command and ssh wrote to standard error.
	Stderr string
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("exit status %d", e.Status)
	}
	return fmt.Sprintf("exit status %d: %s", e.Status, e.Stderr)
}

// Start runs a command on a host until ctx ends, with options such as those of [Settings.Options].
// It returns as soon as ssh runs, before that has connected. Without the program, the error matches
// [exec.ErrNotFound] or [os.ErrNotExist].
func (c Client) Start(ctx context.Context, host string, options []string, command string) (*Session, error) {
	if err := CheckHost(host); err != nil {
		return nil, err
	}
	words := c.words(append(append([]string(nil), options...), "--", host, command)...)
	s := &Session{host: host, done: make(chan struct{})}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", words[0], err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", words[0], err), in.Close(), theirIn.Close())
	}
	errOut, theirErr, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", words[0], err), in.Close(), theirIn.Close(),
			out.Close(), theirOut.Close())
	}
	s.in, s.out = in, out
	ctx, s.cancel = context.WithCancelCause(ctx)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // the user's program
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, theirErr
	cmd.Env = environ()
	cmd.SysProcAttr = detached()
	cmd.Cancel = func() error { // before cmd.Wait returns
		s.terminate = time.AfterFunc(graceTime, func() { terminateGroup(cmd.Process) })
		return errors.Join(s.in.Close(), s.out.Close())
	}
	cmd.WaitDelay = 2 * graceTime
	err = cmd.Start()
	_ = errors.Join(theirIn.Close(), theirOut.Close(), theirErr.Close()) // copies for the child
	if err != nil {
		s.cancel(err)
		return nil, errors.Join(fmt.Errorf("start %w", err), in.Close(), out.Close(), errOut.Close())
	}
	copied := make(chan struct{})
	go func() {
		_, _ = io.Copy(&s.stderr, errOut) // until its end, or until it is closed
		close(copied)
	}()
	go s.wait(cmd, errOut, copied)
	return s, nil
}

// wait waits for the end of ssh and releases what the session has, except for output that has not
// been read.
func (s *Session) wait(cmd *exec.Cmd, errOut io.Closer, copied <-chan struct{}) {
	err := cmd.Wait()
	if s.terminate != nil {
		s.terminate.Stop()
	}
	select {
	case <-copied:
	case <-time.After(lingerTime):
	}
	_ = errOut.Close() // wakes the copying
	<-copied
	_ = s.in.Close() // again after a cancellation
	s.mu.Lock()
	s.ended = true
	_ = s.out.SetReadDeadline(time.Now().Add(lingerTime)) // fails if it is closed
	s.mu.Unlock()
	switch status := cmd.ProcessState; {
	case status == nil: // wait4 failed
		s.err = err
	case !status.Success():
		s.err = &ExitError{Status: status.ExitCode(), Stderr: s.stderr.String()}
	}
	s.cancel(nil)
	close(s.done)
}

// Read reads from the standard output of the command. It returns [io.EOF] when ssh has ended and
// everything was read, and an error that matches [net.ErrClosed] after Close.
func (s *Session) Read(b []byte) (int, error) {
	s.mu.Lock()
	ended := s.ended
	if ended {
		_ = s.out.SetReadDeadline(time.Now().Add(lingerTime)) // Read reports it
	}
	s.mu.Unlock()
	n, err := s.out.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.mu.Lock()
		over := s.ended
		s.mu.Unlock()
		if over {
			err = io.EOF
		}
	}
	return n, closedError(err)
}

// Write writes to the standard input of the command.
func (s *Session) Write(b []byte) (int, error) {
	n, err := s.in.Write(b)
	return n, closedError(err)
}

// closedError replaces the error of a closed file with that of a closed connection.
func closedError(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return net.ErrClosed
	}
	return err
}

// CloseWrite closes the standard input of the command and leaves its output.
func (s *Session) CloseWrite() error { return closedError(s.in.Close()) }

// Close ends the session: it closes the standard input and output of the command, and waits until
// ssh has ended, which it enforces after a few seconds. It may be called more than once and returns
// nil; [Session.Wait] returns how the command ended.
func (s *Session) Close() error {
	s.cancel(net.ErrClosed)
	<-s.done
	_ = s.out.Close() // may be closed
	return nil
}

// Wait waits for the end of ssh. The error is an [ExitError] unless the exit status was 0.
func (s *Session) Wait() error {
	<-s.done
	return s.err
}

// Done is closed when ssh has ended.
func (s *Session) Done() <-chan struct{} { return s.done }

// Stderr returns the last lines that the command and ssh wrote to standard error: at most 8 KiB.
func (s *Session) Stderr() string { return s.stderr.String() }

// SetDeadline sets the deadlines of Read and Write.
func (s *Session) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// SetReadDeadline sets the deadline of Read. It has no effect once ssh has ended, as nothing blocks
// then.
func (s *Session) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	return closedError(s.out.SetReadDeadline(t))
}

// SetWriteDeadline sets the deadline of Write.
func (s *Session) SetWriteDeadline(t time.Time) error { return closedError(s.in.SetWriteDeadline(t)) }

// LocalAddr returns the address of this end.
func (s *Session) LocalAddr() net.Addr { return Addr("localhost") }

// RemoteAddr returns the name of the host as an address.
func (s *Session) RemoteAddr() net.Addr { return Addr(s.host) }

// Addr is a host as the user named it.
type Addr string

// Network returns "ssh".
func (Addr) Network() string { return "ssh" }

// String returns the name of the host.
func (a Addr) String() string { return string(a) }
