package nodetree

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// parseErrno returns the error of a name such as "EINVAL" on this operating
// system. Unknown names are an error.
func parseErrno(name string) (syscall.Errno, error) {
	errno, ok := sysfs.ErrnoByName(name)
	if !ok {
		return 0, fmt.Errorf("unknown error name %q", name)
	}
	return errno, nil
}

// failsAtOpen reports whether the kernel returns the error from open. open checks permissions, and
// returns ENXIO for a device node without a device. Errors of a sysfs attribute's show function,
// and ENODEV of an attribute whose device was removed (fs/kernfs/file.c), are returned by read.
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
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		_, ok := sysfs.ErrnoName(errno)
		return errno, ok
	}
	if errors.Is(err, fs.ErrPermission) {
		return syscall.EACCES, true
	}
	return 0, false
}
