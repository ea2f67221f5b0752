package remote

import (
	"bufio"
	"errors"
	"net"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/ssh"
)

// Session is a program that runs on a host: the stream of its standard input and output. All
// methods may be called at the same time, but Read only by one goroutine.
type Session struct {
	host, version string
	stream        *ssh.Session
	r             *bufio.Reader // of stream: has what came with the last line of the dialog
}

var _ net.Conn = (*Session)(nil)

// Host returns the name of the host as it was given to [Start].
func (s *Session) Host() string { return s.host }

// Version returns the output of the program's command "version", on one line.
func (s *Session) Version() string { return s.version }

// Read reads from the program's standard output. It returns [io.EOF] when the program or the
// connection has ended.
func (s *Session) Read(b []byte) (int, error) { return s.r.Read(b) }

// Write writes to the program's standard input.
func (s *Session) Write(b []byte) (int, error) { return s.stream.Write(b) }

// CloseWrite closes the program's standard input, which makes it end.
func (s *Session) CloseWrite() error { return s.stream.CloseWrite() }

// Close closes the program's standard input and output, and waits until ssh has ended; a program
// that doesn't end is left by force after a few seconds. It may be called more than once, wakes all
// other methods, and returns nil.
func (s *Session) Close() error { return s.stream.Close() }

// Wait waits until ssh has ended. The error is nil if the program's exit status was 0, otherwise an
// *[Error]: of the kind [KindEnded] with the exit status, or [KindLost] for the end of the
// connection. After Close and the end of the context, the error has no meaning.
func (s *Session) Wait() error {
	err := s.stream.Wait()
	if err == nil {
		return nil
	}
	out := &Error{Host: s.host, Step: StepRunning, Kind: KindEnded, Err: err}
	if exit, ok := errors.AsType[*ssh.ExitError](err); ok {
		out.Status, out.Stderr = exit.Status, exit.Stderr
		if exit.Status == statusSSH {
			out.Kind = KindLost
		}
		out.Text = lastLine(exit.Stderr)
	}
	return out
}

// Done is closed when ssh has ended.
func (s *Session) Done() <-chan struct{} { return s.stream.Done() }

// Stderr returns the end of what the program and ssh wrote to standard error, at most 8 KiB.
func (s *Session) Stderr() string { return s.stream.Stderr() }

// LocalAddr returns the address of this end; its network is "ssh".
func (s *Session) LocalAddr() net.Addr { return s.stream.LocalAddr() }

// RemoteAddr returns the host as an address of the network "ssh".
func (s *Session) RemoteAddr() net.Addr { return s.stream.RemoteAddr() }

// SetDeadline sets the deadlines of Read and Write.
func (s *Session) SetDeadline(t time.Time) error { return s.stream.SetDeadline(t) }

// SetReadDeadline sets the deadline of Read.
func (s *Session) SetReadDeadline(t time.Time) error { return s.stream.SetReadDeadline(t) }

// SetWriteDeadline sets the deadline of Write.
func (s *Session) SetWriteDeadline(t time.Time) error { return s.stream.SetWriteDeadline(t) }
