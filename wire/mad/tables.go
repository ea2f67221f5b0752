package mad

import (
	"encoding/binary"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Number of entries per block of each table. A block has [SMPDataLen] bytes.
const (
	LFTBlockLen  = 64 // bytes: a port for each LID
	MFTBlockLen  = 32 // masks of 16 ports, one for each LID
	PKeyBlockLen = 32 // P_Keys of 2 bytes
	GUIDBlockLen = 8  // GUIDs of 8 bytes
)

// LFTPortNone in a linear forwarding table means that packets to the LID are dropped.
const LFTPortNone = 255

// LFTBlock is a block of a switch's linear forwarding table: the output port for each of
// [LFTBlockLen] LIDs. Block n starts at LID n*LFTBlockLen; n is the attribute modifier
// (specification section 14.2.5.10).
type LFTBlock [LFTBlockLen]uint8

// Decode reads the block from the start of b.
func (a *LFTBlock) Decode(b []byte) (n int, err error) {
	if len(b) < SMPDataLen {
		return 0, ErrShort
	}
	return copy(a[:], b), nil
}

// Append appends the block to b.
func (a *LFTBlock) Append(b []byte) []byte { return append(b, a[:]...) }

// MulticastLIDBase is the first multicast LID.
const MulticastLIDBase ib.LID = 0xc000

// MFTPortsPerPosition is the number of ports that an entry of [MFTBlock] covers.
const MFTPortsPerPosition = 16

// MFTBlock is a block of a switch's multicast forwarding table: a mask of the output
// ports for each of [MFTBlockLen] multicast LIDs. Bit p of an entry is port
// 16*position + p, and block n starts at LID [MulticastLIDBase] + n*MFTBlockLen; see
// [MFTModifier] (specification section 14.2.5.12).
type MFTBlock [MFTBlockLen]uint16

// MFTModifier returns the attribute modifier for a block (0 to 511) of 32 LIDs and a
// position (0 to 15) of 16 ports. Higher bits of the arguments are ignored.
func MFTModifier(block uint16, position uint8) uint32 {
	return uint32(position)<<28 | uint32(block&0x1ff)
}

// Decode reads the block from the start of b.
func (a *MFTBlock) Decode(b []byte) (n int, err error) {
	if len(b) < SMPDataLen {
		return 0, ErrShort
	}
	for i := range a {
		a[i] = binary.BigEndian.Uint16(b[2*i:])
	}
	return SMPDataLen, nil
}

// Append appends the block to b.
func (a *MFTBlock) Append(b []byte) []byte {
	for _, v := range a {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	return b
}

// PKeyTable is a block of a port's partition key table; 0 is an empty entry. The
// attribute modifier is the block; on a switch it has the port number in the high 16
// bits (specification section 14.2.5.7).
type PKeyTable [PKeyBlockLen]ib.PKey

// Decode reads the block from the start of b.
func (a *PKeyTable) Decode(b []byte) (n int, err error) {
	if len(b) < SMPDataLen {
		return 0, ErrShort
	}
	for i := range a {
		a[i] = ib.PKey(binary.BigEndian.Uint16(b[2*i:]))
	}
	return SMPDataLen, nil
}

// Append appends the block to b.
func (a *PKeyTable) Append(b []byte) []byte {
	for _, v := range a {
		b = binary.BigEndian.AppendUint16(b, uint16(v))
	}
	return b
}

// GUIDInfo is a block of a port's GUID table. The port's GIDs are the subnet prefix and
// these GUIDs; the first GUID of block 0 is the PortGUID. Zero is an empty entry
// (specification section 14.2.5.5).
type GUIDInfo [GUIDBlockLen]ib.GUID

// Decode reads the block from the start of b.
func (a *GUIDInfo) Decode(b []byte) (n int, err error) {
	if len(b) < SMPDataLen {
		return 0, ErrShort
	}
	for i := range a {
		a[i] = ib.GUID(b[8*i:])
	}
	return SMPDataLen, nil
}

// Append appends the block to b.
func (a *GUIDInfo) Append(b []byte) []byte {
	for i := range a {
		b = append(b, a[i][:]...)
	}
	return b
}
