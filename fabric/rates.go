package fabric

import (
	"time"

	"github.com/rdmakit/rdmakit/wire/counters"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Reading is one counter of a port as it was read.
type Reading struct {
	// Name is the specification's name (section 16.1.3.5) in infiniband-diags' spelling:
	// SymbolErrorCounter.
	Name  string
	Value uint64
	// Bits is the counter's width: 4 to 64. Below 64 bits the counter stops at its maximum.
	Bits int
	// IsError distinguishes error counters from counters of traffic and of waiting for credits
	// (PortXmitWait).
	IsError bool
}

// Saturated reports whether the counter has reached its maximum, so that it counts no more until it
// is reset.
func (r Reading) Saturated() bool { return r.plain().Saturated() }

func (r Reading) plain() counters.Reading { return counters.Reading{Value: r.Value, Bits: r.Bits} }

// Change is a counter with its growth since an earlier reading.
type Change struct {
	Reading
	counters.Change
}

// Readings returns the counters that a port of the node has, in the order of
// [counters.PortCounters], the wide ones if the port has them; nil if none was read.
//
// PortXmitWait and QP1Dropped are optional (specification section 16.1.3.5): they are left out if
// the capabilities of the performance agent don't include them, or if the capabilities are unknown
// and the counter is 0. The sweep requests wide error counters only of agents that have them.
func (n *Node) Readings(port uint8) []Reading {
	if int(port) >= len(n.Ports) || !n.Ports[port].hasCounters() {
		return nil
	}
	p := &n.Ports[port]
	narrow, wide := narrowValues(p.Counters), wideValues(p.Extended)
	list := make([]Reading, 0, len(narrow))
	for i, c := range counters.PortCounters() {
		r := Reading{c.Name, narrow[i], c.Bits, c.Kind == counters.KindError}
		// Agents with wide traffic counters may have no wide error counters: the narrow ones are
		// used if they were read.
		if p.Counters == nil || p.Extended != nil && c.Kind == counters.KindTraffic {
			r.Value, r.Bits = wide[i], counters.Endless
		}
		if n.implements(c.Name, r.Value) {
			list = append(list, r)
		}
	}
	return list
}

// implements reports whether the node's performance agent has a counter, as far as that is known.
func (n *Node) implements(name string, value uint64) bool {
	var bit uint16
	switch name {
	case "PortXmitWait":
		bit = mad.PerformancePortCountersXmitWait
	case "QP1Dropped":
		bit = mad.PerformanceQP1Dropped
	default:
		return true
	}
	if n.Performance == nil {
		return value != 0
	}
	return n.Performance.CapabilityMask&bit != 0
}

// narrowValues returns the values in the order of [counters.PortCounters]; nil has zeros.
func narrowValues(c *mad.PortCounters) []uint64 {
	if c == nil {
		c = &mad.PortCounters{}
	}
	return []uint64{
		uint64(c.SymbolErrorCounter), uint64(c.LinkErrorRecoveryCounter), uint64(c.LinkDownedCounter),
		uint64(c.PortRcvErrors), uint64(c.PortRcvRemotePhysicalErrors), uint64(c.PortRcvSwitchRelayErrors),
		uint64(c.PortXmitDiscards), uint64(c.PortXmitConstraintErrors), uint64(c.PortRcvConstraintErrors),
		uint64(c.LocalLinkIntegrityErrors), uint64(c.ExcessiveBufferOverrunErrors),
		uint64(c.QP1Dropped), uint64(c.VL15Dropped),
		uint64(c.PortXmitWait),
		uint64(c.PortXmitData), uint64(c.PortRcvData), uint64(c.PortXmitPkts), uint64(c.PortRcvPkts),
	}
}

// wideValues is narrowValues for the counters of 64 bits.
func wideValues(x *mad.PortCountersExtended) []uint64 {
	if x == nil {
		x = &mad.PortCountersExtended{}
	}
	return []uint64{
		x.SymbolErrorCounter, x.LinkErrorRecoveryCounter, x.LinkDownedCounter,
		x.PortRcvErrors, x.PortRcvRemotePhysicalErrors, x.PortRcvSwitchRelayErrors,
		x.PortXmitDiscards, x.PortXmitConstraintErrors, x.PortRcvConstraintErrors,
		x.LocalLinkIntegrityErrors, x.ExcessiveBufferOverrunErrors, x.QP1Dropped, x.VL15Dropped,
		x.PortXmitWait,
		x.PortXmitData, x.PortRcvData, x.PortXmitPkts, x.PortRcvPkts,
	}
}

// CounterNames returns the names of Readings in their order.
func CounterNames() []string {
	var names []string
	for _, c := range counters.PortCounters() {
		names = append(names, c.Name)
	}
	return names
}

// Changes compares two readings of a port. The time between them is used for the rates; 0 gives no
// rates. Counters that the earlier reading doesn't have in the same width have no growth; for the
// others see [counters.Compare].
func Changes(before, after []Reading, elapsed time.Duration) []Change {
	earlier := make(map[string]Reading, len(before))
	for _, r := range before {
		earlier[r.Name] = r
	}
	list := make([]Change, 0, len(after))
	for _, r := range after {
		c := Change{Reading: r}
		if was, ok := earlier[r.Name]; ok {
			c.Change = counters.Compare(was.plain(), r.plain(), elapsed)
		}
		list = append(list, c)
	}
	return list
}

// Thresholds maps the names of counters to the values above which they are faults. Counters without
// a threshold are never faults.
type Thresholds map[string]uint64

// DefaultThresholds returns a threshold of 0 for each error counter, as infiniband-diags has
// without a file, and none for PortXmitWait, which indicates congestion rather than a fault.
func DefaultThresholds() Thresholds {
	t := Thresholds{}
	for _, c := range counters.PortCounters() {
		if c.Kind == counters.KindError {
			t[c.Name] = 0
		}
	}
	return t
}

// Exceeded reports whether the counter is above its threshold.
func (t Thresholds) Exceeded(r Reading) bool {
	limit, judged := t[r.Name]
	return judged && r.Value > limit
}
