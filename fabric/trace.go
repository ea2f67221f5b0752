package fabric

import (
	"context"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TraceEnd is the result of a trace.
type TraceEnd string

// The results.
const (
	TraceArrived   TraceEnd = "arrived"
	TraceLoop      TraceEnd = "loop"       // the path passes a switch twice: packets circle until they are dropped
	TraceBlackHole TraceEnd = "black-hole" // a switch has no route, or one through a port that is not active
	TraceStray     TraceEnd = "stray"      // the path ends at a node that doesn't have the LID
	TraceUnknown   TraceEnd = "unknown"    // a node or a forwarding table on the path didn't answer
)

// Hop is a node on a trace.
type Hop struct {
	Node ib.GUID // GUID of the node
	// In and Out are the ports by which the packet enters and leaves the node. In is 0 at the
	// source, Out is 0 at the destination.
	In, Out uint8
	// Others are the other ports of a switch by which the packet could leave it on a way that is no
	// longer.
	Others []uint8
}

// Trace is the path of packets from one port to another.
type Trace struct {
	From, To Endpoint // source and destination
	Hops     []Hop    // from the source on
	End      TraceEnd // the result
	Reason   string   // why End isn't TraceArrived
	// Warnings are the reasons to doubt the path: LIDs that other ports have too, ends that belong
	// to different subnets or follow different subnet managers.
	Warnings []string
	// OneOfSeveral reports whether packets may take other ways too: a switch on the path has
	// another port towards a switch. The linear forwarding table names one port for a LID. Adaptive
	// routing, which a sweep doesn't read, chooses among several, in some topologies also on longer
	// ways.
	OneOfSeveral bool
}

// ErrNoLID is the error of a trace from or to a port that has no LID.
var ErrNoLID = errors.New("the port has no LID: no subnet manager has assigned one")

// RouteLookup returns the port by which a switch forwards packets to a LID, or [mad.LFTPortNone].
type RouteLookup func(sw *Node, lid ib.LID) (uint8, error)

var errNotRead = errors.New("its forwarding table was not read")

// RoutesRead is a RouteLookup that uses the tables read with [Options.Routes]; it fails for a
// switch whose table was not read.
func RoutesRead(sw *Node, lid ib.LID) (uint8, error) {
	switch {
	case sw.Routes == nil:
		return 0, errNotRead
	case int(lid) >= len(sw.Routes):
		return mad.LFTPortNone, nil
	}
	return sw.Routes[lid], nil
}

// RouteLookup returns a lookup that reads the blocks of the switches' forwarding tables that a
// trace needs, each once.
func (c *Client) RouteLookup(ctx context.Context) RouteLookup {
	type key struct {
		node  ib.GUID
		block uint32
	}
	read := map[key]mad.LFTBlock{}
	return func(sw *Node, lid ib.LID) (uint8, error) {
		if sw.Switch != nil && uint16(lid) > sw.Switch.LinearFDBTop {
			return mad.LFTPortNone, nil // entries beyond the top are invalid
		}
		k := key{sw.GUID(), uint32(lid) / mad.LFTBlockLen}
		block, ok := read[k]
		if !ok {
			to := Target{Path: sw.Path, Port: sw.Info.PortGUID, Node: sw.GUID()}
			data, err := c.SMP(ctx, to, mad.MethodGet, mad.AttributeLFT, k.block, nil)
			if err != nil {
				return 0, err
			}
			block.Decode(data) //nolint:errcheck // the client has the length
			read[k] = block
		}
		return block[lid%mad.LFTBlockLen], nil
	}
}

// Trace follows the forwarding tables from one port to another. No packet is sent along the path:
// the link states are those of the sweep. End and Reason of the result describe a fault on the
// path. The error is [ErrNoLID], [ErrNoNode] for a port that the topology doesn't have, or the
// context's error, returned by the lookup. C twin: ibtracert.
func (t *Topology) Trace(from, to Endpoint, lookup RouteLookup) (Trace, error) {
	tr := Trace{From: from, To: to}
	switch {
	case t.Port(from.Port) == nil || t.Port(to.Port) == nil:
		return tr, fmt.Errorf("trace %s to %s: %w", from.Port, to.Port, ErrNoNode)
	case from.LID == 0:
		return tr, fmt.Errorf("trace from %s: %w", from.Port, ErrNoLID)
	case to.LID == 0:
		return tr, fmt.Errorf("trace to %s: %w", to.Port, ErrNoLID)
	}
	if t.Node(to.Port.Node).IsSwitch() {
		to.Port.Port = 0
	}
	tr.Warnings = t.doubts(from, to)
	w := walk{t: t, lid: to.LID, to: to.Port, lookup: lookup, seen: map[ib.GUID]bool{}}
	for at := from.Port; ; {
		hop := Hop{Node: at.Node, In: at.Port}
		if len(tr.Hops) == 0 {
			hop.In = 0
		}
		err := w.leave(&hop, at, len(tr.Hops) == 0)
		if err != nil {
			return tr, fmt.Errorf("trace %s to %s: %w", from.Port, to.Port, err)
		}
		var others int
		hop.Others, others = w.otherWays(hop)
		tr.OneOfSeveral = tr.OneOfSeveral || others > 0
		tr.Hops = append(tr.Hops, hop)
		if w.end != "" {
			tr.End, tr.Reason = w.end, w.reason
			return tr, nil
		}
		at = t.Node(at.Node).Ports[hop.Out].Peer
	}
}

// otherWays returns the ports for Hop.Others, and the number of all other ports towards switches. A
// packet that leaves for an adapter has no other way.
func (w *walk) otherWays(h Hop) (shortest []uint8, all int) {
	n := w.t.Node(h.Node)
	if !n.IsSwitch() || h.Out == 0 || n.Ports[h.Out].HasPeer() && !w.t.isSwitch(n.Ports[h.Out].Peer) {
		return nil, 0
	}
	if w.distance == nil {
		w.distance = w.t.distances(w.to.Node)
	}
	for number := 1; number < len(n.Ports); number++ {
		p := &n.Ports[number]
		if port := uint8(number); port == h.In || port == h.Out || !p.IsActive() || !w.t.isSwitch(p.Peer) {
			continue
		}
		all++
		if d, ok := w.distance[p.Peer.Node]; ok && d < w.distance[h.Node] {
			shortest = append(shortest, uint8(number))
		}
	}
	return shortest, all
}

// distances returns the number of cables from each switch to a node, over active ports.
func (t *Topology) distances(to ib.GUID) map[ib.GUID]int {
	distance := map[ib.GUID]int{to: 0}
	front := []ib.GUID{to}
	for len(front) > 0 {
		n := t.Node(front[0])
		front = front[1:]
		for number := range n.Ports {
			p := &n.Ports[number]
			if _, seen := distance[p.Peer.Node]; seen || !p.IsActive() || !t.isSwitch(p.Peer) {
				continue
			}
			distance[p.Peer.Node] = distance[n.GUID()] + 1
			front = append(front, p.Peer.Node)
		}
	}
	return distance
}

// doubts returns the warnings of a trace that don't depend on the path.
func (t *Topology) doubts(from, to Endpoint) []string {
	var list []string
	if t.Node(from.Port.Node).IsSwitch() {
		from.Port.Port = 0
	}
	for _, end := range [...]struct {
		Endpoint
		effect string
	}{{to, "packets from other ports may arrive there"}, {from, "answers may arrive there"}} {
		for _, id := range t.PortsWithLID(end.LID) {
			if id != end.Port {
				list = append(list, fmt.Sprintf("LID %d of %s also belongs to %s: %s",
					uint16(end.LID), t.portName(end.Port), t.portName(id), end.effect))
			}
		}
	}
	a, b := &t.Port(from.Port).Info, &t.Port(to.Port).Info
	if a.GIDPrefix != b.GIDPrefix {
		list = append(list, fmt.Sprintf("%s has subnet prefix 0x%016x, %s has 0x%016x",
			t.portName(from.Port), uint64(a.GIDPrefix), t.portName(to.Port), uint64(b.GIDPrefix)))
	}
	if a.MasterSMLID != b.MasterSMLID {
		list = append(list, fmt.Sprintf("%s follows the subnet manager at LID %d, %s the one at LID %d",
			t.portName(from.Port), uint16(a.MasterSMLID), t.portName(to.Port), uint16(b.MasterSMLID)))
	}
	for _, rival := range t.rivals() {
		list = append(list, rival.Detail+": the forwarding tables may be of both")
	}
	return list
}

// walk is the state of one trace.
type walk struct {
	t      *Topology
	lid    ib.LID
	to     PortID // of several ports with the LID, the one that is meant
	lookup RouteLookup
	seen   map[ib.GUID]bool // switches
	// distance of each switch from the end, in cables; nil until it is needed
	distance map[ib.GUID]int
	end      TraceEnd // empty until the walk ends
	reason   string
}

// stop ends the walk.
func (w *walk) stop(end TraceEnd, format string, a ...any) {
	w.end, w.reason = end, fmt.Sprintf(format, a...)
}

// leave finds the port by which a packet leaves a node, or ends the walk there.
func (w *walk) leave(hop *Hop, at PortID, first bool) error {
	n := w.t.Node(at.Node)
	receiver := at.Port
	if n.IsSwitch() {
		receiver = 0
	}
	switch here := (PortID{at.Node, receiver}); {
	case here == w.to && n.Ports[receiver].hasLID(w.lid):
		w.stop(TraceArrived, "")
		return nil
	case n.IsSwitch():
		if err := w.ask(hop, n); err != nil || w.end != "" {
			return err
		}
	case first:
		hop.Out = at.Port
	case n.Ports[receiver].hasLID(w.lid):
		w.stop(TraceStray, "%s has LID %d too: packets to %s arrive there",
			w.t.portName(at), uint16(w.lid), w.t.portName(w.to))
		return nil
	default:
		w.stop(TraceStray, "%s doesn't have LID %d", n.Name(), uint16(w.lid))
		return nil
	}
	w.check(n, hop.Out)
	return nil
}

// ask looks up the route in a switch.
func (w *walk) ask(hop *Hop, n *Node) error {
	lid := uint16(w.lid)
	if w.seen[n.GUID()] {
		w.stop(TraceLoop, "%s is passed for the second time", n.Name())
		return nil
	}
	w.seen[n.GUID()] = true
	out, err := w.lookup(n, w.lid)
	_, refused := errors.AsType[*StatusError](err)
	switch {
	case refused || errors.Is(err, ErrNoAnswer) || errors.Is(err, errNotRead):
		w.stop(TraceUnknown, "the route of %s to LID %d is unknown: %v", n.Name(), lid, err)
	case err != nil:
		return err
	case out == mad.LFTPortNone:
		w.stop(TraceBlackHole, "%s has no route to LID %d", n.Name(), lid)
	case out == 0 && n.hasLID(w.lid):
		w.stop(TraceStray, "%s has LID %d too: packets to %s arrive there", n.Name(), lid, w.t.portName(w.to))
	case out == 0:
		w.stop(TraceStray, "%s delivers packets to LID %d to itself, but doesn't have that LID", n.Name(), lid)
	case int(out) >= len(n.Ports):
		w.stop(TraceBlackHole, "%s routes LID %d to port %d of %d", n.Name(), lid, out, n.Info.NumPorts)
	default:
		hop.Out = out
	}
	return nil
}

// check ends the walk if packets can't pass a port.
func (w *walk) check(n *Node, out uint8) {
	p := &n.Ports[out]
	switch {
	case !p.Known && !p.HasPeer():
		w.stop(TraceUnknown, "port %d of %s did not answer", out, n.Name())
	case p.Known && !p.IsLinkUp():
		w.stop(TraceBlackHole, "port %d of %s, the route to LID %d, is down (%v)",
			out, n.Name(), uint16(w.lid), p.Info.PortPhysicalState)
	case !p.HasPeer():
		w.stop(TraceUnknown, "the node behind port %d of %s did not answer", out, n.Name())
	case p.Known && p.Info.PortState != mad.PortStateActive:
		w.stop(TraceBlackHole, "port %d of %s, the route to LID %d, is not active (%v)",
			out, n.Name(), uint16(w.lid), p.Info.PortState)
	}
}

// Name returns the node's description, or its GUID if it has none.
func (n *Node) Name() string {
	if text := n.Description.String(); text != "" {
		return text
	}
	return fmt.Sprintf("0x%x", n.Info.NodeGUID[:])
}
