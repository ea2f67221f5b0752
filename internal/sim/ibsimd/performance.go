package ibsimd

import (
	"reflect"
	"time"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// pmaRequest is a performance management request that has reached a node.
type pmaRequest struct {
	in   *port
	set  bool
	data *[mad.PerformanceDataLen]byte
	now  time.Time
}

// Attributes of performance management that ibsim has besides the counters: details of errors and
// counters by virtual lane. Nothing counts them here.
const (
	attributeRcvErrorDetails mad.Attribute = 0x15
	attributeVLXmitWait      mad.Attribute = 0x1c
)

// performance answers a request, and reports whether the attribute is known.
func (r *pmaRequest) performance(a mad.Attribute) (status mad.Status, known bool) {
	switch {
	case a == mad.AttributeClassPortInfo:
		return r.classPortInfo(), true
	case a == mad.AttributePortCounters:
		return r.each(r.readClassic), true
	case a == mad.AttributePortCountersExtended:
		return r.each(r.readExtended), true
	case a >= attributeRcvErrorDetails && a <= attributeVLXmitWait:
		return r.each(func([]*port) { clear(r.data[4:]) }), true
	}
	return 0, false
}

func (r *pmaRequest) classPortInfo() mad.Status {
	n := r.in.node
	info := mad.ClassPortInfo{
		BaseVersion: 1, ClassVersion: 1, RespTimeValue: 18, // 1.1 s
		CapabilityMask: mad.PerformanceExtendedWidth | mad.PerformancePortCountersXmitWait,
	}
	if n.isSwitch() {
		info.CapabilityMask |= mad.PerformanceAllPortSelect
	}
	if n.Performance != nil {
		info = *n.Performance
	}
	clear(r.data[:])
	info.Append(r.data[:0])
	if r.set {
		return mad.StatusUnsupportedMethod
	}
	return 0
}

// each calls read with the ports that the request selects: one, or all of a switch.
func (r *pmaRequest) each(read func(ports []*port)) mad.Status {
	n, number := r.in.node, r.data[1]
	var ports []*port
	switch {
	case !n.isSwitch() && number != r.in.number:
		return mad.StatusInvalidField
	case n.isSwitch() && number == mad.PortSelectAll:
		ports = n.ports
	case int(number) >= len(n.ports):
		return mad.StatusInvalidField
	default:
		ports = n.ports[number : number+1]
	}
	for _, p := range ports {
		p.grow(r.now)
	}
	read(ports)
	return 0
}

// readClassic writes PortCounters: the sum of the ports, each counter up to its highest value.
func (r *pmaRequest) readClassic(ports []*port) {
	var c mad.PortCounters
	c.Decode(r.data[:]) //nolint:errcheck // long enough
	mask, mask2 := c.CounterSelect, c.CounterSelect2
	var sum mad.PortCountersExtended
	for _, p := range ports {
		if r.set {
			p.resetClassic(mask, mask2)
		}
		addCounters(&sum, &p.classic)
	}
	narrow(&c, &sum)
	c.Append(r.data[:0])
}

// readExtended writes PortCountersExtended; error counters only if the node says that it has them.
func (r *pmaRequest) readExtended(ports []*port) {
	var c mad.PortCountersExtended
	c.Decode(r.data[:]) //nolint:errcheck // long enough
	mask := c.CounterSelect
	head := mad.PortCountersExtended{
		Reserved: c.Reserved, PortSelect: c.PortSelect, CounterSelect: c.CounterSelect,
		CounterSelect2: c.CounterSelect2,
	}
	var sum mad.PortCountersExtended
	for _, p := range ports {
		if r.set {
			p.resetExtended(mask)
		}
		addCounters(&sum, &p.wide)
	}
	if info := r.in.node.Performance; info == nil || info.CapabilityMask2&mad.PerformanceAdditionalExtended == 0 {
		sum = mad.PortCountersExtended{
			PortXmitData: sum.PortXmitData, PortRcvData: sum.PortRcvData,
			PortXmitPkts: sum.PortXmitPkts, PortRcvPkts: sum.PortRcvPkts,
			PortUnicastXmitPkts: sum.PortUnicastXmitPkts, PortUnicastRcvPkts: sum.PortUnicastRcvPkts,
			PortMulticastXmitPkts: sum.PortMulticastXmitPkts, PortMulticastRcvPkts: sum.PortMulticastRcvPkts,
		}
	}
	sum.Reserved, sum.PortSelect = head.Reserved, head.PortSelect
	sum.CounterSelect, sum.CounterSelect2 = head.CounterSelect, head.CounterSelect2
	sum.Append(r.data[:0])
}

// classicNames are the counters in the order of the bits of PortCounters.CounterSelect.
func classicNames() []string {
	return []string{
		"SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors",
		"PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors", "PortXmitDiscards",
		"PortXmitConstraintErrors", "PortRcvConstraintErrors", "LocalLinkIntegrityErrors",
		"ExcessiveBufferOverrunErrors", "VL15Dropped", "PortXmitData", "PortRcvData", "PortXmitPkts",
		"PortRcvPkts",
	}
}

func (p *port) resetClassic(mask uint16, mask2 uint8) {
	v := reflect.ValueOf(&p.classic).Elem()
	for bit, name := range classicNames() {
		if mask>>bit&1 != 0 {
			v.FieldByName(name).SetUint(0)
		}
	}
	if mask2&1 != 0 {
		p.classic.PortXmitWait = 0
	}
}

func (p *port) resetExtended(mask uint16) {
	c := &p.wide
	for bit, counter := range [...]*uint64{
		&c.PortXmitData, &c.PortRcvData, &c.PortXmitPkts, &c.PortRcvPkts, &c.PortUnicastXmitPkts,
		&c.PortUnicastRcvPkts, &c.PortMulticastXmitPkts, &c.PortMulticastRcvPkts,
	} {
		if mask>>bit&1 != 0 {
			*counter = 0
		}
	}
}

// addCounters adds the counters of a port to a sum, which stops at the highest value.
func addCounters(sum, add *mad.PortCountersExtended) {
	s, a := reflect.ValueOf(sum).Elem(), reflect.ValueOf(add).Elem()
	for i := range s.NumField() {
		if s.Field(i).Type().Bits() != 64 { // selects
			continue
		}
		total := s.Field(i).Uint() + a.Field(i).Uint()
		if total < a.Field(i).Uint() {
			total = 1<<64 - 1
		}
		s.Field(i).SetUint(total)
	}
}

// narrow writes the counters to fields with fewer bits, where they stop at the highest value. The
// selects are left.
func narrow(to *mad.PortCounters, from *mad.PortCountersExtended) {
	t, f := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for i := range f.NumField() {
		field := t.FieldByName(f.Type().Field(i).Name)
		if f.Field(i).Type().Bits() != 64 || !field.IsValid() {
			continue
		}
		bits := field.Type().Bits()
		switch f.Type().Field(i).Name {
		case "LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors":
			bits = 4
		}
		field.SetUint(min(f.Field(i).Uint(), 1<<bits-1))
	}
}

// widen is the inverse of narrow.
func widen(from *mad.PortCounters) (to mad.PortCountersExtended) {
	t, f := reflect.ValueOf(&to).Elem(), reflect.ValueOf(from).Elem()
	for i := range t.NumField() {
		if t.Field(i).Type().Bits() == 64 {
			if field := f.FieldByName(t.Type().Field(i).Name); field.IsValid() {
				t.Field(i).SetUint(field.Uint())
			}
		}
	}
	return to
}

// ramp is a counter that grows.
type ramp struct {
	name      string // a field of mad.PortCountersExtended
	perSecond float64
	last      time.Time
	rest      float64 // the part of a unit that has not been added yet
}

// grow adds to the port's counters what has come since the last call.
func (p *port) grow(now time.Time) {
	for i := range p.growing {
		r := &p.growing[i]
		r.rest += r.perSecond * now.Sub(r.last).Seconds()
		r.last = now
		whole := uint64(r.rest)
		r.rest -= float64(whole)
		for _, c := range [...]*mad.PortCountersExtended{&p.classic, &p.wide} {
			field := reflect.ValueOf(c).Elem().FieldByName(r.name)
			if sum := field.Uint() + whole; sum >= whole {
				field.SetUint(sum)
			}
		}
	}
}
