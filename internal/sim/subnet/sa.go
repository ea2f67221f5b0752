package subnet

import (
	"iter"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/administration"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// known is what the subnet manager knows of a subnet: all nodes that aren't dead.
type known struct{ *Subnet }

// Nodes implements [administration.Subnet].
func (k known) Nodes() iter.Seq[administration.Node] {
	return func(yield func(administration.Node) bool) {
		for _, n := range k.Subnet.Nodes {
			if !n.Dead && !yield(knownNode{n, k.Subnet}) {
				return
			}
		}
	}
}

// knownNode implements [administration.Node].
type knownNode struct {
	*Node
	subnet *Subnet
}

// Info implements [administration.Node].
func (n knownNode) Info(port uint8) mad.NodeInfo { return n.subnet.nodeInfo(n.Node, port) }

// Description implements [administration.Node].
func (n knownNode) Description() (d mad.NodeDescription) {
	copy(d[:], n.description())
	return d
}

// LID implements [administration.Node].
func (n knownNode) LID(port uint8) ib.LID { return n.LIDs[port] }

// PortInfo implements [administration.Node].
func (n knownNode) PortInfo(port uint8) mad.PortInfo { return n.subnet.portInfo(n.Node, port, port) }

// Peer implements [administration.Node].
func (n knownNode) Peer(port uint8) (administration.Node, uint8) {
	end := n.Ports[port]
	if end.Peer == nil || end.Peer.Dead {
		return nil, 0
	}
	return knownNode{end.Peer, n.subnet}, end.PeerPort
}

// Switch implements [administration.Node].
func (n knownNode) Switch() (mad.SwitchInfo, []uint8) {
	return n.subnet.switchInfo(n.Node), n.subnet.forwarding(n.Node)
}

// Lanes implements [administration.Node]: each service level has lane SL modulo 4.
func (n knownNode) Lanes(_, _ uint8) (lanes [mad.SLs]uint8) {
	for sl := range lanes {
		lanes[sl] = uint8(sl % 4)
	}
	return lanes
}

// PKeys implements [administration.Node].
func (n knownNode) PKeys(uint8) []ib.PKey { return n.pkeys() }

// SL implements [administration.Node].
func (n knownNode) SL() uint8 { return n.Node.SL }

// Manager implements [administration.Node].
func (n knownNode) Manager() *mad.SMInfo { return n.Node.Manager }

// administration answers a query of subnet administration, or takes an acknowledgement of a
// segment.
func (t *Transport) administration(d *fabric.Datagram) {
	s := t.subnet
	n := s.byLID[d.Address.LID]
	if n == nil || n.Dead || d.Address.LID != s.MasterLID || d.Address.QPN != 1 ||
		d.Address.QKey != fabric.QKeyGSI {
		return
	}
	var p mad.SA
	p.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	if p.RMPP.Flags&mad.RMPPActive == 0 {
		n.Asked++
	}
	t.agent.Server = &administration.Server{
		Subnet: known{s}, Status: s.SAStatus, Members: s.Members, Services: s.Services,
	}
	t.agent.Segments = s.Segments
	t.agent.Ended = func(err error) { s.Ended = append(s.Ended, err) }
	t.deliver(t.agent.Receive(time.Now(), &p, t.node.lidOf(t.port)))
	s.Members, s.Services = t.agent.Server.Members, t.agent.Server.Services
}

// lidOf returns the LID through which a port is reached: for a switch, that of port 0.
func (n *Node) lidOf(port uint8) ib.LID {
	if n.Type == mad.NodeTypeSwitch {
		return n.LIDs[0]
	}
	return n.LIDs[port]
}

// expire sends segments again whose acknowledgement is overdue, and returns when the next one will
// be; zero if none is expected.
func (t *Transport) expire() (next time.Time) {
	packets, next := t.agent.Expire(time.Now())
	t.deliver(packets)
	return next
}

// deliver sends packets of subnet administration to the transport.
func (t *Transport) deliver(packets []mad.SA) {
	n := t.subnet.byLID[t.subnet.MasterLID]
	if n == nil || n.Dead {
		return
	}
	for i := range packets {
		d := t.datagram()
		*d = fabric.Datagram{Address: fabric.Address{LID: t.subnet.MasterLID, QPN: 1, QKey: fabric.QKeyGSI}}
		packets[i].Append(d.MAD[:0])
		t.queueAnswer(n, d)
	}
}
