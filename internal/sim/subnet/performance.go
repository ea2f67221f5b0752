package subnet

import (
	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// performance writes the response of a node's performance agent to answer and returns the node, or
// nil if there is no response. The agents have extended counters without the additional ones.
func (s *Subnet) performance(d, answer *fabric.Datagram) *Node {
	n := s.byLID[d.Address.LID]
	if n == nil || n.Dead || d.Address.QPN != 1 || d.Address.QKey != fabric.QKeyGSI {
		return nil
	}
	n.Asked++
	var p mad.PerformanceMAD
	p.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	p.Method |= mad.MethodResponse
	number := p.Data[1]
	switch {
	case p.AttributeID == mad.AttributeClassPortInfo:
		info := mad.ClassPortInfo{BaseVersion: 1, ClassVersion: 1, CapabilityMask: mad.PerformanceExtendedWidth}
		info.Append(p.Data[:0])
	case int(number) >= len(n.Ports):
		p.Status |= mad.StatusInvalidField
	case p.AttributeID == mad.AttributePortCounters:
		c := n.Ports[number].classic()
		c.PortSelect = number
		c.Append(p.Data[:0])
	case p.AttributeID == mad.AttributePortCountersExtended:
		c := n.Ports[number].Counters
		c.PortSelect = number
		c.Append(p.Data[:0])
	default:
		p.Status |= mad.StatusUnsupportedMethodAttribute
	}
	p.Append(answer.MAD[:0])
	return n
}

// classic returns the counters with the widths of PortCounters; they saturate.
func (p *Port) classic() mad.PortCounters {
	c := &p.Counters
	return mad.PortCounters{
		SymbolErrorCounter:       uint16(min(c.SymbolErrorCounter, 1<<16-1)),
		LinkErrorRecoveryCounter: uint8(min(c.LinkErrorRecoveryCounter, 1<<8-1)),
		LinkDownedCounter:        uint8(min(c.LinkDownedCounter, 1<<8-1)),
		PortRcvErrors:            uint16(min(c.PortRcvErrors, 1<<16-1)),
		PortXmitDiscards:         uint16(min(c.PortXmitDiscards, 1<<16-1)),
		PortXmitData:             uint32(min(c.PortXmitData, 1<<32-1)),
		PortRcvData:              uint32(min(c.PortRcvData, 1<<32-1)),
		PortXmitPkts:             uint32(min(c.PortXmitPkts, 1<<32-1)),
		PortRcvPkts:              uint32(min(c.PortRcvPkts, 1<<32-1)),
		PortXmitWait:             uint32(min(c.PortXmitWait, 1<<32-1)),
	}
}
