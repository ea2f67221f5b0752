package subnet

import (
	"encoding/binary"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// pkeys returns the partition table of the node's ports.
func (n *Node) pkeys() []ib.PKey {
	if n.PKeys == nil {
		return []ib.PKey{ib.PKeyDefault}
	}
	return n.PKeys
}

// pkeyBlock returns a block of the partition table; the port in the upper half of the modifier
// doesn't matter.
func (n *Node) pkeyBlock(modifier uint32) *mad.PKeyTable {
	table := new(mad.PKeyTable)
	if first := int(modifier&0xffff) * mad.PKeyBlockLen; first < len(n.pkeys()) {
		copy(table[:], n.pkeys()[first:])
	}
	return table
}

// accepts reports whether the node accepts packets with a key: the low 15 bits of one of its keys
// are the same and not 0, and not both keys are those of limited members (specification section
// 10.9.3).
func (n *Node) accepts(k ib.PKey) bool {
	for _, own := range n.pkeys() {
		if own<<1 == k<<1 && k<<1 != 0 && own|k >= 0x8000 {
			return true
		}
	}
	return false
}

// masterSL returns the service level to the master subnet manager.
func (s *Subnet) masterSL() uint8 {
	if n := s.byLID[s.MasterLID]; n != nil {
		return n.SL
	}
	return 0
}

// reaches reports whether a GMP gets to the queue pair at its LID: by its P_Key, its service level,
// and its global route header, if it has one.
func (t *Transport) reaches(d *fabric.Datagram) bool {
	n, own, a := t.subnet.byLID[d.Address.LID], t.node.pkeys(), &d.Address
	switch {
	case n == nil || int(a.PKeyIndex) >= len(own) || !n.accepts(own[a.PKeyIndex]) || n.SL != 0 && a.SL != n.SL:
		return false
	case !a.HasGRH:
		return true
	case a.GID.SubnetPrefix() != ib.SubnetPrefixDefault:
		return false
	}
	const wellKnown = 0x0200_0000_0000_0002 // of subnet administration (kernel: IB_SA_WELL_KNOWN_GUID)
	id := a.GID.InterfaceID()
	if mad.Class(d.MAD[1]) == mad.ClassSA && id == wellKnown {
		return true
	}
	guid := n.portGUID(n.portAt(a.LID))
	return id == binary.BigEndian.Uint64(guid[:])
}

// portAt returns the number of the node's port with a LID; 0: none, or port 0 of a switch.
func (n *Node) portAt(lid ib.LID) uint8 {
	for port := range n.Ports {
		if n.LIDs[port] == lid {
			return uint8(port)
		}
	}
	return 0
}

// Addressing returns Address: see [fabric.AddressingOf].
func (t *Transport) Addressing() *fabric.Addressing { return t.Address }
