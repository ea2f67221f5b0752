package fabric

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Limits of a saved topology. A subnet has fewer than 49,152 LIDs. The limits on the elements keep
// the memory for a hostile file proportional to its size.
const (
	maxSavedNodes = 1 << 16
	maxSavedPorts = 1 << 21
	maxSavedNode  = 32 << 20 // bytes: a full multicast table of 254 ports is 17 MB
	maxSavedList  = 16 << 20 // bytes of one of the other fields
)

// ErrSchema is the cause if a file is not a saved topology of a version that [ReadTopology]
// supports.
var ErrSchema = errors.New("not a saved topology")

// ReadTopology reads the output of [Topology.WriteJSON], or a [Document] as JSON. It returns
// exactly the topology that was saved, or an error that names the node and port: an invalid GUID, a
// port that the node doesn't have, a cable without an end, attribute bytes that contradict the
// named fields. Unknown fields are ignored.
func ReadTopology(r io.Reader) (*Topology, error) {
	limited := &elementReader{r: r, left: maxSavedList}
	in := &reader{limited: limited, decoder: json.NewDecoder(limited), topology: &Topology{byGUID: map[ib.GUID]*Node{}}}
	if err := in.read(); err != nil {
		return nil, fmt.Errorf("read topology: %w", err)
	}
	return in.topology, nil
}

// errTooLong is the cause if one element of a file is longer than any that [Topology.WriteJSON]
// writes.
var errTooLong = errors.New("one element is too long")

// elementReader fails once more bytes were read than one element may have.
type elementReader struct {
	r    io.Reader
	left int
}

func (e *elementReader) Read(b []byte) (int, error) {
	if e.left <= 0 {
		return 0, errTooLong
	}
	n, err := e.r.Read(b[:min(len(b), e.left)])
	e.left -= n
	return n, err
}

// reader is the state of one call of ReadTopology.
type reader struct {
	limited  *elementReader
	decoder  *json.Decoder
	topology *Topology
	head     Document
	ports    int
}

func (in *reader) read() error {
	if err := in.delim('{'); errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	} else if err != nil {
		return err
	}
	for in.decoder.More() {
		token, err := in.decoder.Token()
		if err != nil {
			return inFileWords(err)
		}
		name, ok := token.(string)
		if !ok {
			return fmt.Errorf("%s where the name of a field is expected", tokenWord(token))
		}
		if err := in.field(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := in.delim('}'); err != nil {
		return err
	}
	if _, err := in.decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("extra data after the end")
	}
	if err := in.finishHead(); err != nil {
		return err
	}
	return in.checkCables()
}

func (in *reader) delim(want json.Delim) error {
	token, err := in.decoder.Token()
	if err != nil {
		return inFileWords(err)
	}
	if token != want {
		return fmt.Errorf("%s where %v is expected", tokenWord(token), want)
	}
	return nil
}

// field reads the value of one field of the document.
func (in *reader) field(name string) error {
	h := &in.head
	var unknown json.RawMessage
	targets := map[string]any{
		"schema": &h.Schema, "started": &h.Started, "durationNanoseconds": &h.Duration, "origin": &h.Origin,
		"complete": &h.Complete, "stats": &h.Stats, "subnetManagers": &h.SubnetManagers, "unreached": &h.Unreached,
		"anomalies": &h.Anomalies,
	}
	if name == "nodes" {
		return in.nodes()
	}
	target, ok := targets[name]
	if !ok {
		target = &unknown
	}
	if err := in.decode(target, maxSavedList); err != nil {
		return err
	}
	if name == "schema" && h.Schema != Schema {
		return fmt.Errorf("%w: the schema is %.60q, want %q", ErrSchema, h.Schema, Schema)
	}
	return nil
}

// decode reads one value, with a limit on its size.
func (in *reader) decode(target any, bound int) error {
	in.limited.left = bound
	return inFileWords(in.decoder.Decode(target))
}

func (in *reader) nodes() error {
	if in.topology.Nodes != nil {
		return errors.New("duplicate list")
	}
	if err := in.delim('['); err != nil {
		return err
	}
	for in.decoder.More() {
		var d NodeDocument
		index := len(in.topology.Nodes)
		if err := in.decode(&d, maxSavedNode); err != nil {
			return fmt.Errorf("node %d: %w", index, err)
		}
		if err := in.node(&d); err != nil {
			return fmt.Errorf("node %d, %s: %w", index, d.GUID, err)
		}
	}
	return in.delim(']')
}

// node reads one node, with its ports.
func (in *reader) node(d *NodeDocument) error {
	n, err := nodeFromDocument(d)
	if err != nil {
		return err
	}
	in.ports += len(n.Ports)
	switch {
	case in.topology.byGUID[n.GUID()] != nil:
		return errors.New("duplicate GUID of another node")
	case len(in.topology.Nodes) >= maxSavedNodes:
		return fmt.Errorf("more than %d nodes", maxSavedNodes)
	case in.ports > maxSavedPorts:
		return fmt.Errorf("more than %d ports in all", maxSavedPorts)
	}
	last := -1
	for i := range d.Ports {
		p := &d.Ports[i]
		if int(p.Number) >= len(n.Ports) || int(p.Number) <= last {
			return fmt.Errorf("port %d: the node has %d ports, which must be in ascending order",
				p.Number, n.Info.NumPorts)
		}
		last = int(p.Number)
		if err := portFromDocument(n, p); err != nil {
			return fmt.Errorf("port %d: %w", p.Number, err)
		}
	}
	in.topology.Nodes = append(in.topology.Nodes, n)
	in.topology.byGUID[n.GUID()] = n
	return nil
}

// nodeFromDocument returns the node with its ports empty.
func nodeFromDocument(d *NodeDocument) (*Node, error) {
	n := &Node{Routes: d.Routes}
	if err := decodeAll("nodeInfo", &n.Info, d.NodeInfo); err != nil {
		return nil, err
	}
	switch i := &n.Info; {
	case i.NodeGUID != d.GUID || i.NodeGUID.IsZero():
		return nil, fmt.Errorf("nodeInfo has GUID %s", i.NodeGUID)
	case i.NodeType < mad.NodeTypeCA || i.NodeType > mad.NodeTypeRouter:
		return nil, fmt.Errorf("nodeInfo has type %d", uint8(i.NodeType))
	case i.NumPorts > maxPorts:
		return nil, fmt.Errorf("nodeInfo has %d ports", i.NumPorts)
	case d.Type != nodeTypeWord(i.NodeType) || d.VendorID != i.VendorID || d.DeviceID != i.DeviceID:
		return nil, errors.New("type, vendor or device contradict nodeInfo")
	}
	n.Description = describe(d.Description)
	if d.DescriptionBytes != nil {
		if err := decodeAll("descriptionBytes", &n.Description, d.DescriptionBytes); err != nil {
			return nil, err
		}
	}
	if n.Description.String() != d.Description {
		return nil, errors.New("description is longer than 64 bytes or contradicts descriptionBytes")
	}
	var err error
	if n.Path, err = mad.ParsePath(d.Path); err != nil {
		return nil, err
	}
	if len(d.Routes) > maxUnicastLID+1 || len(d.Routes) > 0 && !n.IsSwitch() {
		return nil, fmt.Errorf("%d routes", len(d.Routes))
	}
	if d.SwitchInfo != nil {
		n.Switch = new(mad.SwitchInfo)
		err = decodeAll("switchInfo", n.Switch, d.SwitchInfo)
	}
	if err == nil && d.ClassPortInfo != nil {
		n.Performance = new(mad.ClassPortInfo)
		err = decodeAll("classPortInfo", n.Performance, d.ClassPortInfo)
	}
	if err == nil {
		n.Multicast, err = multicastFromDocument(d.Multicast, n.Info.NumPorts)
	}
	n.Ports = make([]Port, int(n.Info.NumPorts)+1)
	return n, err
}

func multicastFromDocument(list []MulticastDocument, ports uint8) (map[ib.LID]PortSet, error) {
	if list == nil {
		return nil, nil //nolint:nilnil // it was not requested
	}
	table := make(map[ib.LID]PortSet, len(list))
	for _, e := range list {
		var set PortSet
		for _, port := range e.Ports {
			if port < 0 || port > int(ports) {
				return nil, fmt.Errorf("multicast LID 0x%x goes to port %d of %d", uint16(e.LID), port, ports)
			}
			set.Add(uint8(port))
		}
		if _, ok := table[e.LID]; ok || e.LID < mad.MulticastLIDBase || set == (PortSet{}) {
			return nil, fmt.Errorf("multicast LID 0x%x: twice, no multicast LID, or without ports", uint16(e.LID))
		}
		table[e.LID] = set
	}
	return table, nil
}

// decodeAll decodes an attribute that must have exactly the right length.
func decodeAll(name string, to interface {
	Decode(b []byte) (int, error)
}, from []byte,
) error {
	n, err := to.Decode(from)
	if err == nil && n != len(from) {
		err = fmt.Errorf("%d bytes, want %d", len(from), n)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// portFromDocument fills in a port of the node.
func portFromDocument(n *Node, d *PortDocument) error {
	p := &n.Ports[d.Number]
	var err error
	p.GUID = n.Info.PortGUID
	if d.GUID != nil {
		p.GUID = *d.GUID
	}
	if d.Peer != nil {
		p.Peer = *d.Peer
	}
	if d.Path != "" {
		if p.Path, err = mad.ParsePath(d.Path); err != nil {
			return err
		}
	}
	if d.PortInfo != nil {
		p.Known = true
		if err := decodeAll("portInfo", &p.Info, d.PortInfo); err != nil {
			return err
		}
	}
	if d.MellanoxPortInfo != nil {
		p.Mellanox = new(mad.ExtendedPortInfo)
		if err := decodeAll("mellanoxPortInfo", p.Mellanox, d.MellanoxPortInfo); err != nil {
			return err
		}
	}
	if p.Counters, err = countersFromMap[mad.PortCounters](d.Counters); err != nil {
		return err
	}
	if p.Extended, err = countersFromMap[mad.PortCountersExtended](d.ExtendedCounters); err != nil {
		return err
	}
	p.CountersAfter = d.CountersAfter
	var words PortDocument
	words.words(p)
	if d.State != words.State || d.PhysicalState != words.PhysicalState || d.Width != words.Width ||
		d.Speed != words.Speed || d.LID != words.LID {
		return fmt.Errorf("state, width, speed or LID contradict portInfo, which has %q, %q, %q, %q, %d",
			words.State, words.PhysicalState, words.Width, words.Speed, words.LID)
	}
	return nil
}

// checkCables rejects cable ends that don't exist or don't name each other, and lists that name
// ports that don't exist.
func (in *reader) checkCables() error {
	t := in.topology
	for _, n := range t.Nodes {
		for number := range n.Ports {
			p := &n.Ports[number]
			here := PortID{n.GUID(), uint8(number)}
			if !p.HasPeer() {
				continue
			}
			switch peer := t.Port(p.Peer); {
			case peer == nil:
				return fmt.Errorf("port %s: the cable ends at %s, which does not exist", here, p.Peer)
			case peer.Peer != here:
				return fmt.Errorf("port %s: the cable ends at %s, whose cable ends at %s", here, p.Peer, peer.Peer)
			}
		}
	}
	if len(t.Nodes) > 0 && t.Port(t.Origin) == nil {
		return fmt.Errorf("origin %s does not exist", t.Origin)
	}
	for _, m := range t.SubnetManagers {
		if m.Port != (PortID{}) && t.Port(m.Port) == nil {
			return fmt.Errorf("subnet manager at %s, which does not exist", m.Port)
		}
	}
	return nil
}

// finishHead reads the fields that concern the whole topology.
func (in *reader) finishHead() error {
	h, t := &in.head, in.topology
	if h.Schema == "" {
		return fmt.Errorf("%w: the field schema is missing, want %q", ErrSchema, Schema)
	}
	t.Started, t.Duration, t.Origin, t.Complete, t.Stats = h.Started, h.Duration, h.Origin, h.Complete, h.Stats
	if len(h.Anomalies) > 0 {
		t.Anomalies = h.Anomalies
	}
	for _, u := range h.Unreached {
		path, err := mad.ParsePath(u.Path)
		if err != nil {
			return fmt.Errorf("unreached: %w", err)
		}
		t.Unreached = append(t.Unreached, Unreached{u.Node, u.Port, path, u.What, u.Reason, u.Tries, u.Causes})
	}
	for _, m := range h.SubnetManagers {
		info := mad.SMInfo{
			GUID: m.GUID, SMKey: m.Key, ActCount: m.Activity, Priority: m.Priority, State: mad.SMState(m.StateNum),
		}
		one := SubnetManager{Port: m.Port, LID: m.LID, Info: info, Err: m.Error}
		if m.Error == "" && m.State != info.State.String() {
			return fmt.Errorf("subnet manager at %s: state %q is not number %d", m.Port, m.State, m.StateNum)
		}
		t.SubnetManagers = append(t.SubnetManagers, one)
	}
	return nil
}
