package sysfs

import (
	"errors"
	"io/fs"
	"syscall"
)

// errnos are the errors that kernel files answer and recorded trees may hold.
var errnos = map[string]syscall.Errno{
	"EACCES": syscall.EACCES, "EAGAIN": syscall.EAGAIN, "EBUSY": syscall.EBUSY, "EINVAL": syscall.EINVAL,
	"EIO": syscall.EIO, "ELOOP": syscall.ELOOP, "ENODEV": syscall.ENODEV, "ENOENT": syscall.ENOENT,
	"ENOMEM": syscall.ENOMEM, "ENOSYS": syscall.ENOSYS, "ENXIO": syscall.ENXIO, "EOPNOTSUPP": syscall.EOPNOTSUPP,
	"EPERM": syscall.EPERM, "ETIMEDOUT": syscall.ETIMEDOUT,
}

// ErrnoByName returns the error number for a name such as EINVAL.
func ErrnoByName(name string) (syscall.Errno, bool) {
	e, ok := errnos[name]
	return e, ok
}

// ErrnoName returns the name of an error number, "" for one that trees can't hold.
func ErrnoName(e syscall.Errno) string {
	for name, v := range errnos {
		if v == e {
			return name
		}
	}
	return ""
}

// noValue reports the answers by which kernel files say that there is nothing
// to tell: an empty GID slot, a counter that the card lacks, a link that is down.
func noValue(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EOPNOTSUPP)
}

// absent reports that a file is not there.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// cause strips the path from a file error, for messages that name it themselves.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
