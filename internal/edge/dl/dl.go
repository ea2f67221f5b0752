// Package dl opens C libraries at run time, so that one binary without cgo uses them where they
// are installed and says what is missing where they are not.
//
//	lib, err := dl.Open(dl.Spec{Name: "libibverbs.so.1", Packages: "libibverbs1 (Debian, Ubuntu), libibverbs (RHEL)"})
//	if err != nil { ... }               // *dl.Error: matches errors.ErrUnsupported, has a Remedy
//	f, err := lib.Func("ibv_open_device")
//	ret, errno := f.CallErrno(device)
//
// Nothing is opened before [Open] is called. The build tag nodl, and every system but Linux, leaves
// all of it out: Open then answers an *Error that says so. A missing symbol is an error, never
// a panic.
//
// A [Library] and its functions may be used from several goroutines as far as the C code allows it.
// Close must come after the last call has returned; a function of a closed library must not be
// called. A C call can't be interrupted: whoever needs a bound runs it in a goroutine and
// leaves that behind.
package dl

import (
	"errors"
	"fmt"
	"io/fs"
)

// A Spec names a library.
type Spec struct {
	// Name is a soname, which the loader searches for in its usual places (LD_LIBRARY_PATH,
	// ld.so.cache, …), or a path.
	Name string
	// Packages are the packages that hold it, for the remedy.
	Packages string
}

// Error says what could not be opened or found, and what to do about it. It matches
// [errors.ErrUnsupported] always, and [fs.ErrNotExist] where the library is not installed or the
// symbol is not in it.
type Error struct {
	Library string // Spec.Name
	Symbol  string // "" where it is about the library as a whole
	Remedy  string // "install libibverbs1 (Debian, Ubuntu) …"
	Err     error  // the loader's words, or errors.ErrUnsupported
	absent  bool
}

// Error is "open libibverbs.so.1: CAUSE" or "find ibv_x in libibverbs.so.1: CAUSE". The remedy is
// not part of it.
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

// Absent says that the library is not installed, or has no such symbol.
func (e *Error) Absent() bool { return e.absent }
