package fabric

import (
	"time"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// Reading is one counter of a port as it was read.
type Reading struct {
	// Name is that of the specification (section 16.1.3.5), as infiniband-diags writes it: SymbolErrorCounter.
	Name  string
	Value uint64
	// Bits is the counter's width: 4 to 64. A counter stops at its highest value.
	Bits int
	// IsError tells counters of what went wrong from those of traffic and of waiting for credits (PortXmitWait).
	IsError bool
}

// Saturated reports whether the counter stands at its end: it counts nothing more until it is reset.
func (r Reading) Saturated() bool { return r.Value == 1<<r.Bits-1 }

// Change is a counter with what became of it since an earlier reading.
type Change struct {
	Reading
	// Delta is how much it grew, and PerSecond that by the time; nil without an earlier reading, or when it was reset in between. Of a counter
	// that is saturated, they are lower bounds.
	Delta     *uint64
	PerSecond *float64
	// Reset tells that it is lower than before: somebody wrote it.
	Reset bool
}

// Readings returns the counters of a port in the specification's order, wide ones where the port has them; nil where none was read.
func (p *Port) Readings() []Reading {
	if p.Counters == nil && p.Extended == nil {
		return nil
	}
	errorsWide := p.Extended != nil && p.Counters == nil
	list := make([]Reading, 0, 32)
	add := func(isError bool, name string, narrow uint64, bits int, wide uint64, hasWide bool) {
		switch {
		case hasWide:
			list = append(list, Reading{name, wide, 64, isError})
		case p.Counters != nil:
			list = append(list, Reading{name, narrow, bits, isError})
		}
	}
	c, x := p.Counters, p.Extended
	if c == nil {
		c = &mad.PortCounters{}
	}
	if x == nil {
		x = &mad.PortCountersExtended{}
	}
	failure := func(name string, narrow uint64, bits int, wide uint64) {
		add(true, name, narrow, bits, wide, errorsWide)
	}
	traffic := func(name string, narrow uint32, wide uint64) {
		add(false, name, uint64(narrow), 32, wide, p.Extended != nil)
	}
	failure("SymbolErrorCounter", uint64(c.SymbolErrorCounter), 16, x.SymbolErrorCounter)
	failure("LinkErrorRecoveryCounter", uint64(c.LinkErrorRecoveryCounter), 8, x.LinkErrorRecoveryCounter)
	failure("LinkDownedCounter", uint64(c.LinkDownedCounter), 8, x.LinkDownedCounter)
	failure("PortRcvErrors", uint64(c.PortRcvErrors), 16, x.PortRcvErrors)
	failure("PortRcvRemotePhysicalErrors", uint64(c.PortRcvRemotePhysicalErrors), 16, x.PortRcvRemotePhysicalErrors)
	failure("PortRcvSwitchRelayErrors", uint64(c.PortRcvSwitchRelayErrors), 16, x.PortRcvSwitchRelayErrors)
	failure("PortXmitDiscards", uint64(c.PortXmitDiscards), 16, x.PortXmitDiscards)
	failure("PortXmitConstraintErrors", uint64(c.PortXmitConstraintErrors), 8, x.PortXmitConstraintErrors)
	failure("PortRcvConstraintErrors", uint64(c.PortRcvConstraintErrors), 8, x.PortRcvConstraintErrors)
	failure("LocalLinkIntegrityErrors", uint64(c.LocalLinkIntegrityErrors), 4, x.LocalLinkIntegrityErrors)
	failure("ExcessiveBufferOverrunErrors", uint64(c.ExcessiveBufferOverrunErrors), 4, x.ExcessiveBufferOverrunErrors)
	failure("QP1Dropped", uint64(c.QP1Dropped), 16, x.QP1Dropped)
	failure("VL15Dropped", uint64(c.VL15Dropped), 16, x.VL15Dropped)
	add(false, "PortXmitWait", uint64(c.PortXmitWait), 32, x.PortXmitWait, errorsWide)
	traffic("PortXmitData", c.PortXmitData, x.PortXmitData)
	traffic("PortRcvData", c.PortRcvData, x.PortRcvData)
	traffic("PortXmitPkts", c.PortXmitPkts, x.PortXmitPkts)
	traffic("PortRcvPkts", c.PortRcvPkts, x.PortRcvPkts)
	return list
}

// CounterNames returns the names of Readings in their order.
func CounterNames() []string {
	p := Port{Counters: &mad.PortCounters{}}
	var names []string
	for _, r := range p.Readings() {
		names = append(names, r.Name)
	}
	return names
}

// Changes compares two readings of a port. The time between them is for the rates; 0 gives none. Counters that the earlier reading
// doesn't have in the same width have no growth.
func Changes(before, after []Reading, elapsed time.Duration) []Change {
	earlier := make(map[string]Reading, len(before))
	for _, r := range before {
		earlier[r.Name] = r
	}
	list := make([]Change, 0, len(after))
	for _, r := range after {
		c := Change{Reading: r}
		was, ok := earlier[r.Name]
		switch {
		case !ok || was.Bits != r.Bits:
		case r.Value < was.Value:
			c.Reset = true
		default:
			c.Delta = new(r.Value - was.Value)
			if elapsed > 0 {
				c.PerSecond = new(float64(*c.Delta) / elapsed.Seconds())
			}
		}
		list = append(list, c)
	}
	return list
}

// Thresholds are the values above which a counter, by its name, is a fault. Counters without one are not judged.
type Thresholds map[string]uint64

// DefaultThresholds judges each error counter that isn't 0, as infiniband-diags does without a file, and leaves alone
// PortXmitWait, which tells of congestion and not of faults.
func DefaultThresholds() Thresholds {
	p := Port{Counters: &mad.PortCounters{}}
	t := Thresholds{}
	for _, r := range p.Readings() {
		if r.IsError {
			t[r.Name] = 0
		}
	}
	return t
}

// Exceeded reports whether the counter is above its threshold.
func (t Thresholds) Exceeded(r Reading) bool {
	limit, judged := t[r.Name]
	return judged && r.Value > limit
}
