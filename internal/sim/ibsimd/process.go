package ibsimd

import (
	"encoding/binary"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/edge/ibsim"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// outcomeKind is what becomes of a packet.
type outcomeKind uint8

const (
	outcomeDropped outcomeKind = iota // nobody gets it
	outcomeAnswer                     // the sender gets the answer of a simulated node
	outcomeForward                    // another client gets it
	outcomeLost                       // the sender gets it back, as lost
)

// outcome is what becomes of a packet, which has been changed accordingly.
type outcome struct {
	kind   outcomeKind
	to     *client
	after  time.Duration
	copies int

	segments []segment // further packets, of subnet administration
}

// lost returns a packet to its sender. ibsim does so at once; requests to a dead node are held as
// long as the kernel would hold them.
func (s *Simulator) lost(c *client, p *ibsim.Packet, held bool) outcome {
	p.Status = ibsim.StatusTimeout
	o := outcome{kind: outcomeLost, to: c, copies: 1}
	if held {
		o.after = s.net.lostAfter()
	}
	return o
}

// Offsets in a MAD.
const (
	methodAt      = 3
	hopPointerAt  = 6
	transactionAt = 8
)

// process routes a packet of a client, and answers it if a simulated node has to.
func (s *Simulator) process(c *client, p *ibsim.Packet) outcome {
	var h mad.Header
	h.Decode(p.MAD[:]) //nolint:errcheck // long enough
	response := h.Method&mad.MethodResponse != 0
	isDirected := h.MgmtClass == mad.ClassSubnetDirected
	if h.BaseVersion != mad.BaseVersion || h.ClassVersion > 2 || h.Method == mad.MethodTrapRepress {
		return outcome{}
	}
	var smp mad.DirectedSMP
	if isDirected {
		smp.Decode(p.MAD[:]) //nolint:errcheck // long enough
		if p.MAD[hopPointerAt] != 0 || smp.HopCount() > mad.MaxHops || smp.IsReturning() != response ||
			smp.DrSLID != mad.LIDPermissive || smp.DrDLID != mad.LIDPermissive {
			return outcome{} // ibsim has no routes that are directed in part
		}
	} else if p.SLID == 0 {
		p.SLID = uint16(c.port.info.LID)
	}
	if !response { // the answer of another client has the same identifier
		binary.BigEndian.PutUint16(p.MAD[transactionAt:], uint16(c.slot))
		smp.TransactionID = binary.BigEndian.Uint64(p.MAD[transactionAt:])
	}
	end := route(c.port, p, &smp, response)
	if end.at == nil {
		return s.lost(c, p, end.dead)
	}
	if !response && !s.admitted(c.port, end.at, &h, p) {
		return s.lost(c, p, true)
	}
	if !response {
		if o, answered := s.answer(c, p, &h, &smp, end.at); answered {
			return o
		}
	}
	to := s.receiver(end.at, p, response)
	if to == nil {
		return s.lost(c, p, false)
	}
	if isDirected {
		copy(p.MAD[mad.Len-len(smp.ReturnPath):], smp.ReturnPath[:])
	}
	return outcome{kind: outcomeForward, to: to, copies: 1, after: s.net.Subnet.Delay}
}

// route follows a packet's way.
func route(from *port, p *ibsim.Packet, smp *mad.DirectedSMP, response bool) reach {
	switch {
	case p.DLID != ibsim.LIDPermissive:
		return byLID(from, ib.LID(p.DLID))
	case response:
		return returning(from, smp)
	}
	return directed(from, smp)
}

// receiver returns the client that gets a packet at a port: the sender of the request, or one that
// takes requests of that queue pair.
func (s *Simulator) receiver(at *port, p *ibsim.Packet, response bool) *client {
	if response {
		slot := int(binary.BigEndian.Uint16(p.MAD[transactionAt:]))
		if slot < len(s.clients) && s.clients[slot] != nil && s.clients[slot].port.node == at.node {
			return s.clients[slot]
		}
	}
	for _, c := range s.clients {
		if c == nil || c.port.node != at.node || !at.node.isSwitch() && c.port != at {
			continue
		}
		if p.DQP > 1 && p.DQP == c.qp || p.DQP <= 1 && !response && c.isSM {
			return c
		}
	}
	return nil
}

// answer has the node at the end of a request's way answer it. It reports whether the node has an
// agent for it; otherwise a client at the port gets the request.
func (s *Simulator) answer(
	c *client, p *ibsim.Packet, h *mad.Header, smp *mad.DirectedSMP, at *port,
) (o outcome, answered bool) {
	n := at.node
	reply := p.MAD
	var status mad.Status
	switch h.MgmtClass {
	case mad.ClassSubnet, mad.ClassSubnetDirected:
		status, answered = s.manage(at, h, &reply)
	case mad.ClassPerformance:
		if key := binary.BigEndian.Uint64(reply[mad.HeaderLen:]); n.PMKey != 0 && key != n.PMKey {
			return s.lost(c, p, true), true
		}
		r := pmaRequest{in: at, set: h.Method == mad.MethodSet, now: s.options.Now()}
		data := [mad.PerformanceDataLen]byte(reply[mad.Len-mad.PerformanceDataLen:])
		r.data = &data
		if status, answered = r.performance(h.AttributeID); answered {
			copy(reply[mad.Len-mad.PerformanceDataLen:], data[:])
		}
	case mad.ClassSA:
		if !n.Dead && n.sa != nil && p.DQP == 1 && !s.hasProgram(n) {
			return s.administer(c, p, at), true
		}
	}
	if n.Dead || status == statusSilent {
		return s.lost(c, p, true), true
	}
	if !answered {
		return outcome{}, false
	}
	n.Asked++
	n.patch(h.AttributeID, &reply)
	if h.MgmtClass == mad.ClassSubnetDirected {
		status |= directionBit
		copy(reply[mad.Len-len(smp.ReturnPath):], smp.ReturnPath[:])
	}
	reply[methodAt] = uint8(mad.MethodGetResp)
	binary.BigEndian.PutUint16(reply[4:], uint16(status))
	p.MAD = reply
	p.DLID, p.SLID, p.DQP, p.SQP, p.Status = p.SLID, p.DLID, p.SQP, p.DQP, 0
	back := route(at, p, smp, true)
	if back.at == nil || back.at.node != c.port.node {
		return s.lost(c, p, back.dead), true
	}
	return s.told(c, p, n), true
}

// directionBit is the first bit of the status of a directed SMP that returns.
const directionBit mad.Status = 0x8000

// statusSilent stands for a request that is not answered. It is no status of a MAD.
const statusSilent mad.Status = 0xffff

// told delivers the answer of a node, which may be slow, and may lie.
func (s *Simulator) told(c *client, p *ibsim.Packet, n *node) outcome {
	o := outcome{kind: outcomeAnswer, to: c, copies: 1, after: s.net.Subnet.Delay + n.Delay}
	if n.Lie != nil {
		d := fabric.Datagram{MAD: p.MAD}
		o.copies = n.Lie(&d)
		p.MAD = d.MAD
		if o.copies == 0 {
			return s.lost(c, p, true)
		}
	}
	return o
}

// manage answers a subnet management request.
func (s *Simulator) manage(at *port, h *mad.Header, reply *[mad.Len]byte) (status mad.Status, answered bool) {
	if h.Method != mad.MethodGet && h.Method != mad.MethodSet {
		return 0, false
	}
	const dataAt = 64
	data := [mad.SMPDataLen]byte(reply[dataAt:])
	r := smpRequest{in: at, set: h.Method == mad.MethodSet, modifier: h.AttributeModifier, data: &data}
	key := binary.BigEndian.Uint64(reply[mad.HeaderLen:])
	if !at.node.admits(&r, key) {
		return statusSilent, true
	}
	switch f := subnetAttribute(h.AttributeID); {
	case f != nil:
		status = f(&r)
	case h.AttributeID == mad.AttributeSMInfo && s.managerAnswers(&r):
	case at.node.hasPatch(h.AttributeID):
		clear(data[:])
	default:
		return 0, false
	}
	if h.AttributeID == mad.AttributePortInfo && status == 0 {
		at.node.hideKey(&data, key)
	}
	copy(reply[dataAt:], data[:])
	return status, true
}
