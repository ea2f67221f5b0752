package fabric

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// kind is the attribute that a task requests.
type kind uint8

const (
	kindNode        kind = iota // node info of the node behind a port of the owner; without owner, of the local node
	kindDescription             // the remaining kinds are requests to the owner
	kindSwitch
	kindPort
	kindRoutes
	kindMulticast
	kindMellanox
	kindManager    // subnet manager at a port of the owner
	kindMaster     // subnet manager at a LID
	kindCapability // capabilities of the performance agent; kinds from here on use the LID
	kindCounters
	kindExtended
)

// byLID reports whether the request goes to the node's performance agent, by LID.
func (k kind) byLID() bool { return k >= kindCapability }

// task is one request to be sent. It is small, because a large fabric has hundreds of thousands
// waiting.
type task struct {
	owner *nodeState
	kind  kind
	// tried, of a request that finds a node, has a bit for each M_Key that got no answer.
	tried keySet
	arg   uint16 // port, block of a forwarding table (multicast: with the position above), or LID
}

func (t task) attribute() mad.Attribute {
	switch t.kind {
	case kindDescription:
		return mad.AttributeNodeDescription
	case kindSwitch:
		return mad.AttributeSwitchInfo
	case kindPort:
		return mad.AttributePortInfo
	case kindRoutes:
		return mad.AttributeLFT
	case kindMulticast:
		return mad.AttributeMFT
	case kindMellanox:
		return mad.AttributeExtendedPortInfo
	case kindManager, kindMaster:
		return mad.AttributeSMInfo
	case kindCapability:
		return mad.AttributeClassPortInfo
	case kindCounters:
		return mad.AttributePortCounters
	case kindExtended:
		return mad.AttributePortCountersExtended
	default:
		return mad.AttributeNodeInfo
	}
}

// modifier returns the attribute modifier.
func (t task) modifier() uint32 {
	switch t.kind {
	case kindPort, kindRoutes, kindMellanox:
		return uint32(t.arg)
	case kindMulticast:
		return mad.MFTModifier(t.block())
	}
	return 0
}

// multicastBlockBits is how many bits of a task's arg hold the block number of the multicast table;
// the bits above hold the position.
const multicastBlockBits = 9

func (t task) block() (block uint16, position uint8) {
	return t.arg & (1<<multicastBlockBits - 1), uint8(t.arg >> multicastBlockBits)
}

// hasPort reports whether the task is about one port, which its arg names.
func (t task) hasPort() bool {
	switch t.kind {
	case kindNode, kindPort, kindMellanox, kindManager, kindCounters, kindExtended:
		return t.owner != nil
	}
	return false
}

// what names the request in the list of unreached nodes.
func (t task) what() string {
	switch t.kind {
	case kindDescription:
		return "node description"
	case kindSwitch:
		return "switch info"
	case kindPort:
		return fmt.Sprintf("port info %d", t.arg)
	case kindRoutes:
		return fmt.Sprintf("forwarding table block %d", t.arg)
	case kindMulticast:
		block, position := t.block()
		return fmt.Sprintf("multicast table block %d position %d", block, position)
	case kindMellanox:
		return fmt.Sprintf("extended port info %d", t.arg)
	case kindManager:
		return fmt.Sprintf("subnet manager at port %d", t.arg)
	case kindMaster:
		return fmt.Sprintf("subnet manager at LID %d", t.arg)
	case kindCapability:
		return "performance agent"
	case kindCounters:
		return fmt.Sprintf("counters of port %d", t.arg)
	case kindExtended:
		return fmt.Sprintf("extended counters of port %d", t.arg)
	default:
		if t.owner == nil {
			return "own node"
		}
		return "node behind port"
	}
}

// path returns the directed route of the request; false if it would be too long. A request by LID
// doesn't use it.
func (t task) path() (mad.Path, bool) {
	switch {
	case t.owner == nil:
		return mad.Path{}, true
	case t.kind == kindNode:
		p, err := t.owner.node.Path.Extend(uint8(t.arg))
		return p, err == nil
	case t.hasPort() && !t.kind.byLID() && !t.owner.node.IsSwitch():
		return t.owner.node.Ports[t.arg].Path, true
	default:
		return t.owner.node.Path, true
	}
}

// request is a task in progress.
type request struct {
	task
	route mad.Path // its directed route
	peer  *Peer
	key   uint64 // of the request's class
	bit   keySet // of the key, if the request finds a node
	// foreign: an answer to one of its tries didn't match, and is listed.
	foreign bool
}

// write fills in the datagram.
func (q *request) write(r *Request) {
	switch {
	case q.kind == kindMaster:
		r.Address = Address{LID: ib.LID(q.arg)}
		smp := mad.NewSMP(mad.MethodGet, q.attribute(), q.modifier(), 0)
		smp.MKey = q.key
		smp.Append(r.MAD[:0])
		return
	case !q.kind.byLID():
		r.Address = directed()
		smp := mad.NewDirectedSMP(mad.MethodGet, q.attribute(), q.modifier(), 0, &q.route)
		smp.MKey = q.key
		smp.Append(r.MAD[:0])
		return
	}
	number := uint8(q.arg)
	r.Address = Address{LID: q.owner.node.LID(number), QPN: 1, QKey: QKeyGSI, GID: q.owner.node.gid(number)}
	packet := mad.NewPerformanceMAD(mad.MethodGet, q.attribute(), 0)
	packet.PMKey = q.key
	if q.kind != kindCapability {
		packet.Data[1] = uint8(q.arg) // PortSelect
		r.Accept = samePort
	}
	packet.Append(r.MAD[:0])
}

// samePort reports whether an answer has the counters of the port that was asked for.
func samePort(request, answer *[mad.Len]byte) bool {
	return request[attributeOffset+1] == answer[attributeOffset+1]
}

// gid returns the GID of a port, for a global route header.
func (n *Node) gid(number uint8) ib.GID {
	if n.IsSwitch() {
		number = 0
	}
	p := &n.Ports[number]
	if p.GUID.IsZero() {
		return ib.GID{}
	}
	return gidOf(cmp.Or(p.Info.GIDPrefix, ib.SubnetPrefixDefault), binary.BigEndian.Uint64(p.GUID[:]))
}
