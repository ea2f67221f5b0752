//go:build linux && !android && !nodl

package dl

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Available reports whether this build can open libraries.
const Available = true

// Library is an open C library.
type Library struct {
	spec     Spec
	handle   uintptr
	errnoLoc uintptr // __errno_location of the C library

	mu     sync.Mutex
	closed bool
}

// Open opens the library and its dependencies (dlopen with RTLD_NOW and RTLD_LOCAL), and runs their
// initialisers.
func Open(spec Spec) (*Library, error) {
	defer onOneThread()()
	handle, err := purego.Dlopen(spec.Name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, openError(spec, err)
	}
	// Searched in the library's dependencies, so that it is the errno that the library sets.
	errnoLoc, err := purego.Dlsym(handle, "__errno_location")
	if err != nil {
		_ = purego.Dlclose(handle) // the error to return is the missing errno
		return nil, &Error{
			Library: spec.Name, Symbol: "__errno_location", Remedy: "use glibc or musl", Err: err, absent: true,
		}
	}
	return &Library{spec: spec, handle: handle, errnoLoc: errnoLoc}, nil
}

// onOneThread keeps the goroutine on its thread until the returned function is called: the loader
// keeps its errors (dlerror) per thread, and purego reads them with a second call.
func onOneThread() (release func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// openError distinguishes a library that is not installed from one that can't be used. The loader
// has no error code for it, so openError checks the message, which is not translated in a process
// that never called setlocale.
func openError(spec Spec, err error) *Error {
	e := &Error{Library: spec.Name, Err: errors.New(strings.TrimPrefix(err.Error(), spec.Name+": "))}
	missing := strings.Contains(err.Error(), "No such file")
	e.absent = missing && strings.HasPrefix(err.Error(), spec.Name+":")
	switch {
	case e.absent && spec.Packages != "":
		e.Remedy = "install " + spec.Packages
	case missing:
		e.Remedy = "install the library in the error message"
	default:
		e.Remedy = "install it for " + runtime.GOARCH + ", with all its dependencies (ldd shows them)"
	}
	return e
}

// Name returns the name with which the library was opened.
func (l *Library) Name() string { return l.spec.Name }

// Func finds a function. If the symbol has several versions, it is the default one, as for a
// program that is linked with the library.
func (l *Library) Func(name string) (Func, error) {
	defer onOneThread()()
	addr, err := purego.Dlsym(l.handle, name)
	if err != nil {
		return Func{}, &Error{
			Library: l.spec.Name, Symbol: name, Remedy: "update " + l.packages(), Err: err, absent: true,
		}
	}
	return Func{addr: addr, errnoLoc: l.errnoLoc}, nil
}

func (l *Library) packages() string {
	if l.spec.Packages != "" {
		return l.spec.Packages
	}
	return l.spec.Name
}

// At returns the function for a function pointer from C code. ok is false for a null pointer.
func (l *Library) At(addr uintptr) (f Func, ok bool) {
	return Func{addr: addr, errnoLoc: l.errnoLoc}, addr != 0
}

// dlInfo is Dl_info of dlfcn.h.
type dlInfo struct {
	fileName   *byte
	fileBase   uintptr
	symbolName *byte
	symbolAddr uintptr
}

// PathOf returns the path of the file with function f, with symbolic links resolved, or "" if it is
// unknown.
func (l *Library) PathOf(f Func) string {
	dladdr, err := purego.Dlsym(l.handle, "dladdr")
	if err != nil { // before glibc 2.34 it was in libdl, with which the binary is linked
		if dladdr, err = purego.Dlsym(purego.RTLD_DEFAULT, "dladdr"); err != nil {
			return ""
		}
	}
	info := new(dlInfo)
	ok, _, _ := purego.SyscallN(dladdr, f.addr, uintptr(unsafe.Pointer(info)))
	if int32(ok) == 0 || info.fileName == nil {
		return ""
	}
	path := cString(info.fileName)
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// cString copies a C string.
func cString(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// Close closes the library; the loader unloads it after it has been closed everywhere. A second
// Close does nothing.
func (l *Library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	return purego.Dlclose(l.handle)
}

// Func is a C function whose arguments and result are integers or pointers. The zero value is not a
// function: OK is false, and calls return -1 and ENOSYS.
type Func struct{ addr, errnoLoc uintptr }

// OK reports whether f is a function.
func (f Func) OK() bool { return f.addr != 0 }

// CallErrno calls f and returns its result, and errno, which is 0 unless f has set it. The caller
// must convert a narrower result to its type: int32(ret). A pointer to Go memory must be converted
// to uintptr in the argument list; C may use the memory only until f returns.
//
//go:uintptrescapes
func (f Func) CallErrno(args ...uintptr) (ret uintptr, errno syscall.Errno) {
	if f.addr == 0 {
		return ^uintptr(0), syscall.ENOSYS
	}
	defer onOneThread()() // errno belongs to the thread too
	loc, _, _ := purego.SyscallN(f.errnoLoc)
	p := *(**int32)(unsafe.Pointer(&loc)) // C memory, which the garbage collector doesn't manage
	*p = 0
	ret, _, _ = purego.SyscallN(f.addr, args...)
	return ret, syscall.Errno(*p)
}

// Call3 calls f with three arguments and returns its result, without errno: for the functions of a
// data path. On amd64 and arm64 it allocates nothing and takes about 30 ns. A function that has
// fewer parameters ignores the rest. The arguments may point only to C memory: unlike those of
// CallErrno, they don't keep Go memory alive.
func (f Func) Call3(a, b, c uintptr) uintptr {
	if f.addr == 0 {
		return ^uintptr(0)
	}
	return call3(f.addr, a, b, c)
}
