//go:build !linux

package process

import (
	"errors"
	"os"
	"syscall"
)

const keepAliveSignal = syscall.SIGHUP

// Exec is only supported on Linux.
func Exec(string, []string, []string) error { return errors.ErrUnsupported }

// CanStart returns an error if the file doesn't exist.
func CanStart(file string) error {
	_, err := os.Stat(file)
	return err
}
