// Package netprobe asks other machines, on one network device, how large packets may be on the way
// to them, who answers for an address, and whether something rejects a datagram.
//
//	size, err := netprobe.PathMTU(ctx, "eth1", source, peer, 9000)
//	macs, err := netprobe.Owners(ctx, "eth1", peer, time.Second)
//	rejection, err := netprobe.Rejected(ctx, "eth1", from, to, datagram)
//
// It sends few packets: echo requests, and ARP probes, which change no neighbour table (RFC 5227).
// Functions may be called concurrently; each opens sockets of its own. On systems other than Linux
// they return [errors.ErrUnsupported].
package netprobe

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// ErrFiltered is the error of a packet that a filter of this machine drops (EPERM).
var ErrFiltered = errors.New("dropped by a packet filter of this machine")

// Rejection is an ICMP error that came back for a packet (RFC 792; RFC 1812, section 5.2.7).
type Rejection struct {
	By         netip.Addr // the machine that sent it
	Type, Code uint8
}

// Sizes of headers in bytes.
const (
	ipHeader   = 20
	icmpHeader = 8
)

// smallest is a packet that every link takes (RFC 791), as `ping -s 56` sends it.
const smallest = 84

// checksum is that of ICMP (RFC 1071).
func checksum(b []byte) uint16 {
	var sum uint32
	for ; len(b) > 1; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// echo returns an echo request whose IP packet has the size.
func echo(id, seq uint16, size int) []byte {
	b := make([]byte, max(size-ipHeader, icmpHeader))
	b[0] = 8
	binary.BigEndian.PutUint16(b[4:], id)
	binary.BigEndian.PutUint16(b[6:], seq)
	for i := icmpHeader; i < len(b); i++ {
		b[i] = byte(i)
	}
	binary.BigEndian.PutUint16(b[2:], checksum(b))
	return b
}

// isReply reports whether b is the reply to an echo request, without its IP header.
func isReply(b []byte, seq uint16, size int) bool {
	return len(b) == max(size-ipHeader, icmpHeader) && b[0] == 0 && binary.BigEndian.Uint16(b[6:]) == seq
}

// arpProbe returns an Ethernet frame that asks who has an address, without saying who asks.
func arpProbe(own, target []byte) []byte {
	b := make([]byte, 0, 42)
	b = append(b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	b = append(b, own...)
	b = append(b, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1) // ARP, Ethernet, IPv4, lengths, request
	b = append(b, own...)
	b = append(b, 0, 0, 0, 0)
	b = append(b, 0, 0, 0, 0, 0, 0)
	return append(b, target...)
}

// arpOwner returns the hardware address that a frame of ARP claims an address for: a reply, or a
// request of the owner itself.
func arpOwner(b, target []byte) (mac []byte, ok bool) {
	if len(b) < 42 || binary.BigEndian.Uint16(b[12:]) != 0x0806 || binary.BigEndian.Uint16(b[16:]) != 0x0800 ||
		b[18] != 6 || b[19] != 4 || string(b[28:32]) != string(target) {
		return nil, false
	}
	return append([]byte(nil), b[22:28]...), true
}
