package ibverbs

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// Error is the error of a verb that the library, the kernel or the driver has rejected. It wraps
// the [syscall.Errno], if there is one, and matches [provider.ErrNotSupported] if the device
// doesn't have the feature.
type Error struct {
	Op     string // "register memory"
	Device string // name of the device
	Err    error  // cause
	Remedy string // what to do about it; "" if that is unknown
}

// Error returns "OPERATION on DEVICE: CAUSE", without the remedy.
func (e *Error) Error() string { return fmt.Sprintf("%s on %s: %v", e.Op, e.Device, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches [provider.ErrNotSupported] for one more errno than [syscall.Errno] does: drivers
// return EPROTONOSUPPORT for types of objects that they don't have.
func (e *Error) Is(target error) bool {
	return target == provider.ErrNotSupported && errors.Is(e.Err, syscall.EPROTONOSUPPORT)
}

// Hints returns the remedy, if there is one.
func (e *Error) Hints() []string {
	if e.Remedy == "" {
		return nil
	}
	return []string{e.Remedy}
}

// failed returns the error of a verb that returned an errno. pinned is the number of bytes that the
// verb pins, or 0.
func (d *openDevice) failed(op string, errno int, pinned uint64) error {
	e := &Error{Op: op, Device: d.name, Err: errnoError(errno)}
	if errno > 0 {
		e.Err = syscall.Errno(errno)
	}
	switch syscall.Errno(max(0, errno)) {
	case syscall.ENOMEM, syscall.EAGAIN:
		e.Remedy = memlockRemedy(pinned, d.memlock())
	case syscall.EPERM, syscall.EACCES:
		e.Remedy = "give the process access to /dev/infiniband/uverbs* (group rdma, or the device in the container)"
	case syscall.EIO, syscall.ENODEV, syscall.ENXIO:
		e.Remedy = "the device was removed or its driver was reset: close all of its objects, and open it again " +
			"when rdma link lists it"
	}
	return e
}

// memlockRemedy returns what to do when memory can't be pinned: the limit is the usual cause. A
// negative limit is none.
func memlockRemedy(pinned uint64, limit int64) string {
	if limit < 0 {
		return "free memory, or use fewer and shallower queues: there is no limit of pinned memory (RLIMIT_MEMLOCK)"
	}
	needs := ""
	if pinned > 0 {
		needs = fmt.Sprintf(", and this region needs %d", pinned)
	}
	return fmt.Sprintf("raise the limit of pinned memory (RLIMIT_MEMLOCK): it is %d bytes for all regions and queues"+
		"%s; set ulimit -l unlimited, LimitMEMLOCK=infinity (systemd) or --ulimit memlock=-1 (docker), "+
		"or give the process CAP_IPC_LOCK", limit, needs)
}
