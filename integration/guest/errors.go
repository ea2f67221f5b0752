package guest

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnavailable is matched by errors that mean this machine can't have a
// guest as it is. The error is an *UnavailableError.
var ErrUnavailable = errors.New("kernel guest unavailable")

// UnavailableError says what a guest needs that this machine lacks.
type UnavailableError struct {
	Missing []string // each a noun: "root", "program qemu-system-x86_64"
	Remedy  string   // a sentence: what to do about it
}

// Error implements error.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%v: missing %s; %s", ErrUnavailable, strings.Join(e.Missing, ", "), e.Remedy)
}

// Is makes the error match [ErrUnavailable].
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// ErrEnded is wrapped by the errors of operations on a guest that has been
// closed, has reached the end of its life, or has died.
var ErrEnded = errors.New("guest ended")
