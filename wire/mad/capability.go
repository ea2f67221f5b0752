package mad

// Capability is [PortInfo.CapabilityMask]: the capabilities of a port (specification
// section 14.2.5.6).
type Capability uint32

// The bits, by the specification's names.
const (
	CapabilityIsSM                                  Capability = 1 << 1
	CapabilityIsNoticeSupported                     Capability = 1 << 2
	CapabilityIsTrapSupported                       Capability = 1 << 3
	CapabilityIsOptionalIPDSupported                Capability = 1 << 4
	CapabilityIsAutomaticMigrationSupported         Capability = 1 << 5
	CapabilityIsSLMappingSupported                  Capability = 1 << 6
	CapabilityIsMKeyNVRAM                           Capability = 1 << 7
	CapabilityIsPKeyNVRAM                           Capability = 1 << 8
	CapabilityIsLEDInfoSupported                    Capability = 1 << 9
	CapabilityIsSMDisabled                          Capability = 1 << 10
	CapabilityIsSystemImageGUIDSupported            Capability = 1 << 11
	CapabilityIsPKeySwitchExternalPortTrapSupported Capability = 1 << 12
	CapabilityIsCableInfoSupported                  Capability = 1 << 13
	CapabilityIsExtendedSpeedsSupported             Capability = 1 << 14
	CapabilityIsCapabilityMask2Supported            Capability = 1 << 15
	CapabilityIsCommunicationManagementSupported    Capability = 1 << 16
	CapabilityIsSNMPTunnelingSupported              Capability = 1 << 17
	CapabilityIsReinitSupported                     Capability = 1 << 18
	CapabilityIsDeviceManagementSupported           Capability = 1 << 19
	CapabilityIsVendorClassSupported                Capability = 1 << 20
	CapabilityIsDRNoticeSupported                   Capability = 1 << 21
	CapabilityIsCapabilityMaskNoticeSupported       Capability = 1 << 22
	CapabilityIsBootManagementSupported             Capability = 1 << 23
	CapabilityIsLinkRoundTripLatencySupported       Capability = 1 << 24
	CapabilityIsClientReregistrationSupported       Capability = 1 << 25
	CapabilityIsOtherLocalChangesNoticeSupported    Capability = 1 << 26
	CapabilityIsLinkSpeedWidthPairsTableSupported   Capability = 1 << 27
	CapabilityIsVendorSpecificMADsTableSupported    Capability = 1 << 28
	CapabilityIsMcastPKeyTrapSuppressionSupported   Capability = 1 << 29
	CapabilityIsMulticastFDBTopSupported            Capability = 1 << 30
	CapabilityIsHierarchyInfoSupported              Capability = 1 << 31
)

// Has reports whether all bits of c2 are set.
func (c Capability) Has(c2 Capability) bool { return c&c2 == c2 }

// Capability2 is [PortInfo.CapabilityMask2]; it is valid if CapabilityMask has
// [CapabilityIsCapabilityMask2Supported].
type Capability2 uint16

// The bits, by the specification's names; C twins: IB_PORT_CAP2_… of libibmad's
// iba_types.h.
const (
	Capability2IsSetNodeDescriptionSupported   Capability2 = 1 << 0
	Capability2IsPortInfoExtendedSupported     Capability2 = 1 << 1
	Capability2IsVirtualizationSupported       Capability2 = 1 << 2
	Capability2IsSwitchPortStateTableSupported Capability2 = 1 << 3
	Capability2IsLinkWidth2XSupported          Capability2 = 1 << 4
	Capability2IsLinkSpeedHDRSupported         Capability2 = 1 << 5
	Capability2IsMKeyProtectBitsExtSupported   Capability2 = 1 << 6
	Capability2IsEnhancedTrap128Supported      Capability2 = 1 << 7
	Capability2IsPartitionTopSupported         Capability2 = 1 << 8
	Capability2IsEnhancedQoSArbiterSupported   Capability2 = 1 << 9
	Capability2IsLinkSpeedNDRSupported         Capability2 = 1 << 10
	Capability2IsExtendedSpeeds2Supported      Capability2 = 1 << 11
	Capability2IsLinkSpeedXDRSupported         Capability2 = 1 << 12
)

// Has reports whether all bits of c2 are set.
func (c Capability2) Has(c2 Capability2) bool { return c&c2 == c2 }
