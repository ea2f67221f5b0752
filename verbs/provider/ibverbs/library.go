// Package ibverbs is the provider of real devices (and of the kernel's rxe and siw): it opens
// libibverbs at run time, without cgo. It lists and opens devices and asks them for their
// attributes; the data path comes with a later version.
//
//	library, err := ibverbs.Load()
//	if err != nil { ... }                      // matches errors.ErrUnsupported where it is not installed
//	defer library.Close()
//	recording, err := library.Describe(ctx)    // all that ibv_devinfo -v asks, of all devices
//
// Where only that recording is wanted, the function [Describe] loads and closes the library too.
//
// # Waiting
//
// A query is a command to the device's firmware, and a firmware that hangs holds the caller in the
// kernel, where nothing can interrupt it. So every call that takes a context runs in a goroutine
// of its own, which is left behind when the context ends first: it holds one thread until the
// driver answers. What it uses (the device, the library) stays open until then; Close returns
// at once all the same.
//
// # Concurrency
//
// All methods may be called from several goroutines; libibverbs locks for itself. Close order does
// not matter: an object is closed when the last call that uses it has returned.
//
// libibverbs writes warnings of its own to standard error, for instance about a driver that it
// can't load, and there is no way to stop it.
package ibverbs

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"github.com/rdmakit/rdmakit/internal/edge/dl"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/verbs/recording"
)

// Soname is the name by which libibverbs is opened.
const Soname = "libibverbs.so.1"

const packages = "libibverbs1 and ibverbs-providers (Debian, Ubuntu) or libibverbs (RHEL, Fedora, SUSE: libibverbs1)"

// Library is libibverbs. Make one with [Load].
type Library struct {
	handle
	dl    *dl.Library
	info  recording.Library
	sym   symbols
	chars string // folder of the character devices
}

// symbols are the functions of the library; those that are not OK are missing in old versions.
type symbols struct {
	getDeviceList  dl.Func // ibv_get_device_list
	freeDeviceList dl.Func // ibv_free_device_list
	getDeviceGUID  dl.Func // ibv_get_device_guid
	openDevice     dl.Func // ibv_open_device
	closeDevice    dl.Func // ibv_close_device
	queryDevice    dl.Func // ibv_query_device
	queryPort      dl.Func // ibv_query_port, which fills struct _compat_ibv_port_attr
	queryGID       dl.Func // ibv_query_gid
	queryGIDEx     dl.Func // _ibv_query_gid_ex, since 1.11 (rdma-core 31); may be absent
	queryGIDType   dl.Func // ibv_query_gid_type, of the library's private version; may be absent
}

// Load opens libibverbs. Where that is not possible the error is a *dl.Error in a
// *[recording.QueryError]: it matches [errors.ErrUnsupported], and has the remedy.
func Load() (*Library, error) { return load(Soname) }

func load(name string) (*Library, error) {
	lib, err := dl.Open(dl.Spec{Name: name, Packages: packages})
	if err != nil {
		return nil, notLoaded(err)
	}
	l := &Library{dl: lib, info: recording.Library{Name: name}, chars: "/" + sysfs.DevInfiniBand}
	l.free = lib.Close
	if err := l.resolve(); err != nil {
		_ = lib.Close() // the missing symbol is what counts
		return nil, notLoaded(err)
	}
	l.info.Path = lib.PathOf(l.sym.getDeviceList)
	l.info.Version = versionOf(l.info.Path)
	return l, nil
}

func (l *Library) resolve() error {
	if !layoutKnown {
		return &dl.Error{Library: l.info.Name, Remedy: "use a 64-bit build", Err: errors.ErrUnsupported}
	}
	for _, s := range []struct {
		name     string
		f        *dl.Func
		optional bool
	}{
		{"ibv_get_device_list", &l.sym.getDeviceList, false},
		{"ibv_free_device_list", &l.sym.freeDeviceList, false},
		{"ibv_get_device_guid", &l.sym.getDeviceGUID, false},
		{"ibv_open_device", &l.sym.openDevice, false},
		{"ibv_close_device", &l.sym.closeDevice, false},
		{"ibv_query_device", &l.sym.queryDevice, false},
		{"ibv_query_port", &l.sym.queryPort, false},
		{"ibv_query_gid", &l.sym.queryGID, false},
		{"_ibv_query_gid_ex", &l.sym.queryGIDEx, true},
		{"ibv_query_gid_type", &l.sym.queryGIDType, true},
	} {
		f, err := l.dl.Func(s.name)
		if err != nil && !s.optional {
			return err
		}
		*s.f = f
	}
	return nil
}

// versionOf cuts "1.14.44.0" out of "…/libibverbs.so.1.14.44.0"; "" where the name has no more
// than the soname tells.
func versionOf(path string) string {
	_, version, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ".so.")
	if !strings.Contains(version, ".") ||
		strings.ContainsFunc(version, func(r rune) bool { return r != '.' && !unicode.IsDigit(r) }) {
		return ""
	}
	return version
}

// Info says which library it is.
func (l *Library) Info() recording.Library { return l.info }

// Close lets go of the library. It is unloaded when all lists and devices are closed too and the
// last call has returned.
func (l *Library) Close() error { return l.close() }

// notLoaded makes the error of Load.
func notLoaded(err error) error {
	q := &recording.QueryError{Query: recording.QueryLoad, Name: recording.NameUnsupported, Text: err.Error()}
	if e, ok := errors.AsType[*dl.Error](err); ok {
		q.Remedy = e.Remedy
		if e.Absent() {
			q.Name = recording.NameNotInstalled
		}
	}
	return &loadError{q, err}
}

// loadError keeps both: what a recording holds, and the cause.
type loadError struct {
	*recording.QueryError
	cause error
}

// Unwrap returns the recorded form and the cause.
func (e *loadError) Unwrap() []error { return []error{e.QueryError, e.cause} }

// bounded runs f, which calls C and can't be interrupted, and waits for it until ctx ends. It runs
// f in any case, so that f can let go of what was acquired for it. A result that comes too late
// goes to late, if that is not nil.
func bounded[T any](ctx context.Context, f func() T, late func(T)) (T, error) {
	if ctx.Done() == nil {
		return f(), nil
	}
	result := make(chan T)
	left := make(chan struct{}) // closed when nobody waits any more
	go func() {                 // ends when the driver answers: see the package doc
		v := f()
		select {
		case result <- v:
		case <-left:
			if late != nil {
				late(v)
			}
		}
	}()
	select {
	case v := <-result:
		return v, nil
	case <-ctx.Done():
		close(left)
		var zero T
		return zero, ctx.Err()
	}
}
