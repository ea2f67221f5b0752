package fabric

import (
	"container/heap"
	"fmt"
	"time"

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

func (k kind) class() mad.Class {
	switch {
	case k.byLID():
		return mad.ClassPerformance
	case k == kindMaster:
		return mad.ClassSubnet
	}
	return mad.ClassSubnetDirected
}

// task is one request to be sent. It is small, because a large fabric has hundreds of thousands
// waiting.
type task struct {
	owner *nodeState
	kind  kind
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
	slot       uint16
	generation uint16
	live       bool
	inWindow   bool
	waits      bool      // in sweep.retry
	busy       bool      // a try was answered with mad.StatusBusy
	tries      int       // sent so far
	route      mad.Path  // its directed route
	sent       time.Time // the first try
	last       time.Time // the last one
	timer      time.Time // when its timer fires; earlier timers are stale
}

// Transaction IDs: the try in 4 bits, the slot in 12, the slot's generation in 16. Each try has a
// different ID, so that a kernel that matches answers with requests keeps all tries open.
const (
	tidTryBits  = 4
	tidSlotBits = 12
)

func (q *request) tid(try int) uint64 {
	return uint64(q.generation)<<(tidTryBits+tidSlotBits) | uint64(q.slot)<<tidTryBits | uint64(try)
}

// firstGeneration differs from sweep to sweep with high probability, so that answers to an earlier
// sweep through the same transport, and requests of it that a kernel still holds open, are not
// mistaken for those of this sweep.
func firstGeneration(now time.Time) uint16 { return uint16(now.UnixNano() >> 12) }

// write builds the datagram of the next try.
func (q *request) write(d *Datagram) {
	tid := q.tid(q.tries)
	switch {
	case q.kind == kindMaster:
		d.Address = Address{LID: ib.LID(q.arg)}
		smp := mad.NewSMP(mad.MethodGet, q.attribute(), q.modifier(), tid)
		smp.Append(d.MAD[:0])
		return
	case !q.kind.byLID():
		d.Address = directed()
		smp := mad.NewDirectedSMP(mad.MethodGet, q.attribute(), q.modifier(), tid, &q.route)
		smp.Append(d.MAD[:0])
		return
	}
	d.Address = Address{LID: q.owner.node.LID(uint8(q.arg)), QPN: 1, QKey: QKeyGSI}
	packet := mad.NewPerformanceMAD(mad.MethodGet, q.attribute(), tid)
	if q.kind != kindCapability {
		packet.Data[1] = uint8(q.arg) // PortSelect
	}
	packet.Append(d.MAD[:0])
}

// table holds the requests in progress and their timers.
type table struct {
	first uint16 // generation of a slot's first request, minus one
	slots []*request
	free  []uint16
	live  int
	timer timers
}

// full reports whether no slot is free.
func (t *table) full() bool { return len(t.free) == 0 && len(t.slots) == 1<<tidSlotBits }

// open takes a slot for a task; the table is not full.
func (t *table) open(task task, route mad.Path) *request {
	var q *request
	if n := len(t.free); n > 0 {
		q = t.slots[t.free[n-1]]
		t.free = t.free[:n-1]
	} else {
		q = &request{slot: uint16(len(t.slots)), generation: t.first}
		t.slots = append(t.slots, q)
	}
	*q = request{task: task, slot: q.slot, generation: q.generation + 1, live: true, route: route}
	t.live++
	return q
}

// close frees the slot; answers that still arrive are late.
func (t *table) close(q *request) {
	q.live = false
	t.live--
	t.free = append(t.free, q.slot)
}

// find returns the live request with a transaction ID, and the try that the ID belongs to.
func (t *table) find(tid uint32) (*request, int) {
	slot := tid >> tidTryBits & (1<<tidSlotBits - 1)
	if int(slot) >= len(t.slots) {
		return nil, 0
	}
	q, try := t.slots[slot], int(tid&(1<<tidTryBits-1))
	if !q.live || uint32(q.generation) != tid>>(tidTryBits+tidSlotBits) || try >= q.tries {
		return nil, 0
	}
	return q, try
}

// wakeAt sets the request's timer: due returns the request at that time if it is still live. An
// earlier timer is canceled.
func (t *table) wakeAt(q *request, when time.Time) {
	q.timer = when
	heap.Push(&t.timer, timer{when, q.slot, q.generation})
}

// due returns a request whose timer has fired, or nil.
func (t *table) due(now time.Time) *request {
	for len(t.timer) > 0 {
		a := t.timer[0]
		q := t.slots[a.slot]
		stale := !q.live || q.generation != a.generation || !q.timer.Equal(a.when)
		if !stale && a.when.After(now) {
			return nil
		}
		heap.Pop(&t.timer)
		if !stale {
			return q
		}
	}
	return nil
}

// next returns when the next timer fires; false if no request is in progress.
func (t *table) next() (time.Time, bool) {
	if len(t.timer) == 0 {
		return time.Time{}, false
	}
	return t.timer[0].when, true
}

// timer is the time at which a request must be checked.
type timer struct {
	when             time.Time
	slot, generation uint16
}

// timers is a heap.Interface, the earliest first.
type timers []timer

func (a timers) Len() int           { return len(a) }
func (a timers) Less(i, j int) bool { return a[i].when.Before(a[j].when) }
func (a timers) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *timers) Push(x any) {
	if v, ok := x.(timer); ok {
		*a = append(*a, v)
	}
}

// Pop implements heap.Interface.
func (a *timers) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}
