package fabric

import (
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Schema names the format of a saved [Topology].
const Schema = "rdmakit.fabric/v1"

// Document is the saved form of a [Topology]. It has each attribute twice: as bytes (in base64) for
// programs, and as named fields for readers. [ReadTopology] rejects a file in which the two differ.
type Document struct {
	Schema string `json:"schema"` // name and version of this format
	// Started is when the sweep began.
	Started time.Time `json:"started"`
	// Duration is the duration of the sweep in nanoseconds.
	Duration time.Duration `json:"durationNanoseconds"`
	// Origin is the local port that the sweep used.
	Origin PortID `json:"origin"`
	// Complete is true if every request was answered.
	Complete bool  `json:"complete"`
	Stats    Stats `json:"stats"`
	// SubnetManagers are the subnet managers that were queried.
	SubnetManagers []ManagerDocument `json:"subnetManagers"`
	// Unreached lists the requests that were not answered.
	Unreached []UnreachedDocument `json:"unreached"`
	// Anomalies lists contradictions.
	Anomalies []Anomaly `json:"anomalies"`
	// Nodes are in the order in which they were found, the local node first.
	Nodes []NodeDocument `json:"nodes"`
}

// NodeDocument is the saved form of a [Node].
type NodeDocument struct {
	GUID ib.GUID `json:"guid"` // the node GUID, which identifies the node in PortID
	// Type is switch, hca or router.
	Type        string `json:"type"`
	Description string `json:"description"`
	// DescriptionBytes is the node description as sent, if Description can't represent all of its
	// bytes.
	DescriptionBytes []byte `json:"descriptionBytes,omitempty"`
	// Path is the directed route from the origin, in the format of infiniband-diags' option -D.
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
	// Ports are the ports of which anything is known, in ascending order.
	Ports []PortDocument `json:"ports"`
}

// MulticastDocument is one entry of a multicast forwarding table.
type MulticastDocument struct {
	LID   ib.LID `json:"lid"`   // of the group
	Ports []int  `json:"ports"` // ports that packets to the group leave by, in ascending order
}

// PortDocument is the saved form of a [Port].
type PortDocument struct {
	Number uint8 `json:"number"` // from 1; 0 of a switch
	// GUID is left out if it equals the port GUID in nodeInfo.
	GUID *ib.GUID `json:"guid,omitempty"`
	// State is DOWN, INIT, ARMED or ACTIVE.
	State string `json:"state,omitempty"`
	// PhysicalState is LinkUp, Polling, Disabled …
	PhysicalState string `json:"physicalState,omitempty"`
	// Width and Speed are the active width and speed of a link that is up: 4X, HDR …
	Width string `json:"width,omitempty"`
	Speed string `json:"speed,omitempty"`
	LID   ib.LID `json:"lid,omitempty"`
	// Peer is the other end of the cable.
	Peer *PortID `json:"peer,omitempty"`
	// Path is the directed route to an adapter's port.
	Path string `json:"path,omitempty"`
	// PortInfo and MellanoxPortInfo are the attributes' bytes; a port that did not answer has none.
	PortInfo         []byte `json:"portInfo,omitempty"`
	MellanoxPortInfo []byte `json:"mellanoxPortInfo,omitempty"`
	// Counters and ExtendedCounters are by the specification's names; those that are zero are
	// left out.
	Counters         map[string]uint64 `json:"counters,omitzero"`
	ExtendedCounters map[string]uint64 `json:"extendedCounters,omitzero"`
	// CountersAfter is when the counters were read: nanoseconds since started.
	CountersAfter time.Duration `json:"countersAfterNanoseconds,omitempty"`
}

// ManagerDocument is the saved form of a [SubnetManager].
type ManagerDocument struct {
	Port PortID `json:"port"` // the manager's port; zero if no port with that LID or GUID is known
	LID  ib.LID `json:"lid"`  // of that port
	// State is one of libibmad's names, from SMINFO_NOTACT to SMINFO_MASTER.
	State    string  `json:"state,omitempty"`
	GUID     ib.GUID `json:"guid"`
	Key      uint64  `json:"key"`
	Priority uint8   `json:"priority"`
	Activity uint32  `json:"activity"`
	StateNum uint8   `json:"stateNumber"`
	// Error is the reason why the manager did not answer.
	Error string `json:"error,omitempty"`
}

// UnreachedDocument is the saved form of an [Unreached].
type UnreachedDocument struct {
	Node   ib.GUID `json:"node"`   // the last node on the path that answered
	Port   uint8   `json:"port"`   // the port behind which nobody answered; 0 if the node itself stopped answering
	Path   string  `json:"path"`   // the directed route of the request
	What   string  `json:"what"`   // what was requested: "node behind port", …
	Reason string  `json:"reason"` // why there is no answer
	Tries  int     `json:"tries"`  // how often the request was sent
	// Causes are what the silence could mean, given the keys that were tried.
	Causes []string `json:"causes,omitempty"`
}

// Document returns the saved and printed form of the topology. [Topology.WriteJSON] does not need
// all of it in memory.
func (t *Topology) Document() *Document {
	d := t.documentHead()
	d.Nodes = make([]NodeDocument, 0, len(t.Nodes))
	for _, n := range t.Nodes {
		d.Nodes = append(d.Nodes, nodeDocument(n))
	}
	return d
}

// Document returns the saved form.
func (u *Unreached) Document() UnreachedDocument {
	return UnreachedDocument{u.Node, u.Port, u.Path.String(), u.What, u.Reason, u.Tries, u.Causes}
}

// documentHead returns the document without its nodes.
func (t *Topology) documentHead() *Document {
	d := &Document{
		Schema: Schema, Started: t.Started.UTC(), Duration: t.Duration, Origin: t.Origin, Complete: t.Complete,
		Stats: t.Stats, SubnetManagers: []ManagerDocument{}, Unreached: []UnreachedDocument{}, Anomalies: []Anomaly{},
	}
	d.Anomalies = append(d.Anomalies, t.Anomalies...)
	for _, u := range t.Unreached {
		d.Unreached = append(d.Unreached, u.Document())
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

// describe returns the node description with this text.
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
		CountersAfter: p.CountersAfter,
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

// words fills in the named fields from the attributes.
func (d *PortDocument) words(p *Port) {
	d.LID = p.Info.LID
	if p.Known {
		d.State, d.PhysicalState = stateWord(p.Info.PortState), p.Info.PortPhysicalState.String()
	}
	if p.IsLinkUp() {
		d.Width, d.Speed = p.Width().String(), p.Speed().String()
	}
}

// stateWord returns the kernel's name of a port state, as the other documents have it.
func stateWord(s mad.PortState) string {
	words := [...]string{"NOP", "DOWN", "INIT", "ARMED", "ACTIVE"}
	if int(s) < len(words) {
		return words[s]
	}
	return s.String()
}
