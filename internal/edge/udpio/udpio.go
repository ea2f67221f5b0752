// Package udpio reads and writes batches of UDP datagrams with as few system
// calls as the kernel allows: recvmmsg and sendmmsg, UDP segmentation offload
// (GSO) on the way out, receive offload (GRO) on the way in.
//
//	conn, err := udpio.Listen(netip.MustParseAddrPort("127.0.0.1:4791"), udpio.Options{})
//	…
//	err = conn.Read(func(list []udpio.Inbound) { … }) // blocks until there is at least one
//
// The socket is not connected and sets the DF bit, so that the kernel writes IPv4 headers
// with identification 0 (and k in segment k if the kernel segments). Callers that compute
// checksums over the IP header need this: see [Outbound.Numbered].
//
// # Concurrency
//
// Only one goroutine may call Read; Poll, Resume, Write, WaitWritable and Close may be called
// concurrently. Handlers never run concurrently, and get datagrams in the order of their
// arrival. The limits are those of the kernel: 64 KiB and 64 segments per call.
//
// Linux only; on other systems [Listen] returns [errors.ErrUnsupported].
package udpio

import (
	"errors"
	"net/netip"
)

// Inbound is one or more datagrams from one sender.
type Inbound struct {
	// Data is one datagram, or several that the kernel has merged. It is valid until the
	// handler returns.
	Data []byte
	// Segment is the length of each datagram in Data but the last, which may be shorter;
	// len(Data) if there is only one.
	Segment int
	From    netip.AddrPort
	// TrafficClass is that of the IP header (TOS): DSCP and, in the two lowest bits, ECN.
	TrafficClass uint8
}

// Handler handles received datagrams, at least one entry.
type Handler func([]Inbound)

// Outbound is one datagram, or several of equal length, to one receiver.
type Outbound struct {
	Data []byte // not empty
	// Segment is the length of each datagram but the last, which may be shorter;
	// 0 means that Data is one datagram.
	Segment int
	To      netip.AddrPort
	// Numbered means that the datagrams require the IPv4 identifications 0, 1, 2 and so
	// on, which only segmentation by the kernel writes. Without it, each datagram is sent
	// separately over IPv4 and has identification 0. It has no effect over IPv6.
	Numbered bool
	// TrafficClass (TOS) and HopLimit (TTL) are those of the IP header; for 0 the kernel chooses.
	TrafficClass, HopLimit uint8
}

// hasSegments reports whether o has more than one datagram.
func (o *Outbound) hasSegments() bool { return o.Segment > 0 && o.Segment < len(o.Data) }

// Options configure a connection. The zero value uses what the kernel has.
type Options struct {
	NoGSO bool // send each datagram separately
	NoGRO bool // receive each datagram separately
	// ReceiveBuffer is the size to request for the buffer of received datagrams, in bytes; 0 is
	// WantedBuffer. See [Conn.ReceiveBuffer].
	ReceiveBuffer int
}

// WantedBuffer is the size that Listen requests for both buffers of a socket, in bytes.
const WantedBuffer = 8 << 20

// ErrNoSegmentation is returned by Write for Numbered datagrams if segmentation turns out
// not to work: a device without checksum offload rejects it only when a datagram is sent.
// Some of the list may have been sent. Rebuild the datagrams for identification 0 and
// write them again; from then on Offload returns false for gso.
var ErrNoSegmentation = errors.New("the kernel doesn't segment datagrams here")

// Limits of one Outbound entry that the kernel segments (kernel: UDP_MAX_SEGMENTS, and
// the length fields of IP and UDP).
const (
	MaxSegments = 64    // datagrams
	MaxBytes    = 65507 // bytes of all of them
)
