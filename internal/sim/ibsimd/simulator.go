package ibsimd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/fabric/rmpp"
	"github.com/rdmakit/rdmakit/internal/edge/ibsim"
	"github.com/rdmakit/rdmakit/internal/sim/administration"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Options are the options of a simulator. The zero value has an unconfigured subnet that answers at
// once.
type Options struct {
	// Now is the clock of counters that grow and of subnet managers; nil: time.Now.
	Now func() time.Time
	// Managers are the nodes with a simulated subnet manager: the subnet is configured from the
	// start.
	Managers []Manager
	// Segments are the limits of answers of several segments of subnet administration.
	Segments rmpp.SenderOptions
	// OnJoin and OnLeave, if set, are called when a client joins at a node and when it has left.
	OnJoin, OnLeave func(node string)
}

// Simulator is a simulated subnet. It implements [ibsim.Backend].
type Simulator struct {
	options Options
	net     *Net
	server  *ibsim.Server
	lines   sync.WaitGroup // goroutines that deliver later

	mu      sync.Mutex
	nodes   []*node
	byNode  map[*Node]*node
	clients [ibsim.MaxClients]*client
	stats   Stats
	started time.Time
}

// Stats counts what a simulator has done.
type Stats struct {
	Clients  int // that have joined
	Answers  int // of simulated nodes
	Forwards int // from one client to another
	Lost     int // packets that reached nobody
}

// client is a program that has joined.
type client struct {
	slot    int
	port    *port
	qp      uint32
	isSM    bool
	delayed *delayLine

	// The conversation with subnet administration.
	agent   administration.Agent
	manager *port         // where the client has sent the last packet of it
	query   ibsim.Packet  // that packet, for the addresses
	table   chan struct{} // a table is on its way: there may be something to send again; nil: not yet
}

// New returns a simulator of the net.
func New(n *Net, o Options) (*Simulator, error) {
	if len(n.Nodes) == 0 {
		return nil, errors.New("the net has no node")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Simulator{options: o, net: n, nodes: build(n), byNode: map[*Node]*node{}, started: o.Now()}
	for i, one := range n.Nodes {
		s.byNode[one] = s.nodes[i]
	}
	for _, one := range s.nodes {
		for _, p := range one.ports {
			if p != nil {
				for i := range p.growing {
					p.growing[i].last = s.started
				}
			}
		}
	}
	if err := s.configure(o.Managers); err != nil {
		return nil, err
	}
	return s, nil
}

// Listen opens the sockets, so that clients can join; Serve answers them.
func (s *Simulator) Listen(c ibsim.ServerConfig) error {
	server, err := ibsim.Listen(c, s)
	if err != nil {
		return err
	}
	s.server = server
	return nil
}

// Serve serves clients until the context ends, and closes the sockets. Listen must have been
// called.
func (s *Simulator) Serve(ctx context.Context) error {
	err := s.server.Serve(ctx)
	for slot := range s.clients {
		s.Detach(slot)
	}
	s.lines.Wait()
	return err
}

// Close closes the sockets of a simulator that doesn't serve.
func (s *Simulator) Close() error { return s.server.Close() }

// Stats returns what the simulator has done so far.
func (s *Simulator) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Attach implements [ibsim.Backend].
func (s *Simulator) Attach(slot int, c ibsim.Client) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.net.Nodes[0]
	if c.Node != "" {
		at = s.net.Find(c.Node)
	}
	if at == nil {
		return "", fmt.Errorf("no node %q", c.Node)
	}
	n := s.byNode[at]
	p := n.ports[0]
	if p == nil {
		p = n.ports[1]
	}
	if c.IsSM {
		for _, other := range s.clients {
			if other != nil && other.isSM && other.port == p {
				return "", fmt.Errorf("node %q has a subnet manager", at.Name)
			}
		}
	}
	one := &client{slot: slot, port: p, qp: c.QP, isSM: c.IsSM}
	one.delayed = newDelayLine(&s.lines, func(p *ibsim.Packet) { s.deliver(slot, p) })
	s.clients[slot] = one
	s.stats.Clients++
	if s.options.OnJoin != nil {
		s.options.OnJoin(at.Name)
	}
	return at.Name, nil
}

// Detach implements [ibsim.Backend].
func (s *Simulator) Detach(slot int) {
	s.mu.Lock()
	c := s.clients[slot]
	s.clients[slot] = nil
	if c != nil && c.isSM {
		s.markSM(c.port)
	}
	s.mu.Unlock()
	if c == nil {
		return
	}
	c.delayed.close()
	if s.options.OnLeave != nil {
		s.options.OnLeave(c.port.node.Name)
	}
}

// SetSM implements [ibsim.Backend].
func (s *Simulator) SetSM(slot int, isSM bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clients[slot]; c != nil {
		c.isSM = isSM
		s.markSM(c.port)
	}
}

// markSM sets the bit in the port's capabilities that reports a subnet manager.
func (s *Simulator) markSM(p *port) {
	p.info.CapabilityMask &^= mad.CapabilityIsSM
	has := p.node.Manager != nil
	for _, c := range s.clients {
		has = has || c != nil && c.isSM && c.port == p
	}
	if has {
		p.info.CapabilityMask |= mad.CapabilityIsSM
	}
}

// Node implements [ibsim.Backend].
func (s *Simulator) Node(slot int, number uint8) (state ibsim.NodeState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clients[slot]
	if c == nil {
		return state
	}
	p := c.port
	if number > 0 && int(number) < len(p.node.ports) {
		p = p.node.ports[number]
	}
	info := c.port.node.info
	info.LocalPortNum, info.PortGUID = 1, info.NodeGUID
	if c.port.node.isSwitch() {
		info.LocalPortNum = 0
	}
	info.Append(state.NodeInfo[:0])
	portInfo := p.info
	portInfo.LocalPortNum = c.port.number
	portInfo.Append(state.PortInfo[:0])
	copy(state.PKeys[:], c.port.pkeys)
	return state
}

// Handle implements [ibsim.Backend].
func (s *Simulator) Handle(slot int, p *ibsim.Packet) {
	s.mu.Lock()
	c := s.clients[slot]
	if c == nil {
		s.mu.Unlock()
		return
	}
	way := s.process(c, p)
	s.count(&way)
	s.mu.Unlock()
	if !s.pass(&way, p) && way.to != c {
		p.Status = ibsim.StatusTimeout // the other client is gone: as if nobody were there
		s.deliver(slot, p)
	}
	for i := range way.segments {
		s.pass(&way.segments[i].outcome, &way.segments[i].packet)
	}
}

// pass sends a packet on its way, and reports whether that worked.
func (s *Simulator) pass(way *outcome, p *ibsim.Packet) bool {
	if way.to == nil {
		return true
	}
	for range way.copies {
		if way.after > 0 {
			way.to.delayed.add(p, way.after)
		} else if !s.deliver(way.to.slot, p) {
			return false
		}
	}
	return true
}

// deliver sends a packet to a client, and reports whether that worked.
func (s *Simulator) deliver(slot int, p *ibsim.Packet) bool { return s.server.Send(slot, p) == nil }

func (s *Simulator) count(w *outcome) {
	s.stats.Answers += len(w.segments)
	switch w.kind {
	case outcomeAnswer:
		s.stats.Answers++
	case outcomeForward:
		s.stats.Forwards++
	case outcomeLost:
		s.stats.Lost++
	}
}
