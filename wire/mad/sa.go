package mad

import "encoding/binary"

// Lengths in bytes.
const (
	RMPPLen     = 12                // of an RMPP
	SAHeaderLen = 56                // of an SAHeader, Header and RMPP included
	SADataLen   = Len - SAHeaderLen // in one segment
)

// Bits of [RMPP.Flags].
const (
	RMPPActive uint8 = 1 << 0
	RMPPFirst  uint8 = 1 << 1
	RMPPLast   uint8 = 1 << 2
)

// RMPP is the header of the reliable multi-packet transaction protocol, for responses
// longer than one MAD. It is valid if Flags has [RMPPActive] (specification section 13.6;
// C twin: the rmpp fields of ib_rmpp_mad_t).
type RMPP struct {
	Version       uint8  // 1
	Type          uint8  // 1 data, 2 ACK, 3 stop, 4 abort
	RRespTime     uint8  // 5 bits
	Flags         uint8  // 3 bits
	Status        uint8  // cause of a stop or an abort
	SegmentNumber uint32 // from 1; in an ACK the last segment received
	PayloadLength uint32 // in the first and last segment, bytes; in an ACK NewWindowLast
}

// Decode reads the header from the start of b.
func (h *RMPP) Decode(b []byte) (n int, err error) {
	if len(b) < RMPPLen {
		return 0, ErrShort
	}
	*h = RMPP{
		Version: b[0], Type: b[1], RRespTime: b[2] >> 3, Flags: b[2] & 7, Status: b[3],
		SegmentNumber: binary.BigEndian.Uint32(b[4:]),
		PayloadLength: binary.BigEndian.Uint32(b[8:]),
	}
	return RMPPLen, nil
}

// Append appends the header to b.
func (h *RMPP) Append(b []byte) []byte {
	b = append(b, h.Version, h.Type, h.RRespTime<<3|h.Flags&7, h.Status)
	b = binary.BigEndian.AppendUint32(b, h.SegmentNumber)
	return binary.BigEndian.AppendUint32(b, h.PayloadLength)
}

// SAHeader is the header of subnet administration (specification section 15.2.1.1; C
// twin: ib_sa_mad_t). A table reassembled by RMPP has one SAHeader before all records.
type SAHeader struct {
	Header
	RMPP            RMPP   // valid in tables
	SMKey           uint64 // 0, except for clients that the SM trusts
	AttributeOffset uint16 // from record to record in a table, in units of 8 bytes
	Reserved46      uint16 // from byte 46 on, kept as received
	ComponentMask   uint64 // fields of the record that a query compares
}

// RecordSize returns the distance from one record of a table to the next, in bytes, or 0
// if the response is not a table. The sender sets it: it may be smaller than the record.
func (h *SAHeader) RecordSize() int { return 8 * int(h.AttributeOffset) }

// Decode reads the header from the start of b.
func (h *SAHeader) Decode(b []byte) (n int, err error) {
	if len(b) < SAHeaderLen {
		return 0, ErrShort
	}
	_, _ = h.Header.Decode(b)           // the length has been checked
	_, _ = h.RMPP.Decode(b[HeaderLen:]) // also
	h.SMKey = binary.BigEndian.Uint64(b[36:])
	h.AttributeOffset = binary.BigEndian.Uint16(b[44:])
	h.Reserved46 = binary.BigEndian.Uint16(b[46:])
	h.ComponentMask = binary.BigEndian.Uint64(b[48:])
	return SAHeaderLen, nil
}

// Append appends the header to b.
func (h *SAHeader) Append(b []byte) []byte {
	b = h.RMPP.Append(h.Header.Append(b))
	b = binary.BigEndian.AppendUint64(b, h.SMKey)
	b = binary.BigEndian.AppendUint16(b, h.AttributeOffset)
	b = binary.BigEndian.AppendUint16(b, h.Reserved46)
	return binary.BigEndian.AppendUint64(b, h.ComponentMask)
}

// SA is a packet of subnet administration, or one segment of a longer response. Requests
// are sent to QP 1 at the LID of the master SM.
type SA struct {
	SAHeader
	Data [SADataLen]byte // a record, or the segment's part of a table
}

// SAClassVersion is the version of the SA class.
const SAClassVersion = 2

// NewSA returns a query. The caller must write the record, with the fields that mask
// selects, to Data. [MethodGet] expects exactly one record, [MethodGetTable] any number.
func NewSA(m Method, a Attribute, mask, tid uint64) SA {
	return SA{SAHeader: SAHeader{
		Header: newHeader(ClassSA, SAClassVersion, m, a, 0, tid),

		ComponentMask: mask,
	}}
}

// Decode reads a packet from the first [Len] bytes of b.
func (p *SA) Decode(b []byte) (n int, err error) {
	if len(b) < Len {
		return 0, ErrShort
	}
	n, _ = p.SAHeader.Decode(b) // the length has been checked
	p.Data = [SADataLen]byte(b[n:])
	return Len, nil
}

// Append appends the packet to b.
func (p *SA) Append(b []byte) []byte { return append(p.SAHeader.Append(b), p.Data[:]...) }
