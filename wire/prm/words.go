package prm

import (
	"fmt"
	"strings"
)

// Protocol is the protocol of a link, one bit (adb: proto_active).
type Protocol uint8

// Bits of Protocol.
const (
	ProtocolInfiniBand Protocol = 1 << 0
	ProtocolEthernet   Protocol = 1 << 2
	ProtocolNVLink     Protocol = 1 << 3
)

// Speeds is a set of speeds of InfiniBand, a bit for each (adb: link_speed_active,
// cable_link_speed_cap).
type Speeds uint16

// String lists the speeds: "EDR,HDR".
func (s Speeds) String() string {
	var list []string
	for i, name := range [...]string{"SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"} {
		if s>>i&1 != 0 {
			list = append(list, name)
		}
	}
	return strings.Join(list, ",")
}

// FEC is the mode of forward error correction (adb: fec_mode_active).
type FEC uint16

// String returns the code, its parameters (symbols of a block, of which data) and, with PLR, that
// lost blocks are sent again (physical layer retransmission).
func (f FEC) String() string {
	names := [...]string{
		0:  "none",
		1:  "Firecode",
		2:  "RS(528,514)",
		3:  "LL-RS(271,257)",
		4:  "RS(544,514) quad interleaved",
		5:  "RS(546,516) quad interleaved + PLR",
		6:  "RS(544,514) interleaved",
		7:  "RS(544,514)",
		8:  "RS(546,516) octet interleaved + PLR",
		9:  "LL-RS(272,258)",
		10: "LL-RS(272,258) interleaved",
		11: "RS(544,514) interleaved + PLR",
		12: "RS(544,514) + PLR",
		13: "LL-RS(271,257) + PLR",
		14: "LL-RS(272,258) + PLR",
		15: "LL-RS(272,258) interleaved + PLR",
		16: "RS(288,258) double interleaved + PLR",
		17: "RS(288,258) quad interleaved + PLR",
		18: "RS(288,258) octet interleaved + PLR",
	}
	if int(f) < len(names) {
		return names[f]
	}
	return fmt.Sprintf("FEC mode %d", uint16(f))
}

// ManagerState is the state of the firmware's PHY manager (adb: phy_mngr_fsm_state).
type ManagerState uint8

// String returns the state's name.
func (s ManagerState) String() string {
	names := [...]string{
		"disabled", "opening", "polling", "active", "closing", "up", "sleep", "receiver disabled",
		"detecting a signal", "detecting a receiver", "synchronizing", "negotiating", "training", "protocol active",
		"detecting the protocol", "unknown", "forced up", "waiting",
	}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// CableType is the kind of cable or module (adb: cable_type).
type CableType uint8

// Values of CableType.
const (
	CableUnknown   CableType = 0
	CableActive    CableType = 1 // active copper, or an optical cable
	CableOptical   CableType = 2 // separable transceiver
	CablePassive   CableType = 3 // passive copper, or copper with a linear equalizer
	CableUnplugged CableType = 4
	CableTwisted   CableType = 5 // twisted pair
)

// String describes the kind.
func (c CableType) String() string {
	names := [...]string{
		"unknown", "active cable", "optical module", "passive copper", "unplugged", "twisted pair",
		"co-packaged optics", "optical engine", "external laser",
	}
	if int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("cable type %d", uint8(c))
}

// Identifier is the form factor of a module (adb: cable_identifier; not the number of SFF-8024).
type Identifier uint8

// Identifiers; SFP-DD and those after it follow the Common Management Interface Specification
// (CMIS).
const (
	IdentifierQSFP28   Identifier = 0
	IdentifierQSFPPlus Identifier = 1
	IdentifierSFP28    Identifier = 2 // and SFP+
	IdentifierQSA      Identifier = 3 // an SFP in an adapter
	IdentifierSFPDD    Identifier = 5
	IdentifierQSFPDD   Identifier = 6
	IdentifierQSFPCMIS Identifier = 7
	IdentifierOSFP     Identifier = 8
	IdentifierDSFP     Identifier = 10
)

// String returns the name of the form factor.
func (i Identifier) String() string {
	names := [...]string{
		"QSFP28", "QSFP+", "SFP28", "QSA", "backplane", "SFP-DD", "QSFP-DD", "QSFP with CMIS", "OSFP", "C2C", "DSFP",
		"QSFP split cable", "CPO", "OE", "ELS",
	}
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("identifier %d", uint8(i))
}

// IsCMIS reports whether the module follows CMIS (adb: cable_identifier names these five).
func (i Identifier) IsCMIS() bool {
	switch i {
	case IdentifierSFPDD, IdentifierQSFPDD, IdentifierQSFPCMIS, IdentifierOSFP, IdentifierDSFP:
		return true
	}
	return false
}
