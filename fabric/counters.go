package fabric

import (
	"fmt"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// planCounters is called for each port whose state has become known. Once the node has a LID, the
// sweep queries the performance agent for its capabilities, and then for the counters of the ports.
func (s *sweep) planCounters(n *nodeState, number uint16) {
	node := n.node
	if hasCounters(node, number) {
		if n.told {
			s.askCounters(n, number)
		} else {
			n.waiting = append(n.waiting, number)
		}
	}
	if n.performance != nil || len(n.waiting) == 0 {
		return
	}
	via := number // an adapter answers through each of its ports, a switch through port 0
	if node.IsSwitch() {
		via = 0
	}
	if !node.Ports[via].Known {
		return
	}
	lid := node.LID(uint8(via))
	unreachable := lid == 0 || lid > maxUnicastLID
	counts := func(k uint16) bool { return k == 0 || node.Ports[k].IsActive() }
	if unreachable && !slices.ContainsFunc(n.waiting, counts) {
		return // no subnet manager has configured the switch: nobody expects counters
	}
	n.performance = &nodeState{node: node}
	if a := s.engine.addressing; a != nil && node.GUID() == s.topology.Origin.Node && !a.HasPath(lid) {
		a.LearnPKeys(lid, a.PKeys) // a limited member doesn't even reach itself
	}
	if unreachable {
		reason := "the node has no LID: no subnet manager has assigned one"
		if lid != 0 {
			reason = fmt.Sprintf("the node reports LID 0x%x, which is not a unicast LID", uint16(lid))
		}
		s.unreached(task{owner: n, kind: kindCapability, arg: 0}, node.Path, reason, 0)
		n.told, n.waiting = true, nil
		n.performance.silent = true
		return
	}
	if n.known != nil && n.known.Performance != nil {
		node.Performance = new(*n.known.Performance)
		s.capabilityKnown(n)
		return
	}
	s.agenda.add(task{owner: n.performance, kind: kindCapability, arg: via})
}

// hasCounters reports whether a port has counters that can be read: an active port, a port of a
// switch in any state, which keeps the counters of a link that has died, or port 0 of a switch if
// that is an enhanced port 0.
func hasCounters(n *Node, number uint16) bool {
	port := &n.Ports[number]
	switch {
	case number == 0:
		return port.Known && n.Switch != nil && n.Switch.EnhancedPort0
	case n.IsSwitch():
		return port.Known
	}
	return port.IsActive()
}

// countersRead notes when the counters of a port were read.
func (s *sweep) countersRead(port *Port) { port.CountersAfter = time.Since(s.topology.Started) }

// learnCapability stores the capabilities of the performance agent; data is empty if it refused to
// report them.
func (s *sweep) learnCapability(t task, data []byte) {
	if data != nil {
		t.owner.node.Performance = new(mad.ClassPortInfo)
		t.owner.node.Performance.Decode(data) //nolint:errcheck // the caller has the length
	}
	s.capabilityKnown(s.states[t.owner.node.GUID()])
}

// capabilityKnown requests the counters that waited for the capabilities.
func (s *sweep) capabilityKnown(n *nodeState) {
	waiting := n.waiting
	n.told, n.waiting = true, nil
	for _, number := range waiting {
		s.askCounters(n, number)
	}
}

func (s *sweep) askCounters(n *nodeState, number uint16) {
	if n.performance.silent {
		return
	}
	if lid := n.node.LID(uint8(number)); lid == 0 || lid > maxUnicastLID { // another port of an adapter
		s.unreached(task{owner: n, kind: kindCounters, arg: number}, n.node.Path,
			fmt.Sprintf("LID 0x%x is not a unicast LID", uint16(lid)), 0)
		return
	}
	can := n.node.Performance
	all := can != nil && can.CapabilityMask2&mad.PerformanceAdditionalExtended != 0
	if !all {
		s.agenda.add(task{owner: n.performance, kind: kindCounters, arg: number})
	}
	if all ||
		can != nil && can.CapabilityMask&(mad.PerformanceExtendedWidth|mad.PerformanceExtendedWidthNoUnicast) != 0 {
		s.agenda.add(task{owner: n.performance, kind: kindExtended, arg: number})
	}
}
