package administration_test

import (
	"iter"

	"github.com/rdmakit/rdmakit/internal/sim/administration"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// net is a list of nodes.
type net []*node

// Nodes implements administration.Subnet.
func (n net) Nodes() iter.Seq[administration.Node] {
	return func(yield func(administration.Node) bool) {
		for _, one := range n {
			if !yield(one) {
				return
			}
		}
	}
}

// node is a switch with three ports, or a host with one. Its LID and the last byte of its GUID are
// the same.
type node struct {
	lid   ib.LID
	ports int
	info  mad.PortInfo // of all ports
	peers map[uint8]*node
	far   map[uint8]uint8
	table []uint8
	pkeys []ib.PKey // nil: the default partition, full member
	sl    uint8
}

// star returns a switch with LID 1 and three hosts with LIDs 2 to 4 at its ports 1 to 3.
func star() net {
	leaf := &node{lid: 1, ports: 3, peers: map[uint8]*node{}, far: map[uint8]uint8{}, table: []uint8{255, 0, 1, 2, 3}}
	list := net{leaf}
	for port := uint8(1); port <= 3; port++ {
		host := &node{lid: ib.LID(port) + 1, ports: 1, peers: map[uint8]*node{1: leaf}, far: map[uint8]uint8{1: port}}
		leaf.peers[port], leaf.far[port] = host, 1
		list = append(list, host)
	}
	for _, n := range list {
		n.info = mad.PortInfo{
			GIDPrefix: ib.SubnetPrefixDefault, LinkWidthActive: mad.LinkWidth4X, LinkSpeedExtActive: 8, NeighborMTU: 5,
			MTUCap: 4, MKey: 99, CapabilityMask: mad.Capability(n.lid) << 8,
		}
	}
	return list
}

func (n *node) isSwitch() bool { return n.table != nil }

func (n *node) Info(uint8) mad.NodeInfo {
	kind := mad.NodeTypeCA
	if n.isSwitch() {
		kind = mad.NodeTypeSwitch
	}
	guid := ib.GUID{7: byte(n.lid)}
	return mad.NodeInfo{NodeType: kind, NumPorts: uint8(n.ports), NodeGUID: guid, PortGUID: guid}
}

func (n *node) Description() (d mad.NodeDescription) {
	copy(d[:], "node")
	return d
}

func (n *node) LID(port uint8) ib.LID {
	if n.isSwitch() && port > 0 {
		return 0
	}
	return n.lid
}

func (n *node) PortInfo(uint8) mad.PortInfo { return n.info }

func (n *node) Peer(port uint8) (administration.Node, uint8) {
	if far := n.peers[port]; far != nil {
		return far, n.far[port]
	}
	return nil, 0
}

func (n *node) Switch() (mad.SwitchInfo, []uint8) { return mad.SwitchInfo{LinearFDBTop: 4}, n.table }

func (n *node) Lanes(in, out uint8) (lanes [mad.SLs]uint8) {
	lanes[0], lanes[1] = in, out
	return lanes
}

func (n *node) PKeys(uint8) []ib.PKey {
	if n.pkeys == nil {
		return []ib.PKey{0xffff, 0}
	}
	return n.pkeys
}

func (n *node) SL() uint8 { return n.sl }

func (n *node) Manager() *mad.SMInfo {
	if n.lid != 2 {
		return nil
	}
	return &mad.SMInfo{SMKey: 5, Priority: 3}
}
