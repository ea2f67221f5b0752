// Package dl opens C libraries at run time, so that one binary without cgo can use them if they are
// installed, and report what is missing otherwise.
//
//	lib, err := dl.Open(dl.Spec{Name: "libibverbs.so.1", Packages: "libibverbs1 (Debian, Ubuntu), libibverbs (RHEL)"})
//	if err != nil { ... }               // *dl.Error: matches errors.ErrUnsupported, has a Remedy
//	f, err := lib.Func("ibv_open_device")
//	ret, errno := f.CallErrno(device)
//
// With the build tag nodl, and on systems other than Linux, libraries are not supported: [Open]
// returns an *Error that reports this. A missing symbol is an error, never a panic.
//
// A [Library] and its functions may be used concurrently if the C code allows it. Call Close only
// after the last call has returned; a function of a closed library must not be called. A C call
// can't be interrupted: a caller that needs a time limit must run it in a goroutine and stop
// waiting for it.
package dl

import (
	"errors"
	"fmt"
	"io/fs"
)

// A Spec specifies a library.
type Spec struct {
	// Name is a soname, for which the loader searches its usual paths (LD_LIBRARY_PATH,
	// ld.so.cache, …), or a path.
	Name string
	// Packages are the packages that contain the library, for the remedy.
	Packages string
}

// Error is the error of opening a library or finding a symbol, with a remedy. It always matches
// [errors.ErrUnsupported], and also [fs.ErrNotExist] if the library is not installed or doesn't
// have the symbol.
type Error struct {
	Library string // Spec.Name
	Symbol  string // "" if the error is about the library as a whole
	Remedy  string // "install libibverbs1 (Debian, Ubuntu) …"
	Err     error  // the loader's error, or errors.ErrUnsupported
	absent  bool
}

// Error returns "open libibverbs.so.1: CAUSE" or "find ibv_x in libibverbs.so.1: CAUSE", without
// the remedy.
func (e *Error) Error() string {
	if e.Symbol != "" {
		return fmt.Sprintf("find %s in %s: %v", e.Symbol, e.Library, e.Err)
	}
	return fmt.Sprintf("open %s: %v", e.Library, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches [errors.ErrUnsupported] and [fs.ErrNotExist]; see Error.
func (e *Error) Is(target error) bool {
	return target == errors.ErrUnsupported || target == fs.ErrNotExist && e.absent
}

// Absent reports whether the library is not installed or doesn't have the symbol.
func (e *Error) Absent() bool { return e.absent }
