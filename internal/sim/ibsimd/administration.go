package ibsimd

import (
	"cmp"
	"iter"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/ibsim"
	"github.com/rdmakit/rdmakit/internal/sim/administration"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// defaultKey is the SM_Key of OpenSM's subnet administration.
const defaultKey = 1

// administration returns the subnet administration of a simulated master.
func (s *Simulator) administration(m *Manager) *administration.Server {
	return &administration.Server{
		Subnet: known{s}, Key: cmp.Or(m.Key, defaultKey),
		Members: []mad.MCMemberRecord{administration.BroadcastGroup()},
	}
}

// segment is a packet of subnet administration on its way to a client.
type segment struct {
	outcome
	packet ibsim.Packet
}

// administer answers a packet to the subnet administration at a port.
func (s *Simulator) administer(c *client, p *ibsim.Packet, at *port) outcome {
	at.node.Asked++
	var q mad.SA
	q.Decode(p.MAD[:]) //nolint:errcheck // long enough
	c.agent.Server, c.agent.Segments = at.node.sa, s.options.Segments
	c.manager, c.query = at, *p
	packets := c.agent.Receive(time.Now(), &q, ib.LID(p.SLID))
	if c.table == nil {
		c.table = make(chan struct{}, 1)
		s.lines.Go(func() { s.resend(c) })
	}
	select {
	case c.table <- struct{}{}:
	default:
	}
	return outcome{kind: outcomeDropped, segments: s.segments(c, packets)}
}

// segments returns packets of subnet administration on their way to a client. Those that a lying
// manager or a route loses are missing.
func (s *Simulator) segments(c *client, packets []mad.SA) (list []segment) {
	for i := range packets {
		one := segment{packet: c.query}
		p := &one.packet
		packets[i].Append(p.MAD[:0])
		p.DLID, p.SLID, p.DQP, p.SQP, p.Status = p.SLID, p.DLID, p.SQP, p.DQP, 0
		if back := byLID(c.manager, ib.LID(p.DLID)).at; back == nil || back.node != c.port.node {
			continue
		}
		if one.outcome = s.told(c, p, c.manager.node); one.kind == outcomeAnswer {
			list = append(list, one)
		}
	}
	return list
}

// resend sends segments again whose acknowledgement is overdue, until the client leaves.
func (s *Simulator) resend(c *client) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-c.delayed.closed:
			return
		case <-c.table:
		case <-timer.C:
		}
		s.mu.Lock()
		packets, again := c.agent.Expire(time.Now())
		list := s.segments(c, packets)
		s.mu.Unlock()
		for i := range list {
			s.pass(&list[i].outcome, &list[i].packet)
		}
		timer.Stop()
		if !again.IsZero() {
			timer.Reset(time.Until(again))
		}
	}
}

// known is what a simulated manager knows: all nodes that aren't dead.
type known struct{ *Simulator }

// Nodes implements [administration.Subnet].
func (k known) Nodes() iter.Seq[administration.Node] {
	return func(yield func(administration.Node) bool) {
		for _, n := range k.nodes {
			if !n.Dead && !yield(knownNode{n, k.Simulator}) {
				return
			}
		}
	}
}

// knownNode implements [administration.Node].
type knownNode struct {
	*node
	sim *Simulator
}

// Info implements [administration.Node].
func (n knownNode) Info(port uint8) mad.NodeInfo {
	info := n.info
	info.LocalPortNum, info.PortGUID = port, info.NodeGUID
	if p := n.ports[port]; p != nil {
		info.PortGUID = p.guid()
	}
	return info
}

// Description implements [administration.Node].
func (n knownNode) Description() mad.NodeDescription { return n.description }

// LID implements [administration.Node].
func (n knownNode) LID(port uint8) ib.LID { return n.ports[port].info.LID }

// PortInfo implements [administration.Node].
func (n knownNode) PortInfo(port uint8) mad.PortInfo {
	info := n.ports[port].info
	if n.Node.PortInfo != nil {
		n.Node.PortInfo(port, &info)
	}
	return info
}

// Peer implements [administration.Node].
func (n knownNode) Peer(port uint8) (administration.Node, uint8) {
	far := n.ports[port].peer
	if far == nil || far.node.Dead {
		return nil, 0
	}
	return knownNode{far.node, n.sim}, far.number
}

// Switch implements [administration.Node].
func (n knownNode) Switch() (mad.SwitchInfo, []uint8) { return n.switchInfo, n.linear }

// Lanes implements [administration.Node].
func (n knownNode) Lanes(in, out uint8) (lanes [mad.SLs]uint8) {
	key := uint16(0)
	if n.isSwitch() {
		key = uint16(in)<<8 | uint16(out)
	}
	table, found := n.ports[in].lanes[key]
	if !found {
		table = defaultLanes()
	}
	for sl := range lanes {
		lanes[sl] = table[sl/2] >> (4 * (1 - sl%2)) & 15
	}
	return lanes
}

// PKeys implements [administration.Node].
func (n knownNode) PKeys(number uint8) (keys []ib.PKey) {
	p := n.ports[number]
	for i := range len(p.pkeys) / 2 {
		keys = append(keys, p.pkey(i))
	}
	return keys
}

// SL implements [administration.Node].
func (n knownNode) SL() uint8 { return n.sl }

// Manager implements [administration.Node].
func (n knownNode) Manager() *mad.SMInfo {
	if n.Node.Manager == nil {
		return nil
	}
	return new(n.sim.managerInfo(n.Node.Manager))
}
