package ibdiags

import (
	"fmt"
	"math/bits"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// capable returns the port info whose capability masks apply to a port: for a switch that of port
// 0; nil if it is unknown.
func (p *subnetPort) capable() *mad.PortInfo {
	if !p.node.IsSwitch() {
		return &p.Info
	}
	if zero := p.node.ports[0]; zero != nil && zero.Known {
		return &zero.Info
	}
	return nil
}

// extendedSpeed combines the two fields of extended speeds as infiniband-diags does: bits 0 to 3
// are FDR to NDR, bit 5 is XDR. The second field is used only if the device's capability mask
// includes it.
func (p *subnetPort) extendedSpeed(first, second uint8) (one, two uint8) {
	c := p.capable()
	if c == nil || !c.CapabilityMask.Has(mad.CapabilityIsExtendedSpeedsSupported) {
		return 0, 0
	}
	if c.CapabilityMask.Has(mad.CapabilityIsCapabilityMask2Supported) &&
		c.CapabilityMask2.Has(mad.Capability2IsExtendedSpeeds2Supported) {
		two = second << 5
	}
	return first, two
}

func (p *subnetPort) extendedActive() uint8 {
	one, two := p.extendedSpeed(p.Info.LinkSpeedExtActive, p.Info.LinkSpeedExt2Active)
	if two != 0 {
		return two
	}
	return one
}

func (p *subnetPort) extendedSupported() uint8 {
	one, two := p.extendedSpeed(p.Info.LinkSpeedExtSupported, p.Info.LinkSpeedExt2Supported)
	return one | two
}

// fdr10 reports whether a link that shows QDR runs at FDR10, and whether the port supports FDR10.
func (p *subnetPort) fdr10() (active, supported bool) {
	if p.Mellanox == nil {
		return false, false
	}
	return p.Mellanox.LinkSpeedActive&1 != 0, p.Mellanox.LinkSpeedSupported&1 != 0
}

// shortWidth and shortSpeed return ibnetdiscover's names: "4x", "HDR".
func shortWidth(w mad.LinkWidth) string {
	if bits.OnesCount8(uint8(w)) != 1 || w.Lanes() == 0 {
		return "??"
	}
	return fmt.Sprintf("%dx", w.Lanes())
}

func (p *subnetPort) shortSpeed() string {
	switch p.extendedActive() {
	case 0:
	case 1:
		return "FDR"
	case 2:
		return "EDR"
	case 4:
		return "HDR"
	case 8:
		return "NDR"
	case 32:
		return "XDR"
	default:
		return "???"
	}
	speed := p.Info.LinkSpeedActive
	if p.node.IsSwitch() && p.capable() == nil {
		speed = 0
	}
	switch speed {
	case 1:
		return "SDR"
	case 2:
		return "DDR"
	case 4:
		if active, _ := p.fdr10(); active {
			return "FDR10"
		}
		return "QDR"
	}
	return "???"
}

// longWidth returns libibmad's name of one width.
func longWidth(w mad.LinkWidth) string {
	if bits.OnesCount8(uint8(w)) != 1 || w.Lanes() == 0 {
		return fmt.Sprintf("undefined (%d)", uint8(w))
	}
	return fmt.Sprintf("%dX", w.Lanes())
}

// longBaseSpeed and longExtendedSpeed return libibmad's names of one speed.
func longBaseSpeed(speed uint8) string {
	switch speed {
	case 0:
		return "Extended speed"
	case 1:
		return "2.5 Gbps"
	case 2:
		return "5.0 Gbps"
	case 4:
		return "10.0 Gbps"
	}
	return fmt.Sprintf("undefined (%d)", speed)
}

func longExtendedSpeed(speed uint8) string {
	switch speed {
	case 0:
		return "No Extended Speed"
	case 1:
		return "14.0625 Gbps"
	case 2:
		return "25.78125 Gbps"
	case 4:
		return "53.125 Gbps"
	case 8:
		return "106.25 Gbps"
	case 32:
		return "212.5 Gbps"
	}
	return fmt.Sprintf("undefined (%d)", speed)
}

// linkState returns the middle part of a line of iblinkinfo: "( 4X 53.125 Gbps Active/ LinkUp)".
// For a port that is down it has only the states.
func (p *subnetPort) linkState() string {
	state, physical := p.Info.PortState, p.Info.PortPhysicalState
	if state == mad.PortStateDown {
		return fmt.Sprintf("(              %6s/%8s)", state, physical)
	}
	width, base := p.Info.LinkWidthActive, p.Info.LinkSpeedActive
	if p.capable() == nil {
		width, base = 0, 0
	}
	speed := longExtendedSpeed(p.extendedActive())
	if p.extendedActive() == 0 {
		speed = longBaseSpeed(base)
		if active, _ := p.fdr10(); active {
			speed = "10.0 Gbps (FDR10)"
		}
	}
	return fmt.Sprintf("(%3s %18s %6s/%8s)", longWidth(width), speed, state, physical)
}

// couldBe returns the remarks on the width and speed of a link that runs below what both ends
// support: "Could be 12X"; empty if there is none (C twin: get_max_msg).
func (p *subnetPort) couldBe() (width, speed string) {
	q := p.remote
	if best := bestWidth(p.Info.LinkWidthSupported & q.Info.LinkWidthSupported); best&p.Info.LinkWidthActive == 0 {
		width = "Could be " + longWidth(best)
	}
	if a, b := p.extendedSupported(), q.extendedSupported(); a != 0 && b != 0 {
		if best := highest(a & b); best&p.extendedActive() == 0 {
			speed = "Could be " + longExtendedSpeed(best)
		}
		return width, speed
	}
	active, can := p.fdr10()
	_, otherCan := q.fdr10()
	switch {
	case can && otherCan && active:
	case can && otherCan && p.Info.LinkSpeedActive == 4:
		speed = "Could be FDR10 (Found link at QDR but expected speed is FDR10)"
	case can && otherCan:
		speed = "Could be FDR10"
	default:
		if best := highest(p.Info.LinkSpeedSupported & q.Info.LinkSpeedSupported); best&p.Info.LinkSpeedActive == 0 {
			speed = "Could be " + longBaseSpeed(best)
		}
	}
	return width, speed
}

// bestWidth returns the largest width of a set; 1X for an empty set.
func bestWidth(set mad.LinkWidth) mad.LinkWidth {
	for _, w := range [...]mad.LinkWidth{mad.LinkWidth12X, mad.LinkWidth8X, mad.LinkWidth4X, mad.LinkWidth2X} {
		if set&w != 0 {
			return w
		}
	}
	return mad.LinkWidth1X
}

// highest returns the highest bit of a set of speeds; the lowest speed for an empty set.
func highest(set uint8) uint8 {
	if set == 0 {
		return 1
	}
	return 1 << (bits.Len8(set) - 1)
}

// other returns the far end of a link as iblinkinfo and ibqueryerrors print it, with the remarks: `
// 1 1[ ] "host0" (Could be 12X )`.
func (p *subnetPort) other(names nodeNames) string {
	q := p.remote
	width, speed := p.couldBe()
	lid := q.lid
	if lid == 0 {
		lid = q.node.lid
	}
	name := `"` + names.name(q.node.GUID(), q.node.Description) + `"`
	return fmt.Sprintf("%6d %4d[%2s] %s (%s %s)", lid, q.number, q.mark(), name, width, speed)
}

// mark returns the port's number on the chassis.
func (p *subnetPort) mark() string {
	if p.external == 0 {
		return ""
	}
	return fmt.Sprint(p.external)
}
