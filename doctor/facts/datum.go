package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Datum is one kind of data together with how it was obtained. Of its texts at most one is not
// empty; if one is, the value is not valid.
type Datum[T any] struct {
	Value T `json:"value,omitzero"`
	// Taken is when it was read, Took how long that lasted.
	Taken time.Time     `json:"taken,omitzero"`
	Took  time.Duration `json:"took,omitempty"`
	// Error says why the value is unknown although the node may have it.
	Error string `json:"error,omitempty"`
	// Denied says what more privilege would show.
	Denied string `json:"denied,omitempty"`
	// Absent says why the node has no such data.
	Absent string `json:"absent,omitempty"`
}

// Known reports whether the value is valid. It is false for a nil pointer.
func (d *Datum[T]) Known() bool {
	return d != nil && d.Error == "" && d.Denied == "" && d.Absent == ""
}

// Errors of collectors. An error of Collect that matches none of them is a failure.
var (
	// ErrAbsent matches errors about data that the node does not have.
	ErrAbsent = errors.New("the node does not have it")
	// ErrDenied matches errors about data that only a more privileged process can read.
	ErrDenied = fs.ErrPermission
	// ErrNotGathered is the state of data that nobody asked for, or that a recording lacks.
	ErrNotGathered = errors.New("not gathered")
)

// State returns nil if the value is valid, and otherwise an error that matches [ErrAbsent],
// [ErrDenied], [ErrNotGathered], or none of them if reading failed.
func (d *Datum[T]) State() error {
	switch {
	case d == nil:
		return ErrNotGathered
	case d.Absent != "":
		return &stateError{d.Absent, ErrAbsent}
	case d.Denied != "":
		return &stateError{d.Denied, ErrDenied}
	case d.Error != "":
		return errors.New(d.Error)
	}
	return nil
}

// stateError has a text of its own and matches a cause.
type stateError struct {
	text  string
	cause error
}

func (e *stateError) Error() string { return e.text }
func (e *stateError) Unwrap() error { return e.cause }

// Absent returns an error that matches [ErrAbsent], with a reason.
func Absent(format string, args ...any) error {
	return &stateError{fmt.Sprintf(format, args...), ErrAbsent}
}

// Denied returns an error that matches [ErrDenied] and says what privilege would show.
func Denied(format string, args ...any) error {
	return &stateError{fmt.Sprintf(format, args...), ErrDenied}
}

// Read calls a function and keeps its value or its error.
func Read[T any](now func() time.Time, read func() (T, error)) *Datum[T] {
	start := now()
	v, err := read()
	// UTC drops the monotonic reading, without which a step of the clock would count as duration.
	d := &Datum[T]{Taken: start.UTC(), Took: now().Sub(start)}
	switch {
	case err == nil:
		d.Value = v
	case errors.Is(err, ErrAbsent):
		d.Absent = err.Error()
	case errors.Is(err, ErrDenied):
		d.Denied = err.Error()
	default:
		d.Error = err.Error()
	}
	return d
}
