package ibsimd

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Faults are what is wrong with a subnet, as a YAML file has them.
type Faults struct {
	// LostAfter is how long a request that nobody answers is held before it is returned as lost.
	LostAfter Duration `json:"lostAfter,omitempty"`
	// Delay is added to each answer.
	Delay Duration `json:"delay,omitempty"`
	// Nodes are faults of nodes, by their name in the net or a pattern such as "leaf*".
	Nodes    map[string]NodeFault `json:"nodes,omitempty"`
	Counters []CounterFault       `json:"counters,omitempty"`
	// Managers are simulated subnet managers; two may be master.
	Managers []ManagerFault `json:"managers,omitempty"`
}

// NodeFault is what is wrong with a node.
type NodeFault struct {
	Dead  bool     `json:"dead,omitempty"`  // it neither answers nor forwards, and its links are up
	Delay Duration `json:"delay,omitempty"` // of its answers
	Lie   string   `json:"lie,omitempty"`   // one of Lies
	// GUID is the name of the node whose node GUID this one answers with, too.
	GUID string `json:"guid,omitempty"`
	// MKey is the key that requests must have, a number such as "0x1234". Protect is the protect
	// level from 0 to 3; from 2 on requests without the key get no answer at all.
	MKey    string `json:"mkey,omitempty"`
	Protect int    `json:"protect,omitempty"`
	// PKeys is the partition table of the node's ports, numbers such as "0x7fff". If any node has
	// one, the simulator delivers GMPs only within a partition.
	PKeys []ib.PKey `json:"pkeys,omitempty"`
	// SL is the service level that GMPs to the node must have; 0: any.
	SL uint8 `json:"sl,omitempty"`
	// PMKey is the key that requests for counters must have: without it they get no answer.
	PMKey      string      `json:"pmkey,omitempty"`
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Attribute is a part of an attribute of subnet management that a node answers with instead of the
// real one. With it, a node also has attributes that others don't have.
type Attribute struct {
	ID     AttributeID `json:"id"`               // a name such as SwitchInfo, or a number such as 0xff20
	Offset int         `json:"offset,omitempty"` // of the first byte
	Bytes  string      `json:"bytes"`            // hexadecimal
}

// CounterFault is an error counter that grows.
type CounterFault struct {
	Port      string  `json:"port"`    // as "leaf0[3]"
	Counter   string  `json:"counter"` // as SymbolErrorCounter
	PerSecond float64 `json:"perSecond"`
}

// ManagerFault is a simulated subnet manager.
type ManagerFault struct {
	Node     string `json:"node"`
	State    string `json:"state,omitempty"`    // master, standby or not-active; empty: master
	Priority uint8  `json:"priority,omitempty"` // 0 to 15
}

// Duration is a time as in "300ms".
type Duration time.Duration

// UnmarshalJSON reads a duration of package time.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("%s is not a time such as 300ms", b)
	}
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 || v > time.Hour {
		return fmt.Errorf("%q is not a time from 0s to 1h", text)
	}
	*d = Duration(v)
	return nil
}

// AttributeID is the number of an attribute of subnet management.
type AttributeID mad.Attribute

// attributeNames are the names that an AttributeID may have.
func attributeNames() map[string]mad.Attribute {
	return map[string]mad.Attribute{
		"NodeDescription": mad.AttributeNodeDescription, "NodeInfo": mad.AttributeNodeInfo,
		"SwitchInfo": mad.AttributeSwitchInfo, "GUIDInfo": mad.AttributeGUIDInfo,
		"PortInfo": mad.AttributePortInfo, "SMInfo": mad.AttributeSMInfo,
	}
}

// UnmarshalJSON reads a name or a number.
func (a *AttributeID) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	names := attributeNames()
	if v, known := names[text]; known {
		*a = AttributeID(v)
		return nil
	}
	v, err := strconv.ParseUint(text, 0, 16)
	if err != nil {
		return fmt.Errorf("attribute %q is not a number or one of %s", text,
			strings.Join(slices.Sorted(maps.Keys(names)), ", "))
	}
	*a = AttributeID(v)
	return nil
}

// ParseFaults reads faults from YAML.
func ParseFaults(text []byte) (Faults, error) {
	var f Faults
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		return f, fmt.Errorf("read faults: %s", yamlReason(err))
	}
	return f, nil
}

// yamlReason returns the reason of an error in YAML, without the steps of the decoder: "line 2: …",
// "unknown field …".
func yamlReason(err error) string {
	text := err.Error()
	for _, step := range []string{
		"error converting YAML to JSON: ", "error unmarshaling JSON: ", "while decoding JSON: ", "yaml: ", "json: ",
	} {
		text = strings.TrimPrefix(text, step)
	}
	return text
}

// Apply plants the faults in a net, and returns the subnet managers. The error names the fault.
func (f *Faults) Apply(n *Net) ([]Manager, error) {
	if f.LostAfter > 0 {
		n.LostAfter = time.Duration(f.LostAfter)
	}
	n.Subnet.Delay = time.Duration(f.Delay)
	for _, pattern := range slices.Sorted(maps.Keys(f.Nodes)) {
		nodes, err := n.matching(pattern)
		if err != nil {
			return nil, fmt.Errorf("faults: nodes: %w", err)
		}
		fault := f.Nodes[pattern]
		for _, one := range nodes {
			if err := one.plant(n, &fault); err != nil {
				return nil, fmt.Errorf("faults: node %s: %w", pattern, err)
			}
		}
	}
	for i := range f.Counters {
		if err := n.plantCounter(&f.Counters[i]); err != nil {
			return nil, fmt.Errorf("faults: counter %d: %w", i+1, err)
		}
	}
	var managers []Manager
	for _, m := range f.Managers {
		one, err := m.manager(n)
		if err != nil {
			return nil, fmt.Errorf("faults: manager at %q: %w", m.Node, err)
		}
		managers = append(managers, one)
	}
	return managers, nil
}

// matching returns the nodes with a name, or those that a pattern selects.
func (n *Net) matching(pattern string) (nodes []*Node, err error) {
	if one := n.Find(pattern); one != nil {
		return []*Node{one}, nil
	}
	for _, one := range n.Nodes {
		if ok, err := path.Match(pattern, one.Name); err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		} else if ok {
			nodes = append(nodes, one)
		}
	}
	if len(nodes) == 0 {
		return nil, n.Unknown(pattern)
	}
	return nodes, nil
}

// Unknown returns the error for a name that no node has.
func (n *Net) Unknown(name string) *UnknownNameError {
	e := &UnknownNameError{Kind: "node", Name: name}
	for _, one := range n.Nodes {
		e.Known = append(e.Known, one.Name)
	}
	return e
}

// UnknownNameError is the error for a name that isn't one of those that are known.
type UnknownNameError struct {
	Kind  string // what it should be a name of: topology, parameter, node
	Name  string
	Known []string
}

// Error lists the known names, if there are few.
func (e *UnknownNameError) Error() string {
	const few = 12
	text := fmt.Sprintf("unknown %s %q", e.Kind, shorten(e.Name))
	if len(e.Known) <= few {
		text += ": known are " + strings.Join(e.Known, ", ")
	}
	return text
}

// plant gives a node a fault.
func (n *Node) plant(net *Net, f *NodeFault) error {
	n.Dead, n.Delay = f.Dead, time.Duration(f.Delay)
	if f.Lie != "" {
		if !slices.Contains(Lies(), f.Lie) {
			return fmt.Errorf("lie %q is not one of %s", f.Lie, strings.Join(Lies(), ", "))
		}
		n.Lie = func(answer *fabric.Datagram) int { return tell(f.Lie, &answer.MAD) }
	}
	if f.GUID != "" {
		other := net.Find(f.GUID)
		if other == nil {
			return fmt.Errorf("guid: no node %q", f.GUID)
		}
		n.identity = func() ib.GUID { return other.GUID }
	}
	if f.Protect < 0 || f.Protect > 3 || f.Protect > 0 && f.MKey == "" {
		return errors.New("protect is from 0 to 3, and needs mkey")
	}
	var err error
	if n.MKey, err = parseKey("mkey", f.MKey); err != nil {
		return err
	}
	n.Protect = uint8(f.Protect)
	if n.PMKey, err = parseKey("pmkey", f.PMKey); err != nil {
		return err
	}
	if len(f.PKeys) > maxPKeys || f.SL > 15 {
		return fmt.Errorf("%d pkeys, sl %d: at most %d and 15", len(f.PKeys), f.SL, maxPKeys)
	}
	n.pkeys, n.sl = f.PKeys, f.SL
	net.partitions = net.partitions || len(f.PKeys) > 0
	for _, a := range f.Attributes {
		bytes, err := hex.DecodeString(a.Bytes)
		if err != nil || len(bytes) == 0 || a.Offset < 0 || a.Offset+len(bytes) > mad.SMPDataLen {
			return fmt.Errorf("attribute 0x%04x: offset %d and bytes %q are not hexadecimal bytes within its %d",
				uint16(a.ID), a.Offset, a.Bytes, mad.SMPDataLen)
		}
		n.patches = append(n.patches, patch{mad.Attribute(a.ID), a.Offset, bytes})
	}
	return nil
}

// parseKey reads the key of a fault; 0 if there is none.
func parseKey(name, text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	key, err := strconv.ParseUint(text, 0, 64)
	if err != nil || key == 0 {
		return 0, fmt.Errorf("%s %q is not a number above 0 of 64 bits", name, text)
	}
	return key, nil
}

// plantCounter lets a counter grow.
func (n *Net) plantCounter(f *CounterFault) error {
	name, number, found := strings.Cut(strings.TrimSuffix(f.Port, "]"), "[")
	at := n.Find(name)
	if at == nil || !found {
		return fmt.Errorf("port %q is not a node of the net with a port, such as leaf0[3]", f.Port)
	}
	v, err := strconv.ParseUint(number, 10, 8)
	if err != nil || int(v) >= len(at.Ports) || v == 0 && !at.isSwitch() {
		return fmt.Errorf("port %q: the node has %d ports", f.Port, len(at.Ports)-1)
	}
	field, known := counterField(f.Counter)
	if !known {
		return fmt.Errorf("no counter %q", f.Counter)
	}
	if !(f.PerSecond > 0 && f.PerSecond < 1e12) {
		return fmt.Errorf("perSecond %v is not a number above 0", f.PerSecond)
	}
	if at.growing == nil {
		at.growing = map[int][]ramp{}
	}
	at.growing[int(v)] = append(at.growing[int(v)], ramp{name: field, perSecond: f.PerSecond})
	return nil
}

func (f *ManagerFault) manager(n *Net) (Manager, error) {
	states := map[string]mad.SMState{
		"": mad.SMStateMaster, "master": mad.SMStateMaster, "standby": mad.SMStateStandby,
		"not-active": mad.SMStateNotActive,
	}
	state, known := states[f.State]
	switch {
	case !known:
		return Manager{}, fmt.Errorf("state %q is not one of master, standby, not-active", f.State)
	case f.Priority > 15:
		return Manager{}, fmt.Errorf("priority %d is above 15", f.Priority)
	case n.Find(f.Node) == nil:
		return Manager{}, errors.New("no such node")
	}
	return Manager{Node: f.Node, State: state, Priority: f.Priority}, nil
}
