package fabric

import (
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// maxMulticastBlocks is how many blocks the attribute's modifier can name: up to LID 0xffff
// (specification section 14.2.5.12).
const maxMulticastBlocks = 1 << multicastBlockBits

// planMulticast plans the requests for a switch's multicast table: each block once for every 16
// ports of the switch.
func (s *sweep) planMulticast(n *nodeState) {
	node := n.node
	if node.Multicast != nil {
		return
	}
	node.Multicast = map[ib.LID]PortSet{}
	entries := int(node.Switch.MulticastFDBCap)
	switch top := node.Switch.MulticastFDBTop; {
	case top >= uint16(mad.MulticastLIDBase):
		entries = min(entries, int(top-uint16(mad.MulticastLIDBase))+1)
	case top == uint16(mad.MulticastLIDBase)-1:
		entries = 0 // the switch reports its top LID, and it has no group
	}
	blocks := min((entries+mad.MFTBlockLen-1)/mad.MFTBlockLen, maxMulticastBlocks)
	positions := int(node.Info.NumPorts)/mad.MFTPortsPerPosition + 1
	for block := range blocks {
		for position := range positions {
			s.agenda.add(task{owner: n, kind: kindMulticast, arg: uint16(position<<multicastBlockBits | block)})
		}
	}
}

// learnMulticast stores a block of a multicast table. Bits of ports that the switch doesn't have
// are ignored.
func (s *sweep) learnMulticast(t task, data []byte) {
	var table mad.MFTBlock
	table.Decode(data) //nolint:errcheck // the caller has the length
	node := t.owner.node
	block, position := t.block()
	for i, mask := range table {
		if mask == 0 {
			continue
		}
		lid := mad.MulticastLIDBase + ib.LID(int(block)*mad.MFTBlockLen+i)
		set := node.Multicast[lid]
		for bit := range mad.MFTPortsPerPosition {
			port := int(position)*mad.MFTPortsPerPosition + bit
			if mask>>bit&1 != 0 && port <= int(node.Info.NumPorts) {
				set.Add(uint8(port))
			}
		}
		if set != (PortSet{}) {
			node.Multicast[lid] = set
		}
	}
}
