package provider

import (
	"fmt"

	"github.com/rdmakit/rdmakit/wire/ib"
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
	// SendOpSendInvalidate also invalidates Invalidate, a key of the peer's.
	SendOpSendInvalidate
	SendOpLocalInvalidate // invalidates Invalidate, a key of this queue pair's domain
	SendOpBindWindow      // binds a memory window: Bind
)

var sendOpNames = [...]string{
	"SEND", "SEND with immediate", "RDMA WRITE", "RDMA WRITE with immediate", "RDMA READ", "compare and swap",
	"fetch and add", "SEND with invalidate", "local invalidate", "bind window",
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
	// Data, if not nil, is the message of a SEND or WRITE instead of Segments: of any memory, at
	// most MaxInline bytes, and copied when posting.
	Data []byte
	// RemoteAddr and RKey identify the peer's memory for WRITE, READ and atomics.
	RemoteAddr uint64
	RKey       uint32
	Immediate  [4]byte
	Invalidate uint32 // key that SendOpSendInvalidate and SendOpLocalInvalidate invalidate
	// Compare is the value that compare-and-swap expects. Operand is the value that it
	// stores, or that fetch-and-add adds.
	Compare, Operand uint64
	To               *Datagram   // UD only
	Bind             *WindowBind // SendOpBindWindow only
}

// Datagram is where a SEND of a queue pair of type UD goes.
type Datagram struct {
	Handle AddressHandle // path to the peer
	QPN    ib.QPN        // the peer's queue pair number
	QKey   uint32        // the peer's Q_Key; with the highest bit set, that of the own queue pair
}

// AddressHandleCreator is implemented by a [ProtectionDomain] with [CapUD].
type AddressHandleCreator interface {
	// CreateAddressHandle prepares a path from a port, counted from 1, for datagrams (C twin:
	// ibv_create_ah).
	CreateAddressHandle(port int, path Path) (AddressHandle, error)
}

// AddressHandle is a path for datagrams (C twin: struct ibv_ah).
type AddressHandle interface {
	// Close frees the handle. Requests that use it must have completed (C twin: ibv_destroy_ah).
	Close() error
}

// SRQCreator is implemented by a [ProtectionDomain] with [CapSRQ].
type SRQCreator interface {
	// CreateSRQ creates a shared receive queue (C twin: ibv_create_srq).
	CreateSRQ(SRQConfig) (SharedReceiveQueue, error)
}

// SRQConfig configures a shared receive queue (C twin: struct ibv_srq_init_attr).
type SRQConfig struct {
	MaxWR       int    // requests; 0 is 128
	MaxSegments int    // of a request; 0 is 1
	Limit       int    // see SetLimit; 0 is none
	ID          uint64 // chosen by the program, which finds it in an [Event] of this queue
}

// SharedReceiveQueue holds receive requests that several queue pairs take from.
type SharedReceiveQueue interface {
	// PostReceive queues buffers in order, with results as for [QueuePair.PostSend] (C twin:
	// ibv_post_srq_recv).
	PostReceive(wrs []ReceiveRequest) (n int, err error)
	// SetLimit requests one EventSRQLimit when fewer than limit requests are left; 0 requests none
	// (C twin: ibv_modify_srq).
	SetLimit(limit int) error
	// Query returns the granted configuration with the current limit (C twin: ibv_query_srq).
	Query() (SRQConfig, error)
	// Close frees the queue. It returns ErrBusy while queue pairs use it (C twin:
	// ibv_destroy_srq).
	Close() error
}

// ReceiveRequest is a work request for the receive queue.
type ReceiveRequest struct {
	ID       uint64    // copied to the completion
	Segments []Segment // filled in this order
}

func nameOf(names []string, i int, kind string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s %d", kind, i)
}
