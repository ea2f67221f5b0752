package ibsimd

import (
	"fmt"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Manager is a simulated subnet manager. It has configured the subnet, answers SMInfo, and queries
// of subnet administration if it is the master, but it doesn't react to changes.
type Manager struct {
	Node     string // its name in the net
	State    mad.SMState
	Priority uint8  // 0 to 15
	Key      uint64 // the SM_Key that it shows
	// Saved is set for a manager of a saved sweep: the subnet is configured already.
	Saved bool
}

// configure configures the subnet as subnet managers do: LIDs, port states and forwarding tables by
// shortest paths. If several are master, each of them has configured a part of the adapters.
func (s *Simulator) configure(managers []Manager) error {
	var masters []ib.LID
	for _, m := range managers {
		at := s.net.Find(m.Node)
		if at == nil {
			return fmt.Errorf("subnet manager at %q: no such node", m.Node)
		}
		p := s.byNode[at].end()
		at.Manager = &mad.SMInfo{GUID: p.guid(), SMKey: m.Key, Priority: m.Priority, State: m.State}
		if m.State == mad.SMStateMaster {
			s.byNode[at].sa = s.administration(&m)
		}
		if m.State == mad.SMStateMaster && !m.Saved {
			masters = append(masters, at.LIDs[p.number])
		}
	}
	for _, n := range s.nodes {
		if n.Manager != nil {
			s.markSM(n.end())
		}
	}
	if len(masters) == 0 {
		return nil
	}
	ends := s.assign(masters)
	s.routes(ends)
	return nil
}

// end returns the port of a node that has a LID: port 0 of a switch, the first one of an adapter.
func (n *node) end() *port {
	if n.isSwitch() {
		return n.ports[0]
	}
	return n.ports[1]
}

// assign gives LIDs to the ports and activates them. It returns the ports with LIDs.
func (s *Simulator) assign(masters []ib.LID) (ends []*port) {
	for i, n := range s.nodes {
		follows := masters[0]
		if !n.isSwitch() {
			follows = masters[i%len(masters)]
		}
		for _, p := range n.ports {
			if p == nil {
				continue
			}
			if n.isSwitch() == (p.number == 0) && p.info.PortPhysicalState == mad.PortPhysicalStateLinkUp {
				p.info.LID, p.info.LMC, p.info.MasterSMLID = n.LIDs[p.number], 0, follows
				p.info.GIDPrefix = ib.SubnetPrefixDefault
				ends = append(ends, p)
			}
			if p.peer != nil {
				p.info.PortState = mad.PortStateActive
			}
		}
		if n.isSwitch() {
			n.switchInfo.PortStateChange = false
		}
	}
	return ends
}

// routes fills the forwarding tables with shortest paths. Among several, the LID decides.
func (s *Simulator) routes(ends []*port) {
	top := ib.LID(0)
	behind := map[*node][]*port{} // the ends at each switch
	for _, p := range ends {
		top = max(top, p.info.LID)
		switch {
		case p.node.isSwitch():
			behind[p.node] = append(behind[p.node], p)
		case p.peer != nil && p.peer.node.isSwitch():
			behind[p.peer.node] = append(behind[p.peer.node], p)
		}
	}
	for _, n := range s.nodes {
		if !n.isSwitch() {
			continue
		}
		n.linear = make([]uint8, (int(top)/mad.LFTBlockLen+1)*mad.LFTBlockLen)
		for i := range n.linear {
			n.linear[i] = mad.LFTPortNone
		}
		n.switchInfo.LinearFDBTop = uint16(top)
	}
	w := newSwitchWays(s.nodes)
	for i, n := range w.switches {
		w.routesTo(i, behind[n])
	}
}

// switchWays finds ways between switches.
type switchWays struct {
	switches []*node
	hops     [][]hop // of each switch
	distance []int   // from the current destination; -1: not reached
	queue    []int
}

// hop is a cable from a switch to another one.
type hop struct {
	out uint8 // port
	to  int   // the other switch
}

func newSwitchWays(nodes []*node) *switchWays {
	w := &switchWays{}
	index := map[*node]int{}
	for _, n := range nodes {
		if n.isSwitch() {
			index[n] = len(w.switches)
			w.switches = append(w.switches, n)
		}
	}
	for _, n := range w.switches {
		var list []hop
		for _, p := range n.ports {
			if p.peer != nil && p.peer.node.isSwitch() {
				list = append(list, hop{p.number, index[p.peer.node]})
			}
		}
		w.hops = append(w.hops, list)
	}
	w.distance = make([]int, len(w.switches))
	return w
}

// routesTo enters the ends at a switch in all forwarding tables.
func (w *switchWays) routesTo(number int, ends []*port) {
	to := w.switches[number]
	for _, p := range ends {
		to.linear[p.info.LID] = 0
		if p.node != to {
			to.linear[p.info.LID] = p.peer.number
		}
	}
	for i := range w.distance {
		w.distance[i] = -1
	}
	w.distance[number] = 0
	w.queue = append(w.queue[:0], number)
	var ways []uint8
	for i := 0; i < len(w.queue); i++ {
		at := w.queue[i]
		ways = ways[:0]
		for _, h := range w.hops[at] {
			switch {
			case w.distance[h.to] < 0:
				w.distance[h.to] = w.distance[at] + 1
				w.queue = append(w.queue, h.to)
			case w.distance[h.to] == w.distance[at]-1:
				ways = append(ways, h.out)
			}
		}
		if at == number {
			continue
		}
		table := w.switches[at].linear
		for _, p := range ends {
			table[p.info.LID] = ways[int(p.info.LID)%len(ways)]
		}
	}
}

// managerAnswers answers SMInfo for a simulated subnet manager, and reports whether there is one. A
// program at the port that is a subnet manager has precedence.
func (s *Simulator) managerAnswers(r *smpRequest) bool {
	m := r.in.node.Manager
	if m == nil || r.set {
		return false
	}
	if s.hasProgram(r.in.node) {
		return false
	}
	info := s.managerInfo(m)
	clear(r.data[:])
	info.Append(r.data[:0])
	return true
}

// hasProgram reports whether a client at a node is a subnet manager.
func (s *Simulator) hasProgram(n *node) bool {
	for _, c := range s.clients {
		if c != nil && c.isSM && c.port.node == n {
			return true
		}
	}
	return false
}

// managerInfo returns the SMInfo of a simulated manager, whose activity grows by 1 each second.
func (s *Simulator) managerInfo(m *mad.SMInfo) mad.SMInfo {
	info := *m
	info.ActCount += uint32(s.options.Now().Sub(s.started).Seconds())
	return info
}
