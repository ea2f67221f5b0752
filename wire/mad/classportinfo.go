package mad

import (
	"encoding/binary"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// ClassPortInfoLen is the length of the attribute in bytes.
const ClassPortInfoLen = 72

// ClassPortInfo describes the capabilities of the agent of a class (specification
// section 13.4.8; C twin: ib_class_port_info_t). Bits of CapabilityMask from 8 on, and
// all of CapabilityMask2, are class-specific: see the constants of performance
// management.
type ClassPortInfo struct {
	BaseVersion     uint8   // of MADs: 1
	ClassVersion    uint8   // of the class
	CapabilityMask  uint16  // bits 0 and 1: generates traps, implements Get and Set of Notice
	CapabilityMask2 uint32  // 27 bits
	RespTimeValue   uint8   // 5 bits: 4.096 µs << RespTimeValue
	Redirect        Address // to which requests are redirected
	Trap            Address // to which traps are sent; its HopLimit is in the specification
}

// Address is the address to which an agent redirects requests or sends traps.
type Address struct {
	GID          ib.GID  // of the port
	TrafficClass uint8   // of its GRH
	SL           uint8   // 4 bits
	FlowLabel    uint32  // 20 bits
	LID          ib.LID  // of the port; 0 if only the GID is used
	PKey         ib.PKey // partition to use
	HopLimit     uint8   // reserved in Redirect
	QP           ib.QPN  // queue pair, 24 bits
	QKey         uint32  // of that queue pair
}

// addressLen is the length of an Address in bytes.
const addressLen = 32

func (a *Address) decode(b []byte) {
	word := binary.BigEndian.Uint32(b[16:])
	*a = Address{
		GID:          ib.GID(b),
		TrafficClass: uint8(word >> 24), SL: uint8(word >> 20 & 15), FlowLabel: word & 0xfffff,
		LID:      ib.LID(binary.BigEndian.Uint16(b[20:])),
		PKey:     ib.PKey(binary.BigEndian.Uint16(b[22:])),
		HopLimit: b[24], QP: ib.QPN(uint24(b[25:])),
		QKey: binary.BigEndian.Uint32(b[28:]),
	}
}

func (a *Address) append(b []byte) []byte {
	b = append(b, a.GID[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(a.TrafficClass)<<24|uint32(a.SL&15)<<20|a.FlowLabel&0xfffff)
	b = binary.BigEndian.AppendUint16(b, uint16(a.LID))
	b = binary.BigEndian.AppendUint16(b, uint16(a.PKey))
	b = appendUint24(append(b, a.HopLimit), uint32(a.QP))
	return binary.BigEndian.AppendUint32(b, a.QKey)
}

// Decode reads the attribute from the start of b.
func (a *ClassPortInfo) Decode(b []byte) (n int, err error) {
	if len(b) < ClassPortInfoLen {
		return 0, ErrShort
	}
	word := binary.BigEndian.Uint32(b[4:])
	a.BaseVersion, a.ClassVersion = b[0], b[1]
	a.CapabilityMask = binary.BigEndian.Uint16(b[2:])
	a.CapabilityMask2, a.RespTimeValue = word>>5, uint8(word&31)
	a.Redirect.decode(b[8:])
	a.Trap.decode(b[8+addressLen:])
	return ClassPortInfoLen, nil
}

// Append appends the attribute to b.
func (a *ClassPortInfo) Append(b []byte) []byte {
	b = append(b, a.BaseVersion, a.ClassVersion)
	b = binary.BigEndian.AppendUint16(b, a.CapabilityMask)
	b = binary.BigEndian.AppendUint32(b, a.CapabilityMask2<<5|uint32(a.RespTimeValue&31))
	return a.Trap.append(a.Redirect.append(b))
}
