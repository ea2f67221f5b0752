package perftest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// StepError is a step of the exchange that failed.
type StepError struct {
	Step string // such as "exchange versions"
	Peer Role   // who didn't answer as expected
	Err  error  // the cause
}

// Error implements error.
func (e *StepError) Error() string { return fmt.Sprintf("%s with the %v: %v", e.Step, e.Peer, e.Err) }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

// Hints returns what to look at if the peer may be another program, or has ended.
func (e *StepError) Hints() []string {
	silent, isSilent := errors.AsType[*SilentError](e.Err)
	foreign := errors.Is(e.Err, ErrForeign) || isSilent && silent.got == 0
	ended := errors.Is(e.Err, ErrClosed) || errors.Is(e.Err, ErrReset)
	switch {
	case e.Step == stepVersions && e.Peer == RoleServer && (foreign || ended):
		return []string{"start the same test there, with rdmactl bench or a program of perftest, and use its TCP " +
			"port (-p) at both ends"}
	case ended:
		return []string{"see what the program at the other end printed"}
	}
	return nil
}

// stepVersions is the first step: a peer that fails there may be any program.
const stepVersions = "exchange versions"

// ErrClosed is matched by the error of a connection that the peer has closed in order.
var ErrClosed = errors.New("the peer closed the connection")

// ErrReset is matched by the error of a connection that the peer has reset: its program ended, or
// closed the connection without having read everything.
var ErrReset = errors.New("the peer reset the connection")

// ErrForeign is matched by the error for a peer whose first message is none of the exchange.
var ErrForeign = errors.New("it is neither rdmactl bench nor perftest")

// SilentError is the error of a step that the peer doesn't take in time. It matches
// [os.ErrDeadlineExceeded].
type SilentError struct {
	Limit time.Duration // of the step
	got   int           // bytes of the message that arrived
}

// Error implements error.
func (e *SilentError) Error() string {
	if e.got > 0 {
		return fmt.Sprintf("it sent only a part of its message (%d bytes) in %v", e.got, e.Limit)
	}
	return fmt.Sprintf("it sent nothing for %v", e.Limit)
}

// Is reports whether target is os.ErrDeadlineExceeded.
func (e *SilentError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// resetError is a reset connection, without the addresses that the error of package net has.
type resetError struct{ err error }

func (e resetError) Error() string { return ErrReset.Error() }

// Unwrap returns the sentinel and the cause.
func (e resetError) Unwrap() []error { return []error{ErrReset, e.err} }

// gone returns a readable error for a connection that the peer has ended.
func gone(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %w", ErrClosed, io.ErrUnexpectedEOF)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return resetError{err}
	}
	return err
}
