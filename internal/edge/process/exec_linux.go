package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const keepAliveSignal = syscall.SIGCHLD

// Exec replaces the program of this process with another one, with execve(2); it returns only if
// that fails. syscall.Exec restores the limit of open files, which the runtime has raised.
func Exec(file string, args, environ []string) error { return syscall.Exec(file, args, environ) }

// CanStart returns the error that [Exec] would return for a file, as far as it can be determined
// without starting it.
func CanStart(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return syscall.EACCES
	}
	return unix.Access(file, unix.X_OK)
}
