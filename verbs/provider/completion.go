package provider

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// CompletionQueue holds the completions of requests.
type CompletionQueue interface {
	// Poll removes up to len(wcs) completions from the queue. It never waits and allocates
	// nothing (C twin: ibv_poll_cq).
	Poll(wcs []WorkCompletion) (n int, err error)
	// Wait is Poll that waits for the first completion: n is at least 1 unless err is set. It
	// returns when ctx ends. A device polls, arms the queue, polls again, since a completion may
	// have come before the queue was armed, and sleeps (C twins: ibv_poll_cq, ibv_req_notify_cq,
	// ibv_get_cq_event). An empty wcs is an error, and so is Wait on a queue of a channel.
	Wait(ctx context.Context, wcs []WorkCompletion) (n int, err error)
	// Arm requests one event on the queue's channel for the next completion that is added after
	// the call; with solicited, for the next one whose sender has set SendSolicited or that
	// failed, or if the queue has overrun. The program polls once more after Arm, since a
	// completion may have come in between; the event may also come for one that is in the queue
	// already. Of two calls before the event the wider one counts. Arm on a queue without a channel
	// is an error (C twin: ibv_req_notify_cq).
	Arm(solicited bool) error
	// Depth returns the granted depth: at least that of the configuration.
	Depth() int
	// Close frees the queue. It returns ErrBusy while queue pairs use it (C twin:
	// ibv_destroy_cq).
	Close() error
}

// CQConfig configures a completion queue.
type CQConfig struct {
	// Depth is the maximum number of completions in the queue; 0 is 1024. The queue never
	// overruns if its depth is the sum of the depths of all work queues that use it.
	Depth int
	// Wait is the mode of CompletionQueue.Wait.
	Wait WaitMode
	// Channel, if not nil, gets the events that Arm requests. Several queues may share it.
	Channel CompletionChannel
	// Vector selects the interrupt of a device (C twin: comp_vector).
	Vector int
	// ID is chosen by the program, which finds it in an [Event] of this queue.
	ID uint64
	// Timestamps adds the time of each completion, if [CapTimestamps] is set.
	Timestamps bool
}

// ChannelCreator is implemented by a [Device] with [CapChannel].
type ChannelCreator interface {
	// CreateChannel creates a channel (C twin: ibv_create_comp_channel).
	CreateChannel() (CompletionChannel, error)
}

// CompletionChannel tells a goroutine which of several completion queues has completions (C twin:
// struct ibv_comp_channel).
type CompletionChannel interface {
	// Wait returns the next queue whose armed event came, or an error when ctx ends or the channel
	// is closed. The queue is no longer armed. Events of queues that have been closed are skipped
	// (C twins: ibv_get_cq_event, ibv_ack_cq_events).
	Wait(ctx context.Context) (CompletionQueue, error)
	// Close frees the channel. It returns ErrBusy while queues use it (C twin:
	// ibv_destroy_comp_channel).
	Close() error
}

// WaitMode selects between CPU time and latency.
type WaitMode uint8

// The modes.
const (
	WaitHybrid WaitMode = iota // poll for a while, then sleep
	WaitEvent                  // sleep until the device reports a completion
	// WaitBusy polls continuously. It needs a dedicated CPU: if as many goroutines poll as
	// there are CPUs, the rest of the program runs only after milliseconds.
	WaitBusy
)

// WCStatus is the status of a completed request (C twin: enum ibv_wc_status, with the same
// numbers). Those of reliable datagrams and of tag matching, which providers don't offer, have no
// name here.
type WCStatus uint8

// The statuses.
const (
	WCSuccess          WCStatus = 0
	WCLocalLengthError WCStatus = 1
	WCLocalQPError     WCStatus = 2
	WCLocalProtection  WCStatus = 4
	WCFlushed          WCStatus = 5
	WCWindowBindError  WCStatus = 6
	WCBadResponse      WCStatus = 7
	WCLocalAccessError WCStatus = 8
	WCRemoteInvalid    WCStatus = 9
	WCRemoteAccess     WCStatus = 10
	WCRemoteOperation  WCStatus = 11
	WCRetryExceeded    WCStatus = 12
	WCRNRRetryExceeded WCStatus = 13
	WCRemoteAborted    WCStatus = 16
	WCFatal            WCStatus = 19 // the device has failed
	WCResponseTimeout  WCStatus = 20
	WCGeneralError     WCStatus = 21
)

var wcStatusNames = map[WCStatus]string{
	WCSuccess:          "success",
	WCLocalLengthError: "local length error",
	WCLocalQPError:     "local queue pair operation error",
	WCLocalProtection:  "local protection error",
	WCFlushed:          "work request flushed",
	WCBadResponse:      "bad response",
	WCLocalAccessError: "local access error",
	WCRemoteInvalid:    "remote invalid request",
	WCRemoteAccess:     "remote access error",
	WCRemoteOperation:  "remote operation error",
	WCRetryExceeded:    "transport retry counter exceeded",
	WCRNRRetryExceeded: "receiver-not-ready retry counter exceeded",
	WCWindowBindError:  "memory window bind error",
	WCRemoteAborted:    "operation aborted",
	WCFatal:            "fatal error",
	WCResponseTimeout:  "response timeout",
	WCGeneralError:     "general error",
}

// String returns a description, such as "remote access error".
func (s WCStatus) String() string {
	if name, ok := wcStatusNames[s]; ok {
		return name
	}
	return fmt.Sprintf("status %d", uint8(s))
}

// WCOp is the operation that completed (C twin: enum ibv_wc_opcode).
type WCOp uint8

// The operations.
const (
	WCSend WCOp = iota
	WCWrite
	WCRead
	WCCompareSwap
	WCFetchAdd
	WCReceive
	WCReceiveWrite // receipt of an RDMA WRITE with immediate
	WCLocalInvalidate
	WCBindWindow
)

var wcOpNames = [...]string{
	"send", "write", "read", "compare and swap", "fetch and add", "receive", "receive of write with immediate",
	"local invalidate", "bind window",
}

// String returns a name, such as "send".
func (o WCOp) String() string { return nameOf(wcOpNames[:], int(o), "operation") }

// WCFlags say which fields of a [WorkCompletion] are valid, and what the buffer contains (C twin:
// enum ibv_wc_flags, with the same bits but WCTimestamp).
type WCFlags uint32

// The flags.
const (
	// WCGRH: the first 40 bytes of a datagram's buffer contain its Global Route Header; without the
	// flag they are there, too, and undefined.
	WCGRH         WCFlags = 1 << 0
	WCImmediate   WCFlags = 1 << 1  // Immediate is valid
	WCInvalidated WCFlags = 1 << 3  // InvalidatedKey is valid
	WCTimestamp   WCFlags = 1 << 31 // Timestamp is valid
)

// WorkCompletion is an entry of a completion queue (C twin: struct ibv_wc). With
// a Status other than [WCSuccess] only ID, Status, QPN, VendorError and Cause are valid.
type WorkCompletion struct {
	ID        uint64   // of the request
	Status    WCStatus // success or kind of error
	Op        WCOp     // operation that completed
	Flags     WCFlags  // which of the following fields are valid
	Immediate [4]byte  // immediate data as the peer sent it
	Bytes     uint32   // number of bytes received, or read by an RDMA READ
	QPN       ib.QPN   // the local queue pair
	// InvalidatedKey is the key that the peer's SEND has invalidated.
	InvalidatedKey uint32
	// Of a datagram: the sender's queue pair and, on InfiniBand, its LID and the path.
	SourceQPN    ib.QPN
	SourceLID    ib.LID
	PathBits     uint8  // low bits of the destination LID
	ServiceLevel uint8  // 0 to 15
	PKeyIndex    uint16 // into the port's table
	// VendorError is the device's own code of an error; 0 if it has none.
	VendorError uint32
	// Timestamp is when the request completed, in ticks of the device's clock (HCACoreClock of
	// [DeviceAttributes]).
	Timestamp uint64
	// Cause is why the last packets of a failed request were not sent, if the provider knows, such
	// as syscall.EMSGSIZE; otherwise nil.
	Cause error
}

// Err returns nil for success, otherwise a [CompletionError].
func (wc *WorkCompletion) Err() error {
	if wc.Status == WCSuccess {
		return nil
	}
	return &CompletionError{ID: wc.ID, QPN: wc.QPN, Status: wc.Status, Cause: wc.Cause}
}

// CompletionError is the error of a request that failed.
type CompletionError struct {
	ID     uint64   // of the request
	QPN    ib.QPN   // the local queue pair
	Status WCStatus // any but WCSuccess
	Cause  error    // of [WorkCompletion]; may be nil
}

// Error implements error.
func (e *CompletionError) Error() string {
	text := fmt.Sprintf("request %d of qp %v: %v", e.ID, e.QPN, e.Status)
	if e.Cause != nil {
		text += fmt.Sprintf(": the last packets were not sent: %v", e.Cause)
	}
	return text
}

// Is reports whether target is the system's error number of the cause. The cause isn't unwrapped: a
// packet that a firewall or a route forbids is not a file without permission.
func (e *CompletionError) Is(target error) bool {
	errno, ok := target.(syscall.Errno)
	return ok && errors.Is(e.Cause, errno)
}
