package subnet

import (
	"encoding/binary"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// administer returns the answer of subnet administration to a query: a header with a status, and
// records of the same size.
func (s *Subnet) administer(q *mad.SA) (h mad.SAHeader, records [][]byte) {
	h = q.SAHeader
	h.Method |= mad.MethodResponse
	if s.SAStatus != 0 {
		h.Status = s.SAStatus
		return h, nil
	}
	if q.AttributeID == mad.AttributeClassPortInfo && q.Method == mad.MethodGet {
		info := mad.ClassPortInfo{BaseVersion: 1, ClassVersion: mad.SAClassVersion, RespTimeValue: 16}
		return h, [][]byte{info.Append(nil)}
	}
	switch {
	case q.Method != mad.MethodGet && q.Method != mad.MethodGetTable:
		h.Status = mad.StatusUnsupportedMethod
	case q.AttributeID == mad.AttributePathRecord:
		records, h.Status = s.paths(q)
	default:
		kind, ok := saKinds()[q.AttributeID]
		if !ok {
			h.Status = mad.StatusUnsupportedMethodAttribute
			break
		}
		for _, record := range kind.records(s) {
			if kind.matches(q, record) {
				records = append(records, record)
			}
		}
	}
	if h.Status == 0 && q.Method == mad.MethodGet && len(records) != 1 {
		h.Status = mad.StatusSANoRecords
		if len(records) > 1 {
			h.Status = mad.StatusSATooManyRecords
		}
	}
	if h.Status != 0 {
		return h, nil
	}
	if len(records) > 0 {
		h.AttributeOffset = uint16((len(records[0]) + 7) / 8)
	}
	return h, records
}

// saKind is an attribute of subnet administration.
type saKind struct {
	// components are the widths of the record's components in bits, in the order of the bits of the
	// component mask.
	components []int
	records    func(s *Subnet) [][]byte
}

// saKinds are the attributes that have a table, with the components of the specification's tables
// in section 15.2.5.
func saKinds() map[mad.Attribute]saKind {
	block := []int{16, 16} // LID, block
	return map[mad.Attribute]saKind{
		mad.AttributeNodeRecord: {
			[]int{16, 16, 8, 8, 8, 8, 64, 64, 64, 16, 16, 32, 8, 24, 512}, (*Subnet).nodeRecords,
		},
		mad.AttributePortInfoRecord:              {[]int{16, 8, 8, 64, 64, 16, 16, 32}, (*Subnet).portInfoRecords},
		mad.AttributeSwitchInfoRecord:            {[]int{16}, (*Subnet).switchInfoRecords},
		mad.AttributeLinearForwardingTableRecord: {block, (*Subnet).forwardingRecords},
		mad.AttributeSLtoVLMappingTableRecord:    {[]int{16, 8, 8}, (*Subnet).mappingRecords},
		mad.AttributeSMInfoRecord:                {[]int{16, 16, 64, 64, 32, 4, 4}, (*Subnet).managerRecords},
		mad.AttributeLinkRecord:                  {[]int{16, 8, 8, 16}, (*Subnet).linkRecords},
		mad.AttributeGUIDInfoRecord:              {[]int{16, 8}, (*Subnet).guidRecords},
		mad.AttributeMCMemberRecord: {
			[]int{128, 128, 32, 16, 2, 6, 8, 16, 2, 6, 2, 6, 4, 20, 8, 4, 4, 1}, (*Subnet).memberRecords,
		},
		mad.AttributeServiceRecord: {[]int{64, 128, 16, 16, 32, 128, 512}, (*Subnet).serviceRecords},
	}
}

// capabilities is the place of CapabilityMask in the components of a PortInfoRecord.
const capabilities = 7

// matches reports whether a record has the components of a query.
func (k saKind) matches(q *mad.SA, record []byte) bool {
	at := 0
	for i, width := range k.components {
		if q.ComponentMask>>i&1 != 0 {
			want, got := bits(q.Data[:], at, width), bits(record, at, width)
			if i == capabilities && q.AttributeID == mad.AttributePortInfoRecord &&
				q.AttributeModifier&mad.PortInfoRecordAllBits != 0 {
				for j := range got {
					got[j] &= want[j]
				}
			}
			if string(want) != string(got) {
				return false
			}
		}
		at += width
	}
	return true
}

// bits returns the bits of b from a position on, one in each byte.
func bits(b []byte, at, width int) []byte {
	out := make([]byte, width)
	for i := range out {
		out[i] = b[(at+i)/8] >> (7 - (at+i)%8) & 1
	}
	return out
}

// saPort is a port that has a LID.
type saPort struct {
	node *Node
	port uint8
	lid  ib.LID
}

// saPorts returns the ports with a LID of nodes that aren't dead, in the order of the nodes.
func (s *Subnet) saPorts() (list []saPort) {
	for _, n := range s.Nodes {
		for port, lid := range n.LIDs {
			if lid != 0 && !n.Dead {
				list = append(list, saPort{n, uint8(port), lid})
			}
		}
	}
	return list
}

func (s *Subnet) nodeRecords() (list [][]byte) {
	for _, p := range s.saPorts() {
		r := mad.NodeRecord{LID: p.lid, Info: s.nodeInfo(p.node, p.port)}
		copy(r.Description[:], p.node.description())
		list = append(list, r.Append(nil))
	}
	return list
}

func (s *Subnet) portInfoRecords() (list [][]byte) {
	for _, n := range s.Nodes {
		for port := range n.Ports {
			lid := n.lidOf(uint8(port))
			if n.Dead || lid == 0 {
				continue
			}
			info := s.portInfo(n, uint8(port), uint8(port))
			r := mad.PortInfoRecord{EndportLID: lid, PortNum: uint8(port), Info: info}
			list = append(list, r.Append(nil))
		}
	}
	return list
}

// lidOf returns the LID through which a port is reached: for a switch, that of port 0.
func (n *Node) lidOf(port uint8) ib.LID {
	if n.Type == mad.NodeTypeSwitch {
		return n.LIDs[0]
	}
	return n.LIDs[port]
}

func (s *Subnet) switchInfoRecords() (list [][]byte) {
	for _, p := range s.saPorts() {
		if p.node.Type == mad.NodeTypeSwitch {
			r := mad.SwitchInfoRecord{LID: p.lid, Info: s.switchInfo(p.node)}
			list = append(list, r.Append(nil))
		}
	}
	return list
}

func (s *Subnet) forwardingRecords() (list [][]byte) {
	for _, p := range s.saPorts() {
		if p.node.Type != mad.NodeTypeSwitch {
			continue
		}
		table := s.forwarding(p.node)
		for block := 0; block*mad.LFTBlockLen < len(table); block++ {
			r := mad.LinearForwardingTableRecord{LID: p.lid, BlockNum: uint16(block)}
			for i := range r.Ports {
				r.Ports[i] = mad.LFTPortNone
			}
			copy(r.Ports[:], table[block*mad.LFTBlockLen:])
			list = append(list, r.Append(nil))
		}
	}
	return list
}

// mappingRecords maps each service level to lane SL modulo 4, for all pairs of ports of a switch.
func (s *Subnet) mappingRecords() (list [][]byte) {
	for _, p := range s.saPorts() {
		in, out := []uint8{0}, []uint8{0}
		if p.node.Type == mad.NodeTypeSwitch {
			in, out = nil, nil
			for port := range p.node.Ports {
				in = append(in, uint8(port))
				if port > 0 {
					out = append(out, uint8(port))
				}
			}
		}
		for _, o := range out {
			for _, i := range in {
				r := mad.SLtoVLMappingTableRecord{LID: p.lid, InputPortNum: i, OutputPortNum: o}
				for sl := range r.VLs {
					r.VLs[sl] = uint8(sl % 4)
				}
				list = append(list, r.Append(nil))
			}
		}
	}
	return list
}

func (s *Subnet) managerRecords() (list [][]byte) {
	for _, p := range s.saPorts() {
		if p.node.Manager != nil {
			r := mad.SMInfoRecord{LID: p.lid, Info: *p.node.Manager}
			list = append(list, r.Append(nil))
		}
	}
	return list
}

func (s *Subnet) linkRecords() (list [][]byte) {
	for _, n := range s.Nodes {
		for port := 1; port < len(n.Ports); port++ {
			end := n.Ports[port]
			if end.Peer == nil || n.Dead || end.Peer.Dead {
				continue
			}
			r := mad.LinkRecord{
				FromLID: n.lidOf(uint8(port)), FromPort: uint8(port), ToPort: end.PeerPort,
				ToLID: end.Peer.lidOf(end.PeerPort),
			}
			list = append(list, r.Append(nil))
		}
	}
	return list
}

func (s *Subnet) guidRecords() (list [][]byte) {
	for _, p := range s.saPorts() {
		r := mad.GUIDInfoRecord{LID: p.lid}
		r.GUIDs[0] = p.node.portGUID(p.port)
		list = append(list, r.Append(nil))
	}
	return list
}

func (s *Subnet) memberRecords() (list [][]byte) {
	for i := range s.Members {
		list = append(list, s.Members[i].Append(nil))
	}
	return list
}

func (s *Subnet) serviceRecords() (list [][]byte) {
	for i := range s.Services {
		list = append(list, s.Services[i].Append(nil))
	}
	return list
}

// gid returns the GID of a port.
func (p saPort) gid() (g ib.GID) {
	guid := p.node.portGUID(p.port)
	binary.BigEndian.PutUint64(g[:], uint64(ib.SubnetPrefixDefault))
	copy(g[8:], guid[:])
	return g
}

// pathEnds are the components of a path query that are compared.
const pathEnds = mad.PathRecordMaskSLID | mad.PathRecordMaskDLID | mad.PathRecordMaskSGID | mad.PathRecordMaskDGID

// paths returns a path for each pair of ports that a query selects; it must select the source.
func (s *Subnet) paths(q *mad.SA) (list [][]byte, status mad.Status) {
	var want mad.PathRecord
	want.Decode(q.Data[:]) //nolint:errcheck // long enough
	if q.ComponentMask&(mad.PathRecordMaskSLID|mad.PathRecordMaskSGID) == 0 {
		return nil, mad.StatusSAInsufficientComponent
	}
	kind := saKind{components: []int{64, 0, 128, 128, 16, 16}}
	masked := *q
	masked.ComponentMask &= pathEnds
	for _, from := range s.saPorts() {
		for _, to := range s.saPorts() {
			key, shared := sharedPKey(from.node, to.node)
			if !shared {
				continue // no path
			}
			r := mad.PathRecord{
				SGID: from.gid(), DGID: to.gid(), SLID: from.lid, DLID: to.lid, Reversible: true, NumPath: 1,
				PKey: key, SL: to.node.SL, MTUSelector: 2, MTU: 5, RateSelector: 2, Rate: 19, PacketLifeTimeSelector: 2,
				PacketLifeTime: 18,
			}
			if b := r.Append(nil); kind.matches(&masked, b) {
				list = append(list, b)
			}
		}
	}
	return list, 0
}

// administration answers a query of subnet administration, or takes an acknowledgement of a
// segment.
func (t *Transport) administration(d *fabric.Datagram) {
	n := t.subnet.byLID[d.Address.LID]
	if n == nil || n.Dead || d.Address.LID != t.subnet.MasterLID || d.Address.QPN != 1 ||
		d.Address.QKey != fabric.QKeyGSI {
		return
	}
	var p mad.SA
	p.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	if p.RMPP.Flags&mad.RMPPActive != 0 {
		t.acknowledge(&p)
		return
	}
	n.Asked++
	h, records := t.subnet.administer(&p)
	if p.Method != mad.MethodGetTable || h.Status != 0 {
		answer := mad.SA{SAHeader: h}
		if len(records) > 0 {
			copy(answer.Data[:], records[0])
		}
		t.deliver(n, d.Address, &answer)
		return
	}
	t.transfer(n, d.Address, h, records)
}
