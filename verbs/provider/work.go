package provider

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Access is a set of access rights to a region. Local reads are always allowed
// (C twin: enum ibv_access_flags).
type Access uint8

// The flags. Remote writes and atomics require AccessLocalWrite as well.
const (
	AccessLocalWrite Access = 1 << iota
	AccessRemoteWrite
	AccessRemoteRead
	AccessRemoteAtomic
)

// SendOp is the operation of a send request (C twin: enum ibv_wr_opcode).
type SendOp uint8

// The operations.
const (
	SendOpSend SendOp = iota
	SendOpSendImmediate
	SendOpWrite
	SendOpWriteImmediate
	SendOpRead
	SendOpCompareSwap
	SendOpFetchAdd
)

var sendOpNames = [...]string{
	"SEND", "SEND with immediate", "RDMA WRITE", "RDMA WRITE with immediate", "RDMA READ", "compare and swap",
	"fetch and add",
}

// String returns the name in the specification.
func (o SendOp) String() string { return nameOf(sendOpNames[:], int(o), "operation") }

// SendFlags modify a send request (C twin: enum ibv_send_flags).
type SendFlags uint8

// The flags.
const (
	SendSignaled  SendFlags = 1 << iota // add an entry to the completion queue
	SendSolicited                       // request an event at the receiver
	SendInline                          // copy the data when posting: the buffer may be reused
	SendFence                           // wait for earlier READs and atomics
)

// Segment is a part of a registered region.
type Segment struct {
	Region         MemoryRegion // region that contains the bytes
	Offset, Length int          // bytes
}

// SendRequest is a work request for the send queue (C twin: struct ibv_send_wr).
// The provider copies the request, but owns the memory of its segments until the
// request has completed.
type SendRequest struct {
	ID       uint64    // copied to the completion
	Op       SendOp    // operation
	Flags    SendFlags // modifiers of the operation
	Segments []Segment // local memory: sent in this order, or filled by READ and atomics
	// RemoteAddr and RKey identify the peer's memory for WRITE, READ and atomics.
	RemoteAddr uint64
	RKey       uint32
	Immediate  [4]byte
	// Compare is the value that compare-and-swap expects. Operand is the value that it
	// stores, or that fetch-and-add adds.
	Compare, Operand uint64
}

// ReceiveRequest is a work request for the receive queue.
type ReceiveRequest struct {
	ID       uint64    // copied to the completion
	Segments []Segment // filled in this order
}

// WCStatus is the status of a completed request (C twin: enum ibv_wc_status, with the same
// numbers).
type WCStatus uint8

// The statuses.
const (
	WCSuccess          WCStatus = 0
	WCLocalLengthError WCStatus = 1
	WCLocalQPError     WCStatus = 2
	WCLocalProtection  WCStatus = 4
	WCFlushed          WCStatus = 5
	WCBadResponse      WCStatus = 7
	WCLocalAccessError WCStatus = 8
	WCRemoteInvalid    WCStatus = 9
	WCRemoteAccess     WCStatus = 10
	WCRemoteOperation  WCStatus = 11
	WCRetryExceeded    WCStatus = 12
	WCRNRRetryExceeded WCStatus = 13
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
)

var wcOpNames = [...]string{
	"send", "write", "read", "compare and swap", "fetch and add", "receive", "receive of write with immediate",
}

// String returns a name, such as "send".
func (o WCOp) String() string { return nameOf(wcOpNames[:], int(o), "operation") }

// WorkCompletion is an entry of a completion queue (C twin: struct ibv_wc). With
// a Status other than [WCSuccess] only ID, Status, QPN and Cause are valid.
type WorkCompletion struct {
	ID           uint64   // of the request
	Status       WCStatus // success or kind of error
	Op           WCOp     // operation that completed
	HasImmediate bool     // Immediate is valid
	Immediate    [4]byte  // immediate data as the peer sent it
	Bytes        uint32   // number of bytes received, or read by an RDMA READ
	QPN          ib.QPN   // the local queue pair
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

func nameOf(names []string, i int, kind string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s %d", kind, i)
}
