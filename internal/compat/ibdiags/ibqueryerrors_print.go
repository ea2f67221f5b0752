package ibdiags

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// print prints a node's counters, and counts them for the summary (C twin: print_node).
func (e *queryErrors) print(n *queriedNode) {
	e.nodes++
	headed := false
	if n.whole != nil && len(n.ports) == 0 {
		e.ports += int(n.node.Info.NumPorts)
		return
	}
	if n.whole != nil {
		e.errorsOf(n, n.whole, &headed)
	}
	for i := range n.ports {
		e.ports++
		if p := &n.ports[i]; !p.failed {
			if e.countersOnly {
				e.countersOf(n, p, &headed)
			} else {
				e.errorsOf(n, p, &headed)
			}
		}
	}
}

// dataCounter is a counter of packets, or of data in units of 4 bytes.
type dataCounter struct {
	name  string
	value uint64
	data  bool
}

func (n *queriedNode) dataCounters(p *queriedPort) []dataCounter {
	if !n.hasExtended() {
		c := &p.classic
		return []dataCounter{
			{"PortXmitData", uint64(c.PortXmitData), true},
			{"PortRcvData", uint64(c.PortRcvData), true},
			{"PortXmitPkts", uint64(c.PortXmitPkts), false},
			{"PortRcvPkts", uint64(c.PortRcvPkts), false},
		}
	}
	c := &p.extended
	list := []dataCounter{
		{"PortXmitData", c.PortXmitData, true},
		{"PortRcvData", c.PortRcvData, true},
		{"PortXmitPkts", c.PortXmitPkts, false},
		{"PortRcvPkts", c.PortRcvPkts, false},
	}
	if n.can.CapabilityMask&mad.PerformanceExtendedWidth != 0 {
		list = append(
			list,
			dataCounter{"PortUnicastXmitPkts", c.PortUnicastXmitPkts, false},
			dataCounter{"PortUnicastRcvPkts", c.PortUnicastRcvPkts, false},
			dataCounter{"PortMulticastXmitPkts", c.PortMulticastXmitPkts, false},
			dataCounter{"PortMulticastRcvPkts", c.PortMulticastRcvPkts, false},
		)
	}
	return list
}

func (c dataCounter) String() string {
	return fmt.Sprintf(" [%s == %d (%s)]", c.name, c.value, human(c.value, c.data))
}

// countersOf prints the data counters of a port.
func (e *queryErrors) countersOf(n *queriedNode, p *queriedPort, headed *bool) {
	guid := guid64(n.node.GUID())
	if !*headed {
		e.printf("Data Counters for 0x%x \"%s\"\n", guid, e.names.name(n.node.GUID(), n.node.Description))
		*headed = true
	}
	e.printf("   GUID 0x%x port %d:", guid, p.number)
	for _, c := range n.dataCounters(p) {
		e.printf("%s", c)
	}
	e.printf("\n")
	if e.report {
		e.link(n.node.ports[p.number])
	}
}

// errorsOf prints the errors of a port, or of all ports together.
func (e *queryErrors) errorsOf(n *queriedNode, p *queriedPort, headed *bool) {
	var b strings.Builder
	for _, c := range e.exceeding(n, p) {
		value := e.value(n, p, c)
		if n.hasExtendedErrors() {
			b.WriteString(dataCounter{c.name, value, false}.String())
		} else {
			fmt.Fprintf(&b, " [%s == %d]", c.name, value)
		}
		switch c.name {
		case xmitDiscards:
			writeDetails(&b, p.discards, "PortInactiveDiscards", "PortNeighborMTUDiscards",
				"PortSwLifetimeLimitDiscards", "PortSwHOQLifetimeLimitDiscards")
		case rcvErrors:
			writeDetails(&b, p.rcvErrors, "PortLocalPhysicalErrors", "PortMalformedPktErrors",
				"PortBufferOverrunErrors", "PortDLIDMappingErrors", "PortVLMappingErrors", "PortLoopingErrors")
		}
	}
	if b.Len() == 0 {
		return
	}
	if e.data {
		for _, c := range n.dataCounters(p) {
			if c.value != 0 {
				b.WriteString(c.String())
			}
		}
	}
	name := e.names.name(n.node.GUID(), n.node.Description)
	guid := guid64(n.node.Info.PortGUID)
	if !*headed {
		if n.node.IsSwitch() {
			e.printf("Errors for 0x%x \"%s\"\n", guid, name)
		} else {
			e.printf("Errors for \"%s\"\n", name)
		}
		*headed = true
		e.badNodes++
	}
	if p == n.whole {
		if n.node.IsSwitch() {
			e.printf("   GUID 0x%x port ALL:%s\n", guid, b.String())
		}
		return
	}
	port := n.node.ports[p.number]
	e.printf("   GUID 0x%x port %d:%s\n", port.guid, p.number, b.String())
	if e.report {
		e.link(port)
	}
	e.badPorts++
}

// writeDetails writes the details that aren't zero.
func writeDetails(b *strings.Builder, values []uint64, names ...string) {
	for i, name := range names {
		if i < len(values) && values[i] != 0 {
			fmt.Fprintf(b, " [%s == %d]", name, values[i])
		}
	}
}

// link prints the state of a port's link (C twin: print_port_config).
func (e *queryErrors) link(p *subnetPort) {
	other := "           [  ] \"\" ( )"
	if p.remote != nil {
		other = fmt.Sprintf("0x%016x ", p.remote.guid) + p.other(e.names)
	}
	e.printf("       Link info: %6d%4d[%2s] ==%s==>  %s\n", p.base(), p.number, p.mark(), p.linkState(), other)
}
