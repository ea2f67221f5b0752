package capture

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// Lengths of headers below a BTH, and of the CRC behind a packet, in bytes.
const (
	lrhLen = 8

	erfHeaderLen    = 16
	erfExtensionLen = 8
	erfInfiniBand   = 21
	erfEthernet     = 2
	erfMoreHeaders  = 0x80
)

// Values of the field LNH of a local route header: what follows (specification volume 1, 7.7.5).
const (
	nextBTH = 2
	nextGRH = 3
)

// nextHeaderIBA is the next header of a GRH in front of a BTH.
const nextHeaderIBA = 0x1b

// decodeERF decodes a record of the extensible record format (Endace ERF types reference; ibdump).
func (d *decoder) decodeERF(b []byte) {
	if len(b) < erfHeaderLen {
		return
	}
	record, more := b[8], b[8]&erfMoreHeaders != 0
	for b = b[erfHeaderLen:]; more; {
		if len(b) < erfExtensionLen {
			return
		}
		more = b[0]&erfMoreHeaders != 0
		b = b[erfExtensionLen:]
	}
	switch record &^ erfMoreHeaders {
	case erfInfiniBand:
		d.localRoute(b)
	case erfEthernet:
		if len(b) > 2 { // offset and padding
			d.decodeEthernet(b[2:])
		}
	default:
		d.packet.kind, d.packet.why = kindLink, "ERF of another type than InfiniBand and Ethernet"
	}
}

// localRoute decodes an InfiniBand packet from its local route header on (specification volume 1,
// section 7.7).
func (d *decoder) localRoute(b []byte) {
	p := &d.packet
	if len(b) < lrhLen {
		return
	}
	next := b[1] & 3
	dest, source := ib.LID(binary.BigEndian.Uint16(b[2:])), ib.LID(binary.BigEndian.Uint16(b[6:]))
	length := 4 * int(binary.BigEndian.Uint16(b[4:])&0x7ff) // from the LRH to the ICRC
	switch next {
	case nextBTH, nextGRH:
	default:
		return // raw: no transport
	}
	p.transport = TransportInfiniBand
	if length < lrhLen {
		p.malformed("packet length of the LRH is less than its own")
		return
	}
	lrh := b[:lrhLen]
	b = b[lrhLen:min(max(len(b), lrhLen), length)]
	if next == nextBTH {
		p.source, p.dest = Address{LID: source}, Address{LID: dest}
		d.masked = append(d.masked[:0], lrh...)
		d.masked[0] |= 0xf0 // the virtual lane
		d.transport(b, length-lrhLen, false)
		return
	}
	d.globalRoute(b, source, dest)
}

// globalRoute decodes a packet from its global route header on.
func (d *decoder) globalRoute(b []byte, source, dest ib.LID) {
	p := &d.packet
	var h ib.GRH
	n, err := h.Decode(b)
	if err != nil {
		p.kind = kindCut
		return
	}
	p.source, p.dest = Address{GID: h.SGID, LID: source}, Address{GID: h.DGID, LID: dest}
	p.tclass, p.hopLimit = h.TrafficClass, h.HopLimit
	if h.NextHeader != nextHeaderIBA {
		p.malformed("next header of the GRH is not 0x1b")
		return
	}
	// Routers replace the LRH, and change the traffic class, the flow label and the hop limit.
	d.masked = append(append(d.masked[:0], lrhOnes...), b[:n]...)
	grh := d.masked[lrhLen:]
	grh[0] |= 0x0f
	grh[1], grh[2], grh[3], grh[7] = 0xff, 0xff, 0xff, 0xff
	d.transport(b[n:], int(h.PayloadLen), false)
}

// lrhOnes stands for the LRH in the ICRC of packets with a GRH.
const lrhOnes = "\xff\xff\xff\xff\xff\xff\xff\xff"

// checkLower verifies the ICRC of a whole packet of InfiniBand or RoCE v1 (specification volume 1,
// section 7.8.1; annex A16).
func (d *decoder) checkLower() {
	p := &d.packet
	end := len(p.datagram) - rocev2.ICRCLen
	d.masked = append(d.masked, p.datagram[:ib.BTHLen]...)
	d.masked[len(d.masked)-ib.BTHLen+4] = 0xff // congestion bits and reserved ones
	crc := crc32.Update(0, crc32.IEEETable, d.masked)
	p.setICRC(crc32.Update(crc, crc32.IEEETable, p.datagram[ib.BTHLen:end]) == p.icrcValue)
}
