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

// Available says whether this build can open libraries at all.
const Available = true

// Library is an open C library.
type Library struct {
	spec     Spec
	handle   uintptr
	errnoLoc uintptr // __errno_location of the C library

	mu     sync.Mutex
	closed bool
}

// Open opens the library and all that it needs (dlopen with RTLD_NOW and RTLD_LOCAL). Its
// initialisers run.
func Open(spec Spec) (*Library, error) {
	defer onOneThread()()
	handle, err := purego.Dlopen(spec.Name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, openError(spec, err)
	}
	// Found through the library's own dependencies, so that it is the errno that the library sets.
	errnoLoc, err := purego.Dlsym(handle, "__errno_location")
	if err != nil {
		_ = purego.Dlclose(handle) // the missing errno is what counts
		return nil, &Error{
			Library: spec.Name, Symbol: "__errno_location", Remedy: "use glibc or musl", Err: err, absent: true,
		}
	}
	return &Library{spec: spec, handle: handle, errnoLoc: errnoLoc}, nil
}

// onOneThread keeps the goroutine on its thread until the function that it returns is called: what
// the loader says of a failure (dlerror) belongs to the thread, and purego asks in a second call.
func onOneThread() (release func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// openError tells a library that is not there from one that is and can't be used. The loader has
// no code for it, and its words are not translated in a process that never called setlocale.
func openError(spec Spec, err error) *Error {
	e := &Error{Library: spec.Name, Err: errors.New(strings.TrimPrefix(err.Error(), spec.Name+": "))}
	missing := strings.Contains(err.Error(), "No such file")
	e.absent = missing && strings.HasPrefix(err.Error(), spec.Name+":")
	switch {
	case e.absent && spec.Packages != "":
		e.Remedy = "install " + spec.Packages
	case missing:
		e.Remedy = "install the library that the message names"
	default:
		e.Remedy = "install it for " + runtime.GOARCH + ", and with all libraries that it needs (ldd shows them)"
	}
	return e
}

// Name is the name that the library was opened by.
func (l *Library) Name() string { return l.spec.Name }

// Func finds a function. Where several versions of the symbol exist it is the default one, which
// programs that are linked today get.
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

// At makes a callable function of a pointer that C code handed out; not OK for a null pointer.
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

// PathOf returns the file that holds function f, with links resolved; "" if the loader can't tell.
func (l *Library) PathOf(f Func) string {
	dladdr, err := purego.Dlsym(l.handle, "dladdr")
	if err != nil { // before glibc 2.34 it was in libdl, which the binary itself is linked with
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

// cString copies a string of C.
func cString(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// Close closes the library; the loader unloads it when nobody else has it open. A second Close
// does nothing.
func (l *Library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	return purego.Dlclose(l.handle)
}

// Func is a C function whose arguments and result are integers or pointers. Its zero value is no
// function: OK is false, and calls answer -1 and ENOSYS.
type Func struct{ addr, errnoLoc uintptr }

// OK says that there is a function.
func (f Func) OK() bool { return f.addr != 0 }

// CallErrno calls f and returns what it returns, and errno as it is then, which is 0 unless f set
// it. A narrower result must be cut to its type by the caller: int32(ret). Memory of Go
// that an argument points to must be converted in the argument list; it may be used until f
// returns and not after that.
//
//go:uintptrescapes
func (f Func) CallErrno(args ...uintptr) (ret uintptr, errno syscall.Errno) {
	if f.addr == 0 {
		return ^uintptr(0), syscall.ENOSYS
	}
	defer onOneThread()() // errno belongs to the thread too
	loc, _, _ := purego.SyscallN(f.errnoLoc)
	p := *(**int32)(unsafe.Pointer(&loc)) // memory of C: the garbage collector does not move it
	*p = 0
	ret, _, _ = purego.SyscallN(f.addr, args...)
	return ret, syscall.Errno(*p)
}
