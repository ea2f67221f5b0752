package subnet

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/rmpp"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Subnet is a set of nodes and cables.
type Subnet struct {
	Nodes []*Node
	// Delay is the time from a request to its response.
	Delay time.Duration
	// Queue is the maximum number of outstanding requests of a transport; 0: no limit.
	Queue int
	// MasterLID is the LID of the master subnet manager in all ports; New sets it to 1.
	MasterLID ib.LID

	// Members and Services are the records that subnet administration has of these kinds.
	Members  []mad.MCMemberRecord
	Services []mad.ServiceRecord
	// SAStatus, if set, is the status of all answers of subnet administration.
	SAStatus mad.Status
	// Segments are the limits of answers of several segments.
	Segments rmpp.SenderOptions
	// Ended are the errors of the senders of such answers.
	Ended []error

	byName map[string]*Node
	byLID  map[ib.LID]*Node
	lid    ib.LID
}

// Node is a switch or a channel adapter.
type Node struct {
	Name  string
	Type  mad.NodeType
	GUID  ib.GUID
	Ports []Port // from 0; port 0 of a channel adapter is not used
	LIDs  []ib.LID

	Dead  bool          // the node neither responds nor forwards
	Delay time.Duration // of the node's responses, in addition to that of the subnet
	// Serial makes the node handle one request at a time, each for Delay.
	Serial bool
	// Lie, if set, changes a response of the node, and returns how often it is delivered: 0
	// loses it.
	Lie func(answer *fabric.Datagram) int
	// Asked is the number of requests that have reached the node.
	Asked int

	// Description is the node description; empty: the name.
	Description string
	VendorID    uint32
	DeviceID    uint16
	// Manager is the subnet manager on the node, at port 1 of a channel adapter; nil: none.
	Manager *mad.SMInfo
	// PortInfo, if set, changes the PortInfo of a port in the node's response.
	PortInfo func(port uint8, info *mad.PortInfo)
	// Performance are the capabilities of the node's performance agent; nil: extended traffic
	// counters and PortXmitWait, as ibsim has.
	Performance *mad.ClassPortInfo
	// Multicast is a switch's multicast forwarding table.
	Multicast map[ib.LID]fabric.PortSet
	// PKeys is the partition table of the node's ports; nil: the default partition, full member.
	PKeys []ib.PKey
	// SL is the service level of the paths to the node: a GMP on another one doesn't reach it. 0:
	// all do.
	SL uint8
	// Registers are the access registers of an NVIDIA device; nil: it doesn't answer their class.
	Registers *Registers

	// MKey is the node's M_Key at all its ports; 0: none. At Protect levels 2 and 3 requests with
	// another key get no answer (specification section 14.2.4).
	MKey    uint64
	Protect uint8
	// PMKey is the key of the performance agent; 0: none. Requests with another key get no answer:
	// what a device does is not documented.
	PMKey uint64

	forward []uint8
	busy    time.Time // a serial node handles earlier requests until then
}

// Port is a port of a node, with or without a cable.
type Port struct {
	Peer     *Node
	PeerPort uint8
	Counters mad.PortCountersExtended
	Mellanox *mad.ExtendedPortInfo // nil: the port doesn't have that attribute
	// Tables are further attributes of the performance agent, by their bytes: PortSamplesControl,
	// PortRcvErrorDetails, …
	Tables map[mad.Attribute][]byte
}

// New returns an empty subnet.
func New() *Subnet {
	return &Subnet{MasterLID: 1, byName: map[string]*Node{}, byLID: map[ib.LID]*Node{}}
}

// Add adds a node with the given number of ports.
func (s *Subnet) Add(name string, kind mad.NodeType, ports uint8) *Node {
	n := &Node{Name: name, Type: kind, Ports: make([]Port, int(ports)+1), LIDs: make([]ib.LID, int(ports)+1)}
	prefix := uint64(0x0010_0000_0000_0000)
	if kind == mad.NodeTypeSwitch {
		prefix = 0x0020_0000_0000_0000
	}
	binary.BigEndian.PutUint64(n.GUID[:], prefix+uint64(len(s.Nodes)+1)<<8)
	for i := range n.LIDs {
		if (i == 0) == (kind == mad.NodeTypeSwitch) {
			s.lid++
			n.LIDs[i] = s.lid
		}
	}
	for _, lid := range n.LIDs {
		if lid != 0 {
			s.byLID[lid] = n
		}
	}
	s.Nodes = append(s.Nodes, n)
	s.byName[name] = n
	return n
}

// Node returns the node with the given name. It panics if there is none.
func (s *Subnet) Node(name string) *Node {
	n := s.byName[name]
	if n == nil {
		panic(fmt.Sprintf("subnet has no node %q", name))
	}
	return n
}

// Connect connects two ports with a cable.
func (s *Subnet) Connect(a *Node, portA uint8, b *Node, portB uint8) {
	a.Ports[portA] = Port{Peer: b, PeerPort: portB}
	b.Ports[portB] = Port{Peer: a, PeerPort: portA}
}

// Disconnect removes the cable from a port.
func (s *Subnet) Disconnect(n *Node, port uint8) {
	end := &n.Ports[port]
	if end.Peer == nil {
		return
	}
	far := &end.Peer.Ports[end.PeerPort]
	end.Peer, end.PeerPort, far.Peer, far.PeerPort = nil, 0, nil, 0
	for _, node := range s.Nodes {
		node.forward = nil
	}
}

// FatTree returns a subnet of leaf switches "leaf0"… with hosts "host0"… at the ports from 1 on,
// and spine switches "spine0"…, each connected to each leaf with one cable.
func FatTree(leaves, hosts, spines int) *Subnet {
	s := New()
	for l := range leaves {
		leaf := s.Add(fmt.Sprintf("leaf%d", l), mad.NodeTypeSwitch, uint8(hosts+spines))
		for h := range hosts {
			host := s.Add(fmt.Sprintf("host%d", l*hosts+h), mad.NodeTypeCA, 1)
			s.Connect(leaf, uint8(1+h), host, 1)
		}
	}
	for i := range spines {
		spine := s.Add(fmt.Sprintf("spine%d", i), mad.NodeTypeSwitch, uint8(leaves))
		for l := range leaves {
			s.Connect(s.Node(fmt.Sprintf("leaf%d", l)), uint8(1+hosts+i), spine, uint8(1+l))
		}
	}
	return s
}

// walk follows a directed route and returns the node at its end and the input port there, or nil if
// the route is invalid or a node on it is dead.
func (s *Subnet) walk(from *Node, own uint8, route []uint8) (n *Node, in uint8) {
	n, in = from, own
	if n.Type == mad.NodeTypeSwitch {
		in = 0
	}
	for i, port := range route {
		if n.Type != mad.NodeTypeSwitch && (i > 0 || port != own) || port == 0 || int(port) >= len(n.Ports) {
			return nil, 0
		}
		cable := n.Ports[port]
		if cable.Peer == nil || cable.Peer.Dead {
			return nil, 0
		}
		n, in = cable.Peer, cable.PeerPort
	}
	return n, in
}

// Hides reports whether a node drops reads with that M_Key.
func (n *Node) Hides(key uint64) bool { return n.MKey != 0 && n.MKey != key && n.Protect >= 2 }

// reply turns a request into the response of a node.
func (s *Subnet) reply(n *Node, in uint8, request *mad.DirectedSMP) {
	n.Asked++
	request.Method |= mad.MethodResponse
	request.SetReturning(true)
	data := request.Data[:0]
	modifier := request.AttributeModifier
	switch {
	case request.AttributeID == mad.AttributeNodeInfo:
		info := s.nodeInfo(n, in)
		info.Append(data)
	case request.AttributeID == mad.AttributeNodeDescription:
		copy(request.Data[:], n.description())
	case request.AttributeID == mad.AttributeSwitchInfo && n.Type == mad.NodeTypeSwitch:
		info := s.switchInfo(n)
		info.Append(data)
	case request.AttributeID == mad.AttributeSMInfo && n.Manager != nil:
		n.Manager.Append(data)
	case request.AttributeID == mad.AttributePKeyTable:
		n.pkeyBlock(modifier).Append(data)
	case request.AttributeID == mad.AttributeMFT && n.Type == mad.NodeTypeSwitch:
		block := n.multicast(modifier)
		block.Append(data)
	case request.AttributeID == mad.AttributeExtendedPortInfo && modifier < uint32(len(n.Ports)) &&
		n.Ports[modifier].Mellanox != nil:
		n.Ports[modifier].Mellanox.Append(data)
	case request.AttributeID == mad.AttributePortInfo && modifier < uint32(len(n.Ports)):
		port := uint8(modifier)
		if port == 0 && n.Type != mad.NodeTypeSwitch {
			port = in // specification section 14.2.5.6: 0 is the port that received the request
		}
		info := s.portInfo(n, in, port)
		info.Append(data)
	case request.AttributeID == mad.AttributeLFT && n.Type == mad.NodeTypeSwitch:
		table := s.forwarding(n)
		for i := range request.Data {
			request.Data[i] = mad.LFTPortNone
			if lid := int(modifier)*mad.LFTBlockLen + i; lid < len(table) {
				request.Data[i] = table[lid]
			}
		}
	default:
		request.Status |= mad.StatusUnsupportedMethodAttribute
	}
}

func (n *Node) description() string { return cmp.Or(n.Description, n.Name) }

func (s *Subnet) nodeInfo(n *Node, in uint8) mad.NodeInfo {
	return mad.NodeInfo{
		BaseVersion: 1, ClassVersion: 1, NodeType: n.Type, NumPorts: uint8(len(n.Ports) - 1),
		SystemImageGUID: n.GUID, NodeGUID: n.GUID, PortGUID: n.portGUID(in),
		PartitionCap: uint16(max(32, len(n.pkeys()))), LocalPortNum: in, VendorID: n.VendorID, DeviceID: n.DeviceID,
	}
}

// portGUID returns the GUID of a port: that of the node for a switch, otherwise that of the node
// plus the port number.
func (n *Node) portGUID(port uint8) ib.GUID {
	g := n.GUID
	if n.Type != mad.NodeTypeSwitch {
		g[7] += port
	}
	return g
}

func (s *Subnet) portInfo(n *Node, in, port uint8) mad.PortInfo {
	info := mad.PortInfo{
		GIDPrefix: ib.SubnetPrefixDefault, LID: n.LIDs[port], MasterSMLID: s.MasterLID, MasterSMSL: s.masterSL(),
		LocalPortNum:     in,
		LinkWidthEnabled: mad.LinkWidth4X, LinkWidthSupported: mad.LinkWidth4X, LinkWidthActive: mad.LinkWidth4X,
		LinkSpeedExtActive: 8, LinkSpeedExtSupported: 15, LinkSpeedExtEnabled: 15,
		CapabilityMask: mad.CapabilityIsExtendedSpeedsSupported,
		PortState:      mad.PortStateActive, PortPhysicalState: mad.PortPhysicalStateLinkUp,
		NeighborMTU: 5, MTUCap: 5,
	}
	if n.Ports[port].Peer == nil && !(port == 0 && n.Type == mad.NodeTypeSwitch) {
		info.PortState, info.PortPhysicalState = mad.PortStateDown, mad.PortPhysicalStatePolling
	}
	if n.Manager != nil && n.LIDs[port] != 0 {
		info.CapabilityMask |= mad.CapabilityIsSM
	}
	if n.PortInfo != nil {
		n.PortInfo(port, &info)
	}
	return info
}

// switchInfo returns the SwitchInfo of a switch, with MulticastFDBTop from the entries of the
// multicast table.
func (s *Subnet) switchInfo(n *Node) mad.SwitchInfo {
	info := mad.SwitchInfo{
		LinearFDBCap: 0xbfff, LinearFDBTop: uint16(s.lid), LIDsPerPort: 1,
		MulticastFDBCap: 1 << 14, MulticastFDBTop: uint16(mad.MulticastLIDBase) - 1,
	}
	for lid := range n.Multicast {
		info.MulticastFDBTop = max(info.MulticastFDBTop, uint16(lid))
	}
	return info
}

// multicast returns the block of the multicast table for an attribute modifier.
func (n *Node) multicast(modifier uint32) (block mad.MFTBlock) {
	position := int(modifier >> 28)
	for i := range block {
		set := n.Multicast[mad.MulticastLIDBase+ib.LID(int(modifier&0x1ff)*mad.MFTBlockLen+i)]
		for bit := range mad.MFTPortsPerPosition {
			if set.Has(uint8(position*mad.MFTPortsPerPosition + bit)) {
				block[i] |= 1 << bit
			}
		}
	}
	return block
}
