package ibsimd

import "github.com/rdmakit/rdmakit/wire/mad"

// smpRequest is a subnet management request that has reached a node.
type smpRequest struct {
	in       *port // the port that received it
	set      bool  // the method is Set
	modifier uint32
	data     *[mad.SMPDataLen]byte // of the request; the function replaces it with that of the response
}

// attribute reads or writes one attribute.
type attribute func(r *smpRequest) mad.Status

// subnetAttribute returns the function for an attribute, or nil for an unknown one.
func subnetAttribute(a mad.Attribute) attribute {
	switch a {
	case mad.AttributeNodeDescription:
		return nodeDescription
	case mad.AttributeNodeInfo:
		return nodeInfo
	case mad.AttributeSwitchInfo:
		return switchInfo
	case mad.AttributeGUIDInfo:
		return guidInfo
	case mad.AttributePortInfo:
		return portInfo
	case mad.AttributePKeyTable:
		return pkeyTable
	case mad.AttributeSLToVLMapping:
		return slToVL
	case mad.AttributeVLArbitration:
		return vlArbitration
	case mad.AttributeLFT:
		return linearTable
	case mad.AttributeMFT:
		return multicastTable
	case mad.AttributeExtendedPortInfo:
		return extendedPortInfo
	}
	return nil
}

// readOnly is the status of an attribute that can only be read: ibsim's response has it and the
// attribute.
func (r *smpRequest) readOnly() mad.Status {
	if r.set {
		return mad.StatusUnsupportedMethod
	}
	return 0
}

func nodeDescription(r *smpRequest) mad.Status {
	*r.data = r.in.node.description
	return r.readOnly()
}

func nodeInfo(r *smpRequest) mad.Status {
	info := r.in.node.info
	if f := r.in.node.identity; f != nil {
		info.NodeGUID = f()
	}
	info.LocalPortNum, info.PortGUID = r.in.number, r.in.guid()
	clear(r.data[:])
	info.Append(r.data[:0])
	return r.readOnly()
}

func switchInfo(r *smpRequest) mad.Status {
	n := r.in.node
	if !n.isSwitch() {
		return mad.StatusUnsupportedMethodAttribute
	}
	if r.set {
		var wanted mad.SwitchInfo
		wanted.Decode(r.data[:]) //nolint:errcheck // long enough
		if wanted.PortStateChange {
			n.switchInfo.PortStateChange = false
		}
		n.switchInfo.LinearFDBTop, n.switchInfo.LifeTimeValue = wanted.LinearFDBTop, wanted.LifeTimeValue
	}
	clear(r.data[:])
	n.switchInfo.Append(r.data[:0])
	return 0
}

func guidInfo(r *smpRequest) mad.Status {
	var block mad.GUIDInfo
	if r.modifier == 0 {
		block[0] = r.in.guid()
	}
	block.Append(r.data[:0])
	return r.readOnly()
}

// port returns the port that the modifier of a request selects on a switch, or the
// receiving port of an adapter; nil: there is none.
func (r *smpRequest) port(number uint32) *port {
	n := r.in.node
	switch {
	case !n.isSwitch():
		return r.in
	case number >= uint32(len(n.ports)):
		return nil
	}
	return n.ports[number]
}

func pkeyTable(r *smpRequest) mad.Status {
	const blockBytes = 2 * mad.PKeyBlockLen
	p := r.port(r.modifier >> 16)
	block := int(r.modifier & 0xffff)
	if p == nil || block*blockBytes >= len(p.pkeys) {
		return mad.StatusInvalidField
	}
	keys := p.pkeys[block*blockBytes : min((block+1)*blockBytes, len(p.pkeys))]
	if r.set {
		copy(keys, r.data[:])
		return 0
	}
	clear(r.data[:])
	copy(r.data[:], keys)
	return 0
}

// defaultLanes is the mapping of service levels to virtual lanes of a port that was not configured:
// each to the lane of its number, the last one to lane 7.
func defaultLanes() [8]byte { return [8]byte{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xe7} }

func slToVL(r *smpRequest) mad.Status {
	key := uint16(0)
	p := r.in
	if p.node.isSwitch() { // the input port is in the high byte, the output port in the low one
		key = uint16(r.modifier)
		p = r.port(uint32(key >> 8))
		if p == nil || r.port(uint32(key&0xff)) == nil {
			return mad.StatusInvalidField
		}
	}
	if r.set {
		if p.lanes == nil {
			p.lanes = map[uint16][8]byte{}
		}
		p.lanes[key] = [8]byte(r.data[:])
		return 0
	}
	lanes, found := p.lanes[key]
	if !found {
		lanes = defaultLanes()
	}
	copy(r.data[:], lanes[:])
	return 0
}

func vlArbitration(r *smpRequest) mad.Status {
	p := r.port(r.modifier & 0xffff)
	part := r.modifier >> 16 // 1 and 2: the low-priority table; 3 and 4: that of high priority
	if p == nil || part < 1 || part > 4 {
		return mad.StatusInvalidField
	}
	size := int(p.info.VLArbitrationLowCap)
	if part > 2 {
		size = int(p.info.VLArbitrationHighCap)
	}
	const entries = mad.SMPDataLen / 2 // pairs of a lane and a weight
	if part%2 == 0 {
		size -= entries
	}
	if size <= 0 {
		return mad.StatusInvalidField
	}
	size = min(size, entries)
	table := p.arbitration(uint8(part))
	if r.set {
		copy(table[:2*size], r.data[:])
		return 0
	}
	clear(r.data[:])
	copy(r.data[:], table[:2*size])
	return 0
}

// arbitration returns a part of the VL arbitration tables, which may be changed. Without a subnet
// manager lane 0 has the high-priority table for itself.
func (p *port) arbitration(part uint8) *[mad.SMPDataLen]byte {
	if table := p.weights[part]; table != nil {
		return table
	}
	const lanes, weight = 15, 4
	table := new([mad.SMPDataLen]byte)
	if part%2 == 1 {
		for lane := range lanes {
			table[2*lane] = uint8(lane)
			if (lane == 0) == (part == 3) {
				table[2*lane+1] = weight
			}
		}
	}
	if p.weights == nil {
		p.weights = map[uint8]*[mad.SMPDataLen]byte{}
	}
	p.weights[part] = table
	return table
}

func linearTable(r *smpRequest) mad.Status {
	n := r.in.node
	if !n.isSwitch() {
		return mad.StatusUnsupportedMethodAttribute
	}
	first := int(r.modifier) * mad.LFTBlockLen
	if r.modifier >= uint32(mad.MulticastLIDBase)/mad.LFTBlockLen {
		return mad.StatusInvalidField
	}
	if r.set {
		for len(n.linear) < first+mad.LFTBlockLen {
			n.linear = append(n.linear, mad.LFTPortNone)
		}
		copy(n.linear[first:first+mad.LFTBlockLen], r.data[:])
		return 0
	}
	for i := range r.data {
		r.data[i] = mad.LFTPortNone
		if first+i < len(n.linear) {
			r.data[i] = n.linear[first+i]
		}
	}
	return 0
}

func multicastTable(r *smpRequest) mad.Status {
	n := r.in.node
	if !n.isSwitch() {
		return mad.StatusUnsupportedMethodAttribute
	}
	positions := (len(n.ports) + mad.MFTPortsPerPosition - 1) / mad.MFTPortsPerPosition
	key := r.modifier & 0xf000_01ff
	if key&0x1ff >= uint32(n.switchInfo.MulticastFDBCap)/mad.MFTBlockLen || int(key>>28) >= positions {
		clear(r.data[:])
		return 0
	}
	if r.set {
		*n.group(key) = *r.data
		return 0
	}
	clear(r.data[:])
	if block := n.groups[key]; block != nil {
		*r.data = *block
	}
	return 0
}

func extendedPortInfo(r *smpRequest) mad.Status {
	p := r.selected(r.modifier)
	if p == nil {
		return mad.StatusInvalidField
	}
	if r.set {
		p.mellanox = new(*r.data)
		return 0
	}
	clear(r.data[:])
	if p.mellanox != nil {
		*r.data = *p.mellanox
	}
	return 0
}

// selected returns the port that the modifier of PortInfo selects: 0 is the receiving port of an
// adapter.
func (r *smpRequest) selected(number uint32) *port {
	n := r.in.node
	switch {
	case number >= uint32(len(n.ports)):
		return nil
	case number == 0 && !n.isSwitch():
		return r.in
	}
	return n.ports[number]
}

func portInfo(r *smpRequest) mad.Status {
	p := r.selected(r.modifier &^ mad.PortInfoExtendedSpeeds)
	if p == nil {
		return mad.StatusInvalidField
	}
	if r.set {
		if status := r.configure(p); status != 0 {
			return status
		}
	}
	info := p.info
	info.LocalPortNum = r.in.number
	if p.node.PortInfo != nil {
		p.node.PortInfo(p.number, &info)
	}
	info.Append(r.data[:0])
	return 0
}

// configure changes a port as a subnet manager requests. What it doesn't name is ignored, as in
// ibsim. An error may leave a part of it done.
func (r *smpRequest) configure(p *port) mad.Status {
	if !p.node.isSwitch() && p != r.in {
		return mad.StatusInvalidField
	}
	var wanted mad.PortInfo
	wanted.Decode(r.data[:]) //nolint:errcheck // long enough
	i := &p.info
	i.LID, i.MasterSMLID, i.LMC, i.HOQLife = wanted.LID, wanted.MasterSMLID, wanted.LMC, wanted.HOQLife
	if wanted.PortPhysicalState != mad.PortPhysicalStateNoChange {
		i.PortPhysicalState = wanted.PortPhysicalState
	}
	if !p.setState(wanted.PortState) {
		return mad.StatusInvalidField
	}
	if wanted.OperationalVLs > i.VLCap {
		return mad.StatusInvalidField
	}
	i.OperationalVLs, i.GIDPrefix = wanted.OperationalVLs, wanted.GIDPrefix
	if p.peer != nil {
		p.setLink(&wanted)
	}
	return 0
}

// setState changes the logical state of a port, and reports whether that is possible: one step at a
// time, and not without the other end.
func (p *port) setState(wanted mad.PortState) bool {
	switch {
	case wanted == mad.PortStateNoChange:
		return true
	case p.peer == nil:
		return wanted == mad.PortStateDown
	case wanted == mad.PortStateDown: // the link is trained again
		p.info.PortState, p.peer.info.PortState = mad.PortStateInitialize, mad.PortStateInitialize
		p.peer.node.switchInfo.PortStateChange = p.peer.node.isSwitch()
		return true
	case wanted == mad.PortStateInitialize:
		return true
	}
	own, far := int(p.info.PortState), int(p.peer.info.PortState)
	distance := func(from int) int { return max(from-int(wanted), int(wanted)-from) }
	if distance(own) != 1 || distance(far) > 1 {
		return false
	}
	p.info.PortState = wanted
	return true
}

// setLink enables widths and speeds. A value that isn't valid changes nothing. As in ibsim, the
// link then runs at the best that this end has enabled.
func (p *port) setLink(wanted *mad.PortInfo) {
	i, far := &p.info, &p.peer.info
	if w := wanted.LinkWidthEnabled; w >= 1 && w <= 31 {
		i.LinkWidthEnabled = w
		i.LinkWidthActive = widest(w)
		far.LinkWidthActive = i.LinkWidthActive
	}
	if s := wanted.LinkSpeedEnabled; s&1 != 0 && s <= 7 {
		i.LinkSpeedEnabled = s
		i.LinkSpeedActive = highest(s)
		far.LinkSpeedActive = i.LinkSpeedActive
	}
	if s := wanted.LinkSpeedExtEnabled; s >= 1 && s <= 15 {
		p.extended = s
		p.setExtended(highest(s))
		p.peer.setExtended(highest(s))
	}
}
