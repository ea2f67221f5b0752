package fabric

import (
	"context"
	"errors"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Transport carries management datagrams between this node's port and the subnet. One goroutine
// uses it at a time; Close may come from another.
type Transport interface {
	// Send hands over datagrams without waiting, and returns how many were taken: fewer than all is
	// back-pressure and no error. An error that matches ErrRefused concerns the first that was not
	// taken, and others may go. The batch is the caller's again at once.
	Send(batch []Datagram) (n int, err error)
	// Receive waits for the first datagram until the deadline, fills the batch with what else is
	// there, and returns the count: 0 and no error at the deadline. It returns the context's cause
	// once that ends.
	Receive(ctx context.Context, batch []Datagram, deadline time.Time) (n int, err error)
	// Close gives the port back and ends a Receive.
	Close() error
}

// ErrRefused is the cause when a transport can't send one datagram, as to an address that leads
// nowhere, while it may send others.
var ErrRefused = errors.New("can't be sent")

// Datagram is one MAD with its address. MADs of 256 bytes and LIDs of 16 bits are InfiniBand's:
// Omni-Path has larger ones.
type Datagram struct {
	// Address is the destination of a datagram to send, and the source of a received one.
	Address Address
	// Timeout, of a request, is how long the transport keeps it open for its answer. 0: none
	// is expected. A transport may report the end (see Lost) or stay silent; the sweep has its
	// own clock.
	Timeout time.Duration
	// Lost marks a request that came back since nobody answered; of its MAD, only the common header
	// is sure.
	Lost bool
	// MAD is the datagram; the low 32 bits of its transaction ID come back in the answer.
	MAD [mad.Len]byte
}

// Address is where a MAD goes or comes from (C twin: ib_user_mad_hdr).
type Address struct {
	LID       ib.LID // mad.LIDPermissive for a directed route
	QPN       ib.QPN // 0 for subnet management, 1 for the other classes
	QKey      uint32 // QKeyGSI on QP 1
	PKeyIndex uint16 // into the own port's table
	SL        uint8  // service level
	HasGRH    bool   // with a global route header: the next two fields count
	GIDIndex  uint8  // into the own port's table
	GID       ib.GID // of the other port
}

// QKeyGSI is the key of queue pair 1 (specification section 10.2.5).
const QKeyGSI = 0x80010000

// directed is the address of every directed route.
func directed() Address { return Address{LID: mad.LIDPermissive} }
