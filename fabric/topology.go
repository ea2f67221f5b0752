package fabric

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Topology is what one sweep saw of a subnet.
type Topology struct {
	Started  time.Time     // when the sweep began
	Duration time.Duration // how long it took
	// Origin is the port that the sweep went out by.
	Origin PortID
	// Nodes are in the order in which they were found, the own node first.
	Nodes []*Node
	// Unreached lists what stayed without answer; Complete is false too when the sweep was
	// cut short.
	Unreached []Unreached
	Complete  bool
	// Anomalies lists what contradicts itself, at most Options.MaxAnomalies; Stats counts the rest.
	Anomalies []Anomaly
	// SubnetManagers, when Options.SubnetManagers asked for them, are in the order of their
	// ports' nodes.
	SubnetManagers []SubnetManager
	Stats          Stats

	byGUID map[ib.GUID]*Node
}

// PortID names a port: the GUID of its node and its number there.
type PortID struct {
	Node ib.GUID `json:"node"` // GUID of the node
	Port uint8   `json:"port"` // number of the port
}

// String returns "0x0002c90300000001[7]".
func (p PortID) String() string { return fmt.Sprintf("0x%x[%d]", p.Node[:], p.Port) }

// Node is a switch, a channel adapter (HCA) or a router.
type Node struct {
	Info        mad.NodeInfo        // as it answered
	Description mad.NodeDescription // as it answered; a text that its administrator chose
	Switch      *mad.SwitchInfo     // of a switch that answered for it
	// Path is the directed route from the origin by which the node was found first.
	Path mad.Path
	// Ports are by number: 0 to Info.NumPorts, where 0 exists on a switch only.
	Ports []Port
	// Routes, of a switch when Options.Routes asked for them, is the linear forwarding table: the
	// port for each LID, mad.LFTPortNone where there is none.
	Routes []uint8
	// Multicast, of a switch when Options.Multicast asked for it, is the multicast forwarding
	// table: the ports of each multicast LID that has any.
	Multicast map[ib.LID]PortSet
	// Performance, when Options.Counters asked for it, is what the node's performance agent can do.
	Performance *mad.ClassPortInfo
}

// Port is one port of a node.
type Port struct {
	// Known reports whether the port answered: Info counts then. Of an adapter, only ports in this
	// subnet are known.
	Known bool
	GUID  ib.GUID // of a switch, all ports have that of port 0
	Info  mad.PortInfo
	// Mellanox tells FDR10 from QDR: asked for where the link is up at QDR and the device is known
	// to have it, as libibnetdisc does. nil elsewhere.
	Mellanox *mad.ExtendedPortInfo
	// Peer is the other end of the cable; zero when there is none, or it did not answer.
	Peer PortID
	// Path leads to an adapter's port; of a switch's ports, that of the node does.
	Path mad.Path
	// Counters and Extended are the port's, when Options.Counters asked for them and the port is
	// active. Extended is nil where the agent has none, and Counters where Extended has all that it
	// would say (mad.PerformanceAdditionalExtended).
	Counters *mad.PortCounters
	Extended *mad.PortCountersExtended
}

// HasPeer reports whether the other end of the cable is known.
func (p *Port) HasPeer() bool { return p.Peer != PortID{} }

// IsLinkUp reports whether the physical link is up.
func (p *Port) IsLinkUp() bool {
	return p.Known && p.Info.PortPhysicalState == mad.PortPhysicalStateLinkUp
}

// GUID returns the node's GUID.
func (n *Node) GUID() ib.GUID { return n.Info.NodeGUID }

// IsSwitch reports whether the node forwards packets within the subnet.
func (n *Node) IsSwitch() bool { return n.Info.NodeType == mad.NodeTypeSwitch }

// LID returns the base LID of a port: of a switch that of port 0, whichever is asked for; 0
// when unknown.
func (n *Node) LID(port uint8) ib.LID {
	if n.IsSwitch() {
		port = 0
	}
	if int(port) >= len(n.Ports) {
		return 0
	}
	return n.Ports[port].Info.LID
}

// Node returns the node of that GUID, or nil.
func (t *Topology) Node(guid ib.GUID) *Node { return t.byGUID[guid] }

// Port returns a port, or nil.
func (t *Topology) Port(id PortID) *Port {
	n := t.byGUID[id.Node]
	if n == nil || int(id.Port) >= len(n.Ports) {
		return nil
	}
	return &n.Ports[id.Port]
}

// Link is a cable with both ends known; A is the end that was found first.
type Link struct{ A, B PortID }

// Links returns each cable once, in the order of the nodes and their ports.
func (t *Topology) Links() []Link {
	order := t.order()
	var links []Link
	for i, n := range t.Nodes {
		for number := range n.Ports {
			p := &n.Ports[number]
			if !p.HasPeer() {
				continue
			}
			peer := order[p.Peer.Node]
			if peer > i || peer == i && int(p.Peer.Port) >= number {
				links = append(links, Link{PortID{n.GUID(), uint8(number)}, p.Peer})
			}
		}
	}
	return links
}

// order returns each node's place in Nodes.
func (t *Topology) order() map[ib.GUID]int {
	order := make(map[ib.GUID]int, len(t.Nodes))
	for i, n := range t.Nodes {
		order[n.GUID()] = i
	}
	return order
}

// SubnetManager is a subnet manager, active or waiting.
type SubnetManager struct {
	Port PortID     // where it runs; zero when no port of that LID or GUID is known
	LID  ib.LID     // of that port
	Info mad.SMInfo // as it answered
	Err  string     // why there is no Info; empty when it answered
}

// PortSet is a set of port numbers from 0 to 255, the lowest bit first.
type PortSet [4]uint64

// Add puts a port into the set.
func (s *PortSet) Add(port uint8) { s[port>>6] |= 1 << (port & 63) }

// Has reports whether the port is in the set.
func (s PortSet) Has(port uint8) bool { return s[port>>6]>>(port&63)&1 != 0 }

// Ports returns the ports in ascending order.
func (s PortSet) Ports() []uint8 {
	var ports []uint8
	for port := range 256 {
		if s.Has(uint8(port)) {
			ports = append(ports, uint8(port))
		}
	}
	return ports
}

// Unreached is a question of the sweep that stayed without an answer.
type Unreached struct {
	// Node and Port tell where the silence begins: a port behind which nobody answered, or the node
	// that answered before and then did not (Port 0 then, and What says what it was asked).
	Node   ib.GUID
	Port   uint8
	Path   mad.Path // to whom the question went
	What   string   // "node behind port", "port info 7", …
	Reason string
	Tries  int
}

// String returns one line for a log.
func (u Unreached) String() string {
	return fmt.Sprintf("%s of %s (path %s): %s", u.What, PortID{u.Node, u.Port}, u.Path, u.Reason)
}

// AnomalyKind says in what way answers contradict themselves or the specification.
type AnomalyKind string

// The kinds.
const (
	AnomalyDuplicateGUID AnomalyKind = "duplicate-guid" // two cables end at one port: two nodes have one GUID
	AnomalyChanged       AnomalyKind = "changed"        // a node describes itself in two ways
	AnomalyPortRange     AnomalyKind = "port-range"     // a port number that the node doesn't have
	AnomalyNoGUID        AnomalyKind = "no-guid"        // a GUID of zeros
	AnomalyNodeType      AnomalyKind = "node-type"      // none of the three that exist
	AnomalyForeign       AnomalyKind = "foreign-answer" // an answer to another question, or no MAD at all
	AnomalySelfLink      AnomalyKind = "self-link"      // a port cabled to itself
	AnomalyOneSided      AnomalyKind = "one-sided"      // up at one end of the cable and not at the other
	AnomalyTooFar        AnomalyKind = "too-far"        // behind more than 63 hops
	AnomalyTooMany       AnomalyKind = "too-many"       // more nodes than Options.MaxNodes, or more ports
)

// Anomaly is one contradiction.
type Anomaly struct {
	Kind   AnomalyKind `json:"kind"`   // what contradicts what
	At     PortID      `json:"at"`     // where it was seen; zero where no port is known
	Detail string      `json:"detail"` // the values, in words
}

// String returns one line for a log.
func (a Anomaly) String() string { return fmt.Sprintf("%s at %s: %s", a.Kind, a.At, a.Detail) }

// Stats counts what a sweep cost.
type Stats struct {
	Sent    int `json:"sent"`    // MADs, retries included
	Answers int `json:"answers"` // that belonged to a question
	Retries int `json:"retries"` // questions sent again
	// answers, and reports of loss, that came when the sweep had given up or asked again
	Late      int `json:"late"`
	Foreign   int `json:"foreign"`   // datagrams that answered nothing
	Anomalies int `json:"anomalies"` // all, listed or not
	Unreached int `json:"unreached"` // all, listed or not
	// Window is the largest number of questions that were under way and not overdue.
	Window int `json:"window"`
	// RoundTrip is the smoothed time from question to answer at the end.
	RoundTrip time.Duration `json:"roundTripNanoseconds"`
}

// finish fills in what is known once nothing more is asked.
func (t *Topology) finish() {
	t.Duration = time.Since(t.Started)
	slices.SortStableFunc(t.Unreached, func(a, b Unreached) int {
		if c := slices.Compare(a.Node[:], b.Node[:]); c != 0 {
			return c
		}
		return int(a.Port) - int(b.Port)
	})
	order := t.order()
	slices.SortStableFunc(t.SubnetManagers, func(a, b SubnetManager) int {
		return cmp.Or(cmp.Compare(order[a.Port.Node], order[b.Port.Node]), cmp.Compare(a.Port.Port, b.Port.Port))
	})
}
