package ibdiags

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Attributes of details, and their numbers of 16-bit counters from byte 4 on.
const (
	attributeRcvErrorDetails    mad.Attribute = 0x15
	attributeXmitDiscardDetails mad.Attribute = 0x16
)

// queriedNode holds the answers of a node's performance agent.
type queriedNode struct {
	node     *subnetNode
	can      mad.ClassPortInfo
	all      bool          // one request is enough for all ports
	whole    *queriedPort  // all ports together
	ports    []queriedPort // the ports that were queried, in ascending order
	left     int           // outstanding requests about ports
	reported bool          // it has been reported that the node can't be queried
}

// queriedPort holds the counters of a port.
type queriedPort struct {
	number    int // 255: all
	failed    bool
	classic   mad.PortCounters
	extended  mad.PortCountersExtended
	discards  []uint64 // details, if requested
	rcvErrors []uint64
}

// hasExtended reports whether the agent has counters of 64 bits, and hasExtendedErrors whether
// errors are among them.
func (n *queriedNode) hasExtended() bool {
	return n.can.CapabilityMask&(mad.PerformanceExtendedWidth|mad.PerformanceExtendedWidthNoUnicast) != 0
}

func (n *queriedNode) hasExtendedErrors() bool {
	return n.can.CapabilityMask2&mad.PerformanceAdditionalExtended != 0
}

// query queries the nodes and prints their counters in the order of the nodes.
func (e *queryErrors) query(ctx context.Context, nodes []*subnetNode) error {
	e.agents = e.run.agents(e.settings.window)
	var asked []*queriedNode
	for _, node := range nodes {
		if len(e.types) > 0 && !e.types[node.Info.NodeType] {
			continue
		}
		n := &queriedNode{node: node}
		asked = append(asked, n)
		e.askCapability(n)
	}
	if err := e.agents.run(ctx); err != nil {
		return err
	}
	if e.noLIDs > 0 {
		e.warn("query", "%d nodes can't be queried: %v", e.noLIDs, errNoLID)
	}
	for _, n := range asked {
		e.print(n)
	}
	return nil
}

// lid returns the LID for requests about a port.
func (n *queriedNode) lid(port int) ib.LID {
	if n.node.IsSwitch() {
		return n.node.lid
	}
	return n.node.ports[port].lid
}

func (e *queryErrors) askCapability(n *queriedNode) {
	first := 0
	if !n.node.IsSwitch() {
		for first = 1; first < len(n.node.ports) && n.node.ports[first] == nil; first++ {
		}
		if first == len(n.node.ports) {
			return
		}
	}
	e.agents.get(n.lid(first), mad.AttributeClassPortInfo, uint8(first), func(data []byte, err error) {
		if err != nil {
			e.failed(n, "classportinfo", first, err)
		} else {
			n.can.Decode(data) //nolint:errcheck // a MAD is long enough
		}
		n.all = n.can.CapabilityMask&mad.PerformanceAllPortSelect != 0
		if n.all && !e.countersOnly {
			n.whole = &queriedPort{number: mad.PortSelectAll}
			e.askPort(n, n.whole, n.lid(first))
			return
		}
		e.askPorts(n)
	})
}

// failed counts a request without an answer. A reason that concerns all requests to a node is
// reported once.
func (e *queryErrors) failed(n *queriedNode, what string, port int, err error) {
	e.failures++
	if errors.Is(err, errNoLID) || errors.Is(err, errGaveUp) {
		if errors.Is(err, errNoLID) && !n.reported {
			e.noLIDs++
		}
		n.reported = true
		return
	}
	e.warn("query", "%s query failed on %s port %d: %v",
		what, e.names.name(n.node.GUID(), n.node.Description), port, err)
}

// askPorts requests the counters of each port of a node.
func (e *queryErrors) askPorts(n *queriedNode) {
	start := 1
	if n.node.IsSwitch() && n.node.Switch != nil && n.node.Switch.EnhancedPort0 {
		start = 0
	}
	for number := start; number < len(n.node.ports); number++ {
		if n.node.ports[number] != nil {
			n.ports = append(n.ports, queriedPort{number: number})
		}
	}
	n.left = len(n.ports)
	for i := range n.ports {
		e.askPort(n, &n.ports[i], n.lid(n.ports[i].number))
	}
	if len(n.ports) == 0 {
		e.portDone(n, nil, 0)
	}
}

// askPort requests the counters of a port that are needed.
func (e *queryErrors) askPort(n *queriedNode, p *queriedPort, lid ib.LID) {
	if e.countersOnly && n.hasExtended() || !e.countersOnly && n.hasExtendedErrors() {
		e.askExtended(n, p, lid)
		return
	}
	e.agents.get(lid, mad.AttributePortCounters, uint8(p.number), func(data []byte, err error) {
		if err != nil {
			p.failed = true
			e.failed(n, "IB_GSI_PORT_COUNTERS", p.number, err)
			e.portDone(n, p, lid)
			return
		}
		p.classic.Decode(data) //nolint:errcheck // a MAD is long enough
		if n.can.CapabilityMask&mad.PerformancePortCountersXmitWait == 0 {
			p.classic.PortXmitWait = 0
		}
		if e.data && n.hasExtended() && len(e.exceeding(n, p)) > 0 {
			e.askExtended(n, p, lid)
			return
		}
		e.askDetails(n, p, lid)
	})
}

func (e *queryErrors) askExtended(n *queriedNode, p *queriedPort, lid ib.LID) {
	e.agents.get(lid, mad.AttributePortCountersExtended, uint8(p.number), func(data []byte, err error) {
		if err != nil {
			p.failed = true
			e.failed(n, "IB_GSI_PORT_COUNTERS_EXT", p.number, err)
			e.portDone(n, p, lid)
			return
		}
		p.extended.Decode(data) //nolint:errcheck // a MAD is long enough
		e.askDetails(n, p, lid)
	})
}

// askDetails requests the details of the errors, with --details.
func (e *queryErrors) askDetails(n *queriedNode, p *queriedPort, lid ib.LID) {
	open := 1
	done := func() {
		if open--; open == 0 {
			e.portDone(n, p, lid)
		}
	}
	if e.details && !e.countersOnly {
		for _, c := range e.exceeding(n, p) {
			switch c.name {
			case xmitDiscards:
				open++
				e.askDetail(n, p, lid, attributeXmitDiscardDetails, "PortXmitDiscardDetails", &p.discards, done)
			case rcvErrors:
				open++
				e.askDetail(n, p, lid, attributeRcvErrorDetails, "PortRcvErrorDetails", &p.rcvErrors, done)
			}
		}
	}
	done()
}

// askDetail requests an attribute of 16-bit counters, as many as the longer of the two attributes
// has.
func (e *queryErrors) askDetail(
	n *queriedNode, p *queriedPort, lid ib.LID, attribute mad.Attribute, what string, to *[]uint64, done func(),
) {
	e.agents.get(lid, attribute, uint8(p.number), func(data []byte, err error) {
		if err != nil {
			e.failed(n, what, p.number, err)
		} else {
			for i := range 6 {
				*to = append(*to, uint64(binary.BigEndian.Uint16(data[4+2*i:])))
			}
		}
		done()
	})
}

// portDone is called when all counters of a port are known: it clears the port and, after the last
// port, finishes the node.
func (e *queryErrors) portDone(n *queriedNode, p *queriedPort, lid ib.LID) {
	if p != nil && p == n.whole {
		if p.failed || len(e.exceeding(n, p)) == 0 {
			e.clear(n, mad.PortSelectAll, lid)
			return
		}
		e.askPorts(n)
		return
	}
	if p != nil && !n.all {
		e.clear(n, p.number, lid)
	}
	if n.left--; n.left <= 0 && n.all && p != nil {
		e.clear(n, mad.PortSelectAll, lid)
	}
}

// exceeding returns the counters of a port that are above their threshold and not suppressed.
func (e *queryErrors) exceeding(n *queriedNode, p *queriedPort) []errorCounter {
	var list []errorCounter
	for _, c := range errorCounters() {
		if e.value(n, p, c) > e.limits.values[c.name] && !e.suppresses(c.name) {
			list = append(list, c)
		}
	}
	return list
}

// value returns a port's value of an error counter.
func (e *queryErrors) value(n *queriedNode, p *queriedPort, c errorCounter) uint64 {
	if n.hasExtendedErrors() {
		return c.extended(&p.extended)
	}
	return c.classic(&p.classic)
}

func (e *queryErrors) suppresses(name string) bool {
	return slices.Contains(e.suppressed, name)
}

// Bits of CounterSelect (specification section 16.1.3.5), and of the same field in front of the
// counters of 64 bits.
const (
	selectErrors         = 0x0fff
	selectData           = 0xf000
	selectWait           = 0x10000
	selectExtendedData   = 0x00ff
	selectExtendedShort  = 0x000f
	selectExtendedErrors = 0xfff0000
	selectExtendedWait   = 1 << 28
)

// clear writes zeros to the counters that -k and -K select (C twin: clear_port).
func (e *queryErrors) clear(n *queriedNode, port int, lid ib.LID) {
	if !e.clearErrors && !e.clearCounts {
		return
	}
	can := n.can.CapabilityMask
	var mask, extended uint32
	if e.clearErrors {
		mask |= selectErrors
		if can&mad.PerformancePortCountersXmitWait != 0 {
			mask |= selectWait
		}
		if n.hasExtendedErrors() {
			extended |= selectExtendedErrors
			if can&mad.PerformancePortCountersXmitWait != 0 {
				extended |= selectExtendedWait
			}
		}
	}
	if e.clearCounts {
		mask |= selectData
		extended |= selectExtendedShort
		if can&mad.PerformanceExtendedWidth != 0 {
			extended |= selectExtendedData
		}
	}
	name := e.names.name(n.node.GUID(), n.node.Description)
	e.set(lid, mad.AttributePortCounters, port, mask, func(err error) {
		e.errorf("Failed to reset errors %s port %d\n", name, port)
		e.cause(err)
	})
	if e.clearErrors && e.details {
		e.set(lid, attributeXmitDiscardDetails, port, 0xf, func(error) {})
		e.set(lid, attributeRcvErrorDetails, port, 0x3f, func(error) {})
	}
	if n.hasExtended() && extended != 0 {
		e.set(lid, mad.AttributePortCountersExtended, port, extended, func(err error) {
			e.errorf("Failed to reset extended data counters %s, port %d\n", name, port)
			e.cause(err)
		})
	}
}

// set writes zeros to the counters that a mask selects.
func (e *queryErrors) set(lid ib.LID, attribute mad.Attribute, port int, mask uint32, failed func(error)) {
	var data []byte
	switch attribute {
	case mad.AttributePortCounters:
		c := mad.PortCounters{PortSelect: uint8(port), CounterSelect: uint16(mask), CounterSelect2: uint8(mask >> 16)}
		data = c.Append(nil)
	case mad.AttributePortCountersExtended:
		c := mad.PortCountersExtended{PortSelect: uint8(port), CounterSelect: uint16(mask), CounterSelect2: mask >> 16}
		data = c.Append(nil)
	default:
		data = []byte{0, uint8(port), uint8(mask >> 8), uint8(mask)}
	}
	e.agents.add(&agentRequest{
		lid: lid, method: mad.MethodSet, attribute: attribute, data: data, done: func(_ []byte, err error) {
			if err != nil {
				failed(err)
			}
		},
	})
}
