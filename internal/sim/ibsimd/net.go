package ibsimd

import (
	"cmp"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Net is a subnet to simulate, in the state before a subnet manager configures it.
type Net struct {
	Subnet *subnet.Subnet
	Nodes  []*Node // in the order of their definition; at least one
	// LostAfter is how long a request to a node that doesn't answer is held before it is returned
	// as lost; 0: DefaultLostAfter. Requests on routes that don't exist are returned at once.
	LostAfter time.Duration

	byName      map[string]*Node
	ports, lids int
	partitions  bool // GMPs are delivered only within a partition
}

// Node is a node of a [Net].
type Node struct {
	*subnet.Node
	SystemGUID    ib.GUID        // zero: that of the node
	EnhancedPort0 bool           // of a switch
	Settings      []PortSettings // by port number

	// Of a saved sweep; nil otherwise.
	Info        *mad.NodeInfo
	Switch      *mad.SwitchInfo
	Performance *mad.ClassPortInfo
	Routes      []uint8 // linear forwarding table

	pkeys    []ib.PKey      // partition table of the ports; nil: the default partition
	sl       uint8          // that GMPs to the node must have; 0: any
	patches  []patch        // bytes that answers have instead of the real ones
	growing  map[int][]ramp // counters that grow, by port
	identity func() ib.GUID // the node GUID to answer with; nil: the real one
}

// PortSettings is what a port may do, and what it has from a file.
type PortSettings struct {
	Width    uint8  // enabled widths, or'ed as in mad.LinkWidth
	Speed    uint8  // enabled speeds: 1 SDR, 2 DDR, 4 QDR
	Extended uint8  // enabled extended speeds: 1 FDR, 2 EDR, 4 HDR, 8 NDR
	FDR10    bool   // enabled
	LID      ib.LID // 0: none yet
	LMC      uint8

	// Info is the state of the port in a saved sweep; nil otherwise.
	Info *mad.PortInfo
	// Classic holds the counters that PortCounters reports, if they differ from the extended ones.
	Classic *mad.PortCounters
}

// Limits of a net. Each adapter port and each switch needs one of the unicast LIDs.
const (
	maxLIDs  = int(mad.MulticastLIDBase) - 1
	maxPorts = 1 << 20
)

// DefaultLostAfter is the time in which infiniband-diags expects an answer.
const DefaultLostAfter = time.Second

func (n *Net) lostAfter() time.Duration { return cmp.Or(n.LostAfter, DefaultLostAfter) }

// NewNet returns a net without nodes.
func NewNet() *Net { return &Net{Subnet: subnet.New(), byName: map[string]*Node{}} }

// Add adds a node. The settings are those of all its ports.
func (n *Net) Add(name string, kind mad.NodeType, ports uint8, settings PortSettings) (*Node, error) {
	if n.byName[name] != nil {
		return nil, fmt.Errorf("node %q is defined twice", name)
	}
	lids := 1
	if kind != mad.NodeTypeSwitch {
		lids = int(ports)
	}
	switch {
	case n.lids+lids > maxLIDs:
		return nil, fmt.Errorf("more than %d ports of adapters and switches, which need a LID each", maxLIDs)
	case n.ports+int(ports) > maxPorts:
		return nil, fmt.Errorf("more than %d ports", maxPorts)
	}
	n.lids, n.ports = n.lids+lids, n.ports+int(ports)
	one := &Node{Node: n.Subnet.Add(name, kind, ports), Settings: make([]PortSettings, int(ports)+1)}
	for i := range one.Settings {
		one.Settings[i] = settings
	}
	n.byName[name] = one
	n.Nodes = append(n.Nodes, one)
	return one, nil
}

// Find returns the node with that name, or else the first one with that node description; nil if
// there is none.
func (n *Net) Find(name string) *Node {
	if one := n.byName[name]; one != nil {
		return one
	}
	for _, one := range n.Nodes {
		if one.Description == name {
			return one
		}
	}
	return nil
}

// isSwitch reports whether the node forwards packets.
func (n *Node) isSwitch() bool { return n.Type == mad.NodeTypeSwitch }

// Counts returns the numbers of switches, of other nodes and of cables.
func (n *Net) Counts() (switches, hosts, cables int) {
	for _, one := range n.Nodes {
		if one.isSwitch() {
			switches++
		} else {
			hosts++
		}
		for i := range one.Ports {
			if one.Ports[i].Peer != nil {
				cables++
			}
		}
	}
	return switches, hosts, cables / 2
}
