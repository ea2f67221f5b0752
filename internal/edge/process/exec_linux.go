package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const keepAliveSignal = syscall.SIGCHLD

// Exec makes this process another program, by execve(2); it returns only if that fails.
// syscall.Exec gives the limit of open files back, which the runtime has raised.
func Exec(file string, args, environ []string) error { return syscall.Exec(file, args, environ) }

// CanStart tells what [Exec] would surely say of a file, without starting it.
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
