//go:build unix

package lldpctl_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/lldpctl"
	"github.com/rdmakit/rdmakit/internal/testkit/script"
)

// program writes a shell script and returns its name.
func program(t *testing.T, body string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "lldpctl")
	script.Write(t, name, body)
	return name
}

// TestRun checks the arguments, and what becomes of output, errors and programs that don't end.
func TestRun(t *testing.T) {
	got, err := lldpctl.Run(t.Context(), program(t, `echo "$@"; echo noise >&2`))
	if string(got) != "-f json\n" || err != nil {
		t.Errorf("Run = %q, %v, want the arguments", got, err)
	}
	_, err = lldpctl.Run(t.Context(), program(t, `echo "unable to connect to socket" >&2; exit 1`))
	if err == nil || !strings.HasSuffix(err.Error(), "exit status 1: unable to connect to socket") {
		t.Errorf("error of a program that failed: %v", err)
	}
	_, err = lldpctl.Run(t.Context(), program(t, `exec head -c 17000000 /dev/zero`))
	if err == nil || !strings.HasSuffix(err.Error(), "more than 16777216 bytes of output") {
		t.Errorf("error of a program that prints too much: %v", err)
	}
	began := time.Now()
	_, err = lldpctl.Run(t.Context(), program(t, `exec sleep 60`))
	took := time.Since(began)
	if err == nil || !strings.HasSuffix(err.Error(), "no answer within 3s") || took > 30*time.Second {
		t.Errorf("a program that doesn't end: %v after %v", err, took)
	}
	ended := errors.New("ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ended)
	if _, err = lldpctl.Run(ctx, program(t, `echo`)); !errors.Is(err, ended) {
		t.Errorf("error after the end: %v", err)
	}
}

// TestRunNotFound checks the error without lldpctl.
func TestRunNotFound(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := os.Stat("/usr/sbin/lldpctl"); err == nil {
		t.Skip("this machine has /usr/sbin/lldpctl")
	}
	if _, err := lldpctl.Run(t.Context(), ""); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("error without lldpctl: %v", err)
	}
}
