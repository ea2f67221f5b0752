package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
)

// ErrPeerEnded is matched by the error for a request that failed because the peer is
// no more.
var ErrPeerEnded = errors.New("the peer ended")

// endDelay is how long after a failed request the end of the connection may show: the
// peer of a queue pair that is gone closes it last.
const endDelay = 500 * time.Millisecond

// explain says why a request failed, as far as the connection knows. It looks for a short while
// whatever has become of the run's context: the failure itself ends that.
func explain(err error, gone <-chan struct{}) error {
	failed, ok := errors.AsType[*verbs.CompletionError](err)
	if !ok {
		return err
	}
	refused := false // which the peer's end after it doesn't explain
	switch failed.Status {
	case verbs.WCRetryExceeded, verbs.WCFlushed:
	case verbs.WCRemoteAccess, verbs.WCRemoteInvalid:
		refused = true
	case verbs.WCLocalLengthError: // the message is larger than ours
		return &MismatchError{Err: err}
	default:
		return err
	}
	timer := time.NewTimer(endDelay)
	defer timer.Stop()
	select {
	case <-gone:
		err = fmt.Errorf("%w: %w", ErrPeerEnded, err)
		if refused {
			err = &MismatchError{Err: err}
		}
		return err
	case <-timer.C:
		return &MismatchError{Err: err}
	}
}

// MismatchError is a request that failed while the peer is still there, or that the
// peer has refused, or a good-bye that the peer doesn't come to: both ends may run
// different tests.
type MismatchError struct {
	Err error // matches verbs.CompletionError or os.ErrDeadlineExceeded
}

// Error implements error.
func (e *MismatchError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *MismatchError) Unwrap() error { return e.Err }

// Hints tells what to do.
func (e *MismatchError) Hints() []string {
	return []string{"does the other end run the same test with the same size, number or duration, and queue pairs?"}
}
