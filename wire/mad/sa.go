package mad

import "encoding/binary"

// Lengths in bytes.
const (
	SAHeaderLen = 56                // of an SAHeader, Header and RMPP included
	SADataLen   = Len - SAHeaderLen // in one segment
)

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
