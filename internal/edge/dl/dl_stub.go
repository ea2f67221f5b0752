//go:build !linux || android || nodl

package dl

import (
	"errors"
	"fmt"
	"syscall"
)

// errBuild is the cause in a build that can't open libraries.
var errBuild = fmt.Errorf("this build opens no C libraries: %w", errors.ErrUnsupported)

// Available reports whether this build can open libraries.
const Available = false

// Library is an open C library; this build has none.
type Library struct{}

// Open returns an *Error that matches [errors.ErrUnsupported].
func Open(spec Spec) (*Library, error) {
	return nil, &Error{
		Library: spec.Name, Remedy: "use the dynamic build of rdmactl, on Linux with glibc", Err: errBuild,
	}
}

// Name returns "".
func (l *Library) Name() string { return "" }

// Func returns an error.
func (l *Library) Func(name string) (Func, error) {
	return Func{}, &Error{Symbol: name, Err: errBuild}
}

// At returns false.
func (l *Library) At(uintptr) (Func, bool) { return Func{}, false }

// PathOf returns "".
func (l *Library) PathOf(Func) string { return "" }

// Close does nothing.
func (l *Library) Close() error { return nil }

// Func is a C function; this build has none.
type Func struct{}

// OK returns false.
func (f Func) OK() bool { return false }

// CallErrno returns -1 and ENOSYS.
func (f Func) CallErrno(...uintptr) (ret uintptr, errno syscall.Errno) {
	return ^uintptr(0), syscall.ENOSYS
}

// Call3 returns -1.
func (f Func) Call3(_, _, _ uintptr) uintptr { return ^uintptr(0) }
