package rdmanl

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mdlayher/netlink"
)

// ErrNoRDMANetlink is matched by the error of every nldev call on a kernel that
// has no RDMA netlink for this process; the error itself is a
// *NotSupportedError, which says what is missing.
var ErrNoRDMANetlink = errors.New("no RDMA netlink")

// ErrInconsistent is matched by the error of a list that kept changing while it
// was read; the list that comes with it may lack entries or hold some twice.
var ErrInconsistent = errors.New("changed while it was read")

// NotSupportedError tells that the kernel lacks something. It matches
// [errors.ErrUnsupported], and [ErrNoRDMANetlink] where all of RDMA netlink is
// missing.
type NotSupportedError struct {
	Feature  string // what was asked for: "RDMA netlink", "nldev chardev get"
	Requires string // what is missing: "ib_core not loaded", "kernel 5.3 or later"
	Remedy   string // a command, or "" when there is none
	Err      error  // what the kernel answered
}

// featureRDMANetlink is the Feature that ErrNoRDMANetlink stands for.
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

// Is implements the matching that the type's comment describes.
func (e *NotSupportedError) Is(target error) bool {
	return target == errors.ErrUnsupported || target == ErrNoRDMANetlink && e.Feature == featureRDMANetlink
}

// OpError is any other failure of a call: "nldev port get rxe0/1: operation not
// permitted". Err is mostly a [syscall.Errno], so that [errors.Is] matches
// [fs.ErrPermission], or the error of the context.
type OpError struct {
	Op     string // "nldev device dump", "rtnetlink route get"
	Object string // "rxe0", "rxe0/1", "192.0.2.1"; "" for a list of everything
	Detail string // the kernel's own words (extended acknowledgement), mostly ""
	Err    error  // the cause
}

// Error joins operation, object, the kernel's words and the cause.
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

// opError strips the wrappings of the netlink library from err and names the
// request instead. It returns nil for nil.
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

// errIncomplete marks a message without what identifies its object; nothing of
// it is kept.
var errIncomplete = errors.New("incomplete message")

func lacks(err error, what string) error {
	return errors.Join(fmt.Errorf("%w: no %s", errIncomplete, what), err)
}
