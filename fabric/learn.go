package fabric

import (
	"fmt"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// maxPorts is the highest port number; 255 is the specification's "all ports".
const maxPorts = 254

// learn stores the attribute of an answer.
func (s *sweep) learn(q *request, data []byte) {
	t := q.task
	switch t.kind {
	case kindDescription:
		t.owner.node.Description.Decode(data) //nolint:errcheck // the caller has the length
	case kindSwitch:
		s.learnSwitch(t, data)
	case kindPort:
		s.learnPort(t, data)
	case kindRoutes:
		copy(t.owner.node.Routes[int(t.arg)*mad.LFTBlockLen:], data)
	case kindMulticast:
		s.learnMulticast(t, data)
	case kindMellanox:
		info := new(mad.ExtendedPortInfo)
		info.Decode(data) //nolint:errcheck // the caller has the length
		t.owner.node.Ports[t.arg].Mellanox = info
	case kindManager, kindMaster:
		var m SubnetManager
		m.Info.Decode(data) //nolint:errcheck // the caller has the length
		s.addManager(t, m)
	case kindCapability:
		s.learnCapability(t, data)
	case kindCounters:
		c := new(mad.PortCounters)
		c.Decode(data) //nolint:errcheck // the caller has the length
		t.owner.node.Ports[t.arg].Counters = c
		s.countersRead(&t.owner.node.Ports[t.arg])
	case kindExtended:
		c := new(mad.PortCountersExtended)
		c.Decode(data) //nolint:errcheck // the caller has the length
		t.owner.node.Ports[t.arg].Extended = c
		s.countersRead(&t.owner.node.Ports[t.arg])
	default:
		var info mad.NodeInfo
		info.Decode(data) //nolint:errcheck // the caller has the length
		s.learnNode(q, &info)
	}
}

// learnNode stores the node behind a port.
func (s *sweep) learnNode(q *request, info *mad.NodeInfo) {
	t, route := q.task, q.route
	n := s.states[info.NodeGUID]
	if n == nil {
		if n = s.addNode(t, route, info); n == nil {
			return
		}
		n.peer, n.key = *q.peer, q.key
	} else if !s.sameNode(t, n, info) {
		return
	}
	s.learnKey(q, n, info.LocalPortNum)
	local := info.LocalPortNum
	if t.owner == nil {
		s.topology.Origin = PortID{info.NodeGUID, local}
	} else {
		s.connect(PortID{t.owner.node.GUID(), uint8(t.arg)}, PortID{info.NodeGUID, local})
	}
	if port := &n.node.Ports[local]; !n.node.IsSwitch() && port.GUID.IsZero() {
		port.GUID, port.Path = info.PortGUID, route
		s.agenda.add(task{owner: n, kind: kindPort, arg: uint16(local)})
	}
}

// addNode validates a new node and plans the requests to it; it returns nil if the node info is
// invalid.
func (s *sweep) addNode(t task, route mad.Path, info *mad.NodeInfo) *nodeState {
	at := s.taskPort(t)
	reject := func(k AnomalyKind, format string, a ...any) *nodeState {
		detail := fmt.Sprintf(format, a...)
		s.anomaly(k, at, "%s", detail)
		s.unreached(t, route, "invalid node info: "+detail, 1)
		return nil
	}
	isSwitch := info.NodeType == mad.NodeTypeSwitch
	switch {
	case info.NodeGUID.IsZero() || info.PortGUID.IsZero():
		return reject(AnomalyNoGUID, "node GUID 0x%x, port GUID 0x%x", info.NodeGUID[:], info.PortGUID[:])
	case info.NodeType < mad.NodeTypeCA || info.NodeType > mad.NodeTypeRouter:
		return reject(AnomalyNodeType, "node 0x%x has type %d", info.NodeGUID[:], uint8(info.NodeType))
	case info.NumPorts > maxPorts || info.LocalPortNum > info.NumPorts,
		info.LocalPortNum == 0 && !(isSwitch && t.owner == nil):
		return reject(AnomalyPortRange, "node 0x%x with %d ports answered at port %d",
			info.NodeGUID[:], info.NumPorts, info.LocalPortNum)
	case len(s.topology.Nodes) >= s.options.MaxNodes:
		return reject(AnomalyTooMany, "node 0x%x would be one more than %d", info.NodeGUID[:], s.options.MaxNodes)
	case s.ports+int(info.NumPorts)+1 > portsPerNode*s.options.MaxNodes:
		return reject(AnomalyTooMany, "node 0x%x with %d ports would make more than %d in all",
			info.NodeGUID[:], info.NumPorts, portsPerNode*s.options.MaxNodes)
	}
	s.ports += int(info.NumPorts) + 1
	n := &nodeState{node: &Node{Info: *info, Path: route, Ports: make([]Port, int(info.NumPorts)+1)}}
	s.states[info.NodeGUID] = n
	s.topology.Nodes = append(s.topology.Nodes, n.node)
	s.topology.byGUID[info.NodeGUID] = n.node
	if known := s.known(t, info); known != nil {
		n.known, n.node.Description = known, known.Description
	} else {
		s.agenda.add(task{owner: n, kind: kindDescription, arg: 0})
	}
	if isSwitch {
		s.agenda.add(task{owner: n, kind: kindSwitch, arg: 0})
		for number := range n.node.Ports {
			n.node.Ports[number].GUID = info.PortGUID
			s.agenda.add(task{owner: n, kind: kindPort, arg: uint16(number)})
		}
	}
	return n
}

// sameNode checks a second node info with the GUID of a known node.
func (s *sweep) sameNode(t task, n *nodeState, info *mad.NodeInfo) bool {
	first := &n.node.Info
	at := s.taskPort(t)
	if info.NodeType != first.NodeType || info.NumPorts != first.NumPorts ||
		info.SystemImageGUID != first.SystemImageGUID ||
		info.VendorID != first.VendorID || info.DeviceID != first.DeviceID {
		s.anomaly(AnomalyChanged, at, "node 0x%x is %s here, %s by path %s: two nodes have this GUID, or one changed",
			info.NodeGUID[:], identity(info), identity(first), n.node.Path)
		return false
	}
	if info.LocalPortNum == 0 || info.LocalPortNum > info.NumPorts {
		s.anomaly(AnomalyPortRange, at, "node 0x%x with %d ports answered at port %d",
			info.NodeGUID[:], info.NumPorts, info.LocalPortNum)
		return false
	}
	return true
}

// identity describes what may not differ between two node infos of one node.
func identity(i *mad.NodeInfo) string {
	return fmt.Sprintf("a %v with %s, system image GUID 0x%x, vendor 0x%x, device %d",
		i.NodeType, portCount(int(i.NumPorts)), i.SystemImageGUID[:], i.VendorID, i.DeviceID)
}

// connect records a cable at both ends, unless one of them has another cable already.
func (s *sweep) connect(a, b PortID) {
	pa, pb := s.topology.Port(a), s.topology.Port(b)
	switch {
	case pa.Peer == b && pb.Peer == a:
		return // queried from both ends at once
	case pb.HasPeer():
		s.anomaly(AnomalyDuplicateGUID, a, "the cable ends at %s, where a cable from %s already ends", b, pb.Peer)
		return
	case pa.HasPeer():
		s.anomaly(AnomalyChanged, a, "the cable ends at %s, but ended at %s in an earlier answer", b, pa.Peer)
		return
	case a == b:
		s.anomaly(AnomalySelfLink, a, "the port is cabled to itself")
	}
	pa.Peer, pb.Peer = b, a
	s.links++
}

func (s *sweep) learnSwitch(t task, data []byte) {
	var info mad.SwitchInfo
	info.Decode(data) //nolint:errcheck // the caller has the length
	n := t.owner.node
	n.Switch = &info
	if s.options.Counters && hasCounters(n, 0) {
		s.planCounters(t.owner, 0) // port 0 was known before the switch info said whether it has counters
	}
	if s.options.Multicast {
		s.planMulticast(t.owner)
	}
	if !s.options.Routes {
		return
	}
	blocks := int(min(info.LinearFDBTop, maxUnicastLID))/mad.LFTBlockLen + 1
	n.Routes = make([]uint8, blocks*mad.LFTBlockLen)
	for i := range n.Routes {
		n.Routes[i] = mad.LFTPortNone
	}
	for block := range blocks {
		s.agenda.add(task{owner: t.owner, kind: kindRoutes, arg: uint16(block)})
	}
}

// maxUnicastLID is the highest LID that a forwarding table can hold (specification section 4.1.3).
const maxUnicastLID = 0xbfff

// learnPort stores the state of a port and plans a request to the node behind it if the link is up.
func (s *sweep) learnPort(t task, data []byte) {
	n := t.owner.node
	port := &n.Ports[t.arg]
	port.Info.Decode(data) //nolint:errcheck // the caller has the length
	port.Known = true
	if s.options.Counters {
		s.planCounters(t.owner, t.arg)
	}
	if s.options.SubnetManagers && port.Info.CapabilityMask.Has(mad.CapabilityIsSM) && (t.arg == 0 || !n.IsSwitch()) {
		s.askManager(t.owner, t.arg)
	}
	if port.IsLinkUp() && port.Info.ActiveSpeed(nil) == mad.LinkSpeedQDR && tellsFDR10(&n.Info) {
		if t.owner.vendor == nil {
			t.owner.vendor = &nodeState{node: n}
		}
		s.agenda.add(task{owner: t.owner.vendor, kind: kindMellanox, arg: t.arg})
	}
	if t.arg == 0 || !port.IsLinkUp() || port.HasPeer() {
		return
	}
	origin := PortID{n.GUID(), uint8(t.arg)} == s.topology.Origin
	if n.IsSwitch() || origin {
		s.agenda.add(task{owner: t.owner, kind: kindNode, arg: t.arg})
	}
}

// compareEnds lists the cables that are up at one end only.
func (s *sweep) compareEnds() {
	for _, l := range s.topology.Links() {
		a, b := s.topology.Port(l.A), s.topology.Port(l.B)
		if a.Known && b.Known && a.IsLinkUp() != b.IsLinkUp() {
			s.anomaly(AnomalyOneSided, l.A, "%v here, %v at the other end %s",
				a.Info.PortPhysicalState, b.Info.PortPhysicalState, l.B)
		}
	}
}

// taskPort returns the port that a task is about, for the lists.
func (s *sweep) taskPort(t task) PortID {
	if t.owner == nil {
		return PortID{}
	}
	return PortID{t.owner.node.GUID(), uint8(t.arg)}
}

func (s *sweep) anomaly(k AnomalyKind, at PortID, format string, a ...any) {
	s.topology.Stats.Anomalies++
	if len(s.topology.Anomalies) < s.options.MaxAnomalies {
		s.topology.Anomalies = append(s.topology.Anomalies, Anomaly{k, at, fmt.Sprintf(format, a...)})
	}
}
