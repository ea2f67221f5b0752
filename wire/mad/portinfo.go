package mad

import (
	"encoding/binary"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// PortInfoLen is the length of the attribute in bytes.
const PortInfoLen = 64

// PortInfoExtendedSpeeds is the bit that a subnet manager with support for extended
// speeds adds to the port number in the attribute modifier of [PortInfo] (specification
// section 14.2.5.6, SMSupportExtendedSpeeds).
const PortInfoExtendedSpeeds uint32 = 1 << 31

// PortInfo is the state of a port (specification section 14.2.5.6; C twin:
// ib_port_info_t; the XDR speeds as in libibmad's fields.c).
//
// On a switch, port 0 has LID, LMC and CapabilityMask for all ports; for the other ports
// these fields are not valid.
type PortInfo struct {
	MKey        uint64          // management key, required for a Set; 0 for none
	GIDPrefix   ib.SubnetPrefix // subnet prefix of the port's GIDs
	LID         ib.LID          // base LID; the port has 1<<LMC LIDs from there
	MasterSMLID ib.LID          // of the subnet manager that has configured the port
	// Capabilities of the port; a bit reports whether an SM runs there.
	CapabilityMask  Capability
	DiagCode        uint16 // diagnostic code; 0: port ready
	MKeyLeasePeriod uint16 // seconds; 0 never expires
	// Port that received the request, not the one that is queried.
	LocalPortNum         uint8
	LinkWidthEnabled     LinkWidth         // enabled widths, or'ed
	LinkWidthSupported   LinkWidth         // supported widths, or'ed
	LinkWidthActive      LinkWidth         // active width
	LinkSpeedSupported   uint8             // 4 bits: 1 SDR, 2 DDR, 4 QDR, or'ed
	PortState            PortState         // logical state: down, initialize, armed, active
	PortPhysicalState    PortPhysicalState // state of the link training
	LinkDownDefaultState uint8             // 4 bits: 1 sleep, 2 polling
	MKeyProtectBits      uint8             // 2 bits
	Reserved34           uint8             // 3 bits
	LMC                  uint8             // 3 bits
	LinkSpeedActive      uint8             // 4 bits: 1 SDR, 2 DDR, 4 QDR; 0 for an extended speed
	LinkSpeedEnabled     uint8             // 4 bits, as LinkSpeedSupported
	NeighborMTU          uint8             // 4 bits: 1 is 256 bytes, … 5 is 4096
	MasterSMSL           uint8             // 4 bits
	VLCap                uint8             // 4 bits: 1 VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14
	InitType             uint8             // 4 bits
	// Limit of high-priority data before a low-priority packet is sent, in 4 KiB; 255: no limit.
	VLHighLimit          uint8
	VLArbitrationHighCap uint8 // entries of the high-priority VL arbitration table
	VLArbitrationLowCap  uint8 // entries of the low-priority VL arbitration table
	InitTypeReply        uint8 // 4 bits
	MTUCap               uint8 // 4 bits, as NeighborMTU
	VLStallCount         uint8 // 3 bits
	HOQLife              uint8 // 5 bits: 4.096 µs << HOQLife, above 19 infinite
	OperationalVLs       uint8 // 4 bits, as VLCap
	// The switch port checks the P_Keys of received packets.
	PartitionEnforcementIn  bool
	PartitionEnforcementOut bool   // the switch port checks the P_Keys of sent packets
	FilterRawIn             bool   // received raw packets are dropped
	FilterRawOut            bool   // raw packets are not sent
	MKeyViolations          uint16 // packets with a wrong M_Key; stops at 65535
	PKeyViolations          uint16 // packets with a wrong P_Key; stops at 65535
	QKeyViolations          uint16 // packets with a wrong Q_Key; stops at 65535
	GUIDCap                 uint8  // entries of the GUIDInfo table
	// The SM requests clients to register again: multicast groups, services, events.
	ClientReregister          bool
	MulticastPKeyTrapSuppress uint8       // 2 bits
	SubnetTimeout             uint8       // 5 bits: 4.096 µs << SubnetTimeout
	Reserved52                uint8       // 3 bits
	RespTimeValue             uint8       // 5 bits, as SubnetTimeout
	LocalPhyErrors            uint8       // 4 bits
	OverrunErrors             uint8       // 4 bits
	MaxCreditHint             uint16      // maximum number of flow control credits; a hint
	Reserved56                uint8       // 1 bit
	LinkSpeedExt2Active       uint8       // 2 bits: 1 XDR
	LinkSpeedExt2Supported    uint8       // 2 bits, as LinkSpeedExt2Active
	LinkSpeedExt2Enabled      uint8       // 3 bits, as LinkSpeedExt2Active
	LinkRoundTripLatency      uint32      // 24 bits, in units of 4 ns
	CapabilityMask2           Capability2 // valid if CapabilityMask says that it is supported
	LinkSpeedExtActive        uint8       // 4 bits: 1 FDR, 2 EDR, 4 HDR, 8 NDR
	LinkSpeedExtSupported     uint8       // 4 bits, or'ed
	Reserved63                uint8       // 3 bits
	LinkSpeedExtEnabled       uint8       // 5 bits, or'ed; 30 for none
}

// Decode reads the attribute from the start of b.
func (a *PortInfo) Decode(b []byte) (n int, err error) {
	if len(b) < PortInfoLen {
		return 0, ErrShort
	}
	*a = PortInfo{
		MKey:            binary.BigEndian.Uint64(b),
		GIDPrefix:       ib.SubnetPrefix(binary.BigEndian.Uint64(b[8:])),
		LID:             ib.LID(binary.BigEndian.Uint16(b[16:])),
		MasterSMLID:     ib.LID(binary.BigEndian.Uint16(b[18:])),
		CapabilityMask:  Capability(binary.BigEndian.Uint32(b[20:])),
		DiagCode:        binary.BigEndian.Uint16(b[24:]),
		MKeyLeasePeriod: binary.BigEndian.Uint16(b[26:]),
		LocalPortNum:    b[28],

		LinkWidthEnabled: LinkWidth(b[29]), LinkWidthSupported: LinkWidth(b[30]), LinkWidthActive: LinkWidth(b[31]),
		LinkSpeedSupported: b[32] >> 4, PortState: PortState(b[32] & 15),
		PortPhysicalState: PortPhysicalState(b[33] >> 4), LinkDownDefaultState: b[33] & 15,
		MKeyProtectBits: b[34] >> 6, Reserved34: b[34] >> 3 & 7, LMC: b[34] & 7,
		LinkSpeedActive: b[35] >> 4, LinkSpeedEnabled: b[35] & 15,
		NeighborMTU: b[36] >> 4, MasterSMSL: b[36] & 15,
		VLCap: b[37] >> 4, InitType: b[37] & 15,
		VLHighLimit: b[38], VLArbitrationHighCap: b[39], VLArbitrationLowCap: b[40],
		InitTypeReply: b[41] >> 4, MTUCap: b[41] & 15,
		VLStallCount: b[42] >> 5, HOQLife: b[42] & 31,

		OperationalVLs:         b[43] >> 4,
		PartitionEnforcementIn: b[43]&8 != 0, PartitionEnforcementOut: b[43]&4 != 0,
		FilterRawIn: b[43]&2 != 0, FilterRawOut: b[43]&1 != 0,

		MKeyViolations:   binary.BigEndian.Uint16(b[44:]),
		PKeyViolations:   binary.BigEndian.Uint16(b[46:]),
		QKeyViolations:   binary.BigEndian.Uint16(b[48:]),
		GUIDCap:          b[50],
		ClientReregister: b[51]&0x80 != 0, MulticastPKeyTrapSuppress: b[51] >> 5 & 3, SubnetTimeout: b[51] & 31,
		Reserved52: b[52] >> 5, RespTimeValue: b[52] & 31,
		LocalPhyErrors: b[53] >> 4, OverrunErrors: b[53] & 15,
		MaxCreditHint: binary.BigEndian.Uint16(b[54:]),

		Reserved56: b[56] >> 7, LinkSpeedExt2Active: b[56] >> 5 & 3,
		LinkSpeedExt2Supported: b[56] >> 3 & 3, LinkSpeedExt2Enabled: b[56] & 7,
		LinkRoundTripLatency: uint24(b[57:]),
		CapabilityMask2:      Capability2(binary.BigEndian.Uint16(b[60:])),
		LinkSpeedExtActive:   b[62] >> 4, LinkSpeedExtSupported: b[62] & 15,
		Reserved63: b[63] >> 5, LinkSpeedExtEnabled: b[63] & 31,
	}
	return PortInfoLen, nil
}

// Append appends the attribute to b.
func (a *PortInfo) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, a.MKey)
	b = binary.BigEndian.AppendUint64(b, uint64(a.GIDPrefix))
	b = binary.BigEndian.AppendUint16(b, uint16(a.LID))
	b = binary.BigEndian.AppendUint16(b, uint16(a.MasterSMLID))
	b = binary.BigEndian.AppendUint32(b, uint32(a.CapabilityMask))
	b = binary.BigEndian.AppendUint16(b, a.DiagCode)
	b = binary.BigEndian.AppendUint16(b, a.MKeyLeasePeriod)
	b = append(
		b,
		a.LocalPortNum,
		uint8(a.LinkWidthEnabled), uint8(a.LinkWidthSupported), uint8(a.LinkWidthActive),
		a.LinkSpeedSupported<<4|uint8(a.PortState)&15,
		uint8(a.PortPhysicalState)<<4|a.LinkDownDefaultState&15,
		a.MKeyProtectBits<<6|a.Reserved34&7<<3|a.LMC&7,
		a.LinkSpeedActive<<4|a.LinkSpeedEnabled&15,
		a.NeighborMTU<<4|a.MasterSMSL&15,
		a.VLCap<<4|a.InitType&15,
		a.VLHighLimit, a.VLArbitrationHighCap, a.VLArbitrationLowCap,
		a.InitTypeReply<<4|a.MTUCap&15,
		a.VLStallCount<<5|a.HOQLife&31,
		a.OperationalVLs<<4|flag(a.PartitionEnforcementIn, 8)|flag(a.PartitionEnforcementOut, 4)|
			flag(a.FilterRawIn, 2)|flag(a.FilterRawOut, 1),
	)
	b = binary.BigEndian.AppendUint16(b, a.MKeyViolations)
	b = binary.BigEndian.AppendUint16(b, a.PKeyViolations)
	b = binary.BigEndian.AppendUint16(b, a.QKeyViolations)
	b = append(
		b,
		a.GUIDCap,
		flag(a.ClientReregister, 0x80)|a.MulticastPKeyTrapSuppress&3<<5|a.SubnetTimeout&31,
		a.Reserved52<<5|a.RespTimeValue&31,
		a.LocalPhyErrors<<4|a.OverrunErrors&15,
	)
	b = binary.BigEndian.AppendUint16(b, a.MaxCreditHint)
	b = append(b, a.Reserved56<<7|a.LinkSpeedExt2Active&3<<5|a.LinkSpeedExt2Supported&3<<3|a.LinkSpeedExt2Enabled&7)
	b = appendUint24(b, a.LinkRoundTripLatency)
	b = binary.BigEndian.AppendUint16(b, uint16(a.CapabilityMask2))
	return append(
		b,
		a.LinkSpeedExtActive<<4|a.LinkSpeedExtSupported&15,
		a.Reserved63<<5|a.LinkSpeedExtEnabled&31,
	)
}
