package counters

import "slices"

// Kind is the kind of events that a counter counts.
type Kind uint8

// The kinds of counters.
const (
	KindError   Kind = iota // errors
	KindWait                // time that data waited for credits: congestion, not an error
	KindTraffic             // data and packets
)

// Counter is a counter of a port.
type Counter struct {
	Name string // in the specification, as infiniband-diags writes it
	File string // in ports/N/counters of sysfs; "" if the kernel has none
	// Bits is the width in PortCounters. If the port has PortCountersExtended, the kernel's file
	// for a 32-bit counter has the 64-bit value from there.
	Bits int
	Kind Kind
}

var portCounters = [...]Counter{
	{"SymbolErrorCounter", "symbol_error", 16, KindError},
	{"LinkErrorRecoveryCounter", "link_error_recovery", 8, KindError},
	{"LinkDownedCounter", "link_downed", 8, KindError},
	{"PortRcvErrors", "port_rcv_errors", 16, KindError},
	{"PortRcvRemotePhysicalErrors", "port_rcv_remote_physical_errors", 16, KindError},
	{"PortRcvSwitchRelayErrors", "port_rcv_switch_relay_errors", 16, KindError},
	{"PortXmitDiscards", "port_xmit_discards", 16, KindError},
	{"PortXmitConstraintErrors", "port_xmit_constraint_errors", 8, KindError},
	{"PortRcvConstraintErrors", "port_rcv_constraint_errors", 8, KindError},
	{"LocalLinkIntegrityErrors", "local_link_integrity_errors", 4, KindError},
	{"ExcessiveBufferOverrunErrors", "excessive_buffer_overrun_errors", 4, KindError},
	{"QP1Dropped", "", 16, KindError},
	{"VL15Dropped", "VL15_dropped", 16, KindError},
	{"PortXmitWait", "port_xmit_wait", 32, KindWait},
	{"PortXmitData", "port_xmit_data", 32, KindTraffic},
	{"PortRcvData", "port_rcv_data", 32, KindTraffic},
	{"PortXmitPkts", "port_xmit_packets", 32, KindTraffic},
	{"PortRcvPkts", "port_rcv_packets", 32, KindTraffic},
}

// PortCounters returns the counters of attribute PortCounters: the error counters and PortXmitWait
// in the specification's order, then the traffic counters.
func PortCounters() []Counter { return slices.Clone(portCounters[:]) }

// ByName finds a counter by its name in the specification.
func ByName(name string) (Counter, bool) {
	return find(func(c Counter) bool { return c.Name == name })
}

// ByFile finds a counter by the name of the kernel's file.
func ByFile(file string) (Counter, bool) {
	return find(func(c Counter) bool { return c.File == file && file != "" })
}

func find(is func(Counter) bool) (Counter, bool) {
	i := slices.IndexFunc(portCounters[:], is)
	if i < 0 {
		return Counter{}, false
	}
	return portCounters[i], true
}
