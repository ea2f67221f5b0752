package guest

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnavailable is matched by errors that mean that this machine can't run a guest. The error is
// an *UnavailableError.
var ErrUnavailable = errors.New("kernel guest unavailable")

// UnavailableError lists the requirements of a guest that this machine doesn't meet.
type UnavailableError struct {
	Missing []string // each a noun: "root", "program qemu-system-x86_64"
	Remedy  string   // what to do
}

// Error implements error.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%v: missing %s; %s", ErrUnavailable, strings.Join(e.Missing, ", "), e.Remedy)
}

// Is makes the error match [ErrUnavailable].
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// ErrEnded is wrapped by the errors of operations on a guest that was closed, reached MaxLife, or
// died.
var ErrEnded = errors.New("guest ended")
