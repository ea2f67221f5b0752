package fabric

import "github.com/rdmakit/rdmakit/wire/mad"

// planCounters is called for each port whose state has become known. The performance agent is asked what it can do once the
// node has a LID, and then for the counters of the active ports.
func (s *sweep) planCounters(n *nodeState, number uint16) {
	node := n.node
	port := &node.Ports[number]
	if number > 0 && port.IsLinkUp() && port.Info.PortState == mad.PortStateActive {
		if n.told {
			s.askCounters(n, number)
		} else {
			n.waiting = append(n.waiting, number)
		}
	}
	if n.performance != nil || len(n.waiting) == 0 {
		return
	}
	via := number // an adapter answers by each of its ports, a switch by port 0
	if node.IsSwitch() {
		via = 0
	}
	if !node.Ports[via].Known {
		return
	}
	n.performance = &nodeState{node: node}
	if node.LID(uint8(via)) == 0 {
		s.unreached(task{n, kindCapability, 0}, node.Path, "the node has no LID: no subnet manager has been here", 0)
		n.told, n.waiting = true, nil
		n.performance.silent = true
		return
	}
	if n.known != nil && n.known.Performance != nil {
		node.Performance = new(*n.known.Performance)
		s.capabilityKnown(n)
		return
	}
	s.agenda.add(task{n.performance, kindCapability, via})
}

// learnCapability takes in what the performance agent can do; no data when it refused to tell.
func (s *sweep) learnCapability(t task, data []byte) {
	if data != nil {
		t.owner.node.Performance = new(mad.ClassPortInfo)
		t.owner.node.Performance.Decode(data) //nolint:errcheck // the caller has the length
	}
	s.capabilityKnown(s.states[t.owner.node.GUID()])
}

// capabilityKnown asks for the counters that had to wait.
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
	can := n.node.Performance
	all := can != nil && can.CapabilityMask2&mad.PerformanceAdditionalExtended != 0
	if !all {
		s.agenda.add(task{n.performance, kindCounters, number})
	}
	if all || can != nil && can.CapabilityMask&(mad.PerformanceExtendedWidth|mad.PerformanceExtendedWidthNoUnicast) != 0 {
		s.agenda.add(task{n.performance, kindExtended, number})
	}
}
