package fabric

import (
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Schema names the form in which a [Topology] is saved.
const Schema = "rdmakit.fabric/v1"

// Document is a [Topology] as it is saved. What a program needs is there as the attribute's bytes
// (in base64), and beside it by name what a reader wants to see; [ReadTopology] refuses a file in
// which the two contradict each other.
type Document struct {
	Schema string `json:"schema"` // name and version of this form
	// Started is when the sweep began.
	Started time.Time `json:"started"`
	// Duration is how long it took, in nanoseconds.
	Duration time.Duration `json:"durationNanoseconds"`
	// Origin is the port that the sweep went out by.
	Origin PortID `json:"origin"`
	// Complete reports whether everything was answered.
	Complete bool  `json:"complete"`
	Stats    Stats `json:"stats"`
	// SubnetManagers are those that were asked for.
	SubnetManagers []ManagerDocument `json:"subnetManagers"`
	// Unreached lists what stayed without answer.
	Unreached []UnreachedDocument `json:"unreached"`
	// Anomalies lists what contradicts itself.
	Anomalies []Anomaly `json:"anomalies"`
	// Nodes are in the order in which they were found, the own node first.
	Nodes []NodeDocument `json:"nodes"`
}

// NodeDocument is a [Node] as it is saved.
type NodeDocument struct {
	GUID ib.GUID `json:"guid"` // the node's, which names it in PortID
	// Type is switch, hca or router.
	Type        string `json:"type"`
	Description string `json:"description"`
	// DescriptionBytes are the node's description as sent, where Description doesn't say it all.
	DescriptionBytes []byte `json:"descriptionBytes,omitempty"`
	// Path is the directed route from the origin, as infiniband-diags' option -D has it.
	Path     string `json:"path"`
	VendorID uint32 `json:"vendorID"`
	DeviceID uint16 `json:"deviceID"`
	// NodeInfo, SwitchInfo and ClassPortInfo (of the performance agent) are the attributes' bytes.
	NodeInfo      []byte `json:"nodeInfo"`
	SwitchInfo    []byte `json:"switchInfo,omitempty"`
	ClassPortInfo []byte `json:"classPortInfo,omitempty"`
	// Routes is the linear forwarding table: for each LID from 0 a byte with the port, 255 where
	// there is none.
	Routes []byte `json:"routes,omitempty"`
	// Multicast is the multicast forwarding table.
	Multicast []MulticastDocument `json:"multicast,omitzero"`
	// Ports are those of which something is known, in ascending order.
	Ports []PortDocument `json:"ports"`
}

// MulticastDocument is one entry of a multicast forwarding table.
type MulticastDocument struct {
	LID   ib.LID `json:"lid"`   // of the group
	Ports []int  `json:"ports"` // that packets to it leave by, in ascending order
}

// PortDocument is a [Port] as it is saved.
type PortDocument struct {
	Number uint8 `json:"number"` // from 1; 0 of a switch
	// GUID is left out where it is the one in the node's info.
	GUID *ib.GUID `json:"guid,omitempty"`
	// State is DOWN, INIT, ARMED or ACTIVE.
	State string `json:"state,omitempty"`
	// PhysicalState is LinkUp, Polling, Disabled …
	PhysicalState string `json:"physicalState,omitempty"`
	// Width and Speed are what a link that is up trained to: 4X, HDR …
	Width string `json:"width,omitempty"`
	Speed string `json:"speed,omitempty"`
	LID   ib.LID `json:"lid,omitempty"`
	// Peer is the other end of the cable.
	Peer *PortID `json:"peer,omitempty"`
	// Path leads to an adapter's port.
	Path string `json:"path,omitempty"`
	// PortInfo and MellanoxPortInfo are the attributes' bytes; a port that did not answer has none.
	PortInfo         []byte `json:"portInfo,omitempty"`
	MellanoxPortInfo []byte `json:"mellanoxPortInfo,omitempty"`
	// Counters and ExtendedCounters are by the specification's names; those that are zero are
	// left out.
	Counters         map[string]uint64 `json:"counters,omitzero"`
	ExtendedCounters map[string]uint64 `json:"extendedCounters,omitzero"`
}

// ManagerDocument is a [SubnetManager] as it is saved.
type ManagerDocument struct {
	Port PortID `json:"port"` // where it runs; zero when no port of that LID or GUID is known
	LID  ib.LID `json:"lid"`  // of that port
	// State is one of libibmad's words, from SMINFO_NOTACT to SMINFO_MASTER.
	State    string  `json:"state,omitempty"`
	GUID     ib.GUID `json:"guid"`
	Key      uint64  `json:"key"`
	Priority uint8   `json:"priority"`
	Activity uint32  `json:"activity"`
	StateNum uint8   `json:"stateNumber"`
	// Error says why it did not answer.
	Error string `json:"error,omitempty"`
}

// UnreachedDocument is an [Unreached] as it is saved.
type UnreachedDocument struct {
	Node   ib.GUID `json:"node"`   // where the silence begins
	Port   uint8   `json:"port"`   // behind which nobody answered; 0 if the node itself fell silent
	Path   string  `json:"path"`   // the directed route to whom the question went
	What   string  `json:"what"`   // what was asked: "node behind port", …
	Reason string  `json:"reason"` // why nothing came, in words
	Tries  int     `json:"tries"`  // how often it was asked
}

// Document returns the form in which the topology is saved and printed. [Topology.WriteJSON] does
// not need all of it in memory.
func (t *Topology) Document() *Document {
	d := t.documentHead()
	d.Nodes = make([]NodeDocument, 0, len(t.Nodes))
	for _, n := range t.Nodes {
		d.Nodes = append(d.Nodes, nodeDocument(n))
	}
	return d
}

// documentHead returns the document without its nodes.
func (t *Topology) documentHead() *Document {
	d := &Document{
		Schema: Schema, Started: t.Started.UTC(), Duration: t.Duration, Origin: t.Origin, Complete: t.Complete,
		Stats: t.Stats, SubnetManagers: []ManagerDocument{}, Unreached: []UnreachedDocument{}, Anomalies: []Anomaly{},
	}
	d.Anomalies = append(d.Anomalies, t.Anomalies...)
	for _, u := range t.Unreached {
		d.Unreached = append(d.Unreached, UnreachedDocument{u.Node, u.Port, u.Path.String(), u.What, u.Reason, u.Tries})
	}
	for i := range t.SubnetManagers {
		m := &t.SubnetManagers[i]
		one := ManagerDocument{
			Port: m.Port, LID: m.LID, GUID: m.Info.GUID, Key: m.Info.SMKey, Priority: m.Info.Priority,
			Activity: m.Info.ActCount, StateNum: uint8(m.Info.State), Error: m.Err,
		}
		if m.Err == "" {
			one.State = m.Info.State.String()
		}
		d.SubnetManagers = append(d.SubnetManagers, one)
	}
	return d
}

func nodeDocument(n *Node) NodeDocument {
	d := NodeDocument{
		GUID: n.GUID(), Type: nodeTypeWord(n.Info.NodeType), Description: n.Description.String(), Path: n.Path.String(),
		VendorID: n.Info.VendorID, DeviceID: n.Info.DeviceID, NodeInfo: n.Info.Append(nil),
		Routes: n.Routes, Multicast: multicastDocument(n.Multicast), Ports: []PortDocument{},
	}
	if describe(d.Description) != n.Description {
		d.DescriptionBytes = n.Description[:]
	}
	if n.Switch != nil {
		d.SwitchInfo = n.Switch.Append(nil)
	}
	if n.Performance != nil {
		d.ClassPortInfo = n.Performance.Append(nil)
	}
	for number := range n.Ports {
		if p := &n.Ports[number]; *p != (Port{}) {
			d.Ports = append(d.Ports, portDocument(n, p, uint8(number)))
		}
	}
	return d
}

// describe returns the description that is sent as this text.
func describe(text string) (d mad.NodeDescription) {
	copy(d[:], text)
	return d
}

func nodeTypeWord(t mad.NodeType) string {
	switch t {
	case mad.NodeTypeSwitch:
		return "switch"
	case mad.NodeTypeRouter:
		return "router"
	default:
		return "hca"
	}
}

func portDocument(n *Node, p *Port, number uint8) PortDocument {
	d := PortDocument{
		Number: number, Counters: counterMap(p.Counters), ExtendedCounters: counterMap(p.Extended),
	}
	if p.GUID != n.Info.PortGUID {
		d.GUID = new(p.GUID)
	}
	if p.HasPeer() {
		d.Peer = new(p.Peer)
	}
	if p.Path.Len() > 0 {
		d.Path = p.Path.String()
	}
	if p.Mellanox != nil {
		d.MellanoxPortInfo = p.Mellanox.Append(nil)
	}
	if p.Known {
		d.PortInfo = p.Info.Append(make([]byte, 0, mad.PortInfoLen))
	}
	d.words(p)
	return d
}

// words fills in what a reader wants to see of the attributes.
func (d *PortDocument) words(p *Port) {
	d.LID = p.Info.LID
	if p.Known {
		d.State, d.PhysicalState = stateWord(p.Info.PortState), p.Info.PortPhysicalState.String()
	}
	if p.IsLinkUp() {
		d.Width, d.Speed = p.Width().String(), p.Speed().String()
	}
}

// stateWord returns the kernel's word for a port's state, as the other documents have it.
func stateWord(s mad.PortState) string {
	words := [...]string{"NOP", "DOWN", "INIT", "ARMED", "ACTIVE"}
	if int(s) < len(words) {
		return words[s]
	}
	return s.String()
}
