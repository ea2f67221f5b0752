package ibverbs

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// errnoName returns the name of an errno, EACCES for 13, or "" for a number without a name.
func errnoName(errno int) string { return unix.ErrnoName(syscall.Errno(errno)) }

// errnoText returns the description of an errno, "permission denied" for 13.
func errnoText(errno int) string { return syscall.Errno(errno).Error() }
