package mad

import "github.com/rdmakit/rdmakit/wire/ib"

// Lengths of the records in bytes.
const (
	SLtoVLMappingTableRecordLen       = 16                // of an SLtoVLMappingTableRecord
	VLArbitrationTableRecordLen       = 72                // of a VLArbitrationTableRecord
	PKeyTableRecordLen                = 72                // of a PKeyTableRecord
	LinearForwardingTableRecordLen    = 72                // of a LinearForwardingTableRecord
	MulticastForwardingTableRecordLen = 72                // of a MulticastForwardingTableRecord
	GUIDInfoRecordLen                 = 72                // of a GUIDInfoRecord
	SwitchInfoRecordLen               = 4 + SwitchInfoLen // of a SwitchInfoRecord
)

// Bits of [SAHeader.ComponentMask] for the records of this file.
const (
	SLtoVLMappingTableRecordMaskLID           uint64 = 1 << 0
	SLtoVLMappingTableRecordMaskInputPortNum  uint64 = 1 << 1
	SLtoVLMappingTableRecordMaskOutputPortNum uint64 = 1 << 2

	VLArbitrationTableRecordMaskLID           uint64 = 1 << 0
	VLArbitrationTableRecordMaskOutputPortNum uint64 = 1 << 1
	VLArbitrationTableRecordMaskBlockNum      uint64 = 1 << 2

	PKeyTableRecordMaskLID      uint64 = 1 << 0
	PKeyTableRecordMaskBlockNum uint64 = 1 << 1
	PKeyTableRecordMaskPortNum  uint64 = 1 << 2

	LinearForwardingTableRecordMaskLID      uint64 = 1 << 0
	LinearForwardingTableRecordMaskBlockNum uint64 = 1 << 1

	MulticastForwardingTableRecordMaskLID      uint64 = 1 << 0
	MulticastForwardingTableRecordMaskPosition uint64 = 1 << 1
	MulticastForwardingTableRecordMaskBlockNum uint64 = 1 << 3

	GUIDInfoRecordMaskLID      uint64 = 1 << 0
	GUIDInfoRecordMaskBlockNum uint64 = 1 << 1

	SwitchInfoRecordMaskLID uint64 = 1 << 0
)

// Numbers of entries.
const (
	SLs                   = 16 // service levels
	VLArbitrationBlockLen = 32 // elements of a block
)

// VLArbitrationElement is an entry of a port's VL arbitration table.
type VLArbitrationElement struct {
	Reserved uint8 // 4 bits
	VL       uint8 // 4 bits
	Weight   uint8 // data before the next entry, in units of 64 bytes; 0: the entry is skipped
}

// SLtoVLMappingTableRecord is the virtual lane for each service level, of packets
// from one port of a switch to another; of a CA with both ports 0 or its own
// (specification section 15.2.5; C twin: ib_slvl_table_record_t).
type SLtoVLMappingTableRecord struct {
	LID           ib.LID     // of the node
	InputPortNum  uint8      // 0 for a CA
	OutputPortNum uint8      // port that sends
	Reserved      uint32     // kept as received
	VLs           [SLs]uint8 // 4 bits each: the virtual lane for each service level
}

func (r *SLtoVLMappingTableRecord) fields(c *cursor) {
	number(c, 16, &r.LID)
	number(c, 8, &r.InputPortNum)
	number(c, 8, &r.OutputPortNum)
	number(c, 32, &r.Reserved)
	for i := range r.VLs {
		number(c, 4, &r.VLs[i])
	}
}

// Decode reads the record from the start of b.
func (r *SLtoVLMappingTableRecord) Decode(b []byte) (n int, err error) {
	if len(b) < SLtoVLMappingTableRecordLen {
		return 0, ErrShort
	}
	r.fields(&cursor{in: b})
	return SLtoVLMappingTableRecordLen, nil
}

// Append appends the record to b.
func (r *SLtoVLMappingTableRecord) Append(b []byte) []byte {
	c := cursor{out: b, writing: true}
	r.fields(&c)
	return c.out
}

// VLArbitrationTableRecord is a block of a port's VL arbitration table
// (specification section 15.2.5; C twin: ib_vl_arb_table_record_t).
type VLArbitrationTableRecord struct {
	LID           ib.LID // of the node
	OutputPortNum uint8  // port that sends
	// 1 and 2 low priority, 3 and 4 high priority
	BlockNum uint8
	Reserved uint32                                      // kept as received
	Elements [VLArbitrationBlockLen]VLArbitrationElement // in the order of their use
}

func (r *VLArbitrationTableRecord) fields(c *cursor) {
	number(c, 16, &r.LID)
	number(c, 8, &r.OutputPortNum)
	number(c, 8, &r.BlockNum)
	number(c, 32, &r.Reserved)
	for i := range r.Elements {
		e := &r.Elements[i]
		number(c, 4, &e.Reserved)
		number(c, 4, &e.VL)
		number(c, 8, &e.Weight)
	}
}

// Decode reads the record from the start of b.
func (r *VLArbitrationTableRecord) Decode(b []byte) (n int, err error) {
	if len(b) < VLArbitrationTableRecordLen {
		return 0, ErrShort
	}
	r.fields(&cursor{in: b})
	return VLArbitrationTableRecordLen, nil
}

// Append appends the record to b.
func (r *VLArbitrationTableRecord) Append(b []byte) []byte {
	c := cursor{out: b, writing: true}
	r.fields(&c)
	return c.out
}

// PKeyTableRecord is a block of a port's partition key table (specification section
// 15.2.5; C twin: ib_pkey_table_record_t).
type PKeyTableRecord struct {
	LID      ib.LID    // of the node
	BlockNum uint16    // block of [PKeyBlockLen] keys
	PortNum  uint8     // of the node
	Reserved [3]byte   // from byte 5 on, kept as received
	PKeys    PKeyTable // 0 is an empty entry
}

func (r *PKeyTableRecord) fields(c *cursor) {
	number(c, 16, &r.LID)
	number(c, 16, &r.BlockNum)
	number(c, 8, &r.PortNum)
	c.bytes(r.Reserved[:])
	for i := range r.PKeys {
		number(c, 16, &r.PKeys[i])
	}
}

// Decode reads the record from the start of b.
func (r *PKeyTableRecord) Decode(b []byte) (n int, err error) {
	if len(b) < PKeyTableRecordLen {
		return 0, ErrShort
	}
	r.fields(&cursor{in: b})
	return PKeyTableRecordLen, nil
}

// Append appends the record to b.
func (r *PKeyTableRecord) Append(b []byte) []byte {
	c := cursor{out: b, writing: true}
	r.fields(&c)
	return c.out
}

// LinearForwardingTableRecord is a block of a switch's linear forwarding table
// (specification section 15.2.5; C twin: ib_lft_record_t).
type LinearForwardingTableRecord struct {
	LID      ib.LID   // of the switch
	BlockNum uint16   // block of [LFTBlockLen] LIDs
	Reserved uint32   // kept as received
	Ports    LFTBlock // output port for each LID
}

func (r *LinearForwardingTableRecord) fields(c *cursor) {
	number(c, 16, &r.LID)
	number(c, 16, &r.BlockNum)
	number(c, 32, &r.Reserved)
	c.bytes(r.Ports[:])
}

// Decode reads the record from the start of b.
func (r *LinearForwardingTableRecord) Decode(b []byte) (n int, err error) {
	if len(b) < LinearForwardingTableRecordLen {
		return 0, ErrShort
	}
	r.fields(&cursor{in: b})
	return LinearForwardingTableRecordLen, nil
}

// Append appends the record to b.
func (r *LinearForwardingTableRecord) Append(b []byte) []byte {
	c := cursor{out: b, writing: true}
	r.fields(&c)
	return c.out
}

// MulticastForwardingTableRecord is a block of a switch's multicast forwarding table
// (specification section 15.2.5; C twin: ib_mft_record_t).
type MulticastForwardingTableRecord struct {
	LID       ib.LID   // of the switch
	Position  uint8    // 4 bits: the ports from [MFTPortsPerPosition]*Position on
	Reserved2 uint8    // 3 bits
	BlockNum  uint16   // 9 bits: block of [MFTBlockLen] LIDs from [MulticastLIDBase] on
	Reserved4 uint32   // from byte 4 on, kept as received
	Ports     MFTBlock // mask of output ports for each LID
}

func (r *MulticastForwardingTableRecord) fields(c *cursor) {
	number(c, 16, &r.LID)
	number(c, 4, &r.Position)
	number(c, 3, &r.Reserved2)
	number(c, 9, &r.BlockNum)
	number(c, 32, &r.Reserved4)
	for i := range r.Ports {
		number(c, 16, &r.Ports[i])
	}
}

// Decode reads the record from the start of b.
func (r *MulticastForwardingTableRecord) Decode(b []byte) (n int, err error) {
	if len(b) < MulticastForwardingTableRecordLen {
		return 0, ErrShort
	}
	r.fields(&cursor{in: b})
	return MulticastForwardingTableRecordLen, nil
}

// Append appends the record to b.
func (r *MulticastForwardingTableRecord) Append(b []byte) []byte {
	c := cursor{out: b, writing: true}
	r.fields(&c)
	return c.out
}

// GUIDInfoRecord is a block of a port's GUID table (specification section 15.2.5; C
// twin: ib_guidinfo_record_t).
type GUIDInfoRecord struct {
	LID       ib.LID   // of the port
	BlockNum  uint8    // block of [GUIDBlockLen] GUIDs
	Reserved3 uint8    // kept as received
	Reserved4 uint32   // kept as received
	GUIDs     GUIDInfo // zero is an empty entry
}

func (r *GUIDInfoRecord) fields(c *cursor) {
	number(c, 16, &r.LID)
	number(c, 8, &r.BlockNum)
	number(c, 8, &r.Reserved3)
	number(c, 32, &r.Reserved4)
	for i := range r.GUIDs {
		c.bytes(r.GUIDs[i][:])
	}
}

// Decode reads the record from the start of b.
func (r *GUIDInfoRecord) Decode(b []byte) (n int, err error) {
	if len(b) < GUIDInfoRecordLen {
		return 0, ErrShort
	}
	r.fields(&cursor{in: b})
	return GUIDInfoRecordLen, nil
}

// Append appends the record to b.
func (r *GUIDInfoRecord) Append(b []byte) []byte {
	c := cursor{out: b, writing: true}
	r.fields(&c)
	return c.out
}

// SwitchInfoRecord is a switch's SwitchInfo as the SM knows it (specification section
// 15.2.5.5; C twin: ib_switch_info_record_t).
type SwitchInfoRecord struct {
	LID      ib.LID     // of port 0
	Reserved uint16     // kept as received
	Info     SwitchInfo // as the SM read or set it
}

// Decode reads the record from the start of b.
func (r *SwitchInfoRecord) Decode(b []byte) (n int, err error) {
	if len(b) < SwitchInfoRecordLen {
		return 0, ErrShort
	}
	c := cursor{in: b}
	number(&c, 16, &r.LID)
	number(&c, 16, &r.Reserved)
	_, _ = r.Info.Decode(c.in) // the length has been checked
	return SwitchInfoRecordLen, nil
}

// Append appends the record to b.
func (r *SwitchInfoRecord) Append(b []byte) []byte {
	c := cursor{out: b, writing: true}
	number(&c, 16, &r.LID)
	number(&c, 16, &r.Reserved)
	return r.Info.Append(c.out)
}
