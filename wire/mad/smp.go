package mad

import (
	"encoding/binary"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// SMPDataLen is the room for an attribute in a subnet management packet, in bytes.
const SMPDataLen = 64

// LIDPermissive stands for "no LID": a packet with it is taken by the port that it
// reaches, and a pure directed route has it at both ends.
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

// NewSMP returns a packet that asks for, or with [MethodSet] writes, an attribute.
// The modifier's meaning stands beside the attribute's constant; of tid the low 32
// bits come back in the answer.
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
	n, _ = p.Header.Decode(b) // the length is checked
	p.MKey = binary.BigEndian.Uint64(b[n:])
	p.Reserved32 = [32]byte(b[32:])
	p.Data = [SMPDataLen]byte(b[64:])
	p.Reserved128 = [128]byte(b[128:])
	return Len, nil
}

// Append writes the packet behind b.
func (p *SMP) Append(b []byte) []byte {
	b = p.Header.Append(b)
	b = binary.BigEndian.AppendUint64(b, p.MKey)
	b = append(b, p.Reserved32[:]...)
	b = append(b, p.Data[:]...)
	return append(b, p.Reserved128[:]...)
}

// DirectedSMP is a subnet management packet that carries its route, port by port,
// and so needs no LID and no subnet manager (specification section 14.2.1.2; C twin:
// ib_smp_t). ibsim takes only routes that are directed from end to end, with DrSLID
// and DrDLID [LIDPermissive].
type DirectedSMP struct {
	Header
	MKey           uint64            // management key; 0 where none is configured
	DrSLID, DrDLID ib.LID            // where the directed part begins and ends
	Reserved36     [28]byte          // from byte 36 on, kept as received
	Data           [SMPDataLen]byte  // the attribute, from its first byte on
	InitialPath    [MaxHops + 1]byte // ports to leave by, from index 1
	ReturnPath     [MaxHops + 1]byte // filled in on the way: ports that the packet came in by
}

// NewDirectedSMP is [NewSMP] for a directed route from end to end. A path of no hops
// asks the own port.
func NewDirectedSMP(m Method, a Attribute, modifier uint32, tid uint64, path *Path) DirectedSMP {
	p := DirectedSMP{
		Header: newHeader(ClassSubnetDirected, 1, m, a, modifier, tid),
		DrSLID: LIDPermissive, DrDLID: LIDPermissive,
	}
	p.SetPath(path)
	return p
}

// SetPath sets the hop count and the initial path, and the hop pointer to 0, where
// it stands before the first hop.
func (p *DirectedSMP) SetPath(path *Path) {
	p.ClassSpecific = uint16(path.hops)
	p.InitialPath = path.ports
}

// Path returns the route that the packet was sent on; false when its hop count is
// above [MaxHops].
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

// IsReturning reports the D bit: the packet is on its way back.
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
	n, _ = p.Header.Decode(b) // the length is checked
	p.MKey = binary.BigEndian.Uint64(b[n:])
	p.DrSLID = ib.LID(binary.BigEndian.Uint16(b[32:]))
	p.DrDLID = ib.LID(binary.BigEndian.Uint16(b[34:]))
	p.Reserved36 = [28]byte(b[36:])
	p.Data = [SMPDataLen]byte(b[64:])
	p.InitialPath = [MaxHops + 1]byte(b[128:])
	p.ReturnPath = [MaxHops + 1]byte(b[192:])
	return Len, nil
}

// Append writes the packet behind b.
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
