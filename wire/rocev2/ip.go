package rocev2

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// ErrNotRoCE is the error for an IP packet that doesn't contain a complete RoCE v2
// datagram; the error that wraps it has the cause.
var ErrNotRoCE = errors.New("not a RoCE v2 packet")

// ParseIP splits an IP packet, from a packet socket or a capture, into the flow for its
// ICRC and the UDP payload, from the BTH to the ICRC. datagram is a part of b. Bytes
// after the IP packet, the padding of a short Ethernet frame, are ignored. The error
// matches [ErrNotRoCE], and also [ib.ErrShort] for a truncated packet.
//
// ParseIP rejects headers that annex A17 doesn't allow: IPv4 options, IPv6 extension
// headers, fragments. It doesn't verify IP and UDP checksums, since in a capture the
// network card may not yet have filled them in.
func ParseIP(b []byte) (f Flow, datagram []byte, err error) {
	var rest []byte // from the UDP header to the end of the IP packet
	switch {
	case len(b) == 0:
		err = notRoCE("empty", ib.ErrShort)
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
		return nil, notRoCE("fragment", nil)
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
	var h ib.GRH // has the layout of an IPv6 header
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
		return nil, notRoCE("IPv4-mapped address in an IPv6 header", nil)
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

// mapped returns the GID of a four-byte IPv4 address, like ib.GIDFromAddr, but without
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
