package administration

import (
	"iter"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Subnet is what the subnet manager knows.
type Subnet interface {
	// Nodes are the nodes that the manager has found, in the order of the tables.
	Nodes() iter.Seq[Node]
}

// Node is a node of a [Subnet]. Ports are numbered from 0 for a switch, from 1 otherwise, to the
// number of ports in Info.
type Node interface {
	Info(port uint8) mad.NodeInfo // with the GUID of the port
	Description() mad.NodeDescription
	// LID returns the LID of port 0 of a switch, or of a port of another node; 0: it has none.
	LID(port uint8) ib.LID
	PortInfo(port uint8) mad.PortInfo
	// Peer returns the other end of a cable; nil: there is none.
	Peer(port uint8) (Node, uint8)
	// Switch returns the SwitchInfo and the linear forwarding table of a switch.
	Switch() (mad.SwitchInfo, []uint8)
	// Lanes returns the virtual lane of each service level, from one port of a switch to another
	// one; for another node, both are the port.
	Lanes(in, out uint8) [mad.SLs]uint8
	// PKeys returns the partition table of a port, in which 0 is no key, and SL the service level
	// of paths to the node.
	PKeys(port uint8) []ib.PKey
	SL() uint8
	// Manager returns the subnet manager at the node; nil: there is none.
	Manager() *mad.SMInfo
}

// Server answers queries.
type Server struct {
	Subnet Subnet
	// Key is the SM_Key of clients that are shown the members of groups and the keys of services;
	// clients with 0 aren't, others get no answer. 0: all clients are trusted.
	Key uint64
	// Status, if set, is the status of all answers.
	Status mad.Status
	// MaxLen bounds the records of an answer, in bytes; 0: 64 MiB. A longer answer is refused with
	// [mad.StatusSANoResources].
	MaxLen int

	// What has been registered. A member without a PortGID stands for a group that exists without
	// members.
	Members       []mad.MCMemberRecord
	Services      []mad.ServiceRecord
	Subscriptions []mad.InformInfoRecord
}

// BroadcastGroup returns the group that OpenSM creates for IP over InfiniBand, without members.
func BroadcastGroup() mad.MCMemberRecord {
	const key, base, mtu2048, linkLocal = 0xb1b, mad.MulticastLIDBase, 4, 2
	r := mad.MCMemberRecord{
		QKey: key, MLID: base, PKey: fullPKey, Scope: linkLocal, MTUSelector: exactly, MTU: mtu2048,
		RateSelector: exactly, Rate: rate10, PacketLifeTimeSelector: exactly, PacketLifeTime: lifeTime,
	}
	copy(r.MGID[:], []byte{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff})
	return r
}

const defaultMaxLen = 64 << 20

// respTime is the response time that the SA reports, as OpenSM does: 4.096 µs << 16.
const respTime = 16

// answer returns the answer to a request: a header, which has a status or not, and records of the
// same size; false: there is no answer. from is the LID of the client.
func (s *Server) answer(q *mad.SA, from ib.LID) (h mad.SAHeader, records [][]byte, ok bool) {
	h = q.SAHeader
	h.Method |= mad.MethodResponse
	h.RMPP = mad.RMPP{}
	if s.Key != 0 && q.SMKey != 0 && q.SMKey != s.Key {
		return h, nil, false
	}
	if h.Status = s.Status; h.Status != 0 {
		return h, nil, true
	}
	switch q.Method {
	case mad.MethodGet, mad.MethodGetTable:
		records, h.Status = s.query(q)
	case mad.MethodSet, mad.MethodDelete:
		h.Method = mad.MethodGetResp
		if q.Method == mad.MethodDelete {
			h.Method = mad.MethodDelete | mad.MethodResponse
		}
		records, h.Status = s.register(q, from)
	default:
		h.Status = mad.StatusUnsupportedMethod
	}
	if h.Status == 0 && q.Method == mad.MethodGet && len(records) != 1 {
		h.Status = mad.StatusSANoRecords
		if len(records) > 1 {
			h.Status = mad.StatusSATooManyRecords
		}
	}
	switch {
	case h.Status != 0:
		return h, nil, true
	case len(records) > 0:
		h.AttributeOffset = uint16((len(records[0]) + 7) / 8)
	}
	return h, records, true
}

func (s *Server) isTrusted(q *mad.SA) bool { return s.Key == 0 || q.SMKey == s.Key }

// query returns the records that match a query.
func (s *Server) query(q *mad.SA) (records [][]byte, status mad.Status) {
	size, most := 0, s.MaxLen
	if most == 0 {
		most = defaultMaxLen
	}
	add := func(record []byte) bool {
		records = append(records, record)
		size += (len(record) + 7) &^ 7
		return size <= most
	}
	switch kind, known := kinds()[q.AttributeID]; {
	case q.AttributeID == mad.AttributeClassPortInfo && q.Method == mad.MethodGet:
		info := mad.ClassPortInfo{
			BaseVersion: 1, ClassVersion: mad.SAClassVersion, RespTimeValue: respTime,
			Redirect: mad.Address{QP: 1, QKey: fabric.QKeyGSI}, Trap: mad.Address{QKey: fabric.QKeyGSI},
		}
		return [][]byte{info.Append(nil)}, 0
	case q.AttributeID == mad.AttributePathRecord:
		s.paths(q, add)
	case !known:
		return nil, mad.StatusUnsupportedMethodAttribute
	default:
		match := kind.matcher(q)
		kind.records(s, q, func(record []byte) bool { return !match.accepts(record) || add(record) })
	}
	if size > most {
		return nil, mad.StatusSANoResources
	}
	return records, 0
}

// matcher compares records with the components of a query.
type matcher struct {
	want, mask []byte
}

// matcher returns the comparison that a query asks for.
func (k *kind) matcher(q *mad.SA) *matcher {
	m := &matcher{want: q.Data[:], mask: make([]byte, len(q.Data))}
	at := 0
	for i, width := range k.components {
		if q.ComponentMask>>i&1 != 0 {
			for bit := at; bit < at+width; bit++ {
				m.mask[bit/8] |= 0x80 >> (bit % 8)
			}
			if i == capabilities && q.AttributeID == mad.AttributePortInfoRecord &&
				q.AttributeModifier&mad.PortInfoRecordAllBits != 0 { // only these bits have to be set
				for b := at / 8; b < (at+width)/8; b++ {
					m.mask[b] = q.Data[b]
				}
			}
		}
		at += width
	}
	return m
}

func (m *matcher) accepts(record []byte) bool {
	for i, bits := range m.mask {
		if bits == 0 {
			continue
		}
		if i >= len(record) || (record[i]^m.want[i])&bits != 0 {
			return false
		}
	}
	return true
}
