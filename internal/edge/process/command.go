package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// Command is a program that reads little, answers and ends.
type Command struct {
	File  string
	Args  []string // without the name
	Input []byte   // on standard input
	// Limit is how long it may take, 0 as long as the context.
	Limit time.Duration
	// MaxOutput is the largest output in bytes, of each of the two streams.
	MaxOutput int
}

// maxComplaint is how much of standard error is kept in bytes.
const maxComplaint = 16 << 10

// ExitError is the error of a program that ended with another code than 0. Unwrap returns the
// [exec.ExitError].
type ExitError struct {
	Code   int    // -1 if a signal ended it
	Stderr string // the first line
	err    error
}

// Error says how the program ended, and what it said.
func (e *ExitError) Error() string {
	if e.Stderr == "" {
		return e.err.Error()
	}
	return e.err.Error() + ": " + e.Stderr
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.err }

// Output runs the program and returns what it printed, also with an *[ExitError]. The program is
// killed at the end of the context or the limit, and when it prints too much.
func (c Command) Output(ctx context.Context) ([]byte, error) {
	if c.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Limit, fmt.Errorf("no answer within %v", c.Limit))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, c.File, c.Args...) //nolint:gosec // the caller's program
	stdout, stderr := limited{left: c.MaxOutput}, limited{left: max(c.MaxOutput, maxComplaint)}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.Input), &stdout, &stderr
	cmd.WaitDelay = time.Second // for children that keep the pipes open
	err := cmd.Run()
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case stdout.left < 0:
		return nil, fmt.Errorf("more than %d bytes of output", c.MaxOutput)
	case exited:
		line, _, _ := bytes.Cut(bytes.TrimSpace(stderr.b.Bytes()), []byte("\n"))
		return stdout.b.Bytes(), &ExitError{Code: exit.ExitCode(), Stderr: string(line), err: err}
	case err != nil:
		return nil, err
	}
	return stdout.b.Bytes(), nil
}

// limited keeps what is written until there is too much, and then takes no more.
type limited struct {
	b    bytes.Buffer
	left int
}

var errTooLong = errors.New("too much output")

// Write implements io.Writer.
func (l *limited) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, errTooLong
	}
	return l.b.Write(b)
}
