package ibsimd

import (
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// madWords is the size of a packet with a MAD, with its headers, in the units of the data counters.
const madWords = 72

// reach is the end of a packet's way.
type reach struct {
	at   *port // where the packet arrives; nil: it is lost
	dead bool  // lost because a node on the way is dead
}

// cross moves a packet through the cable of a port, and counts it at both ends.
func (p *port) cross() *port {
	p.classic.PortXmitPkts++
	p.classic.PortXmitData += madWords
	p.wide.PortXmitPkts++
	p.wide.PortXmitData += madWords
	far := p.peer
	far.classic.PortRcvPkts++
	far.classic.PortRcvData += madWords
	far.wide.PortRcvPkts++
	far.wide.PortRcvData += madWords
	return far
}

// hop moves a packet with a directed route from a node through one of its ports.
func (n *node) hop(in *port, out uint8) reach {
	if !n.isSwitch() && out == 0 {
		out = 1 // as ibsim does
	}
	if int(out) >= len(n.ports) {
		in.classic.PortRcvSwitchRelayErrors++
		return reach{}
	}
	p := n.ports[out]
	switch {
	case p.info.PortPhysicalState != mad.PortPhysicalStateLinkUp:
		p.classic.PortXmitDiscards++
		return reach{}
	case p.peer == nil: // port 0 of a switch
		return reach{at: p}
	case p.peer.info.PortPhysicalState != mad.PortPhysicalStateLinkUp:
		p.classic.PortXmitDiscards++
		p.peer.classic.PortRcvErrors++
		return reach{}
	case p.peer.node.Dead:
		return reach{dead: true}
	}
	return reach{at: p.cross()}
}

// directed follows the directed route of a request, and writes the return path.
func directed(from *port, smp *mad.DirectedSMP) reach {
	at := reach{at: from}
	back := smp.ReturnPath
	for i := range smp.HopCount() {
		if i > 0 && !at.at.node.isSwitch() {
			return reach{}
		}
		back[i] = at.at.number
		if at = at.at.node.hop(at.at, smp.InitialPath[i+1]); at.at == nil {
			return at
		}
	}
	back[smp.HopCount()] = at.at.number
	smp.ReturnPath = back
	return at
}

// returning follows the return path of a response.
func returning(from *port, smp *mad.DirectedSMP) reach {
	at := reach{at: from}
	for i := smp.HopCount(); i > 0; i-- {
		if i < smp.HopCount() && !at.at.node.isSwitch() {
			return reach{}
		}
		if at = at.at.node.hop(at.at, smp.ReturnPath[i]); at.at == nil {
			return at
		}
	}
	return at
}

// byLID follows the forwarding tables to a LID.
func byLID(from *port, lid ib.LID) reach {
	if lid == 0 {
		return reach{}
	}
	if from.hasLID(lid) {
		return reach{at: from}
	}
	at := from
	if !at.node.isSwitch() {
		switch {
		case at.peer == nil:
			at.classic.PortXmitDiscards++
			return reach{}
		case at.peer.node.Dead:
			return reach{dead: true}
		}
		at = at.cross()
	}
	for hops := 0; !at.hasLID(lid); hops++ {
		if hops == maxHops || !at.node.isSwitch() {
			return reach{}
		}
		out := at.node.forward(lid)
		if out == nil {
			at.classic.PortRcvSwitchRelayErrors++
			return reach{}
		}
		if !out.isUp() {
			out.classic.PortXmitDiscards++
			return reach{}
		}
		if out.number == 0 {
			return reach{at: out}
		}
		switch {
		case !out.peer.isUp():
			out.classic.PortXmitDiscards++
			return reach{}
		case out.peer.node.Dead:
			return reach{dead: true}
		}
		at = out.cross()
	}
	return reach{at: at}
}

// forward returns the port for a LID in a switch's forwarding table, or nil.
func (n *node) forward(lid ib.LID) *port {
	if uint16(lid) > n.switchInfo.LinearFDBTop || int(lid) >= len(n.linear) {
		return nil
	}
	out := n.linear[lid]
	if int(out) >= len(n.ports) {
		return nil
	}
	return n.ports[out]
}
