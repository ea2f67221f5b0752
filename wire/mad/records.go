package mad

import (
	"encoding/binary"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Lengths of the records in bytes. In a table each is padded to a multiple of 8.
const (
	NodeRecordLen     = 4 + NodeInfoLen + NodeDescriptionLen // of a NodeRecord
	PortInfoRecordLen = 4 + PortInfoLen                      // of a PortInfoRecord
	SMInfoRecordLen   = 4 + SMInfoLen                        // of an SMInfoRecord
	LinkRecordLen     = 6                                    // of a LinkRecord
	PathRecordLen     = 64                                   // of a PathRecord
)

// Bits of [SAHeader.ComponentMask]: a query compares the field of the same name.
const (
	NodeRecordMaskLID      uint64 = 1 << 0
	NodeRecordMaskNodeType uint64 = 1 << 4
	NodeRecordMaskNodeGUID uint64 = 1 << 7
	NodeRecordMaskPortGUID uint64 = 1 << 8

	PortInfoRecordMaskLID     uint64 = 1 << 0
	PortInfoRecordMaskPortNum uint64 = 1 << 1
	PortInfoRecordMaskOptions uint64 = 1 << 2
	// CapabilityMask: see [PortInfoRecordAllBits].
	PortInfoRecordMaskCapabilityMask uint64 = 1 << 7

	SMInfoRecordMaskLID   uint64 = 1 << 0
	SMInfoRecordMaskGUID  uint64 = 1 << 2
	SMInfoRecordMaskState uint64 = 1 << 6

	LinkRecordMaskFromLID  uint64 = 1 << 0
	LinkRecordMaskFromPort uint64 = 1 << 1
	LinkRecordMaskToPort   uint64 = 1 << 2
	LinkRecordMaskToLID    uint64 = 1 << 3

	PathRecordMaskServiceID              uint64 = 3 << 0
	PathRecordMaskDGID                   uint64 = 1 << 2
	PathRecordMaskSGID                   uint64 = 1 << 3
	PathRecordMaskDLID                   uint64 = 1 << 4
	PathRecordMaskSLID                   uint64 = 1 << 5
	PathRecordMaskFlowLabel              uint64 = 1 << 8
	PathRecordMaskHopLimit               uint64 = 1 << 9
	PathRecordMaskTClass                 uint64 = 1 << 10
	PathRecordMaskReversible             uint64 = 1 << 11
	PathRecordMaskNumPath                uint64 = 1 << 12
	PathRecordMaskPKey                   uint64 = 1 << 13
	PathRecordMaskQoSClass               uint64 = 1 << 14
	PathRecordMaskSL                     uint64 = 1 << 15
	PathRecordMaskMTUSelector            uint64 = 1 << 16
	PathRecordMaskMTU                    uint64 = 1 << 17
	PathRecordMaskRateSelector           uint64 = 1 << 18
	PathRecordMaskRate                   uint64 = 1 << 19
	PathRecordMaskPacketLifeTimeSelector uint64 = 1 << 20
	PathRecordMaskPacketLifeTime         uint64 = 1 << 21
)

// MaxNumPath is the largest [PathRecord.NumPath] of a query.
const MaxNumPath = 0x7f

// PortInfoRecordAllBits is the attribute modifier of a query for a [PortInfoRecord] by its
// CapabilityMask: the SA returns the records that have at least the bits of the query, instead of
// exactly these (specification section 15.2.5.3).
const PortInfoRecordAllBits uint32 = 1 << 31

// NodeRecord describes the node of a port; a CA has one record for each port
// (specification section 15.2.5; C twin: ib_node_record_t).
type NodeRecord struct {
	LID         ib.LID          // of the port; for a switch, of port 0
	Reserved    uint16          // kept as received
	Info        NodeInfo        // as the port reports it
	Description NodeDescription // as the port reports it
}

// Decode reads the record from the start of b.
func (r *NodeRecord) Decode(b []byte) (n int, err error) {
	if len(b) < NodeRecordLen {
		return 0, ErrShort
	}
	r.LID = ib.LID(binary.BigEndian.Uint16(b))
	r.Reserved = binary.BigEndian.Uint16(b[2:])
	_, _ = r.Info.Decode(b[4:])                    // the length has been checked
	_, _ = r.Description.Decode(b[4+NodeInfoLen:]) // also
	return NodeRecordLen, nil
}

// Append appends the record to b.
func (r *NodeRecord) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(r.LID))
	b = binary.BigEndian.AppendUint16(b, r.Reserved)
	return r.Description.Append(r.Info.Append(b))
}

// PortInfoRecord is a port's state as the SM knows it (specification section
// 15.2.5; C twin: ib_portinfo_record_t).
type PortInfoRecord struct {
	EndportLID ib.LID   // for a switch, of port 0
	PortNum    uint8    // of the node, from 0 on a switch, otherwise from 1
	Options    uint8    // kept as received
	Info       PortInfo // as the SM read or set it
}

// Decode reads the record from the start of b.
func (r *PortInfoRecord) Decode(b []byte) (n int, err error) {
	if len(b) < PortInfoRecordLen {
		return 0, ErrShort
	}
	r.EndportLID = ib.LID(binary.BigEndian.Uint16(b))
	r.PortNum, r.Options = b[2], b[3]
	_, _ = r.Info.Decode(b[4:]) // the length has been checked
	return PortInfoRecordLen, nil
}

// Append appends the record to b.
func (r *PortInfoRecord) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(r.EndportLID))
	return r.Info.Append(append(b, r.PortNum, r.Options))
}

// SMInfoRecord describes a subnet manager that the master SM has found (specification
// section 15.2.5; C twin: ib_sminfo_record_t).
type SMInfoRecord struct {
	LID      ib.LID // of the port where the SM runs
	Reserved uint16 // kept as received
	Info     SMInfo // as the SM reports it
}

// Decode reads the record from the start of b.
func (r *SMInfoRecord) Decode(b []byte) (n int, err error) {
	if len(b) < SMInfoRecordLen {
		return 0, ErrShort
	}
	r.LID = ib.LID(binary.BigEndian.Uint16(b))
	r.Reserved = binary.BigEndian.Uint16(b[2:])
	_, _ = r.Info.Decode(b[4:]) // the length has been checked
	return SMInfoRecordLen, nil
}

// Append appends the record to b.
func (r *SMInfoRecord) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(r.LID))
	return r.Info.Append(binary.BigEndian.AppendUint16(b, r.Reserved))
}

// LinkRecord is one direction of a link (specification section 15.2.5; C twin:
// ib_link_record_t). The LID of a switch is that of its port 0.
type LinkRecord struct {
	FromLID  ib.LID // of the sending end
	FromPort uint8  // port number at the sending end
	ToPort   uint8  // port number at the receiving end
	ToLID    ib.LID // of the receiving end
}

// Decode reads the record from the start of b.
func (r *LinkRecord) Decode(b []byte) (n int, err error) {
	if len(b) < LinkRecordLen {
		return 0, ErrShort
	}
	*r = LinkRecord{
		FromLID: ib.LID(binary.BigEndian.Uint16(b)), FromPort: b[2],
		ToPort: b[3], ToLID: ib.LID(binary.BigEndian.Uint16(b[4:])),
	}
	return LinkRecordLen, nil
}

// Append appends the record to b.
func (r *LinkRecord) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(r.FromLID))
	b = append(b, r.FromPort, r.ToPort)
	return binary.BigEndian.AppendUint16(b, uint16(r.ToLID))
}

// PathRecord is a path between two ports with its properties (specification section
// 15.2.5; C twin: ib_path_rec_t). A selector is 0 for greater than the value, 1 for less,
// 2 for exactly, 3 for the best available.
type PathRecord struct {
	ServiceID              uint64  // of the service that uses the path; 0 for any
	DGID, SGID             ib.GID  // destination and source
	DLID, SLID             ib.LID  // destination and source LIDs for packets
	RawTraffic             bool    // for raw packets
	Reserved44             uint8   // 3 bits
	FlowLabel              uint32  // 20 bits
	HopLimit               uint8   // for the GRH; above 1 if the path leaves the subnet
	TClass                 uint8   // traffic class for the GRH
	Reversible             bool    // the path can also be used in the other direction
	NumPath                uint8   // 7 bits; in a query the maximum number of paths to return
	PKey                   ib.PKey // partition that both ends are in
	QoSClass               uint16  // 12 bits
	SL                     uint8   // 4 bits
	MTUSelector            uint8   // 2 bits
	MTU                    uint8   // 6 bits, see [ib.MTUFromCode]
	RateSelector           uint8   // 2 bits
	Rate                   uint8   // 6 bits, codes of enum ibv_rate
	PacketLifeTimeSelector uint8   // 2 bits
	PacketLifeTime         uint8   // 6 bits: 4.096 µs << PacketLifeTime
	Preference             uint8   // 0 is the best
	Reserved58             [6]byte // from byte 58 on, kept as received
}

// Decode reads the record from the start of b.
func (r *PathRecord) Decode(b []byte) (n int, err error) {
	if len(b) < PathRecordLen {
		return 0, ErrShort
	}
	hopFlowRaw, qos := binary.BigEndian.Uint32(b[44:]), binary.BigEndian.Uint16(b[52:])
	*r = PathRecord{
		ServiceID: binary.BigEndian.Uint64(b),
		DGID:      ib.GID(b[8:]), SGID: ib.GID(b[24:]),
		DLID: ib.LID(binary.BigEndian.Uint16(b[40:])), SLID: ib.LID(binary.BigEndian.Uint16(b[42:])),
		RawTraffic: hopFlowRaw>>31 != 0, Reserved44: uint8(hopFlowRaw >> 28 & 7),
		FlowLabel: hopFlowRaw >> 8 & 0xfffff, HopLimit: uint8(hopFlowRaw),
		TClass: b[48], Reversible: b[49]&0x80 != 0, NumPath: b[49] & 0x7f,
		PKey:     ib.PKey(binary.BigEndian.Uint16(b[50:])),
		QoSClass: qos >> 4, SL: uint8(qos & 15),
		MTUSelector: b[54] >> 6, MTU: b[54] & 63,
		RateSelector: b[55] >> 6, Rate: b[55] & 63,
		PacketLifeTimeSelector: b[56] >> 6, PacketLifeTime: b[56] & 63,
		Preference: b[57], Reserved58: [6]byte(b[58:]),
	}
	return PathRecordLen, nil
}

// Append appends the record to b.
func (r *PathRecord) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, r.ServiceID)
	b = append(b, r.DGID[:]...)
	b = append(b, r.SGID[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(r.DLID))
	b = binary.BigEndian.AppendUint16(b, uint16(r.SLID))
	b = append(b, flag(r.RawTraffic, 0x80)|r.Reserved44&7<<4|uint8(r.FlowLabel>>16&15), uint8(r.FlowLabel>>8),
		uint8(r.FlowLabel))
	b = append(b, r.HopLimit, r.TClass, flag(r.Reversible, 0x80)|r.NumPath&0x7f)
	b = binary.BigEndian.AppendUint16(b, uint16(r.PKey))
	b = binary.BigEndian.AppendUint16(b, r.QoSClass<<4|uint16(r.SL&15))
	b = append(
		b,
		r.MTUSelector<<6|r.MTU&63, r.RateSelector<<6|r.Rate&63,
		r.PacketLifeTimeSelector<<6|r.PacketLifeTime&63, r.Preference,
	)
	return append(b, r.Reserved58[:]...)
}
