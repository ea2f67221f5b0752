package bench

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
)

// ErrPeerEnded is matched by the error for a request that failed because the peer has ended.
var ErrPeerEnded = errors.New("the peer ended")

// endDelay is how long after a failed request the TCP connection may take to close: a peer that
// ends destroys its queue pairs first and closes the connection last.
const endDelay = 500 * time.Millisecond

// explain returns the reason why a request failed, as far as the connection shows it. It waits for
// a short time even if the run's context has ended, because the failure itself ends the context.
func explain(err error, gone <-chan struct{}) error {
	failed, ok := errors.AsType[*verbs.CompletionError](err)
	if !ok {
		return err
	}
	if failed.Cause != nil {
		return &UnsentError{Err: err, cause: failed.Cause}
	}
	refused := false // the peer's end, which follows, doesn't explain that
	ours := false    // only the peer's end explains that
	switch failed.Status {
	case verbs.WCRetryExceeded, verbs.WCFlushed:
	case verbs.WCLocalQPError: // requests that siw was sending when the peer ended
		ours = true
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
		if ours {
			return err
		}
		return &MismatchError{Err: err}
	}
}

// MismatchError is the error of a request that failed while the peer was still connected, of a
// request that the peer rejected, or of a closing handshake that the peer doesn't reach: the two
// ends may run different tests.
type MismatchError struct {
	Err error // matches verbs.CompletionError or os.ErrDeadlineExceeded
}

// Error implements error.
func (e *MismatchError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *MismatchError) Unwrap() error { return e.Err }

// Hints returns hints on what to check.
func (e *MismatchError) Hints() []string {
	failed, ok := errors.AsType[*verbs.CompletionError](e.Err)
	if ok && failed.Status == verbs.WCRetryExceeded {
		return []string{"the program at the other end or its machine has ended without notice, or the path has " +
			"failed: see what it printed", "does it run the same test with the same size, number or duration, " +
			"and queue pairs?"}
	}
	return []string{"does the other end run the same test with the same size, number or duration, and queue pairs?"}
}

// UnsentError is the error of a request whose packets this machine didn't send.
type UnsentError struct {
	Err   error // matches verbs.CompletionError and the error of the system call
	cause error
}

// Error implements error.
func (e *UnsentError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *UnsentError) Unwrap() error { return e.Err }

// Hints returns a hint on what to check on this machine.
func (e *UnsentError) Hints() []string {
	switch {
	case errors.Is(e.cause, syscall.EMSGSIZE):
		return []string{
			"the network's MTU is smaller than the packets: use a smaller --mtu, or raise the MTU on the path",
		}
	case errors.Is(e.cause, syscall.EPERM):
		return []string{"a firewall of this machine drops UDP port 4791: nft list ruleset, or iptables -S OUTPUT"}
	case errors.Is(e.cause, syscall.ENETUNREACH), errors.Is(e.cause, syscall.EHOSTUNREACH),
		errors.Is(e.cause, syscall.EACCES):
		return []string{"no route, or a rule that forbids it, leads to the peer: ip route get ADDRESS"}
	}
	return nil
}
