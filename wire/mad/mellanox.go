package mad

// ExtendedPortInfoLen is the length of the attribute in bytes.
const ExtendedPortInfoLen = 64

// ExtendedPortInfo is a vendor-specific port attribute of Mellanox, needed to distinguish
// FDR10 from QDR: bit 0 of each speed is FDR10 (C twins: ib_mlnx_ext_port_info_t,
// libibmad IB_MLNX_EXT_PORT_*). Other devices return [StatusUnsupportedMethodAttribute]
// or don't respond: query only Mellanox devices that are known to have it.
type ExtendedPortInfo struct {
	Reserved           [3]byte  // kept as received, like all reserved bytes
	StateChangeEnable  uint8    // bits of events, kept as received
	Reserved4          [3]byte  // from byte 4 on
	LinkSpeedSupported uint8    // 1: FDR10
	Reserved8          [3]byte  // from byte 8 on
	LinkSpeedEnabled   uint8    // 1: FDR10
	Reserved12         [3]byte  // from byte 12 on
	LinkSpeedActive    uint8    // 1: FDR10
	Reserved16         [48]byte // from byte 16 on
}

// Decode reads the attribute from the start of b.
func (a *ExtendedPortInfo) Decode(b []byte) (n int, err error) {
	if len(b) < ExtendedPortInfoLen {
		return 0, ErrShort
	}
	*a = ExtendedPortInfo{
		[3]byte(b), b[3], [3]byte(b[4:]), b[7], [3]byte(b[8:]), b[11], [3]byte(b[12:]), b[15], [48]byte(b[16:]),
	}
	return ExtendedPortInfoLen, nil
}

// Append appends the attribute to b.
func (a *ExtendedPortInfo) Append(b []byte) []byte {
	b = append(append(b, a.Reserved[:]...), a.StateChangeEnable)
	b = append(append(b, a.Reserved4[:]...), a.LinkSpeedSupported)
	b = append(append(b, a.Reserved8[:]...), a.LinkSpeedEnabled)
	b = append(append(b, a.Reserved12[:]...), a.LinkSpeedActive)
	return append(b, a.Reserved16[:]...)
}
