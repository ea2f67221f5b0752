package inventory

import "strings"

// SameCard reports whether two devices are functions of the same card: they are the same
// device, have the same system image GUID (also in two slots, for a card that is connected
// to two sockets), or are in the same PCI slot. It returns false for VFs.
func (d *Device) SameCard(o *Device) bool {
	switch {
	case d == o || d.Name == o.Name:
		return true
	case d.VF != nil || o.VF != nil || d.PCI == nil || o.PCI == nil:
		return false
	case d.SystemGUID != nil && o.SystemGUID != nil && !d.SystemGUID.IsZero() && *d.SystemGUID == *o.SystemGUID:
		return true
	}
	return d.PCI.slot() == o.PCI.slot()
}

// SameModel reports whether two devices are on cards of the same model: they have the same
// board id or, if that is unknown, the same PCI ids.
func (d *Device) SameModel(o *Device) bool {
	switch {
	case d.PCI == nil || o.PCI == nil:
		return false
	case d.BoardID != "" && o.BoardID != "":
		return d.BoardID == o.BoardID
	}
	return d.PCI.VendorID == o.PCI.VendorID && d.PCI.DeviceID == o.PCI.DeviceID
}

// slot returns the address without the function number, and function the function number.
func (p *PCI) slot() string     { s, _, _ := strings.Cut(p.Address, "."); return s }
func (p *PCI) function() string { _, f, _ := strings.Cut(p.Address, "."); return f }

// UpOrDeferred reports whether the port state is ACTIVE or ACTIVE_DEFER. In ACTIVE_DEFER
// the logical link and its addresses stay until the physical link fails to recover.
func (p *Port) UpOrDeferred() bool {
	return p.State == PortStateActive || p.State == PortStateActiveDefer
}

// SpareOf reports whether a port that is down is probably the unused second port of a
// card: it returns the device and port of the same card that has a link, otherwise nil. A
// port is not spare if its network device has a carrier, or if most other cards of the
// same model use the port in the same position.
func (s *Snapshot) SpareOf(d *Device, p *Port) (sibling *Device, port *Port) {
	if p.State != PortStateDown || p.PhysState == PhysStateLinkUp || s.pluggedIn(p) {
		return nil, nil
	}
	used := 0 // number of cards that use the port, minus the others
	for qd, q := range s.Ports() {
		switch {
		case q == p:
		case d.SameCard(qd):
			if q.UpOrDeferred() || linkUp(q) {
				sibling, port = qd, q
			}
		case s.samePosition(d, p, qd, q):
			if q.UpOrDeferred() {
				used++
			} else {
				used--
			}
		}
	}
	if used > 0 {
		return nil, nil
	}
	return sibling, port
}

// samePosition reports whether q is the same port as p on another card of the same model.
// Only cards with several ports are compared.
func (s *Snapshot) samePosition(d *Device, p *Port, qd *Device, q *Port) bool {
	if !d.SameModel(qd) || d.PCI.function() != qd.PCI.function() || p.Number != q.Number {
		return false
	}
	for rd, r := range s.Ports() {
		if r != q && qd.SameCard(rd) {
			return true
		}
	}
	return false
}

// pluggedIn reports whether the port's network device is up and has a carrier.
func (s *Snapshot) pluggedIn(p *Port) bool {
	n := s.Netdev(p.Netdev)
	return n != nil && n.AdminUp && n.Carrier != nil && *n.Carrier
}
