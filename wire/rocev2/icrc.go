package rocev2

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// ICRCLen is the length of the invariant CRC at the end of a packet, in bytes.
const ICRCLen = 4

const (
	ipv4Len     = 20
	ipv6Len     = 40
	udpLen      = 8
	protocolUDP = 17 // in the IP header

	// dontFragment is the DF bit in the word of flags and fragment offset.
	dontFragment = 0x4000
	// resv8a is the offset in the BTH of FECN, BECN and six reserved bits, which the ICRC masks.
	resv8a = 4
)

// prefixLen is the maximum length of the masked headers: IPv6, UDP and BTH. It is a
// multiple of four bytes, as is the length with IPv4.
const prefixLen = ipv6Len + udpLen + ib.BTHLen

// Flow has the fields of the IP and UDP headers that the ICRC covers (RoCE v2 annex
// A17, section 3.3; kernel: drivers/infiniband/sw/rxe/rxe_icrc.c). Fields that routers
// may change are masked: type of service, time to live, header checksum, flow label,
// hop limit and UDP checksum.
//
// Source and Destination are both IPv4 (IPv4-mapped, as [ib.GIDFromAddr] returns them)
// or both IPv6. ID and DontFragment are used for IPv4 only.
type Flow struct {
	Source, Destination         ib.GID // both IPv4 or both IPv6
	SourcePort, DestinationPort uint16 // UDP ports; the destination port is 4791
	ID                          uint16 // identification of the IPv4 header
	DontFragment                bool   // DF of the IPv4 header
}

// IsIPv4 reports whether packets of the flow have an IPv4 header.
func (f *Flow) IsIPv4() bool {
	_, ok := f.Source.IPv4()
	return ok
}

// ICRC returns the invariant CRC of a transport packet, from its BTH to its padding.
// On the wire it is in little-endian order. packet must have at least a BTH (12
// bytes). ICRC doesn't allocate.
func (f *Flow) ICRC(packet []byte) uint32 {
	var buf [prefixLen]byte
	n := f.prefix(&buf, packet)
	crc := updateHeaders(maskedLRH, buf[:n])
	return crc32.Update(crc, crc32.IEEETable, packet[ib.BTHLen:])
}

// AppendICRC appends the invariant CRC to a transport packet.
func (f *Flow) AppendICRC(packet []byte) []byte {
	return binary.LittleEndian.AppendUint32(packet, f.ICRC(packet))
}

// Check verifies the invariant CRC at the end of a datagram (a transport packet and
// [ICRCLen] bytes). It returns the difference (XOR) from the correct CRC: 0 if the CRC
// is valid. datagram must have at least a BTH and an ICRC.
func (f *Flow) Check(datagram []byte) (difference uint32) {
	end := len(datagram) - ICRCLen
	return f.ICRC(datagram[:end]) ^ binary.LittleEndian.Uint32(datagram[end:])
}

// prefix writes the masked headers before the payload into buf and returns
// their length.
func (f *Flow) prefix(buf *[prefixLen]byte, packet []byte) int {
	length := len(packet) + ICRCLen + udpLen // of the UDP datagram
	b := buf[:0]
	if f.IsIPv4() {
		flags := uint16(0)
		if f.DontFragment {
			flags = dontFragment
		}
		b = append(b, 0x45, 0xff)
		b = binary.BigEndian.AppendUint16(b, uint16(ipv4Len+length))
		b = binary.BigEndian.AppendUint16(b, f.ID)
		b = binary.BigEndian.AppendUint16(b, flags)
		b = append(b, 0xff, protocolUDP, 0xff, 0xff)
		b = append(b, f.Source[12:]...)
		b = append(b, f.Destination[12:]...)
	} else {
		b = append(b, 0x6f, 0xff, 0xff, 0xff)
		b = binary.BigEndian.AppendUint16(b, uint16(length))
		b = append(b, protocolUDP, 0xff)
		b = append(b, f.Source[:]...)
		b = append(b, f.Destination[:]...)
	}
	b = binary.BigEndian.AppendUint16(b, f.SourcePort)
	b = binary.BigEndian.AppendUint16(b, f.DestinationPort)
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	b = append(b, 0xff, 0xff)
	b = append(b, packet[:ib.BTHLen]...)
	b[len(b)-ib.BTHLen+resv8a] = 0xff
	return len(b)
}
