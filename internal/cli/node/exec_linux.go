package node

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const keepAliveSignal = syscall.SIGCHLD

// execve makes this process another program; it returns only if that fails. syscall.Exec gives the limit of open
// files back, which the runtime has raised.
func execve(file string, args, environ []string) error { return syscall.Exec(file, args, environ) }

// canStart tells what execve would surely say of a file, without starting it.
func canStart(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return syscall.EACCES
	}
	return unix.Access(file, unix.X_OK)
}
