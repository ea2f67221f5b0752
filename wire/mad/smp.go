package mad

import (
	"encoding/binary"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// SMPDataLen is the maximum length of an attribute in a subnet management packet, in bytes.
const SMPDataLen = 64

// LIDPermissive is the permissive LID: every port accepts packets for it. A pure directed
// route has it at both ends.
const LIDPermissive ib.LID = 0xffff

const directionBit Status = 0x8000

// SMP is a subnet management packet that is routed by LID (specification section
// 14.2.1.1). It travels on QP 0.
type SMP struct {
	Header
	MKey        uint64           // management key; 0 where none is configured
	Reserved32  [32]byte         // from byte 32 on, kept as received
	Data        [SMPDataLen]byte // the attribute, from its first byte on
	Reserved128 [128]byte        // from byte 128 on, kept as received
}

// NewSMP returns a packet that reads or, with [MethodSet], writes an attribute. For the
// meaning of the modifier see the constant of the attribute. The response has the low 32
// bits of tid.
func NewSMP(m Method, a Attribute, modifier uint32, tid uint64) SMP {
	return SMP{Header: newHeader(ClassSubnet, 1, m, a, modifier, tid)}
}

func newHeader(c Class, version uint8, m Method, a Attribute, modifier uint32, tid uint64) Header {
	return Header{
		BaseVersion: BaseVersion, MgmtClass: c, ClassVersion: version, Method: m,
		TransactionID: tid, AttributeID: a, AttributeModifier: modifier,
	}
}

// Decode reads a packet from the first [Len] bytes of b.
func (p *SMP) Decode(b []byte) (n int, err error) {
	if len(b) < Len {
		return 0, ErrShort
	}
	n, _ = p.Header.Decode(b) // the length has been checked
	p.MKey = binary.BigEndian.Uint64(b[n:])
	p.Reserved32 = [32]byte(b[32:])
	p.Data = [SMPDataLen]byte(b[64:])
	p.Reserved128 = [128]byte(b[128:])
	return Len, nil
}

// Append appends the packet to b.
func (p *SMP) Append(b []byte) []byte {
	b = p.Header.Append(b)
	b = binary.BigEndian.AppendUint64(b, p.MKey)
	b = append(b, p.Reserved32[:]...)
	b = append(b, p.Data[:]...)
	return append(b, p.Reserved128[:]...)
}

// DirectedSMP is a subnet management packet with a directed route. It contains the output
// port of each hop, and therefore needs neither LIDs nor a subnet manager (specification
// section 14.2.1.2; C twin: ib_smp_t). ibsim accepts only routes that are directed from
// end to end, with DrSLID and DrDLID [LIDPermissive].
type DirectedSMP struct {
	Header
	MKey           uint64            // management key; 0 where none is configured
	DrSLID, DrDLID ib.LID            // LIDs of the start and the end of the directed part
	Reserved36     [28]byte          // from byte 36 on, kept as received
	Data           [SMPDataLen]byte  // the attribute, from its first byte on
	InitialPath    [MaxHops + 1]byte // output ports, from index 1
	ReturnPath     [MaxHops + 1]byte // input ports, filled in by each hop
}

// NewDirectedSMP is [NewSMP] for a directed route from end to end. A path without hops
// queries the local port.
func NewDirectedSMP(m Method, a Attribute, modifier uint32, tid uint64, path *Path) DirectedSMP {
	p := DirectedSMP{
		Header: newHeader(ClassSubnetDirected, 1, m, a, modifier, tid),
		DrSLID: LIDPermissive, DrDLID: LIDPermissive,
	}
	p.SetPath(path)
	return p
}

// SetPath sets the hop count and the initial path, and the hop pointer to 0, its value
// before the first hop.
func (p *DirectedSMP) SetPath(path *Path) {
	p.ClassSpecific = uint16(path.hops)
	p.InitialPath = path.ports
}

// Path returns the route of the packet, or false if its hop count is greater than
// [MaxHops].
func (p *DirectedSMP) Path() (Path, bool) {
	n := p.HopCount()
	if n > MaxHops {
		return Path{}, false
	}
	path := Path{hops: n}
	copy(path.ports[1:], p.InitialPath[1:n+1])
	return path, true
}

// HopPointer returns the current hop.
func (p *DirectedSMP) HopPointer() uint8 { return uint8(p.ClassSpecific >> 8) }

// HopCount returns the number of hops of the route.
func (p *DirectedSMP) HopCount() uint8 { return uint8(p.ClassSpecific) }

// IsReturning reports whether the D bit (direction) is set: the packet is a response.
func (p *DirectedSMP) IsReturning() bool { return p.Status&directionBit != 0 }

// SetReturning sets or clears the D bit.
func (p *DirectedSMP) SetReturning(back bool) {
	p.Status &^= directionBit
	if back {
		p.Status |= directionBit
	}
}

// Decode reads a packet from the first [Len] bytes of b.
func (p *DirectedSMP) Decode(b []byte) (n int, err error) {
	if len(b) < Len {
		return 0, ErrShort
	}
	n, _ = p.Header.Decode(b) // the length has been checked
	p.MKey = binary.BigEndian.Uint64(b[n:])
	p.DrSLID = ib.LID(binary.BigEndian.Uint16(b[32:]))
	p.DrDLID = ib.LID(binary.BigEndian.Uint16(b[34:]))
	p.Reserved36 = [28]byte(b[36:])
	p.Data = [SMPDataLen]byte(b[64:])
	p.InitialPath = [MaxHops + 1]byte(b[128:])
	p.ReturnPath = [MaxHops + 1]byte(b[192:])
	return Len, nil
}

// Append appends the packet to b.
func (p *DirectedSMP) Append(b []byte) []byte {
	b = p.Header.Append(b)
	b = binary.BigEndian.AppendUint64(b, p.MKey)
	b = binary.BigEndian.AppendUint16(b, uint16(p.DrSLID))
	b = binary.BigEndian.AppendUint16(b, uint16(p.DrDLID))
	b = append(b, p.Reserved36[:]...)
	b = append(b, p.Data[:]...)
	b = append(b, p.InitialPath[:]...)
	return append(b, p.ReturnPath[:]...)
}
