package rdmanl

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mdlayher/netlink"
)

// ErrNoRDMANetlink is matched by the error of every nldev call if the kernel has no
// RDMA netlink for this process; the error is a *NotSupportedError, which reports what
// is missing.
var ErrNoRDMANetlink = errors.New("no RDMA netlink")

// ErrInconsistent is matched by the error of a list that changed during every attempt to
// read it; the returned list may have missing or duplicate entries.
var ErrInconsistent = errors.New("changed while it was read")

// NotSupportedError reports that the kernel doesn't support a feature. It matches
// [errors.ErrUnsupported], and [ErrNoRDMANetlink] if there is no RDMA netlink at all.
type NotSupportedError struct {
	Feature  string // the feature: "RDMA netlink", "nldev chardev get"
	Requires string // what is missing: "ib_core not loaded", "kernel 5.3 or later"
	Remedy   string // a command, or "" if there is none
	Err      error  // the kernel's error
}

// featureRDMANetlink is the Feature of errors that match ErrNoRDMANetlink.
const featureRDMANetlink = "RDMA netlink"

// Error returns feature, requirement, remedy and cause.
func (e *NotSupportedError) Error() string {
	s := "no " + e.Feature + ": " + e.Requires
	if e.Remedy != "" {
		s += " (" + e.Remedy + ")"
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *NotSupportedError) Unwrap() error { return e.Err }

// Is matches errors as described in the comment of the type.
func (e *NotSupportedError) Is(target error) bool {
	return target == errors.ErrUnsupported || target == ErrNoRDMANetlink && e.Feature == featureRDMANetlink
}

// OpError is any other error of a call: "nldev port get rxe0/1: operation not
// permitted". Err is usually a [syscall.Errno], so that [errors.Is] matches
// [fs.ErrPermission], or the error of the context.
type OpError struct {
	Op     string // "nldev device dump", "rtnetlink route get"
	Object string // "rxe0", "rxe0/1", "192.0.2.1"; "" for a list of everything
	Detail string // the kernel's message (extended acknowledgement), usually ""
	Err    error  // the cause
}

// Error returns operation, object, the kernel's message and the cause.
func (e *OpError) Error() string {
	s := e.Op
	if e.Object != "" {
		s += " " + e.Object
	}
	if e.Detail != "" {
		s += ": " + strings.TrimRight(e.Detail, ".")
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// opError returns an OpError for the request with the cause of err, without the wrappers
// of the netlink library. It returns nil for nil.
func opError(q request, err error) error {
	if err == nil {
		return nil
	}
	e := &OpError{Op: q.op, Object: q.object, Err: err}
	if ne, ok := errors.AsType[*netlink.OpError](err); ok {
		e.Detail, e.Err = ne.Message, ne.Err
	}
	if se, ok := errors.AsType[*os.SyscallError](e.Err); ok {
		e.Err = se.Err
	}
	return e
}

// errIncomplete is the error of a message that doesn't identify its object; the message
// is dropped.
var errIncomplete = errors.New("incomplete message")

func missing(err error, what string) error {
	return errors.Join(fmt.Errorf("%w: no %s", errIncomplete, what), err)
}
