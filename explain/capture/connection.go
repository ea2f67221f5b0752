package capture

import (
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// maxConnections is how many connections of the communication manager are kept; the oldest ones are
// dropped.
const maxConnections = 4096

// Connection is what messages of the communication manager say of a connection, or of the look-up
// of a queue pair for datagrams (SIDR).
type Connection struct {
	Datagrams          bool
	Client, Server     Address
	ClientQP, ServerQP ib.QPN // 0 if unknown
	Service            mad.ServiceID
	MTU                ib.MTU
	ACKTimeout         uint8 // code
	RetryCount         uint8
	RNRRetryCount      uint8
	// ClientGID and ServerGID are the addresses of the path in the REQ.
	ClientGID, ServerGID ib.GID
	Requests             Event // REQ, with repeated ones
	Delays               Event // MRA
	Accepted             Event // REP
	Ready                Event // RTU
	Rejected             Event // REJ
	RejectedBy           Address
	Reason               mad.RejectReason
	Status               mad.SIDRStatus // of a refused look-up
	Ended                Event          // DREQ
	EndedBy              Address

	id connectionID
}

// unanswered reports whether the client got no answer to repeated requests, or gave up.
func (c *Connection) unanswered() bool {
	gaveUp := c.Rejected.Count > 0 && c.RejectedBy == c.Client && c.Reason == mad.RejectTimeout
	return c.Accepted.Count+c.Delays.Count == 0 && (gaveUp || c.Requests.Count > 1 && c.Rejected.Count == 0)
}

// connectionID is the communication ID of the client, or the request ID of a look-up, each unique
// for its address.
type connectionID struct {
	client    Address
	id        uint32
	datagrams bool
}

// manager follows the messages of the communication manager.
type manager struct {
	byID    map[connectionID]*Connection
	order   []*Connection
	dropped int
}

func newManager() *manager { return &manager{byID: map[connectionID]*Connection{}} }

// read decodes a packet to QP 1, if it is a message of the communication manager.
func (m *manager) read(p *packet, s *flows) {
	if p.BTH.DestQP != 1 || !p.BTH.Opcode.IsUD() || len(p.Payload) < mad.Len {
		return
	}
	var h mad.Header
	if _, err := h.Decode(p.Payload); err != nil || h.MgmtClass != mad.ClassCM {
		return
	}
	switch h.AttributeID {
	case mad.AttributeREQ:
		m.request(p)
	case mad.AttributeREP:
		m.reply(p, s)
	case mad.AttributeMRA:
		var msg mad.MRA
		_, _ = msg.Decode(p.Payload) // the length has been checked, as below
		m.find(p, msg.LocalCommID, msg.RemoteCommID, func(c *Connection) { c.Delays.add(p) })
	case mad.AttributeRTU:
		var msg mad.RTU
		_, _ = msg.Decode(p.Payload)
		m.find(p, msg.LocalCommID, msg.RemoteCommID, func(c *Connection) { c.Ready.add(p) })
	case mad.AttributeREJ:
		var msg mad.REJ
		_, _ = msg.Decode(p.Payload)
		m.reject(p, &msg)
	case mad.AttributeSIDRREQ:
		m.lookUp(p)
	case mad.AttributeSIDRREP:
		m.found(p)
	case mad.AttributeDREQ:
		var msg mad.DREQ
		_, _ = msg.Decode(p.Payload)
		m.find(p, msg.LocalCommID, msg.RemoteCommID, func(c *Connection) {
			c.Ended.add(p)
			c.EndedBy = p.source
		})
	}
}

func (m *manager) request(p *packet) {
	var msg mad.REQ
	_, _ = msg.Decode(p.Payload)
	id := connectionID{client: p.source, id: msg.LocalCommID}
	c := m.byID[id]
	if c == nil || c.ClientQP != msg.LocalQPN {
		if c != nil {
			m.order = remove(m.order, c)
		}
		c = &Connection{
			Client: p.source, Server: p.dest, ClientQP: msg.LocalQPN, Service: msg.ServiceID,
			MTU: ib.MTUFromCode(int(msg.PathPacketPayloadMTU)), ACKTimeout: msg.Primary.LocalACKTimeout,
			RetryCount: msg.RetryCount, RNRRetryCount: msg.RNRRetryCount, ClientGID: msg.Primary.LocalPortGID,
			ServerGID: msg.Primary.RemotePortGID, id: id,
		}
		m.add(c)
	}
	c.Requests.add(p)
}

func remove(list []*Connection, c *Connection) []*Connection {
	for i := range list {
		if list[i] == c {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

func (m *manager) add(c *Connection) {
	if len(m.order) >= maxConnections {
		delete(m.byID, m.order[0].id)
		m.order = append(m.order[:0], m.order[1:]...)
		m.dropped++
	}
	m.byID[c.id] = c
	m.order = append(m.order, c)
}

func (m *manager) reply(p *packet, s *flows) {
	var msg mad.REP
	_, _ = msg.Decode(p.Payload)
	c := m.byID[connectionID{client: p.dest, id: msg.RemoteCommID}]
	if c == nil {
		return
	}
	c.Accepted.add(p)
	if c.Accepted.Count > 1 {
		return
	}
	c.ServerQP = msg.LocalQPN
	s.connect(FlowKey{c.Client, c.Server, c.ServerQP}, FlowKey{c.Server, c.Client, c.ClientQP})
}

// find calls then with the connection that a message is about, sent by either end.
func (m *manager) find(p *packet, local, remote uint32, then func(*Connection)) {
	c := m.byID[connectionID{client: p.dest, id: remote}]
	if c == nil || c.Server != p.source {
		c = m.byID[connectionID{client: p.source, id: local}]
	}
	if c != nil {
		then(c)
	}
}

// reject reads a REJ, also of a connection whose REQ was before the capture. Its sender is the
// client if it gives up, and the server otherwise.
func (m *manager) reject(p *packet, msg *mad.REJ) {
	known := false
	add := func(c *Connection) {
		known = true
		c.Rejected.add(p)
		c.RejectedBy, c.Reason = p.source, msg.Reason
	}
	if m.find(p, msg.LocalCommID, msg.RemoteCommID, add); known {
		return
	}
	id := connectionID{client: p.dest, id: msg.RemoteCommID}
	server := p.source
	if msg.Reason == mad.RejectTimeout {
		id, server = connectionID{client: p.source, id: msg.LocalCommID}, p.dest
	}
	c := &Connection{Client: id.client, Server: server, id: id}
	m.add(c)
	add(c)
}

// lookUp reads a request for a queue pair for datagrams.
func (m *manager) lookUp(p *packet) {
	var msg mad.SIDRREQ
	_, _ = msg.Decode(p.Payload)
	id := connectionID{p.source, msg.RequestID, true}
	c := m.byID[id]
	if c == nil {
		c = &Connection{Datagrams: true, Client: p.source, Server: p.dest, Service: msg.ServiceID, id: id}
		m.add(c)
	}
	c.Requests.add(p)
}

// found reads the answer to a look-up.
func (m *manager) found(p *packet) {
	var msg mad.SIDRREP
	_, _ = msg.Decode(p.Payload)
	id := connectionID{p.dest, msg.RequestID, true}
	c := m.byID[id]
	if c == nil {
		c = &Connection{Datagrams: true, Client: p.dest, Server: p.source, Service: msg.ServiceID, id: id}
		m.add(c)
	}
	if msg.Status == mad.SIDRStatusSuccess {
		c.Accepted.add(p)
		c.ServerQP = msg.QPN
		return
	}
	c.Rejected.add(p)
	c.RejectedBy, c.Status = p.source, msg.Status
}

// refusal describes why a connection was rejected.
func (c *Connection) refusal() string {
	if c.Datagrams {
		return c.Status.String()
	}
	return c.Reason.String()
}
