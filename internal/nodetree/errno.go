package nodetree

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// errnoENOTSUPP is the kernel's internal ENOTSUPP (include/linux/errno.h). It
// has no place in the C library, yet drivers leak it through sysfs.
const errnoENOTSUPP = syscall.Errno(524)

// errnos names the errors that a tree can inject. The text form and errno.json
// hold names, because the numbers differ between operating systems.
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
	{"ENOTSUPP", errnoENOTSUPP},
}

// ParseErrno returns the error of a name such as "EINVAL" on this operating
// system. Unknown names are an error.
func ParseErrno(name string) (syscall.Errno, error) {
	for _, e := range errnos {
		if e.name == name {
			return e.errno, nil
		}
	}
	return 0, fmt.Errorf("unknown error name %q", name)
}

// ErrnoName returns the name of an error, and false when a tree has no name for it.
func ErrnoName(errno syscall.Errno) (string, bool) {
	for _, e := range errnos {
		if e.errno == errno {
			return e.name, true
		}
	}
	return "", false
}

// failsAtOpen tells whether the kernel answers the error to open already.
// Permissions are checked there, and a device node without a device behind it
// answers ENXIO. What a sysfs attribute's show function returns, and the ENODEV
// of an attribute whose device goes away (fs/kernfs/file.c), come from read.
func failsAtOpen(errno syscall.Errno) bool {
	switch errno {
	case syscall.EACCES, syscall.EPERM, syscall.ENOENT, syscall.ENXIO, syscall.ELOOP:
		return true
	}
	return false
}

// injectable returns the errno of a read that failed, for a copy of the file
// that fails in the same way.
func injectable(err error) (syscall.Errno, bool) {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		_, ok := ErrnoName(errno)
		return errno, ok
	}
	if errors.Is(err, fs.ErrPermission) {
		return syscall.EACCES, true
	}
	return 0, false
}
