package fabric

import (
	"cmp"
	"slices"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Bundle is the set of parallel cables from one node to another.
type Bundle struct {
	Peer  *Node
	Ports []PortID // of the node, in ascending order
}

// Bundles groups a node's cables by the node at the other end: higher tiers first (see
// [Topology.Tiers]), then by name.
func (t *Topology) Bundles(n *Node, tiers map[ib.GUID]int) []Bundle {
	byPeer := map[ib.GUID]*Bundle{}
	for number := range n.Ports {
		p := &n.Ports[number]
		if !p.HasPeer() {
			continue
		}
		peer := t.Node(p.Peer.Node)
		if peer == nil {
			continue
		}
		b := byPeer[p.Peer.Node]
		if b == nil {
			b = &Bundle{Peer: peer}
			byPeer[p.Peer.Node] = b
		}
		b.Ports = append(b.Ports, PortID{n.GUID(), uint8(number)})
	}
	list := make([]Bundle, 0, len(byPeer))
	for _, b := range byPeer {
		list = append(list, *b)
	}
	slices.SortFunc(list, func(a, b Bundle) int {
		return cmp.Or(tiers[b.Peer.GUID()]-tiers[a.Peer.GUID()], compareNodes(a.Peer, b.Peer))
	})
	return list
}
