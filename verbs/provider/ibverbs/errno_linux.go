package ibverbs

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// errnoName returns EACCES for 13, "" for a number without a name.
func errnoName(errno int) string { return unix.ErrnoName(syscall.Errno(errno)) }

// errnoText returns "permission denied" for 13.
func errnoText(errno int) string { return syscall.Errno(errno).Error() }
