// Package udpio reads and writes batches of UDP datagrams with as few system
// calls as the kernel allows: recvmmsg and sendmmsg, UDP segmentation offload
// (GSO) on the way out, receive offload (GRO) on the way in.
//
//	conn, err := udpio.Listen(netip.MustParseAddrPort("127.0.0.1:4791"), udpio.Options{})
//	…
//	err = conn.Read(func(list []udpio.Inbound) { … }) // blocks until there is at least one
//
// The socket is never connected and sets the DF bit, so that the kernel writes
// IPv4 headers with identification 0 (and k in segment k of what it segments
// itself), which is what a caller has to know who computes checksums over them: see
// [Outbound.Numbered].
//
// # Concurrency
//
// One goroutine calls Read; any number call Poll, Resume, Write and Close meanwhile.
// Handlers never run at the same time, and get datagrams in the order of their
// arrival. The limits are those of the kernel: 64 KiB and 64 segments at once.
//
// Linux only; elsewhere [Listen] answers [errors.ErrUnsupported].
package udpio

import (
	"errors"
	"net/netip"
)

// Inbound is what was received of one sender.
type Inbound struct {
	// Data is one datagram, or several that the kernel merged. It is the connection's
	// again when the handler returns.
	Data []byte
	// Segment is the length of each datagram in Data but the last, which may be
	// shorter; len(Data) when there is one.
	Segment int
	From    netip.AddrPort
}

// Handler takes what was received, at least one entry.
type Handler func([]Inbound)

// Outbound is one datagram, or several of equal length to one receiver.
type Outbound struct {
	Data []byte // not empty
	// Segment is the length of each datagram but the last, which may be shorter;
	// 0 means that Data is one datagram.
	Segment int
	To      netip.AddrPort
	// Numbered tells that the datagrams were made for IPv4 identifications 0, 1, 2 and
	// so on, which only the kernel's segmentation writes. Without it, each is sent alone
	// over IPv4 and has identification 0. It means nothing over IPv6.
	Numbered bool
}

// several tells that o has more than one datagram.
func (o *Outbound) several() bool { return o.Segment > 0 && o.Segment < len(o.Data) }

// Options configure a connection. The zero value uses what the kernel has.
type Options struct {
	NoGSO bool // send each datagram for itself
	NoGRO bool // receive each datagram for itself
}

// ErrNoSegmentation is what Write returns for Numbered datagrams once segmentation
// is known not to work: a device without checksum offload refuses it only when
// something is sent. Some of the list may have been sent. Make the datagrams for
// identification 0 and write them again: Offload has the answer from then on.
var ErrNoSegmentation = errors.New("the kernel doesn't segment datagrams here")

// Limits of a batch that is sent at once (kernel: UDP_MAX_SEGMENTS, and the length
// fields of IP and UDP).
const (
	MaxSegments = 64    // datagrams
	MaxBytes    = 65507 // bytes of all of them
)
