package prm

import (
	"encoding/binary"
	"fmt"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// Class is the vendor class of the datagrams (mstflint: IB_VENDOR_SPECIFIC_CLASS_0xA).
const Class mad.Class = 0x0a

// Attributes of the class (mstflint, mtcr_ib_ofed.c).
const (
	AttributeGeneralInfo    mad.Attribute = 0x17 // IB_VS_ATTR_GENERAL_INFO
	AttributeAccessRegister mad.Attribute = 0x51 // IB_VS_ATTR_ACCESS_REGISTER_GMP; modifier: the register
)

// Register is the number of an access register.
type Register uint16

// Registers (mstflint, reg_access/reg_ids.h).
const (
	RegisterPPCNT Register = 0x5008 // port performance counters
	RegisterPDDR  Register = 0x5031 // port diagnostics database
	RegisterMCIA  Register = 0x9014 // cable info access: the memory of modules
)

// String returns the register's name, or its number.
func (r Register) String() string {
	switch r {
	case RegisterPPCNT:
		return "PPCNT"
	case RegisterPDDR:
		return "PDDR"
	case RegisterMCIA:
		return "MCIA"
	}
	return fmt.Sprintf("register 0x%04x", uint16(r))
}

// Lengths in bytes.
const (
	BlockLen = 220 // AccessRegister.Data
	// MaxBlocks is how many blocks a register has at most (mstflint, INBAND_MAX_GMP_BLOCKS).
	MaxBlocks = 16
	// generalInfoLen is the length of GeneralInfo.Data.
	generalInfoLen = 224
)

// AccessRegister is a datagram that reads one block of a register (mstflint, mtcr_ib_ofed.c,
// mib_send_gmp_access_reg_mad). The modifier is the number of the register. Data of a request has
// the register's first [BlockLen] bytes, in which the index fields select what is read, whatever
// the block; Data of an answer has the block. The last block of a register is filled up.
type AccessRegister struct {
	mad.Header
	VSKey    uint64 // byte 24; 0 if the device has no key
	Block    uint16 // byte 32: number of the block, from 0
	Reserved uint16 // byte 34, kept as received
	Data     [BlockLen]byte
}

// NewAccessRegister returns a request for one block of a register. The caller must write the
// register, with its index fields, to Data. Devices accept only [mad.MethodGet] here.
func NewAccessRegister(r Register, block uint16, key, tid uint64) AccessRegister {
	return AccessRegister{Header: header(AttributeAccessRegister, uint32(r), tid), VSKey: key, Block: block}
}

func header(a mad.Attribute, modifier uint32, tid uint64) mad.Header {
	return mad.Header{
		BaseVersion: mad.BaseVersion, MgmtClass: Class, ClassVersion: 1, Method: mad.MethodGet,
		TransactionID: tid, AttributeID: a, AttributeModifier: modifier,
	}
}

// Decode reads a datagram from the first [mad.Len] bytes of b.
func (p *AccessRegister) Decode(b []byte) (n int, err error) {
	if len(b) < mad.Len {
		return 0, mad.ErrShort
	}
	_, _ = p.Header.Decode(b) // the length has been checked
	p.VSKey = binary.BigEndian.Uint64(b[24:])
	p.Block, p.Reserved = binary.BigEndian.Uint16(b[32:]), binary.BigEndian.Uint16(b[34:])
	p.Data = [BlockLen]byte(b[36:])
	return mad.Len, nil
}

// Append appends the datagram to b.
func (p *AccessRegister) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(p.Header.Append(b), p.VSKey)
	b = binary.BigEndian.AppendUint16(b, p.Block)
	b = binary.BigEndian.AppendUint16(b, p.Reserved)
	return append(b, p.Data[:]...)
}

// Blocks returns how many datagrams a register of size bytes takes.
func Blocks(size int) int { return (size + BlockLen - 1) / BlockLen }

// GeneralInfo is a datagram that reads what a device supports (mstflint, mtcr_ib_ofed.c,
// mib_supports_reg_access_gmp).
type GeneralInfo struct {
	mad.Header
	VSKey uint64               // byte 24; 0 if the device has no key
	Data  [generalInfoLen]byte // the capability mask is at byte 128
}

// NewGeneralInfo returns a request.
func NewGeneralInfo(key, tid uint64) GeneralInfo {
	return GeneralInfo{Header: header(AttributeGeneralInfo, 0, tid), VSKey: key}
}

// Decode reads a datagram from the first [mad.Len] bytes of b.
func (p *GeneralInfo) Decode(b []byte) (n int, err error) {
	if len(b) < mad.Len {
		return 0, mad.ErrShort
	}
	_, _ = p.Header.Decode(b) // the length has been checked
	p.VSKey = binary.BigEndian.Uint64(b[24:])
	p.Data = [generalInfoLen]byte(b[32:])
	return mad.Len, nil
}

// Append appends the datagram to b.
func (p *GeneralInfo) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(p.Header.Append(b), p.VSKey)
	return append(b, p.Data[:]...)
}

// Place of the capability bit of AccessRegister in GeneralInfo.Data: bit 20 of the first word.
const (
	capabilityOffset       = 128
	capabilityRegisterByte = capabilityOffset + 1
	capabilityRegisterBit  = 1 << 4
)

// HasAccessRegister reports whether the device answers [AttributeAccessRegister].
func (p *GeneralInfo) HasAccessRegister() bool {
	return p.Data[capabilityRegisterByte]&capabilityRegisterBit != 0
}

// SetAccessRegister sets what HasAccessRegister returns.
func (p *GeneralInfo) SetAccessRegister(has bool) {
	p.Data[capabilityRegisterByte] &^= capabilityRegisterBit
	if has {
		p.Data[capabilityRegisterByte] |= capabilityRegisterBit
	}
}

// Statuses of an answer to AccessRegister (mstflint, mtcr_ib_ofed.c,
// translate_mad_status_to_reg_status_gmp).
const (
	StatusBusy                mad.Status = 1  // try again
	StatusClassUnsupported    mad.Status = 4  // or its version
	StatusMethodUnsupported   mad.Status = 12 // or the attribute
	StatusRegisterUnsupported mad.Status = 20 // by the device or its firmware
	StatusBadParameter        mad.Status = 28 // such as a port that the device doesn't have
)

// StatusText describes a status that isn't 0.
func StatusText(s mad.Status) string {
	switch s {
	case StatusBusy:
		return "device is busy"
	case StatusClassUnsupported:
		return "class not supported"
	case StatusMethodUnsupported:
		return "method not supported"
	case StatusRegisterUnsupported:
		return "register not supported"
	case StatusBadParameter:
		return "bad parameter"
	}
	return "status " + s.String()
}
