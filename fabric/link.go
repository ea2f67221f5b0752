package fabric

import "github.com/rdmakit/rdmakit/wire/mad"

// The vendor identifiers of Mellanox and Bull are not sufficient: some Mellanox devices have the
// identifier of the company that sold them.
const vendorBull = 0x119f

// deviceRange is a range of device identifiers, both ends included.
type deviceRange struct{ first, last uint16 }

// fdr10Devices have mad.ExtendedPortInfo with any vendor identifier, bullDevices with Bull's. This
// is the list of libibnetdisc (ibnetdisc.c); other devices are not queried, because they may never
// answer.
func fdr10Devices() []deviceRange {
	return []deviceRange{
		{0x1003, 0x101b}, {0xa2d2, 0xa2d2}, // ConnectX-3 to ConnectX-6, BlueField
		{0xc738, 0xc73b}, {0xc839, 0xc839}, {0xcb20, 0xcb20}, {0xcf08, 0xcf09}, {0xd2f0, 0xd2f0}, // SwitchX to Quantum
	}
}

func bullDevices() []deviceRange {
	return []deviceRange{
		{0x1b02, 0x1b02}, {0x1b50, 0x1b50}, {0x1ba0, 0x1ba0}, {0x1bd0, 0x1bd5}, {0x1bf0, 0x1bf0}, // switches
		{0x1b33, 0x1b33}, {0x1b73, 0x1b73}, {0x1b40, 0x1b41}, {0x1b60, 0x1b61}, // ConnectX-3
		{0x1b83, 0x1b83}, {0x1b93, 0x1b94}, {0x1bb4, 0x1bb5}, {0x1bc4, 0x1bc6}, // Connect-IB and later
	}
}

// tellsFDR10 reports whether a device is known to have Mellanox's extended port info.
func tellsFDR10(info *mad.NodeInfo) bool {
	in := func(list []deviceRange) bool {
		for _, r := range list {
			if info.DeviceID >= r.first && info.DeviceID <= r.last {
				return true
			}
		}
		return false
	}
	return in(fdr10Devices()) || info.VendorID == vendorBull && in(bullDevices())
}

// Width returns the active width of the link; 0 if it is down.
func (p *Port) Width() mad.LinkWidth {
	if !p.IsLinkUp() {
		return 0
	}
	return p.Info.LinkWidthActive
}

// Speed returns the active speed of the link; [mad.LinkSpeedUnknown] if it is down.
func (p *Port) Speed() mad.LinkSpeed {
	if !p.IsLinkUp() {
		return mad.LinkSpeedUnknown
	}
	return p.Info.ActiveSpeed(p.Mellanox)
}

// Rate returns the signalling rate of the link in Gb/s, all lanes together: 212.5 for 4X HDR. 0
// when it is down.
func (p *Port) Rate() float64 { return RateOf(p.Width(), p.Speed()) }

// RateOf returns the signalling rate of a link in Gb/s, all lanes together.
func RateOf(width mad.LinkWidth, speed mad.LinkSpeed) float64 {
	return float64(width.Lanes()) * speed.GbpsPerLane()
}

// Best returns the largest width and the highest speed that both ends of a link support and, unless
// supportedOnly, have enabled. They are zero if an end is unknown or the ends have none in common.
// iblinkinfo's remark "Could be" considers only what is supported.
func (t *Topology) Best(l Link, supportedOnly bool) (mad.LinkWidth, mad.LinkSpeed) {
	a, b := t.Port(l.A), t.Port(l.B)
	if a == nil || b == nil || !a.Known || !b.Known {
		return 0, mad.LinkSpeedUnknown
	}
	width := a.Info.LinkWidthSupported & b.Info.LinkWidthSupported
	speeds := a.Info.SupportedSpeeds(a.Mellanox) & b.Info.SupportedSpeeds(b.Mellanox)
	if !supportedOnly {
		width &= a.Info.LinkWidthEnabled & b.Info.LinkWidthEnabled
		speeds &= a.Info.EnabledSpeeds(a.Mellanox) & b.Info.EnabledSpeeds(b.Mellanox)
	}
	return widest(width), speeds.Fastest()
}

// widest returns the one width of a set that has the most lanes.
func widest(set mad.LinkWidth) mad.LinkWidth {
	var best mad.LinkWidth
	for w := mad.LinkWidth1X; w <= mad.LinkWidth2X; w <<= 1 {
		if set&w != 0 && w.Lanes() > best.Lanes() {
			best = w
		}
	}
	return best
}

// IsDowntrained reports whether a link that is up has a smaller width or a lower speed than both
// ends support and have enabled.
func (t *Topology) IsDowntrained(l Link) bool {
	width, speed := t.Best(l, false)
	for _, id := range [...]PortID{l.A, l.B} {
		p := t.Port(id)
		if p != nil && p.IsLinkUp() && (p.Width().Lanes() < width.Lanes() || p.Speed() < speed) {
			return true
		}
	}
	return false
}
