package tshark

import (
	"bytes"
	"encoding/binary"
	"os"
)

// Link type and record type of InfiniBand packets in the extensible record format (pcap's
// LINKTYPE_ERF); tshark doesn't read LINKTYPE_INFINIBAND from pcap files.
const (
	linkERF        = 197
	erfInfiniBand  = 21
	erfHeaderLen   = 16
	maximumCapture = 1 << 16
)

// WriteMADs writes a capture file with a packet to queue pair 1 for each management datagram of 256
// bytes. The checksums are zeros, which tshark doesn't check.
func WriteMADs(file string, mads [][]byte) error {
	var out bytes.Buffer
	word := func(v uint32) { out.Write(binary.LittleEndian.AppendUint32(nil, v)) }
	word(magicMicro)
	word(2 | 4<<16) // version 2.4
	word(0)
	word(0)
	word(maximumCapture)
	word(linkERF)
	for i, m := range mads {
		frame := madFrame(m)
		word(uint32(i)) // seconds
		word(0)
		word(uint32(len(frame)))
		word(uint32(len(frame)))
		out.Write(frame)
	}
	return os.WriteFile(file, out.Bytes(), 0o600)
}

// madFrame adds the headers of a datagram from LID 1 to LID 2, and room for the checksums.
func madFrame(m []byte) []byte {
	const opcodeUDSendOnly, headers, icrc, vcrc = 0x64, 28, 4, 2
	length := headers + len(m) + icrc + vcrc
	b := make([]byte, erfHeaderLen+8, erfHeaderLen+length)
	b[8], b[9] = erfInfiniBand, 4 // varying record length
	binary.BigEndian.PutUint16(b[10:], uint16(erfHeaderLen+length))
	binary.BigEndian.PutUint16(b[14:], uint16(length))
	lrh := b[erfHeaderLen:]
	lrh[1] = 2 // next header: BTH
	binary.BigEndian.PutUint16(lrh[2:], 2)
	binary.BigEndian.PutUint16(lrh[4:], uint16((headers+len(m)+icrc)/4))
	binary.BigEndian.PutUint16(lrh[6:], 1)
	b = append(b, opcodeUDSendOnly, 0, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 0)
	b = append(b, 0x80, 1, 0, 0, 0, 0, 0, 1) // Q_Key and source queue pair
	b = append(b, m...)
	return append(b, make([]byte, icrc+vcrc)...)
}
