package sysfs

import (
	"errors"
	"io/fs"
	"syscall"
)

// enotsupp is the kernel's internal ENOTSUPP (include/linux/errno.h). The C library
// doesn't define it, but drivers return it through sysfs.
const enotsupp = syscall.Errno(524)

// errnos are the errors that reading kernel files returns. Recorded trees store their
// names, because the numbers differ between operating systems.
var errnos = [...]struct {
	name  string
	errno syscall.Errno
}{
	{"EPERM", syscall.EPERM},
	{"ENOENT", syscall.ENOENT},
	{"EINTR", syscall.EINTR},
	{"EIO", syscall.EIO},
	{"ENXIO", syscall.ENXIO},
	{"E2BIG", syscall.E2BIG},
	{"EBADF", syscall.EBADF},
	{"EAGAIN", syscall.EAGAIN},
	{"ENOMEM", syscall.ENOMEM},
	{"EACCES", syscall.EACCES},
	{"EFAULT", syscall.EFAULT},
	{"EBUSY", syscall.EBUSY},
	{"EEXIST", syscall.EEXIST},
	{"ENODEV", syscall.ENODEV},
	{"ENOTDIR", syscall.ENOTDIR},
	{"EISDIR", syscall.EISDIR},
	{"EINVAL", syscall.EINVAL},
	{"EFBIG", syscall.EFBIG},
	{"ENOSPC", syscall.ENOSPC},
	{"EROFS", syscall.EROFS},
	{"EDOM", syscall.EDOM},
	{"ERANGE", syscall.ERANGE},
	{"ENOSYS", syscall.ENOSYS},
	{"ELOOP", syscall.ELOOP},
	{"EOPNOTSUPP", syscall.EOPNOTSUPP},
	{"ENETDOWN", syscall.ENETDOWN},
	{"ETIMEDOUT", syscall.ETIMEDOUT},
	{"ESTALE", syscall.ESTALE},
	{"ENODATA", syscall.ENODATA},
	{"ENOTSUPP", enotsupp},
}

// ErrnoByName returns the error with a name such as EINVAL on this operating system, or
// false for names that recorded trees don't use.
func ErrnoByName(name string) (syscall.Errno, bool) {
	for _, e := range errnos {
		if e.name == name {
			return e.errno, true
		}
	}
	return 0, false
}

// ErrnoName returns the name of an error, or false for one that recorded trees don't use.
func ErrnoName(errno syscall.Errno) (string, bool) {
	for _, e := range errnos {
		if e.errno == errno {
			return e.name, true
		}
	}
	return "", false
}

// noValue reports whether an error of reading a kernel file means that there is no value:
// an empty GID entry, a counter that the card doesn't have, a link that is down.
func noValue(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, enotsupp)
}

// absent reports whether an error means that a file doesn't exist.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// cause returns a file error without the path, for messages that already contain it.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
