package inventory

import "strings"

// SameCard reports whether two devices are functions of one card: the same
// device, one system image GUID (also across the slots of a card that serves two
// sockets), or one PCI slot. VFs are nobody's second port.
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

// SameModel reports two devices on cards of one kind: one board id, or where
// that isn't told, the same PCI ids.
func (d *Device) SameModel(o *Device) bool {
	switch {
	case d.PCI == nil || o.PCI == nil:
		return false
	case d.BoardID != "" && o.BoardID != "":
		return d.BoardID == o.BoardID
	}
	return d.PCI.VendorID == o.PCI.VendorID && d.PCI.DeviceID == o.PCI.DeviceID
}

// slot is the address without its function, function the digit behind the dot.
func (p *PCI) slot() string     { s, _, _ := strings.Cut(p.Address, "."); return s }
func (p *PCI) function() string { _, f, _ := strings.Cut(p.Address, "."); return f }

// UpOrDeferred reports whether traffic can flow. ACTIVE_DEFER counts, for the
// logical link and its addresses stay until the physical one has failed to recover.
func (p *Port) UpOrDeferred() bool {
	return p.State == PortStateActive || p.State == PortStateActiveDefer
}

// SpareOf reports whether a port that is down looks like the unused second port of
// a card, and returns the device and port of that card that is active. It is
// none if something is plugged in, or if most other cards of the same model use
// the port in that position: then it is missed here. nil when it is not spare.
func (s *Snapshot) SpareOf(d *Device, p *Port) (sibling *Device, port *Port) {
	if p.State != PortStateDown || p.PhysState == PhysStateLinkUp || s.pluggedIn(p) {
		return nil, nil
	}
	used := 0 // by how many more cards than not
	for qd, q := range s.Ports() {
		switch {
		case q == p:
		case d.SameCard(qd):
			if q.UpOrDeferred() {
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

// samePosition reports that q is on another card of the same model what p is on
// its own. Only a card with a second port has positions to compare.
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

// pluggedIn reports a network device that has a link although its RDMA port is down.
func (s *Snapshot) pluggedIn(p *Port) bool {
	n := s.Netdev(p.Netdev)
	return n != nil && n.AdminUp && n.Carrier != nil && *n.Carrier
}
