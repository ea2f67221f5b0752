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

// Soname is the file name with which libibverbs is opened.
const Soname = "libibverbs.so.1"

const packages = "libibverbs1 and ibverbs-providers (Debian, Ubuntu), libibverbs (RHEL, Fedora), libibverbs1 (SUSE) " +
	"or rdma-core (Alpine)"

// Library is an open libibverbs. Open it with [Load].
type Library struct {
	handle
	dl    *dl.Library
	info  recording.Library
	sym   symbols
	chars string // folder of the character devices
}

// symbols are the functions of the library. Functions that an old version doesn't have are not OK.
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

// Load opens libibverbs. If that fails, the error is a *[recording.QueryError] with the remedy,
// which wraps a *dl.Error and matches [errors.ErrUnsupported].
func Load() (*Library, error) { return load(Soname) }

func load(name string) (*Library, error) {
	lib, err := dl.Open(dl.Spec{Name: name, Packages: packages})
	if err != nil {
		return nil, notLoaded(err)
	}
	l := &Library{dl: lib, info: recording.Library{Name: name}, chars: "/" + sysfs.DevInfiniBand}
	l.free = lib.Close
	if err := l.resolve(); err != nil {
		_ = lib.Close() // the error to return is the missing symbol
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

// versionOf returns "1.14.44.0" for "…/libibverbs.so.1.14.44.0", or "" if the name has no more than
// the soname.
func versionOf(path string) string {
	_, version, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ".so.")
	if !strings.Contains(version, ".") ||
		strings.ContainsFunc(version, func(r rune) bool { return r != '.' && !unicode.IsDigit(r) }) {
		return ""
	}
	return version
}

// Info returns name, path and version of the library.
func (l *Library) Info() recording.Library { return l.info }

// Close releases the library. It is unloaded after all lists and devices have been closed and the
// last call has returned.
func (l *Library) Close() error { return l.close() }

// notLoaded returns the error of Load.
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

// loadError has both the error for the recording and its cause.
type loadError struct {
	*recording.QueryError
	cause error
}

// Unwrap returns the recorded form and the cause.
func (e *loadError) Unwrap() []error { return []error{e.QueryError, e.cause} }

// bounded runs f, which calls C and can't be interrupted, and waits for it until ctx ends. It
// always runs f, so that f can release what was acquired for it. If f returns after ctx has ended,
// its result is passed to late, unless late is nil.
func bounded[T any](ctx context.Context, f func() T, late func(T)) (T, error) {
	if ctx.Done() == nil {
		return f(), nil
	}
	result := make(chan T)
	left := make(chan struct{}) // closed when the caller has given up
	go func() {                 // ends when the driver responds: see the package doc
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
