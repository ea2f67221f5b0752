package fabric

import (
	"context"
	"errors"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Transport carries management datagrams between a local port and the subnet. Only one goroutine
// may use it at a time, but any goroutine may call Close.
type Transport interface {
	// Send sends datagrams without waiting, and returns how many were accepted: fewer than all is
	// back-pressure, not an error. An error that matches ErrRefused concerns the first datagram
	// that was not accepted; later ones may be sent. The caller may reuse the batch as soon as Send
	// returns.
	Send(batch []Datagram) (n int, err error)
	// Receive waits for the first datagram until the deadline, adds to the batch those that have
	// already arrived, and returns their number: 0 and no error at the deadline. If the context
	// ends, it returns the context's cause.
	Receive(ctx context.Context, batch []Datagram, deadline time.Time) (n int, err error)
	// Close closes the port and ends a Receive.
	Close() error
}

// ErrRefused is the cause if a transport can't send one datagram, for example to an unreachable
// address, but may send others.
var ErrRefused = errors.New("can't be sent")

// Datagram is one MAD with its address. InfiniBand has MADs of 256 bytes and LIDs of 16 bits; those
// of Omni-Path are larger.
type Datagram struct {
	// Address is the destination of a datagram to send, and the source of a received one.
	Address Address
	// Timeout, for a request, is how long the transport waits for the answer. 0: no answer is
	// expected. A transport may report the timeout (see Lost) or not; the sweep also has its own
	// timers.
	Timeout time.Duration
	// Lost marks a request that was returned because nobody answered; only the common header of its
	// MAD is valid.
	Lost bool
	// MAD is the datagram; the answer has the low 32 bits of its transaction ID.
	MAD [mad.Len]byte
	// Length, of a received datagram, is the length of the message in bytes, which RMPP may carry
	// in several segments; 0: the transport doesn't report it, and MAD is all there is. If it is
	// more than MAD and Rest have, the transport has lost the end: ibsim carries the first segment
	// only.
	Length int
	// Rest, of a received datagram, is what follows MAD in a message that the transport has
	// reassembled: data without headers.
	Rest []byte
}

// Address is the destination or source of a MAD (C twin: ib_user_mad_hdr).
type Address struct {
	LID       ib.LID // mad.LIDPermissive for a directed route
	QPN       ib.QPN // 0 for subnet management, 1 for the other classes
	QKey      uint32 // QKeyGSI on QP 1
	PKeyIndex uint16 // index in the local port's table
	SL        uint8  // service level
	HasGRH    bool   // with a global route header, which has the fields below
	GIDIndex  uint8  // index in the local port's table
	// GID is that of the other port. Without HasGRH it is for an [Addressing] that has to add the
	// header.
	GID          ib.GID
	HopLimit     uint8 // to cross routers it must be above 1; 0: 64
	TrafficClass uint8
	FlowLabel    uint32
}

// QKeyGSI is the key of queue pair 1 (specification section 10.2.5).
const QKeyGSI = 0x80010000

// localGUID returns the GUID of the transport's port, as its method PortGUID reports it; zero if it
// has none.
func localGUID(t Transport) ib.GUID {
	if local, ok := t.(interface{ PortGUID() ib.GUID }); ok {
		return local.PortGUID()
	}
	return ib.GUID{}
}

// directed returns the address of every directed route.
func directed() Address { return Address{LID: mad.LIDPermissive} }
