package fabric

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Topology is the result of one sweep of a subnet.
type Topology struct {
	Started  time.Time     // when the sweep began
	Duration time.Duration // the duration of the sweep
	// Origin is the local port that the sweep used.
	Origin PortID
	// Nodes are in the order in which they were found, the local node first.
	Nodes []*Node
	// Unreached lists the requests without an answer. Complete is also false if the sweep ended
	// early.
	Unreached []Unreached
	Complete  bool
	// Anomalies lists contradictions, at most Options.MaxAnomalies; Stats counts the rest.
	Anomalies []Anomaly
	// SubnetManagers, if Options.SubnetManagers was set, are in the order of their ports' nodes.
	SubnetManagers []SubnetManager
	Stats          Stats
	// Hosts are the ports of adapters as their hosts know them, nil if that isn't known: a sweep
	// sees only node descriptions. Package fabric/hosts fills it in; it isn't saved.
	Hosts map[PortID]HostPort

	byGUID map[ib.GUID]*Node
}

// PortID names a port: the GUID of its node and its number there.
type PortID struct {
	Node ib.GUID `json:"node"` // GUID of the node
	Port uint8   `json:"port"` // number of the port
}

// String returns "0x0002c90300000001[7]".
func (p PortID) String() string { return fmt.Sprintf("0x%x[%d]", p.Node[:], p.Port) }

// HostPort is a port of an adapter as its host knows it.
type HostPort struct {
	Host   string `json:"name"`   // host name
	Device string `json:"device"` // RDMA device: mlx5_3
	// Port is its number there. It differs from that in the subnet if Plane isn't 0.
	Port int `json:"port"`
	// Plane is the port of the SMI device of a multi-plane card (XDR), from 1; 0 for other cards.
	Plane      int    `json:"plane,omitempty"`
	PCIAddress string `json:"pciAddress,omitempty"` // 0000:18:00.0; "" for a device without
	// Rail is the number of a compute port, from 0, the same on all hosts; nil for other ports.
	Rail   *int   `json:"rail,omitempty"`
	Source string `json:"source"` // file that it was read from
}

// String returns "gpu-07 mlx5_3[1] rail 3".
func (h HostPort) String() string {
	text := fmt.Sprintf("%s %s[%d]", h.Host, h.Device, h.Port)
	if h.Plane > 0 {
		text = fmt.Sprintf("%s plane %d", text, h.Plane)
	}
	if h.Rail != nil {
		text = fmt.Sprintf("%s rail %d", text, *h.Rail)
	}
	return text
}

// Node is a switch, a channel adapter (HCA) or a router.
type Node struct {
	Info        mad.NodeInfo        // as answered
	Description mad.NodeDescription // as answered; chosen by the administrator
	Switch      *mad.SwitchInfo     // of a switch that answered the request
	// Path is the directed route from the origin by which the node was first found.
	Path mad.Path
	// Ports is indexed by port number: 0 to Info.NumPorts; only switches have port 0.
	Ports []Port
	// Routes, for a switch if Options.Routes was set, is the linear forwarding table: the port for
	// each LID, or mad.LFTPortNone.
	Routes []uint8
	// Multicast, for a switch if Options.Multicast was set, is the multicast forwarding table: the
	// ports of each multicast LID that has any.
	Multicast map[ib.LID]PortSet
	// Performance, if Options.Counters was set, holds the capabilities of the node's performance
	// agent.
	Performance *mad.ClassPortInfo
}

// Port is one port of a node.
type Port struct {
	// Known is true if the port answered, so that Info is valid. Only those ports of an adapter
	// that are in this subnet are known.
	Known bool
	GUID  ib.GUID // all ports of a switch have the GUID of port 0
	Info  mad.PortInfo
	// Mellanox distinguishes FDR10 from QDR. It is read if the link runs at QDR and the device is
	// known to support it, as libibnetdisc does; nil otherwise.
	Mellanox *mad.ExtendedPortInfo
	// Peer is the other end of the cable; zero if there is none or it did not answer.
	Peer PortID
	// Path is the directed route to an adapter's port. For ports of a switch, use the node's Path.
	Path mad.Path
	// Counters and Extended are the port's counters, if Options.Counters was set and the port is
	// active, or is a port of a switch. Extended is nil if the agent has none; Counters is nil if
	// Extended includes all of them (mad.PerformanceAdditionalExtended). They may include counters
	// that the agent doesn't have: see Node.Readings.
	Counters *mad.PortCounters
	Extended *mad.PortCountersExtended
	// CountersAfter is when they were read: the time since Topology.Started. 0 in a file of an
	// older version.
	CountersAfter time.Duration
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

// IsHost reports whether the node is the adapter of a host, or a router: neither a switch nor an
// aggregation node.
func (n *Node) IsHost() bool { return !n.IsSwitch() && !n.IsAggregation() }

// Marks of aggregation nodes: see Node.IsAggregation.
const (
	vendorMellanox      = 0x2c9
	deviceAggregation   = 0xcf09
	describeAggregation = "Mellanox Technologies Aggregation Node"
)

// IsAggregation reports whether the node is the aggregation node of a switch (SHARP): a channel
// adapter inside the switch, at a port beyond the external ones (41 of a Quantum switch), which
// computes reductions and belongs to no host. The marks are those that ibnetdiscover prints of it
// at an MQM8700: vendid 0x2c9 with devid 0xcf09, and the description "Mellanox Technologies
// Aggregation Node", of which one is enough.
//
// Virtual functions need no such rule: the subnet doesn't see their ports (MLNX_OFED user manual,
// "Virtual Function InfiniBand Ports": one HCA is observable by the network).
func (n *Node) IsAggregation() bool {
	return n.Info.NodeType == mad.NodeTypeCA &&
		(n.Info.VendorID == vendorMellanox && n.Info.DeviceID == deviceAggregation ||
			n.Description.String() == describeAggregation)
}

// LID returns the base LID of a port; for any port of a switch that of port 0; 0 if unknown.
func (n *Node) LID(port uint8) ib.LID {
	if n.IsSwitch() {
		port = 0
	}
	if int(port) >= len(n.Ports) {
		return 0
	}
	return n.Ports[port].Info.LID
}

// Node returns the node with that GUID, or nil.
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

// order returns each node's index in Nodes.
func (t *Topology) order() map[ib.GUID]int {
	order := make(map[ib.GUID]int, len(t.Nodes))
	for i, n := range t.Nodes {
		order[n.GUID()] = i
	}
	return order
}

// SubnetManager is a subnet manager, master or standby.
type SubnetManager struct {
	Port PortID     // its port; zero if no port with that LID or GUID is known
	LID  ib.LID     // of that port
	Info mad.SMInfo // as it answered
	Err  string     // why there is no Info; empty if it answered
}

// PortSet is a set of port numbers from 0 to 255, one bit for each, the lowest bit first.
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

// Unreached is a request of the sweep without an answer.
type Unreached struct {
	// Node and Port are the place where answers ended: a port behind which nobody answered, or,
	// with Port 0, a node that stopped answering (What is the request).
	Node   ib.GUID
	Port   uint8
	Path   mad.Path // the directed route of the request
	What   string   // "node behind port", "port info 7", …
	Reason string
	Tries  int
	// Causes, if nobody answered, are what this could mean, given what was tried: see
	// [Silence.Causes].
	Causes []string
}

// String returns one line for a log.
func (u Unreached) String() string {
	return fmt.Sprintf("%s of %s (path %s): %s", u.What, PortID{u.Node, u.Port}, u.Path, u.Why())
}

// Why returns the reason, followed by the possible causes.
func (u Unreached) Why() string {
	if len(u.Causes) == 0 {
		return u.Reason
	}
	return u.Reason + ": " + either(u.Causes)
}

// AnomalyKind is the kind of a contradiction between answers, or between an answer and the
// specification.
type AnomalyKind string

// The kinds.
const (
	AnomalyDuplicateGUID AnomalyKind = "duplicate-guid" // two cables end at one port: two nodes have the same GUID
	AnomalyChanged       AnomalyKind = "changed"        // a node gave two different node infos
	AnomalyPortRange     AnomalyKind = "port-range"     // a port number that the node doesn't have
	AnomalyNoGUID        AnomalyKind = "no-guid"        // a GUID of zeros
	AnomalyNodeType      AnomalyKind = "node-type"      // not one of the three node types
	AnomalyForeign       AnomalyKind = "foreign-answer" // an answer that matches no request, or an invalid MAD
	AnomalySelfLink      AnomalyKind = "self-link"      // a port cabled to itself
	AnomalyOneSided      AnomalyKind = "one-sided"      // a cable that is up at one end and not at the other
	AnomalyTooFar        AnomalyKind = "too-far"        // more than 63 hops away
	AnomalyTooMany       AnomalyKind = "too-many"       // more nodes than Options.MaxNodes, or more ports
	AnomalyDuplicateLID  AnomalyKind = "duplicate-lid"  // several ports have the same LID
	AnomalySubnetPrefix  AnomalyKind = "subnet-prefix"  // ports have different subnet prefixes
	AnomalyMasterLID     AnomalyKind = "master-lid"     // ports follow different subnet managers
	AnomalyMasters       AnomalyKind = "two-masters"    // more than one subnet manager is master
)

// Anomaly is one contradiction.
type Anomaly struct {
	Kind   AnomalyKind `json:"kind"`   // the kind of contradiction
	At     PortID      `json:"at"`     // where it was seen; zero if no port is known
	Detail string      `json:"detail"` // a description with the values
}

// String returns one line for a log.
func (a Anomaly) String() string { return fmt.Sprintf("%s at %s: %s", a.Kind, a.At, a.Detail) }

// Stats counts the packets of a sweep.
type Stats struct {
	Sent    int `json:"sent"`    // MADs, retries included
	Answers int `json:"answers"` // MADs that answered a request
	Retries int `json:"retries"` // requests sent again
	// answers, and reports of loss, that came after the sweep had given up or sent the request
	// again
	Late      int `json:"late"`
	Foreign   int `json:"foreign"`   // datagrams that answered no request
	Anomalies int `json:"anomalies"` // all, listed or not
	Unreached int `json:"unreached"` // all, listed or not
	// Window is the largest number of requests that were outstanding and not overdue.
	Window int `json:"window"`
	// RoundTrip is the smoothed round-trip time at the end.
	RoundTrip time.Duration `json:"roundTripNanoseconds"`
}

// finish fills in the fields that are known once the sweep is over.
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
