package ibsimd

import (
	"cmp"
	"slices"

	"github.com/rdmakit/rdmakit/internal/sim/administration"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Limits of the simulated switches, as those of ibsim 0.10.
const (
	linearCap    = 30 * 1024
	multicastCap = 1024
	maxHops      = 16 // of a route by LID
)

// node is the state of a node.
type node struct {
	*Node
	info        mad.NodeInfo
	description mad.NodeDescription
	switchInfo  mad.SwitchInfo
	ports       []*port // by number; an adapter has no port 0
	linear      []uint8 // as long as its highest block that was set
	groups      map[uint32]*[mad.SMPDataLen]byte
	sa          *administration.Server // of a simulated master
}

// port is the state of a port.
type port struct {
	node     *node
	number   uint8
	peer     *port // the other end of the cable; nil: none
	extended uint8 // enabled extended speeds, which show only while the link has one
	info     mad.PortInfo
	pkeys    []byte
	lanes    map[uint16][8]byte // SL to VL, by the attribute modifier; the rest has the default
	weights  map[uint8]*[mad.SMPDataLen]byte
	mellanox *[mad.SMPDataLen]byte

	// The two counter attributes are reset separately.
	classic, wide mad.PortCountersExtended
	growing       []ramp
}

// build returns the state of the net's nodes before a subnet manager configures them.
func build(n *Net) []*node {
	nodes := make([]*node, len(n.Nodes))
	index := make(map[*subnet.Node]*node, len(n.Nodes))
	for i, one := range n.Nodes {
		nodes[i] = newNode(one)
		index[one.Node] = nodes[i]
	}
	for _, one := range nodes {
		for _, p := range one.ports {
			if p == nil {
				continue
			}
			if end := one.Ports[p.number]; end.Peer != nil {
				p.peer = index[end.Peer].ports[end.PeerPort]
			}
		}
	}
	for _, one := range nodes {
		for _, p := range one.ports {
			if p != nil {
				p.start()
			}
		}
	}
	return nodes
}

func newNode(from *Node) *node {
	n := &node{Node: from, linear: from.Routes, groups: map[uint32]*[mad.SMPDataLen]byte{}}
	copy(n.description[:], cmp.Or(from.Description, from.Name))
	n.info = mad.NodeInfo{
		BaseVersion: 1, ClassVersion: 1, NodeType: from.Type, NumPorts: uint8(len(from.Ports) - 1),
		SystemImageGUID: from.SystemGUID, NodeGUID: from.GUID, PortGUID: from.GUID,
		PartitionCap: 64, VendorID: from.VendorID, DeviceID: from.DeviceID, Revision: 0xa1,
	}
	if n.info.SystemImageGUID.IsZero() {
		n.info.SystemImageGUID = from.GUID
	}
	if from.isSwitch() {
		n.info.PartitionCap = 8
		n.switchInfo = mad.SwitchInfo{
			LinearFDBCap: linearCap, MulticastFDBCap: multicastCap, PartitionEnforcementCap: 64,
			FilterRawInboundCap: true, FilterRawOutboundCap: true, EnhancedPort0: from.EnhancedPort0,
		}
	}
	if from.Info != nil {
		n.info = *from.Info
	}
	if from.Switch != nil {
		n.switchInfo = *from.Switch
	}
	n.ports = make([]*port, len(from.Ports))
	for i := range n.ports {
		if i == 0 && !from.isSwitch() {
			continue
		}
		n.ports[i] = newPort(n, uint8(i))
	}
	n.startGroups()
	return n
}

func newPort(n *node, number uint8) *port {
	p := &port{node: n, number: number, growing: slices.Clone(n.growing[int(number)])}
	keys := n.info.PartitionCap
	if n.isSwitch() && number > 0 {
		keys = n.switchInfo.PartitionEnforcementCap
	}
	p.pkeys = make([]byte, 2*int(keys))
	if keys > 0 {
		p.pkeys[0], p.pkeys[1] = 0xff, 0xff
	}
	p.setPKeys(n.Node.pkeys)
	from := &n.Ports[number]
	p.classic, p.wide = from.Counters, from.Counters
	if c := n.Settings[number].Classic; c != nil {
		p.classic = widen(c)
	}
	if from.Mellanox != nil {
		p.mellanox = new([mad.SMPDataLen]byte)
		from.Mellanox.Append(p.mellanox[:0])
	}
	return p
}

// startGroups fills the multicast table from that of the net.
func (n *node) startGroups() {
	for lid, set := range n.Multicast {
		if lid < mad.MulticastLIDBase {
			continue
		}
		at := int(lid - mad.MulticastLIDBase)
		for _, out := range set.Ports() {
			position := out / mad.MFTPortsPerPosition
			block := n.group(mad.MFTModifier(uint16(at/mad.MFTBlockLen), position))
			entry := 2 * (at % mad.MFTBlockLen)
			mask := uint16(1) << (out % mad.MFTPortsPerPosition)
			block[entry] |= uint8(mask >> 8)
			block[entry+1] |= uint8(mask)
		}
	}
}

// group returns a block of the multicast table, which may be changed.
func (n *node) group(modifier uint32) *[mad.SMPDataLen]byte {
	block := n.groups[modifier]
	if block == nil {
		block = new([mad.SMPDataLen]byte)
		n.groups[modifier] = block
	}
	return block
}

// start sets the port to its state before a subnet manager configures it. Both ends must be known.
func (p *port) start() {
	s := &p.node.Settings[p.number]
	if s.Info != nil {
		p.info = *s.Info
		p.extended = p.info.LinkSpeedExtEnabled
		if p.peer == nil && p.number > 0 && p.info.PortPhysicalState == mad.PortPhysicalStateLinkUp {
			p.info.PortState, p.info.PortPhysicalState = mad.PortStateDown, mad.PortPhysicalStatePolling
		}
		return
	}
	p.info = p.defaults()
	i := &p.info
	i.LID, i.LMC = s.LID, s.LMC
	i.LinkWidthEnabled, i.LinkWidthSupported, i.LinkWidthActive = mad.LinkWidth(s.Width), 31, mad.LinkWidth4X
	i.LinkSpeedEnabled, i.LinkSpeedSupported, i.LinkSpeedActive = s.Speed, 7, 1
	i.PortState, i.PortPhysicalState = mad.PortStateDown, mad.PortPhysicalStatePolling
	switch {
	case p.number == 0:
		i.PortState, i.PortPhysicalState = mad.PortStateActive, mad.PortPhysicalStateLinkUp
	case p.peer != nil:
		i.PortState, i.PortPhysicalState = mad.PortStateInitialize, mad.PortPhysicalStateLinkUp
		p.train(&p.peer.node.Settings[p.peer.number])
		if p.node.isSwitch() {
			p.node.switchInfo.PortStateChange = true
		}
	}
}

// train sets the active width and speed of a link to the best that both ends have enabled.
func (p *port) train(peer *PortSettings) {
	s := &p.node.Settings[p.number]
	p.info.LinkWidthActive = widest(mad.LinkWidth(s.Width & peer.Width))
	p.info.LinkSpeedActive = highest(s.Speed & peer.Speed)
	p.extended = s.Extended
	p.setExtended(highest(s.Extended & peer.Extended))
	if p.info.LinkSpeedExtActive == 0 && s.FDR10 && peer.FDR10 {
		ext := mad.ExtendedPortInfo{LinkSpeedSupported: 1, LinkSpeedEnabled: 1, LinkSpeedActive: 1}
		p.mellanox = new([mad.SMPDataLen]byte)
		ext.Append(p.mellanox[:0])
	}
}

// setExtended sets the extended speed of the link. A port whose link has none reports that it
// supports none, as in ibsim.
func (p *port) setExtended(active uint8) {
	i, s := &p.info, &p.node.Settings[p.number]
	if s.Info != nil {
		i.LinkSpeedExtEnabled, i.LinkSpeedExtActive = p.extended, active
		return
	}
	i.LinkSpeedExtEnabled, i.LinkSpeedExtSupported, i.LinkSpeedExtActive = 0, 0, active
	if active == 0 {
		return
	}
	i.LinkSpeedExtEnabled, i.LinkSpeedExtSupported = p.extended, speedsToHDR
	if (p.extended|s.Extended)&speedNDR != 0 {
		i.LinkSpeedExtSupported |= speedNDR
		if i.CapabilityMask != 0 {
			i.CapabilityMask2 |= mad.Capability2IsLinkSpeedNDRSupported
		}
	}
}

// Extended speeds.
const (
	speedsToHDR = 7
	speedNDR    = 8
)

// defaults returns the fields that no setting changes; the values are those of ibsim's ports.
func (p *port) defaults() mad.PortInfo {
	i := mad.PortInfo{
		LinkDownDefaultState: 2, NeighborMTU: 4, MTUCap: 4, VLCap: 4, OperationalVLs: 4,
		VLArbitrationHighCap: 8, VLArbitrationLowCap: 8, VLStallCount: 7,
	}
	const capabilities = mad.CapabilityIsTrapSupported | mad.CapabilityIsSLMappingSupported |
		mad.CapabilityIsExtendedSpeedsSupported | mad.CapabilityIsCapabilityMask2Supported
	const capabilities2 = mad.Capability2IsLinkWidth2XSupported | mad.Capability2IsLinkSpeedHDRSupported
	const lease = 4089 // seconds
	isDown := p.peer == nil
	switch {
	case !p.node.isSwitch():
		i.MKeyLeasePeriod, i.GUIDCap, i.SubnetTimeout = lease, 32, 31
		i.CapabilityMask, i.CapabilityMask2 = capabilities|mad.CapabilityIsVendorClassSupported, capabilities2
		if !isDown {
			i.CapabilityMask |= mad.CapabilityIsCapabilityMaskNoticeSupported
		}
	case p.number == 0:
		i.MKeyLeasePeriod, i.GUIDCap, i.SubnetTimeout, i.RespTimeValue = lease, 1, 31, 8
		i.CapabilityMask, i.CapabilityMask2 = capabilities, capabilities2
		i.NeighborMTU, i.MTUCap, i.VLStallCount = 1, 3, 0
	case isDown:
		i.LocalPhyErrors = 4
	}
	return i
}

// highest returns the highest bit of a set of speeds.
func highest(set uint8) uint8 {
	for bit := uint8(0x80); bit > 0; bit >>= 1 {
		if set&bit != 0 {
			return bit
		}
	}
	return 0
}

// widest returns the width with the most lanes.
func widest(set mad.LinkWidth) mad.LinkWidth {
	for _, w := range [...]mad.LinkWidth{
		mad.LinkWidth12X, mad.LinkWidth8X, mad.LinkWidth4X, mad.LinkWidth2X, mad.LinkWidth1X,
	} {
		if set&w != 0 {
			return w
		}
	}
	return 0
}

// guid returns the port's GUID: that of the node for a switch, otherwise that plus the port number.
func (p *port) guid() ib.GUID {
	g := p.node.info.NodeGUID
	if p.node.isSwitch() {
		return g
	}
	for i, carry := 7, uint16(p.number); i >= 0 && carry > 0; i-- {
		carry += uint16(g[i])
		g[i] = uint8(carry)
		carry >>= 8
	}
	return g
}

// hasLID reports whether the LID is one of the port's.
func (p *port) hasLID(lid ib.LID) bool {
	first := int(p.info.LID)
	return int(lid) >= first && int(lid) < first+1<<p.info.LMC
}

// isUp reports whether packets other than directed routes may pass.
func (p *port) isUp() bool {
	return p.info.PortPhysicalState == mad.PortPhysicalStateLinkUp && p.info.PortState == mad.PortStateActive
}
