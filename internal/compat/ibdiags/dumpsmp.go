package ibdiags

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// notDisplayed is printed instead of a key without -K.
const notDisplayed = "<not displayed>"

func nodeInfoRows(a *mad.NodeInfo) []row {
	kind := row{"NodeType", a.NodeType.String()}
	if a.NodeType < mad.NodeTypeCA || a.NodeType > mad.NodeTypeRouter {
		kind.value = fmt.Sprintf("?(%d)?", uint8(a.NodeType))
	}
	return []row{
		decimal("BaseVers", a.BaseVersion),
		decimal("ClassVers", a.ClassVersion),
		kind,
		decimal("NumPorts", a.NumPorts),
		guidRow("SystemGuid", a.SystemImageGUID),
		guidRow("Guid", a.NodeGUID),
		guidRow("PortGuid", a.PortGUID),
		decimal("PartCap", a.PartitionCap),
		hex("DevId", a.DeviceID, 2),
		hex("Revision", a.Revision, 4),
		decimal("LocalPort", a.LocalPortNum),
		hex("VendorId", a.VendorID, 3),
	}
}

func switchInfoRows(a *mad.SwitchInfo) []row {
	return []row{
		decimal("LinearFdbCap", a.LinearFDBCap),
		decimal("RandomFdbCap", a.RandomFDBCap),
		decimal("McastFdbCap", a.MulticastFDBCap),
		decimal("LinearFdbTop", a.LinearFDBTop),
		decimal("DefPort", a.DefaultPort),
		decimal("DefMcastPrimPort", a.DefaultMulticastPrimaryPort),
		decimal("DefMcastNotPrimPort", a.DefaultMulticastNotPrimaryPort),
		decimal("LifeTime", a.LifeTimeValue),
		bit("StateChange", a.PortStateChange),
		decimal("OptSLtoVLMapping", a.OptimizedSLToVLMappingProgramming),
		decimal("LidsPerPort", a.LIDsPerPort),
		decimal("PartEnforceCap", a.PartitionEnforcementCap),
		bit("InboundPartEnf", a.InboundEnforcementCap),
		bit("OutboundPartEnf", a.OutboundEnforcementCap),
		bit("FilterRawInbound", a.FilterRawInboundCap),
		bit("FilterRawOutbound", a.FilterRawOutboundCap),
		bit("EnhancedPort0", a.EnhancedPort0),
		hex("MulticastFDBTop", a.MulticastFDBTop, 2),
	}
}

// portInfoRows hides the M_Key unless showKeys is set.
func portInfoRows(a *mad.PortInfo, showKey bool) []row {
	key := row{"Mkey", notDisplayed}
	if showKey {
		key = hex("Mkey", a.MKey, 8)
	}
	return slices.Concat([]row{
		key,
		hex("GidPrefix", a.GIDPrefix, 8),
		decimal("Lid", a.LID),
		decimal("SMLid", a.MasterSMLID),
		mask("CapMask", uint32(a.CapabilityMask), capabilityNames()),
		hex("DiagCode", a.DiagCode, 2),
		decimal("MkeyLeasePeriod", a.MKeyLeasePeriod),
		decimal("LocalPort", a.LocalPortNum),
	}, portLinkRows(a), portLaneRows(a), []row{
		mask("CapabilityMask2", uint32(a.CapabilityMask2), capability2Names()),
		{"LinkSpeedExtActive", activeExtendedSpeed(a.LinkSpeedExtActive)},
		{"LinkSpeedExtSupported", extendedSpeeds(a.LinkSpeedExtSupported)},
		{"LinkSpeedExtEnabled", enabledExtendedSpeeds(a.LinkSpeedExtEnabled)},
	})
}

// portLinkRows returns the rows about the link.
func portLinkRows(a *mad.PortInfo) []row {
	return []row{
		{"LinkWidthEnabled", widths(uint8(a.LinkWidthEnabled))},
		{"LinkWidthSupported", supportedWidths(uint8(a.LinkWidthSupported))},
		{"LinkWidthActive", activeWidth(uint8(a.LinkWidthActive))},
		{"LinkSpeedSupported", speeds(a.LinkSpeedSupported)},
		{"LinkState", a.PortState.String()},
		{"PhysLinkState", a.PortPhysicalState.String()},
		choice("LinkDownDefState", a.LinkDownDefaultState, "NoChange", "Sleep", "Polling"),
		decimal("ProtectBits", a.MKeyProtectBits),
		decimal("LMC", a.LMC),
		{"LinkSpeedActive", activeSpeed(a.LinkSpeedActive)},
		{"LinkSpeedEnabled", speeds(a.LinkSpeedEnabled)},
		mtu("NeighborMTU", a.NeighborMTU),
		decimal("SMSL", a.MasterSMSL),
	}
}

// portLaneRows returns the rows about virtual lanes, partitions and errors.
func portLaneRows(a *mad.PortInfo) []row {
	lanes := []string{"", "VL0", "VL0-1", "VL0-3", "VL0-7", "VL0-14"}
	operational := slices.Clone(lanes)
	operational[0] = "No change"
	return []row{
		choice("VLCap", a.VLCap, lanes...),
		hex("InitType", a.InitType, 1),
		decimal("VLHighLimit", a.VLHighLimit),
		decimal("VLArbHighCap", a.VLArbitrationHighCap),
		decimal("VLArbLowCap", a.VLArbitrationLowCap),
		hex("InitReply", a.InitTypeReply, 1),
		mtu("MtuCap", a.MTUCap),
		decimal("VLStallCount", a.VLStallCount),
		decimal("HoqLife", a.HOQLife),
		choice("OperVLs", a.OperationalVLs, operational...),
		bit("PartEnforceInb", a.PartitionEnforcementIn),
		bit("PartEnforceOutb", a.PartitionEnforcementOut),
		bit("FilterRawInb", a.FilterRawIn),
		bit("FilterRawOutb", a.FilterRawOut),
		decimal("MkeyViolations", a.MKeyViolations),
		decimal("PkeyViolations", a.PKeyViolations),
		decimal("QkeyViolations", a.QKeyViolations),
		decimal("GuidCap", a.GUIDCap),
		bit("ClientReregister", a.ClientReregister),
		decimal("McastPkeyTrapSuppressionEnabled", a.MulticastPKeyTrapSuppress),
		decimal("SubnetTimeout", a.SubnetTimeout),
		decimal("RespTimeVal", a.RespTimeValue),
		decimal("LocalPhysErr", a.LocalPhyErrors),
		decimal("OverrunErr", a.OverrunErrors),
		decimal("MaxCreditHint", a.MaxCreditHint),
		decimal("RoundTrip", a.LinkRoundTripLatency),
	}
}

func extendedPortInfoRows(a *mad.ExtendedPortInfo) []row {
	return []row{
		hex("StateChangeEnable", a.StateChangeEnable, 1),
		hex("LinkSpeedSupported", a.LinkSpeedSupported, 1),
		hex("LinkSpeedEnabled", a.LinkSpeedEnabled, 1),
		hex("LinkSpeedActive", a.LinkSpeedActive, 1),
	}
}

func mtu(name string, code uint8) row {
	return choice(name, code, "", "256", "512", "1024", "2048", "4096")
}

// widths names the widths that are set. If unknown bits are set, the whole value is printed as
// undefined.
func widths(v uint8) string {
	text := anyOf(v&31, "1X", "4X", "8X", "12X", "2X")
	switch {
	case v>>5 == 0 && v != 0:
		return text
	case text != "":
		text += " or "
	}
	return text + fmt.Sprintf("undefined (%d)", v)
}

// supportedWidths marks the combinations that the specification doesn't define.
func supportedWidths(v uint8) string {
	if v>>5 == 0 && !slices.Contains([]uint8{1, 3, 7, 11, 15, 17, 19, 23, 27, 31}, v) {
		return widths(v) + " (IBA extension)"
	}
	return widths(v)
}

func activeWidth(v uint8) string {
	if bits.OnesCount8(v) == 1 {
		return mad.LinkWidth(v).String()
	}
	return fmt.Sprintf("undefined (%d)", v)
}

// speeds names the speeds that are set, up to QDR.
func speeds(v uint8) string {
	text := anyOf(v&7, "2.5 Gbps", "5.0 Gbps", "10.0 Gbps")
	switch {
	case v == 0:
		text = "undefined (0)"
	case v>>3 != 0 && text != "":
		return text + fmt.Sprintf(" or undefined (%d)", v)
	case v>>3 != 0:
		return fmt.Sprintf("undefined (%d)", v)
	}
	if v&1 == 0 {
		text += " (IBA extension)"
	}
	return text
}

func activeSpeed(v uint8) string {
	switch v {
	case 0:
		return "Extended speed"
	case 1, 2, 4:
		return anyOf(v, "2.5 Gbps", "5.0 Gbps", "10.0 Gbps")
	}
	return fmt.Sprintf("undefined (%d)", v)
}

// extendedSpeeds names the speeds that are set, from FDR to NDR.
func extendedSpeeds(v uint8) string {
	text := anyOf(v&15, "14.0625 Gbps", "25.78125 Gbps", "53.125 Gbps", "106.25 Gbps")
	switch {
	case v == 0:
		return "0"
	case v>>4 == 0:
		return text
	case text != "":
		text += " or "
	}
	return text + fmt.Sprintf("undefined (%d)", v)
}

func enabledExtendedSpeeds(v uint8) string {
	if v == 30 {
		return "Extended link speeds disabled"
	}
	return extendedSpeeds(v)
}

func activeExtendedSpeed(v uint8) string {
	switch v {
	case 0:
		return "No Extended Speed"
	case 1, 2, 4, 8:
		return extendedSpeeds(v)
	}
	return fmt.Sprintf("undefined (%d)", v)
}

// capabilityNames are libibmad's names of the bits of CapabilityMask, spelled as it does.
func capabilityNames() []string {
	return []string{
		1: "IsSM", 2: "IsNoticeSupported", 3: "IsTrapSupported", 4: "IsOptionalIPDSupported",
		5: "IsAutomaticMigrationSupported", 6: "IsSLMappingSupported", 7: "IsMKeyNVRAM", 8: "IsPKeyNVRAM",
		9: "IsLedInfoSupported", 10: "IsSMdisabled", 11: "IsSystemImageGUIDsupported",
		12: "IsPkeySwitchExternalPortTrapSupported", 14: "IsExtendedSpeedsSupported", 15: "IsCapabilityMask2Supported",
		16: "IsCommunicatonManagementSupported", 17: "IsSNMPTunnelingSupported", 18: "IsReinitSupported",
		19: "IsDeviceManagementSupported", 20: "IsVendorClassSupported", 21: "IsDRNoticeSupported",
		22: "IsCapabilityMaskNoticeSupported", 23: "IsBootManagementSupported", 24: "IsLinkRoundTripLatencySupported",
		25: "IsClientRegistrationSupported", 26: "IsOtherLocalChangesNoticeSupported",
		27: "IsLinkSpeedWidthPairsTableSupported", 28: "IsVendorSpecificMadsTableSupported",
		29: "IsMcastPkeyTrapSuppressionSupported", 30: "IsMulticastFDBTopSupported", 31: "IsHierarchyInfoSupported",
	}
}

// capability2Names are those of CapabilityMask2.
func capability2Names() []string {
	return []string{
		"IsSetNodeDescriptionSupported", "IsPortInfoExtendedSupported", "IsVirtualizationSupported",
		"IsSwitchPortStateTableSupported", "IsLinkWidth2xSupported", "IsLinkSpeedHDRSupported",
		"IsMKeyProtectBitsExtSupported", "IsEnhancedTrap128Supported", "IsPartitionTopSupported",
		"IsEnhancedQoSArbiterSupported", "IsLinkSpeedNDRSupported",
	}
}
