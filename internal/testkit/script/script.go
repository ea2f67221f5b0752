// Package script writes the shell scripts that take the part of other programs in tests.
//
//	script.Write(t, filepath.Join(t.TempDir(), "lldpctl"), "echo refused >&2; exit 1")
package script

import (
	"os"
	"syscall"
	"testing"
)

// Write writes a program for /bin/sh to the file name, which it replaces, and fails the test if it
// can't. Commands that other tests start at the same time don't inherit the open file: the kernel
// refuses to run a program that somebody has open for writing (ETXTBSY of execve(2),
// [golang/go#22315]).
//
// [golang/go#22315]: https://github.com/golang/go/issues/22315
func Write(tb testing.TB, name, body string) {
	tb.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(name, []byte("#!/bin/sh\n"+body+"\n"), 0o755) //nolint:gosec // a program
	syscall.ForkLock.RUnlock()
	if err != nil {
		tb.Fatal(err)
	}
}
