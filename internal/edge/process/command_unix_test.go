//go:build unix

package process_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/process"
)

// TestCommand checks input, output and the ways in which a program ends.
func TestCommand(t *testing.T) {
	run := func(script, input string) (string, error) {
		b, err := process.Command{
			File: "/bin/sh", Args: []string{"-c", script}, Input: []byte(input), Limit: 10 * time.Second,
			MaxOutput: 10,
		}.Output(t.Context())
		return string(b), err
	}
	if got, err := run("cat; echo noise >&2", "0123456789"); got != "0123456789" || err != nil {
		t.Errorf("Output = %q, %v", got, err)
	}
	got, err := run("echo first >&2; echo second >&2; echo out; exit 3", "unread")
	exit, ok := errors.AsType[*process.ExitError](err)
	if !ok || exit.Code != 3 || exit.Stderr != "first" || got != "out\n" {
		t.Errorf("exit code 3: %q, %v", got, err)
	}
	if _, err := run("kill -9 $$", ""); err == nil || err.Error() != "signal: killed" {
		t.Errorf("a killed program: %v", err)
	}
	if _, err := run("echo 0123456789", ""); err == nil || err.Error() != "more than 10 bytes of output" {
		t.Errorf("too much output: %v", err)
	}
	if _, err := (process.Command{File: "/nowhere/x"}).Output(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "no such file") {
		t.Errorf("no program: %v", err)
	}
	if _, err := (process.Command{File: "rdmakit-nowhere"}).Output(t.Context()); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("no program in the path: %v", err)
	}
	_, err = process.Command{File: "/bin/sleep", Args: []string{"60"}, Limit: 20 * time.Millisecond}.Output(t.Context())
	if err == nil || err.Error() != "no answer within 20ms" {
		t.Errorf("a program that doesn't end: %v", err)
	}
	ended := errors.New("ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ended)
	if _, err := (process.Command{File: "/bin/true"}).Output(ctx); !errors.Is(err, ended) {
		t.Errorf("after the end: %v", err)
	}
}
