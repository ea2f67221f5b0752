package fabric

import (
	"time"

	"github.com/rdmakit/rdmakit/wire/counters"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Reading is one counter of a port as it was read.
type Reading struct {
	// Name is that of the specification (section 16.1.3.5), as infiniband-diags writes
	// it: SymbolErrorCounter.
	Name  string
	Value uint64
	// Bits is the counter's width: 4 to 64. Below 64 it stops at its highest value.
	Bits int
	// IsError tells counters of what went wrong from those of traffic and of waiting for
	// credits (PortXmitWait).
	IsError bool
}

// Saturated reports whether the counter stands at its end: it counts nothing more until it
// is reset.
func (r Reading) Saturated() bool { return r.plain().Saturated() }

func (r Reading) plain() counters.Reading { return counters.Reading{Value: r.Value, Bits: r.Bits} }

// Change is a counter with what became of it since an earlier reading.
type Change struct {
	Reading
	counters.Change
}

// Readings returns the counters of a port in the order of [counters.PortCounters], wide ones where
// the port has them; nil where none was read.
func (p *Port) Readings() []Reading {
	if p.Counters == nil && p.Extended == nil {
		return nil
	}
	narrow, wide := narrowValues(p.Counters), wideValues(p.Extended)
	list := make([]Reading, 0, len(narrow))
	for i, c := range counters.PortCounters() {
		r := Reading{c.Name, narrow[i], c.Bits, c.Kind == counters.KindError}
		// Agents with the wide counters of traffic may lack those of errors: where the narrow ones
		// were asked for, they count.
		if p.Counters == nil || p.Extended != nil && c.Kind == counters.KindTraffic {
			r.Value, r.Bits = wide[i], counters.Endless
		}
		list = append(list, r)
	}
	return list
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

// wideValues does the same for the counters of 64 bits.
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

// Changes compares two readings of a port. The time between them is for the rates; 0 gives none.
// Counters that the earlier reading doesn't have in the same width have no growth; of others
// [counters.Compare] says what can be told.
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

// Thresholds are the values above which a counter, by its name, is a fault. Counters without one
// are not judged.
type Thresholds map[string]uint64

// DefaultThresholds judges each error counter that isn't 0, as infiniband-diags does without a
// file, and leaves alone PortXmitWait, which tells of congestion and not of faults.
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
