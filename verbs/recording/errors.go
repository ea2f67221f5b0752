package recording

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// The queries that a [QueryError] can report.
const (
	QueryLoad       = "load"            // opening the library
	QueryDeviceList = "get_device_list" // ibv_get_device_list
	QueryOpen       = "open_device"     // ibv_open_device
	QueryDevice     = "query_device"    // ibv_query_device_ex, ibv_query_device
	QueryPort       = "query_port"      // ibv_query_port
	QueryGID        = "query_gid"       // ibv_query_gid: the rest of the port's table was not queried
	QueryGIDType    = "query_gid_type"  // _ibv_query_gid_ex: the entry exists, its type is unknown
	QueryClose      = "close_device"    // ibv_close_device
)

// QueryError is a failed query, on the node or from a recording; the two are equal, so that a
// report from a recording is the same. [errors.Is] matches [fs.ErrPermission],
// [fs.ErrNotExist], [fs.ErrClosed], [errors.ErrUnsupported], [context.DeadlineExceeded] and
// [context.Canceled] by Name, on any operating system.
type QueryError struct {
	Query  string `json:"query"`            // one of the constants above
	Device string `json:"device,omitempty"` // name of the device; "" for the library as a whole
	Port   int    `json:"port,omitempty"`   // 0 if the query isn't about a port
	Index  *int   `json:"index,omitempty"`  // into the port's table; nil if not about an entry
	Errno  int    `json:"errno,omitempty"`  // as on Linux; 0 if the failure had none
	Name   string `json:"name,omitempty"`   // of Errno: EACCES; or a Name constant
	Text   string `json:"text"`             // the cause
	Remedy string `json:"remedy,omitempty"` // what to do, if known
}

// Values of [QueryError.Name] for failures that have no errno.
const (
	NameNotInstalled = "NOT_INSTALLED" // the library or a symbol of it is missing
	NameUnsupported  = "UNSUPPORTED"   // this build or system doesn't support the query
	NameTimeout      = "TIMEOUT"       // the context's deadline passed during the query
	NameCanceled     = "CANCELED"      // the context was canceled during the query
	NameClosed       = "CLOSED"        // the program had already closed the object
)

// Error returns, for example, "query_port mlx5_0 port 1: permission denied (EACCES)".
func (e *QueryError) Error() string {
	s := e.Query
	if e.Device != "" {
		s += " " + e.Device
	}
	if e.Port != 0 {
		s += fmt.Sprintf(" port %d", e.Port)
	}
	if e.Index != nil {
		s += fmt.Sprintf(" index %d", *e.Index)
	}
	s += ": " + e.Text
	if e.Errno != 0 && e.Name != "" {
		s += " (" + e.Name + ")"
	}
	return s
}

// Hints returns the remedy, if one is known.
func (e *QueryError) Hints() []string {
	if e.Remedy == "" {
		return nil
	}
	return []string{e.Remedy}
}

// Is matches errors of packages fs, errors and context; see QueryError.
func (e *QueryError) Is(target error) bool {
	switch e.Name {
	case "EACCES", "EPERM":
		return target == fs.ErrPermission
	case "ENOENT", "ENODEV", "ENXIO":
		return target == fs.ErrNotExist
	case NameNotInstalled:
		return target == fs.ErrNotExist || target == errors.ErrUnsupported
	case "ENOSYS", "EOPNOTSUPP", "ENOTSUP", NameUnsupported: // two names of one number on Linux
		return target == errors.ErrUnsupported
	case "ETIMEDOUT", NameTimeout:
		return target == context.DeadlineExceeded
	case NameCanceled:
		return target == context.Canceled
	case NameClosed:
		return target == fs.ErrClosed
	}
	return false
}
