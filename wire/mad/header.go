package mad

import (
	"encoding/binary"
	"errors"
)

// Lengths in bytes.
const (
	Len       = 256 // a management datagram
	HeaderLen = 24  // the common header
)

// BaseVersion is the version of the MAD format, the only one that is defined.
const BaseVersion = 1

// ErrShort is the error for fewer bytes than the structure needs.
var ErrShort = errors.New("management datagram is shorter than its layout")

// Header is the common header of every MAD (specification section 13.4.2; C twins:
// ib_mad_t, kernel struct ib_mad_hdr).
type Header struct {
	BaseVersion   uint8  // 1
	MgmtClass     Class  // management class: the agent that the MAD is for
	ClassVersion  uint8  // 1; 2 in subnet administration
	Method        Method // operation; responses have the bit MethodResponse
	Status        Status // of a directed SMP without its first bit: see Result
	ClassSpecific uint16 // hop pointer and hop count in a directed SMP
	// Transaction ID. The caller sets the low 32 bits: umad and ibsim overwrite the others.
	TransactionID     uint64
	AttributeID       Attribute // the numbers are class-specific
	Reserved          uint16    // kept as received
	AttributeModifier uint32    // part of the attribute: a port, a block of a table
}

// Decode reads a header from the start of b.
func (h *Header) Decode(b []byte) (n int, err error) {
	if len(b) < HeaderLen {
		return 0, ErrShort
	}
	*h = Header{
		BaseVersion: b[0], MgmtClass: Class(b[1]), ClassVersion: b[2], Method: Method(b[3]),
		Status:            Status(binary.BigEndian.Uint16(b[4:])),
		ClassSpecific:     binary.BigEndian.Uint16(b[6:]),
		TransactionID:     binary.BigEndian.Uint64(b[8:]),
		AttributeID:       Attribute(binary.BigEndian.Uint16(b[16:])),
		Reserved:          binary.BigEndian.Uint16(b[18:]),
		AttributeModifier: binary.BigEndian.Uint32(b[20:]),
	}
	return HeaderLen, nil
}

// Append appends the header to b.
func (h *Header) Append(b []byte) []byte {
	b = append(b, h.BaseVersion, uint8(h.MgmtClass), h.ClassVersion, uint8(h.Method))
	b = binary.BigEndian.AppendUint16(b, uint16(h.Status))
	b = binary.BigEndian.AppendUint16(b, h.ClassSpecific)
	b = binary.BigEndian.AppendUint64(b, h.TransactionID)
	b = binary.BigEndian.AppendUint16(b, uint16(h.AttributeID))
	b = binary.BigEndian.AppendUint16(b, h.Reserved)
	return binary.BigEndian.AppendUint32(b, h.AttributeModifier)
}

// Result returns the status of a response. It omits the first bit of Status in a
// directed SMP, which is the direction bit.
func (h *Header) Result() Status {
	if h.MgmtClass == ClassSubnetDirected {
		return h.Status &^ directionBit
	}
	return h.Status
}

func flag(set bool, bit uint8) uint8 {
	if set {
		return bit
	}
	return 0
}

func uint24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

func appendUint24(b []byte, v uint32) []byte { return append(b, byte(v>>16), byte(v>>8), byte(v)) }
