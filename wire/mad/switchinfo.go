package mad

import "encoding/binary"

// SwitchInfoLen is the length of the attribute in bytes.
const SwitchInfoLen = 20

// SwitchInfo describes a switch (specification section 14.2.5.4; C twin:
// ib_switch_info_t).
type SwitchInfo struct {
	LinearFDBCap uint16 // entries of the linear forwarding table
	// Entries of the random forwarding table; 0 if there is none.
	RandomFDBCap                      uint16
	MulticastFDBCap                   uint16 // entries of the multicast forwarding table
	LinearFDBTop                      uint16 // the highest LID in the linear forwarding table
	DefaultPort                       uint8  // for LIDs that are not in the random table
	DefaultMulticastPrimaryPort       uint8  // for multicast LIDs without an entry
	DefaultMulticastNotPrimaryPort    uint8  // the same, if the packet came from the primary port
	LifeTimeValue                     uint8  // 5 bits: 4.096 µs << LifeTimeValue
	PortStateChange                   bool   // a port has changed its state since the SM cleared this
	OptimizedSLToVLMappingProgramming uint8  // 2 bits
	// Number of LIDs per external port in the random table
	LIDsPerPort             uint16
	PartitionEnforcementCap uint16 // entries of each external port's P_Key table
	InboundEnforcementCap   bool   // can check P_Keys of received packets
	OutboundEnforcementCap  bool   // can check P_Keys of sent packets
	FilterRawInboundCap     bool   // can drop received raw packets
	FilterRawOutboundCap    bool   // can drop raw packets instead of sending them
	// Port 0 is an enhanced port 0: it has the features of a CA port, including counters.
	EnhancedPort0   bool
	Reserved16      uint8  // 3 bits
	Reserved17      uint8  // kept as received
	MulticastFDBTop uint16 // the highest LID in the multicast table; 0 if not supported
}

// Decode reads the attribute from the start of b.
func (a *SwitchInfo) Decode(b []byte) (n int, err error) {
	if len(b) < SwitchInfoLen {
		return 0, ErrShort
	}
	*a = SwitchInfo{
		LinearFDBCap:    binary.BigEndian.Uint16(b),
		RandomFDBCap:    binary.BigEndian.Uint16(b[2:]),
		MulticastFDBCap: binary.BigEndian.Uint16(b[4:]),
		LinearFDBTop:    binary.BigEndian.Uint16(b[6:]),
		DefaultPort:     b[8], DefaultMulticastPrimaryPort: b[9], DefaultMulticastNotPrimaryPort: b[10],
		LifeTimeValue: b[11] >> 3, PortStateChange: b[11]&4 != 0, OptimizedSLToVLMappingProgramming: b[11] & 3,
		LIDsPerPort:             binary.BigEndian.Uint16(b[12:]),
		PartitionEnforcementCap: binary.BigEndian.Uint16(b[14:]),
		InboundEnforcementCap:   b[16]&0x80 != 0, OutboundEnforcementCap: b[16]&0x40 != 0,
		FilterRawInboundCap: b[16]&0x20 != 0, FilterRawOutboundCap: b[16]&0x10 != 0,
		EnhancedPort0: b[16]&8 != 0, Reserved16: b[16] & 7, Reserved17: b[17],
		MulticastFDBTop: binary.BigEndian.Uint16(b[18:]),
	}
	return SwitchInfoLen, nil
}

// Append appends the attribute to b.
func (a *SwitchInfo) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, a.LinearFDBCap)
	b = binary.BigEndian.AppendUint16(b, a.RandomFDBCap)
	b = binary.BigEndian.AppendUint16(b, a.MulticastFDBCap)
	b = binary.BigEndian.AppendUint16(b, a.LinearFDBTop)
	b = append(
		b,
		a.DefaultPort, a.DefaultMulticastPrimaryPort, a.DefaultMulticastNotPrimaryPort,
		a.LifeTimeValue<<3|flag(a.PortStateChange, 4)|a.OptimizedSLToVLMappingProgramming&3,
	)
	b = binary.BigEndian.AppendUint16(b, a.LIDsPerPort)
	b = binary.BigEndian.AppendUint16(b, a.PartitionEnforcementCap)
	b = append(
		b,
		flag(a.InboundEnforcementCap, 0x80)|flag(a.OutboundEnforcementCap, 0x40)|
			flag(a.FilterRawInboundCap, 0x20)|flag(a.FilterRawOutboundCap, 0x10)|
			flag(a.EnhancedPort0, 8)|a.Reserved16&7,
		a.Reserved17,
	)
	return binary.BigEndian.AppendUint16(b, a.MulticastFDBTop)
}
