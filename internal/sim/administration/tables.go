package administration

import (
	"iter"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// kind is an attribute that has a table.
type kind struct {
	// components are the widths of the record's components in bits, in the order of the bits of the
	// component mask.
	components []int
	// records calls add for each record, until it returns false.
	records func(s *Server, q *mad.SA, add func(record []byte) bool)
}

// capabilities is the place of CapabilityMask in the components of a PortInfoRecord.
const capabilities = 7

// kinds are the attributes that have a table, with the components of the specification's tables in
// section 15.2.5.
func kinds() map[mad.Attribute]kind {
	block := []int{16, 16} // LID, block
	return map[mad.Attribute]kind{
		mad.AttributeNodeRecord: {
			[]int{16, 16, 8, 8, 8, 8, 64, 64, 64, 16, 16, 32, 8, 24, 512}, nodeRecords,
		},
		mad.AttributePortInfoRecord:              {[]int{16, 8, 8, 64, 64, 16, 16, 32}, portInfoRecords},
		mad.AttributeSwitchInfoRecord:            {[]int{16}, switchInfoRecords},
		mad.AttributeLinearForwardingTableRecord: {block, forwardingRecords},
		mad.AttributeSLtoVLMappingTableRecord:    {[]int{16, 8, 8}, mappingRecords},
		mad.AttributeSMInfoRecord:                {[]int{16, 16, 64, 64, 32, 4, 4}, managerRecords},
		mad.AttributeLinkRecord:                  {[]int{16, 8, 8, 16}, linkRecords},
		mad.AttributeGUIDInfoRecord:              {[]int{16, 8}, guidRecords},
		mad.AttributeMCMemberRecord: {
			[]int{128, 128, 32, 16, 2, 6, 8, 16, 2, 6, 2, 6, 4, 20, 8, 4, 4, 1}, memberRecords,
		},
		mad.AttributeServiceRecord:    {[]int{64, 128, 16, 16, 32, 128, 512}, serviceRecords},
		mad.AttributeInformInfoRecord: {[]int{128, 16}, subscriptionRecords},
	}
}

// isSwitch reports whether a node forwards packets.
func isSwitch(n Node) bool {
	info := n.Info(0)
	return info.NodeType == mad.NodeTypeSwitch
}

// ports returns the numbers of the ports of a node.
func ports(n Node) iter.Seq[uint8] {
	info := n.Info(0)
	first := 1
	if info.NodeType == mad.NodeTypeSwitch {
		first = 0
	}
	return func(yield func(uint8) bool) {
		for port := first; port <= int(info.NumPorts); port++ {
			if !yield(uint8(port)) {
				return
			}
		}
	}
}

// lidOf returns the LID through which a port is reached: for a switch, that of port 0.
func lidOf(n Node, port uint8) ib.LID {
	if isSwitch(n) {
		port = 0
	}
	return n.LID(port)
}

// end is a port that has a LID.
type end struct {
	node Node
	port uint8
	lid  ib.LID
}

// ends returns the ports that have a LID: port 0 of a switch, each port of another node.
func (s *Server) ends() iter.Seq[end] {
	return func(yield func(end) bool) {
		for n := range s.Subnet.Nodes() {
			for port := range ports(n) {
				if lid := n.LID(port); lid != 0 && !yield(end{n, port, lid}) {
					return
				}
				if port == 0 {
					break
				}
			}
		}
	}
}

// switches returns the switches that have a LID.
func (s *Server) switches() iter.Seq[end] {
	return func(yield func(end) bool) {
		for e := range s.ends() {
			if e.port == 0 && !yield(e) {
				return
			}
		}
	}
}

func nodeRecords(s *Server, _ *mad.SA, add func([]byte) bool) {
	for e := range s.ends() {
		r := mad.NodeRecord{LID: e.lid, Info: e.node.Info(e.port), Description: e.node.Description()}
		if !add(r.Append(nil)) {
			return
		}
	}
}

func portInfoRecords(s *Server, _ *mad.SA, add func([]byte) bool) {
	for n := range s.Subnet.Nodes() {
		for port := range ports(n) {
			lid := lidOf(n, port)
			if lid == 0 {
				continue
			}
			r := mad.PortInfoRecord{EndportLID: lid, PortNum: port, Info: n.PortInfo(port)}
			r.Info.MKey = 0
			if !add(r.Append(nil)) {
				return
			}
		}
	}
}

func switchInfoRecords(s *Server, _ *mad.SA, add func([]byte) bool) {
	for e := range s.switches() {
		info, _ := e.node.Switch()
		r := mad.SwitchInfoRecord{LID: e.lid, Info: info}
		if !add(r.Append(nil)) {
			return
		}
	}
}

func forwardingRecords(s *Server, _ *mad.SA, add func([]byte) bool) {
	for e := range s.switches() {
		info, table := e.node.Switch()
		for block := range int(info.LinearFDBTop)/mad.LFTBlockLen + 1 {
			r := mad.LinearForwardingTableRecord{LID: e.lid, BlockNum: uint16(block)}
			for i := range r.Ports {
				r.Ports[i] = mad.LFTPortNone
			}
			if first := block * mad.LFTBlockLen; first < len(table) {
				copy(r.Ports[:], table[first:])
			}
			if !add(r.Append(nil)) {
				return
			}
		}
	}
}

// mappingRecords has one record for each pair of ports of a switch.
func mappingRecords(s *Server, _ *mad.SA, add func([]byte) bool) {
	for e := range s.ends() {
		last := uint8(0)
		if e.port == 0 {
			info := e.node.Info(0)
			last = info.NumPorts
		}
		for out := range int(last) + 1 {
			for in := range int(last) + 1 {
				r := mad.SLtoVLMappingTableRecord{LID: e.lid, InputPortNum: uint8(in), OutputPortNum: uint8(out)}
				r.VLs = e.node.Lanes(max(e.port, r.InputPortNum), max(e.port, r.OutputPortNum))
				if !add(r.Append(nil)) {
					return
				}
			}
		}
	}
}

func managerRecords(s *Server, _ *mad.SA, add func([]byte) bool) {
	for e := range s.ends() {
		m := e.node.Manager()
		if m == nil || e.port > 1 {
			continue
		}
		r := mad.SMInfoRecord{LID: e.lid, Info: *m}
		r.Info.SMKey = 0
		if !add(r.Append(nil)) {
			return
		}
	}
}

func linkRecords(s *Server, _ *mad.SA, add func([]byte) bool) {
	for n := range s.Subnet.Nodes() {
		for port := range ports(n) {
			far, farPort := n.Peer(port)
			if far == nil {
				continue
			}
			r := mad.LinkRecord{
				FromLID: lidOf(n, port), FromPort: port, ToPort: farPort, ToLID: lidOf(far, farPort),
			}
			if r.FromLID == 0 || r.ToLID == 0 {
				continue
			}
			if !add(r.Append(nil)) {
				return
			}
		}
	}
}

// guidRecords has the blocks of the GUID table that a port has by its GUIDCap, at least one.
func guidRecords(s *Server, _ *mad.SA, add func([]byte) bool) {
	for e := range s.ends() {
		info := e.node.PortInfo(e.port)
		for block := range max(1, (int(info.GUIDCap)+len(mad.GUIDInfo{})-1)/len(mad.GUIDInfo{})) {
			r := mad.GUIDInfoRecord{LID: e.lid, BlockNum: uint8(block)}
			if block == 0 {
				r.GUIDs[0] = guidOf(e)
			}
			if !add(r.Append(nil)) {
				return
			}
		}
	}
}

func guidOf(e end) ib.GUID {
	info := e.node.Info(e.port)
	return info.PortGUID
}

func serviceRecords(s *Server, q *mad.SA, add func([]byte) bool) {
	for _, r := range s.Services {
		if !s.isTrusted(q) {
			r.ServiceKey = [16]byte{}
		}
		if !add(r.Append(nil)) {
			return
		}
	}
}

func subscriptionRecords(s *Server, _ *mad.SA, add func([]byte) bool) {
	for i := range s.Subscriptions {
		if !add(s.Subscriptions[i].Append(nil)) {
			return
		}
	}
}

// memberRecords has the members of groups for clients that are trusted, and otherwise the groups.
func memberRecords(s *Server, q *mad.SA, add func([]byte) bool) {
	seen := map[ib.GID]bool{}
	for _, r := range s.Members {
		switch {
		case !s.isTrusted(q):
			if seen[r.MGID] {
				continue
			}
			seen[r.MGID] = true
			r.PortGID, r.JoinState, r.ProxyJoin = ib.GID{}, 0, false
		case s.Key != 0 && r.PortGID == ib.GID{}:
			continue // a group without members
		}
		if !add(r.Append(nil)) {
			return
		}
	}
}
