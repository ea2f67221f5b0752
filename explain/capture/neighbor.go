package capture

import (
	"encoding/binary"
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// decodeARP decodes a request or reply of ARP for IPv4 (RFC 826).
func (d *decoder) decodeARP(b []byte) {
	h := &d.arp
	if h.DecodeFromBytes(b, gopacket.NilDecodeFeedback) != nil || h.ProtAddressSize != 4 {
		return
	}
	sender, target := netip.AddrFrom4([4]byte(h.SourceProtAddress)), netip.AddrFrom4([4]byte(h.DstProtAddress))
	n := &d.packet.neighbor
	switch h.Operation {
	case layers.ARPRequest:
		*n = neighborMessage{request: true, sender: sender, target: target}
	case layers.ARPReply:
		*n = neighborMessage{sender: sender, target: sender}
	default:
		return
	}
	d.packet.kind = kindNeighbor
}

// Types of ICMP messages (RFC 792, 4443, 4861).
const (
	icmp4Unreachable     = 3
	icmp4FragmentNeeded  = 4 // a code
	icmp4TimeExceeded    = 11
	icmp6Unreachable     = 1
	icmp6TooBig          = 2
	icmp6TimeExceeded    = 3
	icmp6Solicitation    = 135
	icmp6Advertisement   = 136
	icmpHeaderLen        = 8
	icmp6NeighborBodyLen = 24 // header, and the target address
)

func (d *decoder) decodeICMPv4(b []byte) {
	if len(b) < icmpHeaderLen {
		return
	}
	e := icmpError{code: b[1], from: d.packet.source.GID.Addr()}
	switch {
	case b[0] == icmp4Unreachable && b[1] == icmp4FragmentNeeded:
		e.reason, e.mtu = icmpTooBig, int(binary.BigEndian.Uint16(b[6:]))
	case b[0] == icmp4Unreachable:
		e.reason = icmpUnreachable
	case b[0] == icmp4TimeExceeded:
		e.reason = icmpTimeExceeded
	default:
		return
	}
	d.about(e, b[icmpHeaderLen:])
}

func (d *decoder) decodeICMPv6(b []byte) {
	if len(b) < icmpHeaderLen {
		return
	}
	e := icmpError{code: b[1], from: d.packet.source.GID.Addr()}
	switch b[0] {
	case icmp6Unreachable:
		e.reason = icmpUnreachable
	case icmp6TooBig:
		e.reason, e.mtu = icmpTooBig, int(binary.BigEndian.Uint32(b[4:]))
	case icmp6TimeExceeded:
		e.reason = icmpTimeExceeded
	case icmp6Solicitation, icmp6Advertisement:
		if len(b) >= icmp6NeighborBodyLen {
			d.packet.kind = kindNeighbor
			d.packet.neighbor = neighborMessage{
				request: b[0] == icmp6Solicitation, sender: d.packet.source.GID.Addr(),
				target: netip.AddrFrom16([16]byte(b[8:icmp6NeighborBodyLen])),
			}
		}
		return
	default:
		return
	}
	d.about(e, b[icmpHeaderLen:])
}

// about completes an error with the addresses of the packet that it is about, if that is RoCE v2.
// Of it there are at least an IP header and eight bytes.
func (d *decoder) about(e icmpError, b []byte) {
	var udp []byte
	switch {
	case len(b) >= 28 && b[0]>>4 == 4 && b[9] == byte(layers.IPProtocolUDP) && len(b) >= int(b[0]&15)*4+4:
		e.source, e.dest, udp = mapped(b[12:16]), mapped(b[16:20]), b[int(b[0]&15)*4:]
	case len(b) >= 48 && b[0]>>4 == 6 && b[6] == byte(layers.IPProtocolUDP):
		e.source, e.dest = Address{GID: ib.GID(b[8:24])}, Address{GID: ib.GID(b[24:40])}
		udp = b[40:]
	default:
		return
	}
	if binary.BigEndian.Uint16(udp[2:]) == rocev2.Port {
		d.packet.kind, d.packet.trouble = kindError, e
	}
}
