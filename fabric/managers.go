package fabric

import (
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// askManager asks the subnet manager at a port of a node.
func (s *sweep) askManager(n *nodeState, port uint16) {
	if n.manager == nil {
		n.manager = &nodeState{node: n.node}
	}
	s.agenda.add(task{n.manager, kindManager, port})
}

// askMaster asks, once nothing else is to be asked, the subnet manager whose LID the own port
// holds for the master's, unless its port was found and asked. It reports whether there is such
// a question.
func (s *sweep) askMaster() bool {
	origin := s.topology.Port(s.topology.Origin)
	if s.master || !s.options.SubnetManagers || origin == nil {
		return false
	}
	s.master = true
	n := s.states[s.topology.Origin.Node]
	if n.node.IsSwitch() {
		origin = &n.node.Ports[0]
	}
	lid := origin.Info.MasterSMLID
	if lid == 0 || lid > maxUnicastLID {
		return false
	}
	for _, m := range s.topology.SubnetManagers {
		if s.topology.hasLID(m.Port, lid) {
			return false
		}
	}
	// A node state of its own, since a silent master says nothing about the own node.
	s.agenda.add(task{&nodeState{node: n.node}, kindMaster, uint16(lid)})
	return true
}

// addManager puts a subnet manager on the list, and its port where that is known.
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

// hasLID reports whether the port has the LID, as its base or by its LMC.
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

// managerPort returns the port that has the LID, or else the GUID; zero when none has.
func (t *Topology) managerPort(lid ib.LID, guid ib.GUID) PortID {
	var byGUID PortID
	for _, n := range t.Nodes {
		for number := range n.Ports {
			id := PortID{n.GUID(), uint8(number)}
			if n.IsSwitch() && number > 0 {
				break // all have what port 0 has
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

// known returns what the earlier sweep saw of a node that was found by a task; nil when it may be
// another one.
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

// sameDevice reports whether two node infos differ at most in the port by which they were asked.
func sameDevice(a, b *mad.NodeInfo) bool {
	c := *a
	c.LocalPortNum, c.PortGUID = b.LocalPortNum, b.PortGUID
	return c == *b
}
