// Package mungetest starts daemons of MUNGE for tests, each with its own key and socket.
//
//	socket := mungetest.Start(t)
package mungetest

import (
	"bufio"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Folder returns a temporary folder that other users can enter, too.
func Folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Start starts a daemon until the end of the test, and returns its socket. Without munged it skips
// the test.
func Start(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("munged")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/munged")
	}
	if err != nil {
		t.Skipf("needs MUNGE: %v", err)
	}
	dir := Folder(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	key := make([]byte, 64)
	_, err = rand.Read(key)
	if err := errors.Join(err, os.WriteFile(in("key"), key, 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "--foreground", "--key-file="+in("key"), "--socket="+in("socket"),
		"--pid-file="+in("pid"), "--seed-file="+in("seed"))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the context of the test has ended
	var text strings.Builder
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		text.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "work threads") { // it listens
			go func() {
				for lines.Scan() { // what it says later
				}
			}()
			return in("socket")
		}
	}
	t.Fatalf("munged has ended: %s", text.String())
	return ""
}
