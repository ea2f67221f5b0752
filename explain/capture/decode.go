package capture

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// Link types that package layers doesn't name (tcpdump.org/linktypes).
const (
	linkERF        layers.LinkType = 197
	linkInfiniBand layers.LinkType = 247
	linkRawBSD     layers.LinkType = 12 // raw IP of OpenBSD and in files that older systems wrote
)

const (
	etherRoCEv1 = 0x8915
	portVXLAN   = 4789
	vxlanLen    = 8
	mplsLen     = 4
	// maxEncapsulations is how many tunnels inside of each other are followed.
	maxEncapsulations = 4
)

// decoder decodes packets into its packet; it reuses the layers.
type decoder struct {
	packet   packet
	ethernet layers.Ethernet
	tag      layers.Dot1Q
	sll      layers.LinuxSLL
	sll2     layers.LinuxSLL2
	arp      layers.ARP
	ip4      layers.IPv4
	ip6      layers.IPv6
	tunnels  int
	// masked are the headers below a BTH as the ICRC covers them, if there is no UDP.
	masked []byte
}

// decode fills in d.packet, of which number, time and lengths are set.
func (d *decoder) decode(link layers.LinkType, b []byte) {
	d.tunnels = 0
	switch link {
	case layers.LinkTypeEthernet:
		d.decodeEthernet(b)
	case layers.LinkTypeLinuxSLL:
		if d.sll.DecodeFromBytes(b, gopacket.NilDecodeFeedback) == nil {
			d.network(uint16(d.sll.EthernetType), d.sll.Payload)
		}
	case layers.LinkTypeLinuxSLL2:
		if d.sll2.DecodeFromBytes(b, gopacket.NilDecodeFeedback) == nil {
			d.network(uint16(d.sll2.ProtocolType), d.sll2.Payload)
		}
	case layers.LinkTypeRaw, layers.LinkTypeIPv4, layers.LinkTypeIPv6, linkRawBSD:
		d.rawIP(b)
	case linkInfiniBand:
		d.localRoute(b)
	case linkERF:
		d.decodeERF(b)
	default:
		d.packet.kind, d.packet.why = kindLink, linkName(link)
	}
}

func linkName(l layers.LinkType) string {
	if name := l.String(); name != "" && name != "UnknownLinkType" {
		return fmt.Sprintf("%s (link type %d)", name, uint16(l))
	}
	return fmt.Sprintf("link type %d", uint16(l))
}

func (d *decoder) decodeEthernet(b []byte) {
	if d.ethernet.DecodeFromBytes(b, gopacket.NilDecodeFeedback) == nil {
		d.network(uint16(d.ethernet.EthernetType), d.ethernet.Payload)
	}
}

// network decodes what follows an Ethernet type.
func (d *decoder) network(etherType uint16, b []byte) {
	for layers.EthernetType(etherType) == layers.EthernetTypeDot1Q || layers.EthernetType(etherType) ==
		layers.EthernetTypeQinQ {
		if d.tag.DecodeFromBytes(b, gopacket.NilDecodeFeedback) != nil {
			return
		}
		if !d.packet.tagged {
			d.packet.tagged, d.packet.pcp = true, d.tag.Priority
		}
		etherType, b = uint16(d.tag.Type), d.tag.Payload
	}
	switch layers.EthernetType(etherType) {
	case layers.EthernetTypeIPv4, layers.EthernetTypeIPv6:
		d.rawIP(b)
	case etherRoCEv1:
		d.packet.transport = TransportRoCEv1
		d.globalRoute(b, 0, 0)
	case layers.EthernetTypeARP:
		d.decodeARP(b)
	case layers.EthernetTypeMPLSUnicast:
		d.decodeMPLS(b)
	}
}

// decodeMPLS skips labels until the one with the bottom-of-stack bit (RFC 3032).
func (d *decoder) decodeMPLS(b []byte) {
	for len(b) > mplsLen {
		bottom := b[2]&1 != 0
		if b = b[mplsLen:]; bottom {
			d.rawIP(b)
			return
		}
	}
}

// rawIP decodes an IP packet of either version.
func (d *decoder) rawIP(b []byte) {
	switch {
	case len(b) == 0:
	case b[0]>>4 == 4:
		d.decodeIPv4(b)
	case b[0]>>4 == 6:
		d.decodeIPv6(b)
	}
}

func (d *decoder) decodeIPv4(b []byte) {
	h := &d.ip4
	if h.DecodeFromBytes(b, gopacket.NilDecodeFeedback) != nil {
		return
	}
	p := &d.packet
	p.source, p.dest = mapped(h.SrcIP), mapped(h.DstIP)
	p.tclass, p.hopLimit, p.id, p.ip4 = h.TOS, h.TTL, h.Id, true
	p.dontFragment = h.Flags&layers.IPv4DontFragment != 0
	rest := int(h.Length) - int(h.IHL)*4
	switch {
	case h.Protocol == layers.IPProtocolUDP && (h.Flags&layers.IPv4MoreFragments != 0 || h.FragOffset != 0):
		if len(h.Payload) >= 4 && h.FragOffset == 0 && binary.BigEndian.Uint16(h.Payload[2:]) == rocev2.Port {
			p.kind = kindFragment
		}
	case h.Protocol == layers.IPProtocolUDP:
		d.decodeUDP(h.Payload, rest, h.IHL == 5)
	case h.Protocol == layers.IPProtocolICMPv4:
		d.decodeICMPv4(h.Payload)
	}
}

func (d *decoder) decodeIPv6(b []byte) {
	h := &d.ip6
	if h.DecodeFromBytes(b, gopacket.NilDecodeFeedback) != nil {
		return
	}
	p := &d.packet
	p.source, p.dest = Address{GID: ib.GID(h.SrcIP)}, Address{GID: ib.GID(h.DstIP)}
	p.tclass, p.hopLimit, p.ip4 = h.TrafficClass, h.HopLimit, false
	switch h.NextHeader {
	case layers.IPProtocolUDP:
		d.decodeUDP(h.Payload, int(h.Length), true)
	case layers.IPProtocolICMPv6:
		d.decodeICMPv6(h.Payload)
	case layers.IPProtocolIPv6Fragment:
		// The fragment header has 8 bytes: next header, reserved, offset and flags, identification.
		f := h.Payload
		if len(f) >= 12 && f[0] == byte(layers.IPProtocolUDP) && binary.BigEndian.Uint16(f[2:])>>3 == 0 &&
			binary.BigEndian.Uint16(f[10:]) == rocev2.Port {
			p.kind = kindFragment
		}
	}
}

// decodeUDP decodes a UDP datagram whose IP packet has room for space bytes, of which b are
// captured. plain reports whether the IP header is one that the ICRC is defined for.
func (d *decoder) decodeUDP(b []byte, space int, plain bool) {
	const headerLen = 8
	if len(b) < headerLen {
		return
	}
	port, length := binary.BigEndian.Uint16(b[2:]), int(binary.BigEndian.Uint16(b[4:]))
	p := &d.packet
	switch {
	case port == portVXLAN && d.tunnels < maxEncapsulations && len(b) > headerLen+vxlanLen:
		d.tunnels++
		d.decodeEthernet(b[headerLen+vxlanLen:])
		return
	case port != rocev2.Port:
		return
	}
	p.transport, p.sourcePort = TransportRoCEv2, binary.BigEndian.Uint16(b)
	if length != space {
		p.malformed(fmt.Sprintf("UDP length %d in an IP packet with %d bytes", length, space))
		return
	}
	d.transport(b[headerLen:], length-headerLen, plain)
}

// transport decodes a transport packet of length bytes including its ICRC, of which b are
// captured.
func (d *decoder) transport(b []byte, length int, plain bool) {
	p := &d.packet
	b = b[:min(len(b), max(length, 0))]
	end := length - rocev2.ICRCLen
	switch {
	case end < ib.BTHLen:
		p.malformed(fmt.Sprintf("%d bytes, less than a BTH and an ICRC", length))
		return
	case len(b) < ib.BTHLen:
		p.kind = kindCut
		return
	}
	p.datagram, p.whole = b, len(b) == length
	_, err := p.Packet.Decode(b[:min(len(b), end)])
	headers := p.BTH.Opcode.HeaderLen()
	switch {
	case errors.Is(err, ib.ErrUnknownOpcode):
		p.unknownOpcode, headers = true, ib.BTHLen
	case errors.Is(err, ib.ErrShort) && end >= headers:
		p.kind, p.hasBTH = kindCut, true
		return
	case errors.Is(err, ib.ErrPadding) && !p.whole: // there is more padding than captured bytes
	case err != nil:
		p.malformed(fmt.Sprintf("%v: %v", p.BTH.Opcode, err))
		return
	}
	p.payloadLen = end - headers - int(p.BTH.PadCount)
	if p.payloadLen < 0 {
		p.malformed(fmt.Sprintf("%v: %v", p.BTH.Opcode, ib.ErrPadding))
		return
	}
	p.kind = kindTransport
	if p.whole {
		p.icrcValue = binary.LittleEndian.Uint32(b[end:])
		switch {
		case p.transport != TransportRoCEv2:
			d.checkLower()
		case plain:
			p.checkICRC()
		}
	}
}

func (p *packet) malformed(why string) { p.kind, p.why = kindMalformed, why }

// mapped returns the GID of an IPv4 address.
func mapped(b []byte) Address {
	return Address{GID: ib.GID{10: 0xff, 11: 0xff, 12: b[0], 13: b[1], 14: b[2], 15: b[3]}}
}
