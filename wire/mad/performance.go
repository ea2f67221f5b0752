package mad

import "encoding/binary"

// Lengths in bytes.
const (
	PerformanceDataLen      = 192 // PerformanceMAD.Data
	PortCountersLen         = 44  // of a PortCounters
	PortCountersExtendedLen = 184 // of a PortCountersExtended
)

// PortSelectAll in PortSelect selects all ports, if the agent has
// [PerformanceAllPortSelect].
const PortSelectAll = 0xff

// Bits of [ClassPortInfo.CapabilityMask] from a performance management agent
// (specification section 16.1).
const (
	PerformanceAllPortSelect          uint16 = 1 << 8
	PerformanceExtendedWidth          uint16 = 1 << 9  // has PortCountersExtended
	PerformanceExtendedWidthNoUnicast uint16 = 1 << 10 // the same, without the unicast and multicast packet counters
	PerformanceSamplesOnly            uint16 = 1 << 11
	PerformancePortCountersXmitWait   uint16 = 1 << 12 // PortCounters.PortXmitWait is supported
	PerformanceQP1Dropped             uint16 = 1 << 15 // PortCounters.QP1Dropped is supported
)

// PerformanceAdditionalExtended is the bit of [ClassPortInfo.CapabilityMask2] of an
// agent whose [PortCountersExtended] has the counters after PortMulticastRcvPkts.
const PerformanceAdditionalExtended uint32 = 1 << 1

// PerformanceMAD is a packet of the performance management class (specification
// section 16.1). It travels on QP 1.
type PerformanceMAD struct {
	Header
	// PMKey, at byte 24, is the PM_Key of devices that have one; 0 otherwise. The specification
	// reserves these bytes: the place is that in NVIDIA's ibis (packets_layouts.h,
	// MAD_PerformanceManagement).
	PMKey      uint64
	Reserved32 [32]byte                 // from byte 32 on, kept as received
	Data       [PerformanceDataLen]byte // the attribute, from its first byte on
}

// NewPerformanceMAD returns a packet that reads or, with [MethodSet], writes an
// attribute. The caller must write the attribute, with PortSelect, to Data.
func NewPerformanceMAD(m Method, a Attribute, tid uint64) PerformanceMAD {
	return PerformanceMAD{Header: newHeader(ClassPerformance, 1, m, a, 0, tid)}
}

// Decode reads a packet from the first [Len] bytes of b.
func (p *PerformanceMAD) Decode(b []byte) (n int, err error) {
	if len(b) < Len {
		return 0, ErrShort
	}
	n, _ = p.Header.Decode(b) // the length has been checked
	p.PMKey = binary.BigEndian.Uint64(b[n:])
	p.Reserved32 = [32]byte(b[32:])
	p.Data = [PerformanceDataLen]byte(b[64:])
	return Len, nil
}

// Append appends the packet to b.
func (p *PerformanceMAD) Append(b []byte) []byte {
	b = p.Header.Append(b)
	b = binary.BigEndian.AppendUint64(b, p.PMKey)
	b = append(b, p.Reserved32[:]...)
	return append(b, p.Data[:]...)
}

// PortCounters are the mandatory counters of a port. They stop at their highest value and
// don't wrap around (specification section 16.1.3.5; C twin: ib_port_counters_t).
type PortCounters struct {
	Reserved                     uint8  // kept as received
	PortSelect                   uint8  // number of the port, or PortSelectAll
	CounterSelect                uint16 // in a Set: which counters are written
	SymbolErrorCounter           uint16 // minor link errors on any lane, such as invalid codes
	LinkErrorRecoveryCounter     uint8  // successful link error recoveries
	LinkDownedCounter            uint8  // failed link error recoveries: the link went down
	PortRcvErrors                uint16 // packets received with an error of any kind
	PortRcvRemotePhysicalErrors  uint16 // packets received that the sender had marked bad (EBP)
	PortRcvSwitchRelayErrors     uint16 // packets that a switch could not forward
	PortXmitDiscards             uint16 // packets discarded instead of sent
	PortXmitConstraintErrors     uint8  // packets not sent: partition check or raw packet filter
	PortRcvConstraintErrors      uint8  // packets discarded: partition check or raw packet filter
	CounterSelect2               uint8  // in a Set: bit 0 writes PortXmitWait
	LocalLinkIntegrityErrors     uint8  // 4 bits
	ExcessiveBufferOverrunErrors uint8  // 4 bits
	QP1Dropped                   uint16 // packets received for QP 1 and dropped
	VL15Dropped                  uint16 // packets of VL 15 dropped for lack of buffers
	PortXmitData                 uint32 // units of 4 bytes
	PortRcvData                  uint32 // units of 4 bytes
	PortXmitPkts                 uint32 // on all VLs, without link packets
	PortRcvPkts                  uint32 // on all VLs, link packets excepted
	PortXmitWait                 uint32 // ticks in which data waited for credits
}

// Decode reads the attribute from the start of b.
func (a *PortCounters) Decode(b []byte) (n int, err error) {
	if len(b) < PortCountersLen {
		return 0, ErrShort
	}
	*a = PortCounters{
		Reserved: b[0], PortSelect: b[1],
		CounterSelect:               binary.BigEndian.Uint16(b[2:]),
		SymbolErrorCounter:          binary.BigEndian.Uint16(b[4:]),
		LinkErrorRecoveryCounter:    b[6],
		LinkDownedCounter:           b[7],
		PortRcvErrors:               binary.BigEndian.Uint16(b[8:]),
		PortRcvRemotePhysicalErrors: binary.BigEndian.Uint16(b[10:]),
		PortRcvSwitchRelayErrors:    binary.BigEndian.Uint16(b[12:]),
		PortXmitDiscards:            binary.BigEndian.Uint16(b[14:]),
		PortXmitConstraintErrors:    b[16],
		PortRcvConstraintErrors:     b[17],
		CounterSelect2:              b[18],
		LocalLinkIntegrityErrors:    b[19] >> 4, ExcessiveBufferOverrunErrors: b[19] & 15,
		QP1Dropped:   binary.BigEndian.Uint16(b[20:]),
		VL15Dropped:  binary.BigEndian.Uint16(b[22:]),
		PortXmitData: binary.BigEndian.Uint32(b[24:]),
		PortRcvData:  binary.BigEndian.Uint32(b[28:]),
		PortXmitPkts: binary.BigEndian.Uint32(b[32:]),
		PortRcvPkts:  binary.BigEndian.Uint32(b[36:]),
		PortXmitWait: binary.BigEndian.Uint32(b[40:]),
	}
	return PortCountersLen, nil
}

// Append appends the attribute to b.
func (a *PortCounters) Append(b []byte) []byte {
	b = append(b, a.Reserved, a.PortSelect)
	b = binary.BigEndian.AppendUint16(b, a.CounterSelect)
	b = binary.BigEndian.AppendUint16(b, a.SymbolErrorCounter)
	b = append(b, a.LinkErrorRecoveryCounter, a.LinkDownedCounter)
	b = binary.BigEndian.AppendUint16(b, a.PortRcvErrors)
	b = binary.BigEndian.AppendUint16(b, a.PortRcvRemotePhysicalErrors)
	b = binary.BigEndian.AppendUint16(b, a.PortRcvSwitchRelayErrors)
	b = binary.BigEndian.AppendUint16(b, a.PortXmitDiscards)
	b = append(
		b,
		a.PortXmitConstraintErrors, a.PortRcvConstraintErrors, a.CounterSelect2,
		a.LocalLinkIntegrityErrors<<4|a.ExcessiveBufferOverrunErrors&15,
	)
	b = binary.BigEndian.AppendUint16(b, a.QP1Dropped)
	b = binary.BigEndian.AppendUint16(b, a.VL15Dropped)
	b = binary.BigEndian.AppendUint32(b, a.PortXmitData)
	b = binary.BigEndian.AppendUint32(b, a.PortRcvData)
	b = binary.BigEndian.AppendUint32(b, a.PortXmitPkts)
	b = binary.BigEndian.AppendUint32(b, a.PortRcvPkts)
	return binary.BigEndian.AppendUint32(b, a.PortXmitWait)
}

// PortCountersExtended are the 64-bit counters (specification section 16.1.4.11; C twin:
// ib_port_counters_ext_t). The error counters, from SymbolErrorCounter on, are valid only
// if [ClassPortInfo] has [PerformanceAdditionalExtended].
type PortCountersExtended struct {
	Reserved              uint8  // kept as received
	PortSelect            uint8  // number of the port, or PortSelectAll
	CounterSelect         uint16 // in a Set: which counters are written
	CounterSelect2        uint32 // in a Set: which of the error counters
	PortXmitData          uint64 // units of 4 bytes
	PortRcvData           uint64 // units of 4 bytes
	PortXmitPkts          uint64 // on all VLs, without link packets
	PortRcvPkts           uint64 // on all VLs, link packets excepted
	PortUnicastXmitPkts   uint64 // packets to one port
	PortUnicastRcvPkts    uint64 // packets to one port
	PortMulticastXmitPkts uint64 // packets to a multicast LID
	PortMulticastRcvPkts  uint64 // packets to a multicast LID
	// Error counters, as in PortCounters.
	SymbolErrorCounter           uint64
	LinkErrorRecoveryCounter     uint64
	LinkDownedCounter            uint64
	PortRcvErrors                uint64
	PortRcvRemotePhysicalErrors  uint64
	PortRcvSwitchRelayErrors     uint64
	PortXmitDiscards             uint64
	PortXmitConstraintErrors     uint64
	PortRcvConstraintErrors      uint64
	LocalLinkIntegrityErrors     uint64
	ExcessiveBufferOverrunErrors uint64
	VL15Dropped                  uint64
	PortXmitWait                 uint64
	QP1Dropped                   uint64
}

// Decode reads the attribute from the start of b.
func (a *PortCountersExtended) Decode(b []byte) (n int, err error) {
	if len(b) < PortCountersExtendedLen {
		return 0, ErrShort
	}
	*a = PortCountersExtended{
		Reserved: b[0], PortSelect: b[1],
		CounterSelect:                binary.BigEndian.Uint16(b[2:]),
		CounterSelect2:               binary.BigEndian.Uint32(b[4:]),
		PortXmitData:                 binary.BigEndian.Uint64(b[8:]),
		PortRcvData:                  binary.BigEndian.Uint64(b[16:]),
		PortXmitPkts:                 binary.BigEndian.Uint64(b[24:]),
		PortRcvPkts:                  binary.BigEndian.Uint64(b[32:]),
		PortUnicastXmitPkts:          binary.BigEndian.Uint64(b[40:]),
		PortUnicastRcvPkts:           binary.BigEndian.Uint64(b[48:]),
		PortMulticastXmitPkts:        binary.BigEndian.Uint64(b[56:]),
		PortMulticastRcvPkts:         binary.BigEndian.Uint64(b[64:]),
		SymbolErrorCounter:           binary.BigEndian.Uint64(b[72:]),
		LinkErrorRecoveryCounter:     binary.BigEndian.Uint64(b[80:]),
		LinkDownedCounter:            binary.BigEndian.Uint64(b[88:]),
		PortRcvErrors:                binary.BigEndian.Uint64(b[96:]),
		PortRcvRemotePhysicalErrors:  binary.BigEndian.Uint64(b[104:]),
		PortRcvSwitchRelayErrors:     binary.BigEndian.Uint64(b[112:]),
		PortXmitDiscards:             binary.BigEndian.Uint64(b[120:]),
		PortXmitConstraintErrors:     binary.BigEndian.Uint64(b[128:]),
		PortRcvConstraintErrors:      binary.BigEndian.Uint64(b[136:]),
		LocalLinkIntegrityErrors:     binary.BigEndian.Uint64(b[144:]),
		ExcessiveBufferOverrunErrors: binary.BigEndian.Uint64(b[152:]),
		VL15Dropped:                  binary.BigEndian.Uint64(b[160:]),
		PortXmitWait:                 binary.BigEndian.Uint64(b[168:]),
		QP1Dropped:                   binary.BigEndian.Uint64(b[176:]),
	}
	return PortCountersExtendedLen, nil
}

// Append appends the attribute to b.
func (a *PortCountersExtended) Append(b []byte) []byte {
	b = append(b, a.Reserved, a.PortSelect)
	b = binary.BigEndian.AppendUint16(b, a.CounterSelect)
	b = binary.BigEndian.AppendUint32(b, a.CounterSelect2)
	for _, v := range [...]uint64{
		a.PortXmitData, a.PortRcvData, a.PortXmitPkts, a.PortRcvPkts,
		a.PortUnicastXmitPkts, a.PortUnicastRcvPkts, a.PortMulticastXmitPkts, a.PortMulticastRcvPkts,
		a.SymbolErrorCounter, a.LinkErrorRecoveryCounter, a.LinkDownedCounter, a.PortRcvErrors,
		a.PortRcvRemotePhysicalErrors, a.PortRcvSwitchRelayErrors, a.PortXmitDiscards,
		a.PortXmitConstraintErrors, a.PortRcvConstraintErrors, a.LocalLinkIntegrityErrors,
		a.ExcessiveBufferOverrunErrors, a.VL15Dropped, a.PortXmitWait, a.QP1Dropped,
	} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return b
}
