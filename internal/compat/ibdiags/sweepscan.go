package ibdiags

import (
	"encoding/binary"
	"fmt"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// subnet is the result of a sweep, in the order in which libibnetdisc would have found it: the
// lists, the numbering of chassis and the progress remarks depend on that order.
type subnet struct {
	nodes  []*subnetNode // in C's order: in reverse order of discovery
	byGUID map[ib.GUID]*subnetNode
	origin *subnetNode // the node where the sweep began
	via    uint8       // its port
	hops   int         // distance of the farthest node
	// chassis are numbered from 1; see group.
	chassis []*chassis
}

// subnetNode is a node (C twin: ibnd_node_t).
type subnetNode struct {
	*fabric.Node
	ports    []*subnetPort // by number; nil: unknown
	lid      ib.LID        // LID of a switch: that of its port 0
	lmc      uint8
	path     mad.Path
	ingress  uint8
	describe bool // the description has been received

	chassis *chassis
	slot    slot
}

// subnetPort is a port (C twin: ibnd_port_t).
type subnetPort struct {
	*fabric.Port
	node     *subnetNode
	number   int
	guid     uint64
	lid      ib.LID
	lmc      uint8
	remote   *subnetPort
	external int // port number on the chassis; 0: none
}

// guid64 returns a GUID as the number that C prints.
func guid64(g ib.GUID) uint64 { return binary.BigEndian.Uint64(g[:]) }

// base returns the LID that a remark on a port shows: for a switch that of port 0.
func (p *subnetPort) base() ib.LID {
	if p.node.IsSwitch() {
		return p.node.lid
	}
	return p.lid
}

// find returns the port with that GUID; for a switch, any of its ports.
func (s *subnet) find(guid uint64) *subnetPort {
	for _, n := range s.nodes {
		for _, p := range n.ports {
			if p != nil && p.Known && p.guid == guid {
				return p
			}
		}
	}
	return nil
}

// ofType returns the nodes of one type.
func (s *subnet) ofType(t mad.NodeType) []*subnetNode {
	var list []*subnetNode
	for _, n := range s.nodes {
		if n.Info.NodeType == t {
			list = append(list, n)
		}
	}
	return list
}

// source provides the answers for a scan.
type source interface {
	// nodeInfo returns the node info of the node at the end of the path, behind a port of from; if
	// from is nil, of the start.
	nodeInfo(from *subnetNode, port uint8, path mad.Path) (mad.NodeInfo, bool)
	// node returns the node with this node info, with its description and, for a switch, its switch
	// info.
	node(info *mad.NodeInfo, path mad.Path) *fabric.Node
	// portInfo fills in the node's port.
	portInfo(n *fabric.Node, port uint8, path mad.Path) bool
}

// scan discovers a subnet as libibnetdisc does, one answer after the other (C twin:
// ibnd_discover_fabric).
type scan struct {
	*subnet
	source  source
	maxHops int // 0: all
	initial int // hops of the path to the start
	remarks func(line string)
	queue   []scanTask
}

type scanKind uint8

const (
	scanNode scanKind = iota
	scanDescription
	scanPort
)

type scanTask struct {
	kind scanKind
	node *subnetNode // the node that is queried; for scanNode: the node in front
	port uint8
	path mad.Path
}

func newScan(from source, start mad.Path) *scan {
	s := &scan{subnet: &subnet{byGUID: map[ib.GUID]*subnetNode{}}, source: from, initial: start.Len()}
	s.queue = []scanTask{{kind: scanNode, path: start}}
	return s
}

// run handles all queued requests, and those that follow from them.
func (s *scan) run() {
	for len(s.queue) > 0 {
		t := s.queue[0]
		s.queue = s.queue[1:]
		switch t.kind {
		case scanDescription:
			t.node.describe = true
		case scanPort:
			s.portAnswer(t)
		default:
			if info, ok := s.source.nodeInfo(t.node, t.port, t.path); ok {
				s.nodeAnswer(t, &info)
			}
		}
	}
}

func (s *scan) nodeAnswer(t scanTask, info *mad.NodeInfo) {
	n, known := s.byGUID[info.NodeGUID]
	if !known {
		n = s.add(s.source.node(info, t.path), t.path)
		n.ingress = info.LocalPortNum
	}
	local := info.LocalPortNum
	if int(local) >= len(n.ports) {
		return
	}
	port := n.port(local)
	port.guid = guid64(info.PortGUID)
	s.remark(t, n, port, known)
	if t.node == nil {
		if s.origin == nil {
			s.origin, s.via = n, local
		}
	} else {
		connect(port, t.node.port(t.port))
	}
	switch {
	case !known:
		s.ask(n, t.path)
		fallthrough
	default:
		if !n.IsSwitch() {
			s.queue = append(s.queue, scanTask{scanPort, n, local, t.path})
		}
	}
}

// add adds a new node.
func (s *scan) add(node *fabric.Node, path mad.Path) *subnetNode {
	n := &subnetNode{Node: node, path: path, ports: make([]*subnetPort, len(node.Ports))}
	s.byGUID[node.GUID()] = n
	s.nodes = append(s.nodes, n) // reversed at the end
	return n
}

// ask queues the requests to a new node.
func (s *scan) ask(n *subnetNode, path mad.Path) {
	s.queue = append(s.queue, scanTask{scanDescription, n, 0, path})
	if n.IsSwitch() {
		s.queue = append(s.queue, scanTask{scanPort, n, 0, path})
	}
}

// port returns a port, which is created if necessary.
func (n *subnetNode) port(number uint8) *subnetPort {
	if n.ports[number] == nil {
		n.ports[number] = &subnetPort{Port: &n.Ports[number], node: n, number: int(number)}
	}
	return n.ports[number]
}

// connect records a cable; the last answer wins.
func connect(a, b *subnetPort) {
	if a.remote != nil {
		a.remote.remote = nil
	}
	if b.remote != nil {
		b.remote.remote = nil
	}
	a.remote, b.remote = b, a
}

func (s *scan) portAnswer(t scanTask) {
	n := t.node
	if s.source.portInfo(n.Node, t.port, t.path) {
		s.portKnown(t)
	}
	if n.IsSwitch() && t.port == 0 {
		for number := 1; number < len(n.ports); number++ {
			s.queue = append(s.queue, scanTask{scanPort, n, uint8(number), t.path})
		}
	}
}

func (s *scan) portKnown(t scanTask) {
	n := t.node
	port := n.port(t.port)
	if port.guid == 0 {
		port.guid = guid64(n.Info.PortGUID)
	}
	port.lid, port.lmc = port.Info.LID, port.Info.LMC
	switch {
	case t.port == 0:
		n.lid, n.lmc = port.lid, port.lmc
	case n.IsSwitch():
		port.lid, port.lmc = n.lid, n.lmc
	}
	isStart := n == s.origin && t.port == s.via
	if t.port == 0 || !port.IsLinkUp() || !isStart && (!n.IsSwitch() || t.port == n.ingress) {
		return
	}
	if s.maxHops > 0 && s.hops > s.maxHops {
		return
	}
	path, ok := s.next(n, t)
	if ok {
		s.queue = append(s.queue, scanTask{scanNode, n, t.port, path})
	}
}

// next returns the path to the node behind a port. A scan that started at a remote adapter goes
// back to the switch before it.
func (s *scan) next(n *subnetNode, t scanTask) (mad.Path, bool) {
	if !n.IsSwitch() && t.path.Len() > 1 {
		s.hops++
		ports := t.path.Ports()
		back, err := mad.NewPath(ports[:len(ports)-1]...)
		return back, err == nil
	}
	path, err := t.path.Extend(t.port)
	if err == nil && path.Len()-s.initial > s.hops {
		s.hops++
	}
	return path, err == nil
}

// remark prints an answer as option -s of ibnetdiscover does.
func (s *scan) remark(t scanTask, n *subnetNode, port *subnetPort, known bool) {
	if s.remarks == nil {
		return
	}
	prompt, number, description := "new", port.number, `""`
	if known {
		prompt = "known"
	}
	if n.IsSwitch() {
		number = 0
	}
	if n.describe {
		description = `"` + n.Description.String() + `"`
	}
	s.remarks(fmt.Sprintf("DR path slid 0; dlid 0; %s -> %s %s {%016x} portnum %d lid %d-%d %s\n",
		t.path, prompt, n.Info.NodeType, guid64(n.GUID()), number, port.lid, int(port.lid)+1<<port.lmc-1, description))
}

// finish completes the result.
func (s *scan) finish() *subnet {
	for i, j := 0, len(s.nodes)-1; i < j; i, j = i+1, j-1 {
		s.nodes[i], s.nodes[j] = s.nodes[j], s.nodes[i]
	}
	s.hops += s.initial
	s.group()
	return s.subnet
}

// recorded is a source with the answers of an earlier sweep.
type recorded struct{ *fabric.Topology }

func (r recorded) nodeInfo(from *subnetNode, port uint8, _ mad.Path) (mad.NodeInfo, bool) {
	at := r.Origin
	if from != nil {
		at = from.Ports[port].Peer
	}
	n := r.Node(at.Node)
	if n == nil || int(at.Port) >= len(n.Ports) {
		return mad.NodeInfo{}, false
	}
	info := n.Info
	info.LocalPortNum, info.PortGUID = at.Port, n.Ports[at.Port].GUID
	return info, true
}

func (r recorded) node(info *mad.NodeInfo, _ mad.Path) *fabric.Node { return r.Node(info.NodeGUID) }

func (r recorded) portInfo(n *fabric.Node, port uint8, _ mad.Path) bool { return n.Ports[port].Known }

// fromTopology puts a sweep into C's order. Nodes that C would not have reached, because a node on
// the path did not answer, come last.
func fromTopology(t *fabric.Topology, remarks func(line string)) *subnet {
	s := newScan(recorded{t}, mad.Path{})
	s.remarks = remarks
	s.run()
	for _, n := range t.Nodes {
		if s.byGUID[n.GUID()] != nil {
			continue
		}
		late := s.add(n, n.Path)
		late.ingress = n.Info.LocalPortNum
		s.ask(late, n.Path)
		for number := range n.Ports {
			if !n.IsSwitch() && !n.Ports[number].GUID.IsZero() {
				late.port(uint8(number)).guid = guid64(n.Ports[number].GUID)
				s.queue = append(s.queue, scanTask{scanPort, late, uint8(number), n.Path})
			}
		}
		s.run()
	}
	return s.finish()
}
