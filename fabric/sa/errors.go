package sa

import (
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Causes of a query that can't be sent.
var (
	// ErrNoManager is the cause if the local port has no LID of a subnet manager.
	ErrNoManager = errors.New("no subnet manager has configured the local port: its SM LID is 0")
	// ErrNotActive is the cause if the local port can't send to other ports yet.
	ErrNotActive = errors.New("the local port is not active")
)

// StatusError is the error of a query that the SA answered with a status.
type StatusError struct{ Status mad.Status }

// statusText is the name of a status and its meaning.
type statusText struct{ name, meaning string }

// saStatuses are the class-specific statuses (specification section 15.2.1.5, table 184).
func saStatuses() map[mad.Status]statusText {
	return map[mad.Status]statusText{
		mad.StatusSANoResources: {
			"ERR_NO_RESOURCES", "the subnet manager has no resources for the query; try again later",
		},
		mad.StatusSARequestInvalid: {"ERR_REQ_INVALID", "the query contradicts itself or selects nothing valid"},
		mad.StatusSANoRecords:      {"ERR_NO_RECORDS", "no record matches the query"},
		mad.StatusSATooManyRecords: {
			"ERR_TOO_MANY_RECORDS", "more than one record matches: use GetTable or select more components",
		},
		mad.StatusSAInvalidGID: {"ERR_REQ_INVALID_GID", "the subnet manager doesn't know the GID"},
		mad.StatusSAInsufficientComponent: {
			"ERR_REQ_INSUFFICIENT_COMPONENTS", "the query must select more components, such as both ends of a path",
		},
		mad.StatusSARequestDenied: {
			"ERR_REQ_DENIED", "the subnet manager refuses, for example without its SM_Key",
		},
		mad.StatusSAPrioritySuggested: {"ERR_STATUS_PRIO_SUGGESTED", "the subnet manager suggests another priority"},
	}
}

// Name returns the specification's name of a status of the SA, such as "ERR_NO_RECORDS"; "" if the
// status is none of the SA's.
func (e *StatusError) Name() string { return saStatuses()[e.Status.ClassSpecific()].name }

// Error implements error.
func (e *StatusError) Error() string {
	if t, ok := saStatuses()[e.Status.ClassSpecific()]; ok {
		return fmt.Sprintf("subnet administration answers %s (0x%04x): %s", t.name, uint16(e.Status), t.meaning)
	}
	return "subnet administration answers " + e.Status.String()
}

// TruncatedError is the error for records that the transport has cut off or may have cut off: ibsim
// delivers the first 256 bytes of each message.
type TruncatedError struct {
	Length   int // of the message, in bytes; 0: unknown, and it may end there by chance
	Received int // bytes
}

// Error implements error.
func (e *TruncatedError) Error() string {
	if e.Length == 0 {
		return fmt.Sprintf("the transport has no RMPP and delivers %d bytes of a message: records may be missing",
			e.Received)
	}
	return fmt.Sprintf("the transport delivered %d of %d bytes: it has no RMPP", e.Received, e.Length)
}

// StalledError is the error of a transfer during which the SA went silent.
type StalledError struct {
	Segments int  // that had arrived
	Total    bool // the limit of the whole transfer has passed, not that of silence
	// Hidden means that the transport delivers only whole answers: whether segments have arrived,
	// and whether the SA has ended the transfer, is unknown. The SA has answered another query.
	// The error then matches [fabric.ErrNoAnswer].
	Hidden bool
	After  time.Duration // the time that has passed, if Hidden
}

// Error implements error.
func (e *StalledError) Error() string {
	switch {
	case e.Hidden:
		return fmt.Sprintf("subnet administration answers another query, but no whole answer to this one "+
			"arrived in %v: the transfer has stopped, was ended, or never began", e.After)
	case e.Total:
		return fmt.Sprintf("the transfer takes too long: %d segments so far", e.Segments)
	}
	return fmt.Sprintf("the transfer stopped after %d segments: nothing more arrives", e.Segments)
}

// Is matches [fabric.ErrNoAnswer] if no part of an answer is known to have arrived.
func (e *StalledError) Is(target error) bool { return e.Hidden && target == fabric.ErrNoAnswer }
