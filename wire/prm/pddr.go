package prm

import "github.com/rdmakit/rdmakit/wire/mad"

// Lengths in bytes of PDDR and of the parts of its pages that have named fields.
const (
	PDDRHeaderLen      = 8   // a PDDR without its page
	OperationInfoLen   = 64  // of an OperationInfo
	TroubleshootingLen = 248 // of a Troubleshooting
	PhyInfoLen         = 48  // of a PhyInfo
	LinkDownInfoLen    = 56  // of a LinkDownInfo
	ModuleInfoLen      = 208 // of a ModuleInfo
)

// Page selects the page of PDDR.
type Page uint8

// Pages (adb, pddr_reg_ext.page_select).
const (
	PageOperation       Page = 0 // OperationInfo
	PageTroubleshooting Page = 1 // Troubleshooting
	PagePhy             Page = 2 // PhyInfo
	PageModule          Page = 3 // ModuleInfo
	PageLinkDown        Page = 6 // LinkDownInfo
)

// Units of power in ModuleInfo (adb, pddr_reg_ext.module_info_ext). A device that doesn't know the
// field returns decibels.
const (
	PowerDBm       uint8 = 0 // whole decibels above 1 mW, signed
	PowerMicrowatt uint8 = 1 // µW
)

// PDDR is the header of the register of a port's diagnostics (adb, pddr_reg_ext; mlx5_ifc.h,
// mlx5_ifc_pddr_reg_bits, has port, access and page).
type PDDR struct {
	PortType   uint8               // 0x0.4, 4 bits: 0 is the network port
	Plane      uint8               // 0x0.8, 4 bits: 0 is the whole port
	LocalPort  uint16              // 0x0.16 and, for its bits 8 and 9, 0x0.12
	PortAccess PortAccess          // 0x0.14, 2 bits
	Page       Page                // 0x4.0
	PowerUnit  uint8               // 0x4.29, 2 bits: of ModuleInfo, PowerDBm or PowerMicrowatt
	Rest       [PDDRHeaderLen]byte // all bytes as read
}

// Decode reads the header from the start of b.
func (r *PDDR) Decode(b []byte) (n int, err error) {
	if len(b) < PDDRHeaderLen {
		return 0, mad.ErrShort
	}
	r.Rest = [PDDRHeaderLen]byte(b)
	r.fields(fields{b: r.Rest[:]})
	return PDDRHeaderLen, nil
}

// Append appends the header to b.
func (r *PDDR) Append(b []byte) []byte {
	n := len(b)
	b = append(b, r.Rest[:]...)
	r.fields(fields{b: b[n:], writing: true})
	return b
}

func (r *PDDR) fields(f fields) {
	bits(f, 0x0, 4, 4, &r.PortType)
	bits(f, 0x0, 8, 4, &r.Plane)
	f.port(&r.LocalPort, &r.PortAccess)
	bits(f, 0x4, 0, 8, &r.Page)
	bits(f, 0x4, 29, 2, &r.PowerUnit)
}

// OperationInfo is the page of the link's operation (adb, pddr_operation_info_page_ext). The speeds
// and widths are those of InfiniBand; the adb has other layouts of these words for other protocols.
type OperationInfo struct {
	NegotiationMode uint8                  // 0x0.16, 4 bits: 0 forced, 3 parallel detection, 4 as InfiniBand specifies
	Protocol        Protocol               // 0x0.20, 4 bits
	IBState         uint8                  // 0x4.8: state machine of the link, InfiniBand
	ManagerState    ManagerState           // 0x4.24: state machine of the firmware's PHY manager
	CableSpeeds     Speeds                 // 0x10.0: what the cable supports
	CableWidths     uint16                 // 0x10.16: bit 0 is 1X, 1 is 2X, 2 is 4X
	ActiveSpeed     Speeds                 // 0x14.0: one bit
	ActiveWidth     uint16                 // 0x14.16: one bit
	Loopback        uint16                 // 0x18.0, 12 bits: 0 is none
	FECRequest      uint16                 // 0x1c.0
	FEC             FEC                    // 0x1c.16: of the link
	Rest            [OperationInfoLen]byte // all bytes as read
}

// Decode reads the page from the start of b, which is byte 8 of PDDR.
func (r *OperationInfo) Decode(b []byte) (n int, err error) {
	if len(b) < OperationInfoLen {
		return 0, mad.ErrShort
	}
	r.Rest = [OperationInfoLen]byte(b)
	r.fields(fields{b: r.Rest[:]})
	return OperationInfoLen, nil
}

// Append appends the page to b.
func (r *OperationInfo) Append(b []byte) []byte {
	n := len(b)
	b = append(b, r.Rest[:]...)
	r.fields(fields{b: b[n:], writing: true})
	return b
}

func (r *OperationInfo) fields(f fields) {
	bits(f, 0x0, 16, 4, &r.NegotiationMode)
	bits(f, 0x0, 20, 4, &r.Protocol)
	bits(f, 0x4, 8, 8, &r.IBState)
	bits(f, 0x4, 24, 8, &r.ManagerState)
	bits(f, 0x10, 0, 16, &r.CableSpeeds)
	bits(f, 0x10, 16, 16, &r.CableWidths)
	bits(f, 0x14, 0, 16, &r.ActiveSpeed)
	bits(f, 0x14, 16, 16, &r.ActiveWidth)
	bits(f, 0x18, 0, 12, &r.Loopback)
	bits(f, 0x1c, 0, 16, &r.FECRequest)
	bits(f, 0x1c, 16, 16, &r.FEC)
}

// Troubleshooting is the page with the device's finding about the link (adb,
// pddr_troubleshooting_page_ext; mlx5_ifc.h, mlx5_ifc_pddr_troubleshooting_page_bits).
type Troubleshooting struct {
	Group   uint16                   // 0x0.0: 0 selects monitor opcodes
	Opcode  Opcode                   // 0x4.0
	Message [236]byte                // 0xc: text in ASCII up to a zero
	Rest    [TroubleshootingLen]byte // all bytes as read
}

// Decode reads the page from the start of b, which is byte 8 of PDDR.
func (r *Troubleshooting) Decode(b []byte) (n int, err error) {
	if len(b) < TroubleshootingLen {
		return 0, mad.ErrShort
	}
	r.Rest = [TroubleshootingLen]byte(b)
	r.fields(fields{b: r.Rest[:]})
	return TroubleshootingLen, nil
}

// Append appends the page to b.
func (r *Troubleshooting) Append(b []byte) []byte {
	n := len(b)
	b = append(b, r.Rest[:]...)
	r.fields(fields{b: b[n:], writing: true})
	return b
}

func (r *Troubleshooting) fields(f fields) {
	bits(f, 0x0, 0, 16, &r.Group)
	bits(f, 0x4, 0, 16, &r.Opcode)
	f.bytes(0xc, r.Message[:])
}

// PhyInfo is the page about the link's training (adb, pddr_phy_info_page_ext).
type PhyInfo struct {
	Notifications  uint8            // 0x0.0: bit 1 is a degraded speed
	RemoteDevice   uint8            // 0x0.24: kind of device at the other end; 0 is unknown
	Negotiations   uint16           // 0x4.16: attempts
	LinkState      uint8            // 0x8.24: state machine of the link, hardware
	PCSState       uint32           // 0xc: locks of each lane, and errors
	LinkDownReason uint32           // 0x18: of InfiniBand, a bit for each cause
	Rest           [PhyInfoLen]byte // all bytes as read
}

// Decode reads the page from the start of b, which is byte 8 of PDDR.
func (r *PhyInfo) Decode(b []byte) (n int, err error) {
	if len(b) < PhyInfoLen {
		return 0, mad.ErrShort
	}
	r.Rest = [PhyInfoLen]byte(b)
	r.fields(fields{b: r.Rest[:]})
	return PhyInfoLen, nil
}

// Append appends the page to b.
func (r *PhyInfo) Append(b []byte) []byte {
	n := len(b)
	b = append(b, r.Rest[:]...)
	r.fields(fields{b: b[n:], writing: true})
	return b
}

func (r *PhyInfo) fields(f fields) {
	bits(f, 0x0, 0, 8, &r.Notifications)
	bits(f, 0x0, 24, 8, &r.RemoteDevice)
	bits(f, 0x4, 16, 16, &r.Negotiations)
	bits(f, 0x8, 24, 8, &r.LinkState)
	bits(f, 0xc, 0, 32, &r.PCSState)
	bits(f, 0x18, 0, 32, &r.LinkDownReason)
}

// LinkDownInfo is the page about the last time that the link went down (adb,
// pddr_link_down_info_page_ext).
type LinkDownInfo struct {
	Blame        uint8                 // 0x0.0, 4 bits: BlameLocal, BlameRemote
	Intent       uint8                 // 0x0.4, 4 bits: IntentIntended, IntentUnintended
	LocalReason  Reason                // 0x4.0
	RemoteReason Reason                // 0x8.0
	LastRaw      BER                   // 0x10.16 and 0x10.24: ratio before FEC in the last window
	LastSymbol   BER                   // 0x2c.16 and 0x2c.24
	Rest         [LinkDownInfoLen]byte // all bytes as read
}

// Values of LinkDownInfo; 0 is unknown.
const (
	BlameLocal       uint8 = 1 // this end's receiver
	BlameRemote      uint8 = 2 // the other end's receiver
	IntentIntended   uint8 = 1 // a command, or the cable was pulled
	IntentUnintended uint8 = 2
)

// Decode reads the page from the start of b, which is byte 8 of PDDR.
func (r *LinkDownInfo) Decode(b []byte) (n int, err error) {
	if len(b) < LinkDownInfoLen {
		return 0, mad.ErrShort
	}
	r.Rest = [LinkDownInfoLen]byte(b)
	r.fields(fields{b: r.Rest[:]})
	return LinkDownInfoLen, nil
}

// Append appends the page to b.
func (r *LinkDownInfo) Append(b []byte) []byte {
	n := len(b)
	b = append(b, r.Rest[:]...)
	r.fields(fields{b: b[n:], writing: true})
	return b
}

func (r *LinkDownInfo) fields(f fields) {
	bits(f, 0x0, 0, 4, &r.Blame)
	bits(f, 0x0, 4, 4, &r.Intent)
	bits(f, 0x4, 0, 8, &r.LocalReason)
	bits(f, 0x8, 0, 8, &r.RemoteReason)
	// the magnitude is below the coefficient here
	bits(f, 0x10, 16, 8, &r.LastRaw.Magnitude)
	bits(f, 0x10, 24, 4, &r.LastRaw.Coefficient)
	bits(f, 0x2c, 16, 8, &r.LastSymbol.Magnitude)
	bits(f, 0x2c, 24, 4, &r.LastSymbol.Coefficient)
}
