package sysfs

import (
	"errors"
	"io/fs"
	"syscall"
)

// enotsupp is the kernel's internal ENOTSUPP (include/linux/errno.h). It
// has no place in the C library, yet drivers leak it through sysfs.
const enotsupp = syscall.Errno(524)

// errnos names the errors that kernel files answer and recorded trees hold by
// name, because the numbers differ between operating systems.
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

// ErrnoByName returns the error of a name such as EINVAL on this operating
// system, false for names that recorded trees don't use.
func ErrnoByName(name string) (syscall.Errno, bool) {
	for _, e := range errnos {
		if e.name == name {
			return e.errno, true
		}
	}
	return 0, false
}

// ErrnoName returns the name of an error, false for one that trees can't hold.
func ErrnoName(errno syscall.Errno) (string, bool) {
	for _, e := range errnos {
		if e.errno == errno {
			return e.name, true
		}
	}
	return "", false
}

// noValue reports the answers by which kernel files say that there is nothing
// to tell: an empty GID slot, a counter that the card lacks, a link that is down.
func noValue(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, enotsupp)
}

// absent reports that a file is not there.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// cause strips the path from a file error, for messages that name it themselves.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
