package prm

import "github.com/rdmakit/rdmakit/wire/mad"

// Lengths in bytes.
const (
	PPCNTHeaderLen         = 8   // a PPCNT without its counters
	PhysicalCountersLen    = 248 // of a PhysicalCounters
	StatisticalCountersLen = 156 // of a StatisticalCounters: up to the last field that the adb names
)

// Group selects the counters of PPCNT.
type Group uint8

// Groups of counters (adb, ppcnt_reg_ext.grp; mlx5_ifc.h and device.h:
// MLX5_PHYSICAL_LAYER_COUNTERS_GROUP, MLX5_PHYSICAL_LAYER_STATISTICAL_GROUP).
const (
	GroupPhysical    Group = 0x12 // PhysicalCounters
	GroupStatistical Group = 0x16 // StatisticalCounters
)

// PortAccess is how a register understands the number of a port (adb: pnat).
type PortAccess uint8

// Values of PortAccess.
const (
	PortAccessLocal PortAccess = 0 // number that the device itself uses
	PortAccessIB    PortAccess = 1 // number in the InfiniBand subnet, as in PortInfo
)

// PPCNT is the header of the register of a port's counters (adb, ppcnt_reg_ext; mlx5_ifc.h,
// mlx5_ifc_ppcnt_reg_bits).
type PPCNT struct {
	Group      Group                // 0x0.0, 6 bits
	PortType   uint8                // 0x0.8, 4 bits: 0 is the network port
	LocalPort  uint16               // 0x0.16 and, for its bits 8 and 9, 0x0.12
	PortAccess PortAccess           // 0x0.14, 2 bits
	SwitchID   uint8                // 0x0.24: swid, 0 of an adapter
	Plane      uint8                // 0x4.8, 4 bits: 0 is the whole port
	Clear      bool                 // 0x4.31: resets the counters of the group
	Rest       [PPCNTHeaderLen]byte // all bytes as read
}

// Decode reads the header from the start of b.
func (r *PPCNT) Decode(b []byte) (n int, err error) {
	if len(b) < PPCNTHeaderLen {
		return 0, mad.ErrShort
	}
	r.Rest = [PPCNTHeaderLen]byte(b)
	r.fields(fields{b: r.Rest[:]})
	return PPCNTHeaderLen, nil
}

// Append appends the header to b.
func (r *PPCNT) Append(b []byte) []byte {
	n := len(b)
	b = append(b, r.Rest[:]...)
	r.fields(fields{b: b[n:], writing: true})
	return b
}

func (r *PPCNT) fields(f fields) {
	bits(f, 0x0, 0, 6, &r.Group)
	bits(f, 0x0, 8, 4, &r.PortType)
	f.port(&r.LocalPort, &r.PortAccess)
	bits(f, 0x0, 24, 8, &r.SwitchID)
	bits(f, 0x4, 8, 4, &r.Plane)
	f.flag(0x4, 31, &r.Clear)
}

// port reads or writes the port as PPCNT and PDDR have it, in the first word.
func (f fields) port(port *uint16, access *PortAccess) {
	low, high := uint8(*port), uint8(*port>>8)
	bits(f, 0x0, 16, 8, &low)
	bits(f, 0x0, 12, 2, &high)
	*port = uint16(high&3)<<8 | uint16(low)
	bits(f, 0x0, 14, 2, access)
}

// flag reads or writes one bit.
func (f fields) flag(offset, bit int, v *bool) {
	var one uint8
	if *v {
		one = 1
	}
	bits(f, offset, bit, 1, &one)
	*v = one != 0
}

// PhysicalCounters are the counters of group 0x12, those of the physical layer (adb,
// phys_layer_cntrs_ext; mlx5_ifc.h, mlx5_ifc_phys_layer_cntrs_bits). They count since the last
// reset.
type PhysicalCounters struct {
	SinceClear             uint64                    // 0x0: milliseconds since the counters were reset
	SymbolErrors           uint64                    // 0x8: SymbolErrorCounter of PortCounters
	SyncHeaderErrors       uint64                    // 0x10: SyncHeaderErrorCounter of PortExtendedSpeedsCounters
	LaneErrors             [4]uint64                 // 0x18: ErrorDetectionCounter of lanes 0 to 3
	FirecodeCorrected      [4]uint64                 // 0x38: FEC blocks corrected, Firecode, lanes 0 to 3
	FirecodeUncorrectable  [4]uint64                 // 0x58: the same, not correctable
	RSCorrectedBlocks      uint64                    // 0x78: FEC blocks corrected, Reed-Solomon
	RSUncorrectableBlocks  uint64                    // 0x80: FEC blocks lost, Reed-Solomon
	RSCleanBlocks          uint64                    // 0x88: FEC blocks without error
	RSCorrectedSymbols     uint64                    // 0x98: FEC symbols corrected, all lanes
	RSCorrectedLane        [Lanes]uint64             // 0xa0 for lanes 0 to 3, 0xc8 for 4 to 7: symbols corrected
	LinkDownEvents         uint32                    // 0xc0: LinkDownedCounter, unintended and at this end
	RecoveryEvents         uint32                    // 0xc4: successful recoveries since the link came up
	UnintentionalLinkDowns uint32                    // 0xf0: at either end
	IntentionalLinkDowns   uint32                    // 0xf4: at either end
	Rest                   [PhysicalCountersLen]byte // all bytes as read
}

// Decode reads the counters from the start of b, which is byte 8 of PPCNT.
func (r *PhysicalCounters) Decode(b []byte) (n int, err error) {
	if len(b) < PhysicalCountersLen {
		return 0, mad.ErrShort
	}
	r.Rest = [PhysicalCountersLen]byte(b)
	r.fields(fields{b: r.Rest[:]})
	return PhysicalCountersLen, nil
}

// Append appends the counters to b.
func (r *PhysicalCounters) Append(b []byte) []byte {
	n := len(b)
	b = append(b, r.Rest[:]...)
	r.fields(fields{b: b[n:], writing: true})
	return b
}

func (r *PhysicalCounters) fields(f fields) {
	f.long(0x0, &r.SinceClear)
	f.long(0x8, &r.SymbolErrors)
	f.long(0x10, &r.SyncHeaderErrors)
	for i := range 4 {
		f.long(0x18+8*i, &r.LaneErrors[i])
		f.long(0x38+8*i, &r.FirecodeCorrected[i])
		f.long(0x58+8*i, &r.FirecodeUncorrectable[i])
		f.long(0xa0+8*i, &r.RSCorrectedLane[i])
		f.long(0xc8+8*i, &r.RSCorrectedLane[4+i])
	}
	f.long(0x78, &r.RSCorrectedBlocks)
	f.long(0x80, &r.RSUncorrectableBlocks)
	f.long(0x88, &r.RSCleanBlocks)
	f.long(0x98, &r.RSCorrectedSymbols)
	bits(f, 0xc0, 0, 32, &r.LinkDownEvents)
	bits(f, 0xc4, 0, 32, &r.RecoveryEvents)
	bits(f, 0xf0, 0, 32, &r.UnintentionalLinkDowns)
	bits(f, 0xf4, 0, 32, &r.IntentionalLinkDowns)
}

// StatisticalCounters are the counters of group 0x16, those of the physical layer from which error
// ratios are derived (adb, phys_layer_stat_cntrs_ext; mlx5_ifc.h,
// mlx5_ifc_phys_layer_statistical_cntrs_bits, has the first four, and names RawErrors of four lanes
// corrected bits, which they are with FEC). Ratios and counters are since the last reset.
type StatisticalCounters struct {
	SinceClear      uint64        // 0x0: milliseconds since the counters were reset
	ReceivedBits    uint64        // 0x8: bits received by the FEC decoder
	SymbolErrors    uint64        // 0x10: bits corrected neither by FEC nor by retransmission (PLR)
	CorrectedBits   uint64        // 0x18: bits corrected by FEC
	RawErrors       [Lanes]uint64 // 0x20: bits received with an error, of each lane
	EffectiveErrors uint64        // 0x7c: bits that FEC didn't correct
	Raw             BER           // 0x60: before FEC
	Effective       BER           // 0x64: after FEC
	Symbol          BER           // 0x68: after FEC and retransmission
	RawLane         [Lanes]BER    // 0x6c: before FEC, of each lane
	// SinceLinkUp is the time since the link came up in units of 128 ms, at 0x94; of adapters, if
	// they support it.
	SinceLinkUp uint32
	Rest        [StatisticalCountersLen]byte // all bytes as read
}

// Decode reads the counters from the start of b, which is byte 8 of PPCNT.
func (r *StatisticalCounters) Decode(b []byte) (n int, err error) {
	if len(b) < StatisticalCountersLen {
		return 0, mad.ErrShort
	}
	r.Rest = [StatisticalCountersLen]byte(b)
	r.fields(fields{b: r.Rest[:]})
	return StatisticalCountersLen, nil
}

// Append appends the counters to b.
func (r *StatisticalCounters) Append(b []byte) []byte {
	n := len(b)
	b = append(b, r.Rest[:]...)
	r.fields(fields{b: b[n:], writing: true})
	return b
}

func (r *StatisticalCounters) fields(f fields) {
	f.long(0x0, &r.SinceClear)
	f.long(0x8, &r.ReceivedBits)
	f.long(0x10, &r.SymbolErrors)
	f.long(0x18, &r.CorrectedBits)
	for i := range r.RawErrors {
		f.long(0x20+8*i, &r.RawErrors[i])
		// two lanes in a word, the even one in the upper half
		f.ber(0x6c+i/2*4, 16-i%2*16, &r.RawLane[i])
	}
	f.ber(0x60, 0, &r.Raw)
	f.ber(0x64, 0, &r.Effective)
	f.ber(0x68, 0, &r.Symbol)
	f.long(0x7c, &r.EffectiveErrors)
	bits(f, 0x94, 0, 32, &r.SinceLinkUp)
}
