package subnet

import "github.com/rdmakit/rdmakit/wire/mad"

// forwarding returns a switch's forwarding table: the shortest path to each LID, through the lowest
// port if there are several.
func (s *Subnet) forwarding(n *Node) []uint8 {
	if n.forward != nil {
		return n.forward
	}
	table := make([]uint8, int(s.lid)+1)
	for i := range table {
		table[i] = mad.LFTPortNone
	}
	if lid := n.LIDs[0]; lid != 0 {
		table[lid] = 0
	}
	type step struct {
		node     *Node
		in, port uint8 // input port of node; output port of n
	}
	seen := map[*Node]bool{n: true}
	var queue []step
	for port := 1; port < len(n.Ports); port++ {
		if p := n.Ports[port]; p.Peer != nil {
			queue = append(queue, step{p.Peer, p.PeerPort, uint8(port)})
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at.node.Type != mad.NodeTypeSwitch {
			if lid := at.node.LIDs[at.in]; lid != 0 && table[lid] == mad.LFTPortNone {
				table[lid] = at.port
			}
			continue
		}
		if seen[at.node] {
			continue
		}
		seen[at.node] = true
		table[at.node.LIDs[0]] = at.port
		for port := 1; port < len(at.node.Ports); port++ {
			if p := at.node.Ports[port]; p.Peer != nil {
				queue = append(queue, step{p.Peer, p.PeerPort, at.port})
			}
		}
	}
	n.forward = table
	return table
}
