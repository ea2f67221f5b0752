package fabric

import (
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// askManager queries the subnet manager at a port of a node.
func (s *sweep) askManager(n *nodeState, port uint16) {
	if n.manager == nil {
		n.manager = &nodeState{node: n.node}
	}
	s.agenda.add(task{owner: n.manager, kind: kindManager, arg: port})
}

// askMaster queries the master subnet manager by the LID that the local port has for it, once no
// other request is left but overdue ones, and unless that port has already answered. It reports
// whether it planned a request.
func (s *sweep) askMaster() bool {
	n := s.states[s.topology.Origin.Node]
	if s.master || !s.options.SubnetManagers || n == nil {
		return false
	}
	origin := s.topology.Port(s.topology.Origin)
	if n.node.IsSwitch() {
		origin = &n.node.Ports[0]
	}
	if !origin.Known {
		return false
	}
	s.master = true
	lid := origin.Info.MasterSMLID
	if lid == 0 || lid > maxUnicastLID {
		return false
	}
	for _, m := range s.topology.SubnetManagers {
		if s.topology.hasLID(m.Port, lid) {
			return false
		}
	}
	if t, ok := s.engine.transport.(interface{ IsMultiPlane() bool }); ok && t.IsMultiPlane() {
		return s.askMasterDirected(n, lid)
	}
	if s.engine.Outstanding() > 0 && s.needsPort(lid) { // a node that has not answered yet may have the LID
		s.master = false
		return false
	}
	// A separate node state, because a master that doesn't answer says nothing about the local
	// node.
	s.agenda.add(task{owner: &nodeState{node: n.node}, kind: kindMaster, arg: uint16(lid)})
	return true
}

// askMasterDirected is askMaster where LID-routed SMPs are not valid: it queries the port that has
// the LID.
func (s *sweep) askMasterDirected(origin *nodeState, lid ib.LID) bool {
	id := s.topology.managerPort(lid, ib.GUID{})
	n := s.states[id.Node]
	if n == nil && s.engine.Outstanding() > 0 { // a node that has not answered yet may have it
		s.master = false
		return false
	}
	if n == nil {
		s.unreached(task{owner: origin, kind: kindMaster, arg: uint16(lid)}, origin.node.Path,
			"no port with that LID was found, and "+ErrNotDirected.Error(), 0)
		return false
	}
	s.askManager(n, uint16(id.Port))
	return true
}

// addManager adds a subnet manager to the list, with its port if known.
func (s *sweep) addManager(t task, m SubnetManager) {
	if t.kind == kindManager {
		m.Port = PortID{t.owner.node.GUID(), uint8(t.arg)}
		m.LID = t.owner.node.LID(m.Port.Port)
	} else {
		m.LID = ib.LID(t.arg)
		m.Port = s.topology.managerPort(m.LID, m.Info.GUID)
	}
	s.topology.SubnetManagers = append(s.topology.SubnetManagers, m)
}

// mergeManagers removes a manager that was queried twice, by its port and by its LID, because its
// first answer was late. The port of a LID may have become known since.
func (s *sweep) mergeManagers() {
	at := map[PortID]int{}
	var merged []SubnetManager
	for _, m := range s.topology.SubnetManagers {
		if m.Port == (PortID{}) {
			m.Port = s.topology.managerPort(m.LID, m.Info.GUID)
		}
		i, twice := at[m.Port]
		switch {
		case !twice || m.Port == (PortID{}):
			at[m.Port] = len(merged)
			merged = append(merged, m)
		case merged[i].Err != "":
			merged[i] = m
		}
	}
	s.topology.SubnetManagers = merged
}

// hasLID reports whether the port has the LID, as its base LID or by its LMC.
func (t *Topology) hasLID(id PortID, lid ib.LID) bool {
	n := t.byGUID[id.Node]
	if n == nil {
		return false
	}
	number := id.Port
	if n.IsSwitch() {
		number = 0
	}
	return n.Ports[number].hasLID(lid)
}

// managerPort returns the port that has the LID, or else the port that has the GUID; zero if there
// is none.
func (t *Topology) managerPort(lid ib.LID, guid ib.GUID) PortID {
	var byGUID PortID
	for _, n := range t.Nodes {
		for number := range n.Ports {
			id := PortID{n.GUID(), uint8(number)}
			if n.IsSwitch() && number > 0 {
				break // all ports of a switch have the LID of port 0
			}
			if t.hasLID(id, lid) {
				return id
			}
			if !guid.IsZero() && n.Ports[number].GUID == guid {
				byGUID = id
			}
		}
	}
	return byGUID
}

// known returns the earlier sweep's data of the node that a task found; nil if it may be a
// different node.
func (s *sweep) known(t task, info *mad.NodeInfo) *Node {
	if s.options.Previous == nil {
		return nil
	}
	n := s.options.Previous.Node(info.NodeGUID)
	if n == nil || len(n.Ports) != int(info.NumPorts)+1 || n.Description == (mad.NodeDescription{}) ||
		!sameDevice(&n.Info, info) {
		return nil
	}
	at := PortID{info.NodeGUID, info.LocalPortNum}
	if t.owner == nil {
		if s.options.Previous.Origin == at {
			return n
		}
		return nil
	}
	if n.Ports[at.Port].Peer != (PortID{t.owner.node.GUID(), uint8(t.arg)}) {
		return nil
	}
	return n
}

// sameDevice reports whether two node infos differ at most in the port that answered.
func sameDevice(a, b *mad.NodeInfo) bool {
	c := *a
	c.LocalPortNum, c.PortGUID = b.LocalPortNum, b.PortGUID
	return c == *b
}
