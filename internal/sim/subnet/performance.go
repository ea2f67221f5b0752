package subnet

import (
	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// performance writes the response of a node's performance agent to answer and returns the node, or
// nil if there is no response. What the agent has depends on its capabilities; counters that it
// doesn't have are 0.
func (s *Subnet) performance(d, answer *fabric.Datagram) *Node {
	n := s.byLID[d.Address.LID]
	if n == nil || n.Dead || d.Address.QPN != 1 || d.Address.QKey != fabric.QKeyGSI {
		return nil
	}
	var p mad.PerformanceMAD
	p.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	if n.PMKey != 0 && p.PMKey != n.PMKey {
		return nil
	}
	n.Asked++
	p.Method |= mad.MethodResponse
	number := p.Data[1]
	can := n.agent()
	switch {
	case p.AttributeID == mad.AttributeClassPortInfo:
		can.Append(p.Data[:0])
	case int(number) >= len(n.Ports):
		p.Status |= mad.StatusInvalidField
	case p.AttributeID == mad.AttributePortCounters:
		c := n.Ports[number].classic(&can)
		c.PortSelect = number
		c.Append(p.Data[:0])
	case p.AttributeID == mad.AttributePortCountersExtended &&
		can.CapabilityMask&(mad.PerformanceExtendedWidth|mad.PerformanceExtendedWidthNoUnicast) != 0:
		c := n.Ports[number].extended(&can)
		c.PortSelect = number
		c.Append(p.Data[:0])
	case n.Ports[number].Tables[p.AttributeID] != nil:
		clear(p.Data[:])
		copy(p.Data[:], n.Ports[number].Tables[p.AttributeID])
		p.Data[1] = number
	default:
		p.Status |= mad.StatusUnsupportedMethodAttribute
	}
	p.Append(answer.MAD[:0])
	return n
}

// agent returns the capabilities of the node's performance agent.
func (n *Node) agent() mad.ClassPortInfo {
	if n.Performance != nil {
		return *n.Performance
	}
	return mad.ClassPortInfo{
		BaseVersion: 1, ClassVersion: 1,
		CapabilityMask: mad.PerformanceExtendedWidth | mad.PerformancePortCountersXmitWait,
	}
}

// classic returns the counters with the widths of PortCounters; they saturate.
func (p *Port) classic(can *mad.ClassPortInfo) mad.PortCounters {
	c := &p.Counters
	out := mad.PortCounters{
		SymbolErrorCounter:           uint16(min(c.SymbolErrorCounter, 1<<16-1)),
		LinkErrorRecoveryCounter:     uint8(min(c.LinkErrorRecoveryCounter, 1<<8-1)),
		LinkDownedCounter:            uint8(min(c.LinkDownedCounter, 1<<8-1)),
		PortRcvErrors:                uint16(min(c.PortRcvErrors, 1<<16-1)),
		PortRcvRemotePhysicalErrors:  uint16(min(c.PortRcvRemotePhysicalErrors, 1<<16-1)),
		PortRcvSwitchRelayErrors:     uint16(min(c.PortRcvSwitchRelayErrors, 1<<16-1)),
		PortXmitDiscards:             uint16(min(c.PortXmitDiscards, 1<<16-1)),
		PortXmitConstraintErrors:     uint8(min(c.PortXmitConstraintErrors, 1<<8-1)),
		PortRcvConstraintErrors:      uint8(min(c.PortRcvConstraintErrors, 1<<8-1)),
		LocalLinkIntegrityErrors:     uint8(min(c.LocalLinkIntegrityErrors, 1<<4-1)),
		ExcessiveBufferOverrunErrors: uint8(min(c.ExcessiveBufferOverrunErrors, 1<<4-1)),
		VL15Dropped:                  uint16(min(c.VL15Dropped, 1<<16-1)),
		PortXmitData:                 uint32(min(c.PortXmitData, 1<<32-1)),
		PortRcvData:                  uint32(min(c.PortRcvData, 1<<32-1)),
		PortXmitPkts:                 uint32(min(c.PortXmitPkts, 1<<32-1)),
		PortRcvPkts:                  uint32(min(c.PortRcvPkts, 1<<32-1)),
	}
	if can.CapabilityMask&mad.PerformancePortCountersXmitWait != 0 {
		out.PortXmitWait = uint32(min(c.PortXmitWait, 1<<32-1))
	}
	if can.CapabilityMask&mad.PerformanceQP1Dropped != 0 {
		out.QP1Dropped = uint16(min(c.QP1Dropped, 1<<16-1))
	}
	return out
}

// extended returns the counters of PortCountersExtended that the agent has.
func (p *Port) extended(can *mad.ClassPortInfo) mad.PortCountersExtended {
	c := p.Counters
	if can.CapabilityMask2&mad.PerformanceAdditionalExtended == 0 {
		c = mad.PortCountersExtended{
			PortXmitData: c.PortXmitData, PortRcvData: c.PortRcvData,
			PortXmitPkts: c.PortXmitPkts, PortRcvPkts: c.PortRcvPkts,
			PortUnicastXmitPkts: c.PortUnicastXmitPkts, PortUnicastRcvPkts: c.PortUnicastRcvPkts,
			PortMulticastXmitPkts: c.PortMulticastXmitPkts, PortMulticastRcvPkts: c.PortMulticastRcvPkts,
		}
	}
	if can.CapabilityMask&mad.PerformanceExtendedWidth == 0 {
		c.PortUnicastXmitPkts, c.PortUnicastRcvPkts = 0, 0
		c.PortMulticastXmitPkts, c.PortMulticastRcvPkts = 0, 0
	}
	if can.CapabilityMask&mad.PerformancePortCountersXmitWait == 0 {
		c.PortXmitWait = 0
	}
	if can.CapabilityMask&mad.PerformanceQP1Dropped == 0 {
		c.QP1Dropped = 0
	}
	return c
}
