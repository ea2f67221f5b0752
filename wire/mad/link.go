package mad

import (
	"fmt"
)

// PortState is the logical state of a port (specification section 14.2.5.6).
type PortState uint8

// Port states.
const (
	PortStateNoChange   PortState = 0 // in a Set only
	PortStateDown       PortState = 1
	PortStateInitialize PortState = 2
	PortStateArmed      PortState = 3
	PortStateActive     PortState = 4
)

var portStateNames = [...]string{"NoChange", "Down", "Initialize", "Armed", "Active"}

// String returns the name that libibmad uses.
func (s PortState) String() string { return nameOf(portStateNames[:], uint8(s)) }

// PortPhysicalState is the physical state of a port, that is, of its link training
// (specification section 14.2.5.6).
type PortPhysicalState uint8

// Physical states.
const (
	PortPhysicalStateNoChange      PortPhysicalState = 0 // in a Set only
	PortPhysicalStateSleep         PortPhysicalState = 1
	PortPhysicalStatePolling       PortPhysicalState = 2
	PortPhysicalStateDisabled      PortPhysicalState = 3
	PortPhysicalStateTraining      PortPhysicalState = 4
	PortPhysicalStateLinkUp        PortPhysicalState = 5
	PortPhysicalStateErrorRecovery PortPhysicalState = 6
	PortPhysicalStatePhyTest       PortPhysicalState = 7
)

var portPhysicalStateNames = [...]string{
	"NoChange", "Sleep", "Polling", "Disabled",
	"PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "PhyTest",
}

// String returns the name that libibmad gives it.
func (s PortPhysicalState) String() string { return nameOf(portPhysicalStateNames[:], uint8(s)) }

// nameOf returns the name of a value, or the text that libibmad prints for an unknown one.
func nameOf(names []string, v uint8) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("?(%d)", v)
}

// LinkWidth is a link width, or several widths or'ed together.
type LinkWidth uint8

// Widths. The bits are not in the order of the numbers of lanes, since 2X was added last.
const (
	LinkWidth1X  LinkWidth = 1
	LinkWidth4X  LinkWidth = 2
	LinkWidth8X  LinkWidth = 4
	LinkWidth12X LinkWidth = 8
	LinkWidth2X  LinkWidth = 16
)

var lanes = [...]struct {
	width LinkWidth
	lanes int
}{{LinkWidth12X, 12}, {LinkWidth8X, 8}, {LinkWidth4X, 4}, {LinkWidth2X, 2}, {LinkWidth1X, 1}}

// Lanes returns the number of lanes of the widest width in w, or 0 if w is empty.
func (w LinkWidth) Lanes() int {
	for _, l := range lanes {
		if w&l.width != 0 {
			return l.lanes
		}
	}
	return 0
}

// String returns the widest width, "4X", or "undefined (0)".
func (w LinkWidth) String() string {
	if n := w.Lanes(); n != 0 {
		return fmt.Sprintf("%dX", n)
	}
	return fmt.Sprintf("undefined (%d)", uint8(w))
}

// LinkSpeed is a signalling rate. The values are in ascending order, so that they can be
// compared.
type LinkSpeed uint8

// Speeds, with their signalling rate per lane.
const (
	LinkSpeedUnknown LinkSpeed = iota
	LinkSpeedSDR               // 2.5 Gb/s
	LinkSpeedDDR               // 5
	LinkSpeedQDR               // 10
	LinkSpeedFDR10             // 10.3125; Mellanox only
	LinkSpeedFDR               // 14.0625
	LinkSpeedEDR               // 25.78125
	LinkSpeedHDR               // 53.125
	LinkSpeedNDR               // 106.25
	LinkSpeedXDR               // 212.5
)

var linkSpeeds = [...]struct {
	name string
	gbps float64
}{
	{"unknown", 0},
	{"SDR", 2.5},
	{"DDR", 5},
	{"QDR", 10},
	{"FDR10", 10.3125},
	{"FDR", 14.0625},
	{"EDR", 25.78125},
	{"HDR", 53.125},
	{"NDR", 106.25},
	{"XDR", 212.5},
}

// String returns the name: "SDR" to "XDR", or "unknown".
func (s LinkSpeed) String() string {
	if int(s) < len(linkSpeeds) {
		return linkSpeeds[s].name
	}
	return linkSpeeds[0].name
}

// GbpsPerLane returns the signalling rate of one lane in Gb/s, or 0 if unknown.
func (s LinkSpeed) GbpsPerLane() float64 {
	if int(s) < len(linkSpeeds) {
		return linkSpeeds[s].gbps
	}
	return 0
}

// ActiveSpeed returns the active speed of the link. ext is the [ExtendedPortInfo] of the
// same port, which is needed to distinguish FDR10 from QDR, or nil.
//
// This is the one rule for speeds outside of the programs of infiniband-diags: the fastest of
// XDR (LinkSpeedExt2Active), of FDR to NDR (LinkSpeedExtActive), and of SDR to QDR
// (LinkSpeedActive), where ext makes FDR10 of QDR. Extended speeds are used if they are
// set, whatever CapabilityMask says: devices without extended speeds leave them zero, and
// for the external ports of a switch the mask isn't valid.
func (a *PortInfo) ActiveSpeed(ext *ExtendedPortInfo) LinkSpeed {
	var fdr10 uint8
	if ext != nil && a.LinkSpeedActive == speedQDR {
		fdr10 = ext.LinkSpeedActive
	}
	return speedSet(a.LinkSpeedActive, fdr10, a.LinkSpeedExtActive, a.LinkSpeedExt2Active).Fastest()
}

// SupportedSpeeds returns the speeds that the port supports; ext as for [PortInfo.ActiveSpeed].
func (a *PortInfo) SupportedSpeeds(ext *ExtendedPortInfo) SpeedSet {
	var fdr10 uint8
	if ext != nil {
		fdr10 = ext.LinkSpeedSupported
	}
	return speedSet(a.LinkSpeedSupported, fdr10, a.LinkSpeedExtSupported, a.LinkSpeedExt2Supported)
}

// EnabledSpeeds returns the speeds that are enabled; ext as for [PortInfo.ActiveSpeed].
func (a *PortInfo) EnabledSpeeds(ext *ExtendedPortInfo) SpeedSet {
	var fdr10 uint8
	if ext != nil {
		fdr10 = ext.LinkSpeedEnabled
	}
	extended := a.LinkSpeedExtEnabled
	if extended == extendedSpeedsDisabled {
		extended = 0
	}
	return speedSet(a.LinkSpeedEnabled, fdr10, extended, a.LinkSpeedExt2Enabled)
}

// SupportedSpeed returns the fastest speed that the port supports; ext as for
// [PortInfo.ActiveSpeed].
func (a *PortInfo) SupportedSpeed(ext *ExtendedPortInfo) LinkSpeed {
	return a.SupportedSpeeds(ext).Fastest()
}

// EnabledSpeed returns the fastest speed that is enabled; ext as for
// [PortInfo.ActiveSpeed].
func (a *PortInfo) EnabledSpeed(ext *ExtendedPortInfo) LinkSpeed {
	return a.EnabledSpeeds(ext).Fastest()
}

// speedQDR is QDR in LinkSpeedActive.
const speedQDR = 4

// extendedSpeedsDisabled is the value of LinkSpeedExtEnabled that enables no extended speed
// (specification section 14.2.5.6).
const extendedSpeedsDisabled = 30

// SpeedSet is a set of speeds: bit 1<<LinkSpeed for each. Intersection and union are & and |.
type SpeedSet uint16

// Fastest returns the highest speed of the set, or [LinkSpeedUnknown] if the set is empty.
func (s SpeedSet) Fastest() LinkSpeed {
	for speed := LinkSpeedXDR; speed > LinkSpeedUnknown; speed-- {
		if s>>speed&1 != 0 {
			return speed
		}
	}
	return LinkSpeedUnknown
}

// speedSet combines the bit fields of PortInfo and ExtendedPortInfo into one set.
func speedSet(base, fdr10, extended, extended2 uint8) SpeedSet {
	set := SpeedSet(base&7) << LinkSpeedSDR
	set |= SpeedSet(fdr10&1) << LinkSpeedFDR10
	set |= SpeedSet(extended&15) << LinkSpeedFDR
	return set | SpeedSet(extended2&1)<<LinkSpeedXDR
}
