package rocev2

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// ErrNotRoCE is the error for an IP packet that carries no RoCE v2 datagram, or
// only a part of one; what wraps it says why.
var ErrNotRoCE = errors.New("not a RoCE v2 packet")

// ParseIP splits an IP packet, as a packet socket or a capture has it, into the
// flow that its ICRC is computed over and the UDP payload, from the BTH to the
// ICRC. datagram is part of b. Bytes behind the packet, the padding of a short
// Ethernet frame, are left out. The error matches [ErrNotRoCE], and [ib.ErrShort] for
// a packet that was cut off.
//
// Headers other than those of annex A17 are refused: IPv4 options, IPv6 extension
// headers, fragments. IP and UDP checksums are not looked at: a network card may
// still have to fill them in when a capture is taken.
func ParseIP(b []byte) (f Flow, datagram []byte, err error) {
	var rest []byte // from the UDP header to the end that the IP header tells
	switch {
	case len(b) == 0:
		err = notRoCE("nothing there", ib.ErrShort)
	case b[0]>>4 == 4:
		rest, err = f.parseIPv4(b)
	case b[0]>>4 == 6:
		rest, err = f.parseIPv6(b)
	default:
		err = notRoCE("neither IPv4 nor IPv6", nil)
	}
	if err == nil {
		datagram, err = f.parseUDP(rest)
	}
	if err != nil {
		return Flow{}, nil, err
	}
	return f, datagram, nil
}

func (f *Flow) parseIPv4(b []byte) ([]byte, error) {
	if len(b) < ipv4Len {
		return nil, notRoCE("IPv4 header", ib.ErrShort)
	}
	total, flags := int(binary.BigEndian.Uint16(b[2:])), binary.BigEndian.Uint16(b[6:])
	switch {
	case b[0] != 0x45:
		return nil, notRoCE("IPv4 options", nil)
	case flags&^uint16(dontFragment) != 0:
		return nil, notRoCE("a fragment", nil)
	case b[9] != protocolUDP:
		return nil, notRoCE("not UDP", nil)
	case total < ipv4Len || total > len(b):
		return nil, notRoCE("IPv4 total length", ib.ErrShort)
	}
	f.ID, f.DontFragment = binary.BigEndian.Uint16(b[4:]), flags != 0
	f.Source, f.Destination = mapped(b[12:16]), mapped(b[16:20])
	return b[ipv4Len:total], nil
}

func (f *Flow) parseIPv6(b []byte) ([]byte, error) {
	var h ib.GRH // which is laid out like an IPv6 header
	if _, err := h.Decode(b); err != nil {
		return nil, notRoCE("IPv6 header", err)
	}
	end := ipv6Len + int(h.PayloadLen)
	switch {
	case h.NextHeader != protocolUDP:
		return nil, notRoCE("not UDP", nil)
	case end > len(b):
		return nil, notRoCE("IPv6 payload length", ib.ErrShort)
	}
	f.Source, f.Destination = h.SGID, h.DGID
	if f.IsIPv4() {
		return nil, notRoCE("an IPv4-mapped address in an IPv6 header", nil)
	}
	return b[ipv6Len:end], nil
}

func (f *Flow) parseUDP(b []byte) ([]byte, error) {
	if len(b) < udpLen+ib.BTHLen+ICRCLen {
		return nil, notRoCE("UDP payload", ib.ErrShort)
	}
	f.SourcePort, f.DestinationPort = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	switch {
	case f.DestinationPort != Port:
		return nil, notRoCE("another UDP port", nil)
	case int(binary.BigEndian.Uint16(b[4:])) != len(b):
		return nil, notRoCE("UDP length", nil)
	}
	return b[udpLen:], nil
}

// mapped returns four bytes of IPv4 as a GID; ib.GIDFromAddr without the way over
// netip.
func mapped(b []byte) ib.GID {
	return ib.GID{10: 0xff, 11: 0xff, 12: b[0], 13: b[1], 14: b[2], 15: b[3]}
}

func notRoCE(reason string, cause error) error {
	if cause != nil {
		return fmt.Errorf("parse IP packet: %w: %s: %w", ErrNotRoCE, reason, cause)
	}
	return fmt.Errorf("parse IP packet: %w: %s", ErrNotRoCE, reason)
}
