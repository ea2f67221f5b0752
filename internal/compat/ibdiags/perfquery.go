package ibdiags

import (
	"context"
	"strings"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// allPorts as a port number means the sum of all ports.
const allPorts = mad.PortSelectAll

// perfQuery is a run of perfquery.
type perfQuery struct {
	*run
	table                       *counterTable // a table other than the port's counters
	extended                    bool
	all, loop, reset, onlyReset bool
	port                        int32
	ports                       []int32 // ports of a list or range
	mask                        uint64
	hasMask                     bool
	to                          address
	agent                       mad.ClassPortInfo
	sum                         mad.PortCounters
	sumExtended                 mad.PortCountersExtended
}

func perfquery() Program {
	options := []Option{flagOption("extended", 'x', "show extended port counters")}
	for _, t := range counterTables() {
		options = append(options, flagOption(t.option, t.letter, t.help))
	}
	options = append(
		options,
		flagOption("all_ports", 'a', "show aggregated counters"),
		flagOption("loop_ports", 'l', "iterate through each port"),
		flagOption("reset_after_read", 'r', "reset counters after read"),
		flagOption("Reset_only", 'R', "only reset counters"),
	)
	return Program{
		Name: "perfquery", Summary: "Print or reset the counters of a port",
		Usage: "[options]  [<lid|guid> [[port(s)] [reset_mask]]]",
		Long: `Differences from the C program: QP1Dropped is the counter of that name, where libibmad 44 prints
VL15Dropped a second time. --extended_speeds is printed completely, where C's buffer may truncate
it, and is rejected for a port that counts with RS-FEC. A list or range has at most 1024 ports.`,
		Example: "-x 32 1",
		Options: append(options, commonOptions("DK")...),
		Examples: []string{
			"\t\t# read local port's performance counters",
			"32 1\t\t# read performance counters from lid 32, port 1",
			"-x 32 1\t# read extended performance counters from lid 32, port 1",
			"-a 32\t\t# read performance counters from lid 32, all ports",
			"-r 32 1\t# read performance counters and reset",
			"-x -r 32 1\t# read extended performance counters and reset",
			"-R 0x20 1\t# reset performance counters of port 1 only",
			"-x -R 0x20 1\t# reset extended performance counters of port 1 only",
			"-R -a 32\t# reset performance counters of all ports",
			"-R 32 2 0x0fff\t# reset only error counters of port 2",
			"-R 32 2 0xf000\t# reset only non-error counters of port 2",
			"-a 32 1-10\t# read performance counters from lid 32, port 1-10, aggregate output",
			"-l 32 1-10\t# read performance counters from lid 32, port 1-10, output each port",
			"-a 32 1,4,8\t# read performance counters from lid 32, port 1, 4, and 8, aggregate output",
			"-l 32 1,4,8\t# read performance counters from lid 32, port 1, 4, and 8, output each port",
		},
		run: runPerfquery,
	}
}

func runPerfquery(ctx context.Context, r *run) int {
	q := &perfQuery{run: r, mask: 1<<64 - 1}
	if code, done := r.options(q.option); done {
		return code
	}
	if code, done := q.parseOperands(); done {
		return code
	}
	if !r.open(ctx) {
		return exitMinusOne
	}
	if err := q.find(ctx); err != nil {
		return r.fail(err, "can't resolve destination port %s", strings.Join(r.operands[:min(1, len(r.operands))], ""))
	}
	data, err := q.get(ctx, mad.AttributeClassPortInfo, q.port)
	if err != nil {
		return r.fail(err, "classportinfo query")
	}
	q.agent.Decode(data) //nolint:errcheck // get has the length
	byAgent := q.agent.CapabilityMask&mad.PerformanceAllPortSelect != 0
	switch {
	case !byAgent && !q.all && q.port == allPorts:
		return r.fail(nil, "AllPortSelect not supported")
	case q.table != nil:
		return q.showTable(ctx)
	}
	each := !byAgent && q.all && q.port == allPorts
	return q.showCounters(ctx, each)
}

// option handles an option that is specific to perfquery.
func (q *perfQuery) option(letter byte, _ string) bool {
	switch letter {
	case 'x':
		q.extended = true
	case 'a':
		q.all, q.port = true, allPorts
	case 'l':
		q.loop = true
	case 'r':
		q.reset = true
	case 'R':
		q.onlyReset = true
	default:
		for _, t := range counterTables() { // if several are given, the first in this order is printed
			if t.letter == letter && (q.table == nil || t.order < q.table.order) {
				q.table = &t
			}
		}
	}
	return true
}

// parseOperands parses the ports and the mask; done reports that they end the run.
func (q *perfQuery) parseOperands() (code int, done bool) {
	if len(q.operands) > 2 {
		q.mask, _ = clib.Strtoul(q.operands[2], 0)
		q.hasMask = true
	}
	if len(q.operands) < 2 {
		return 0, false
	}
	const most = 1024 // the first port that doesn't exist ends the run
	text := q.operands[1]
	low, high, isRange := strings.Cut(text, "-")
	switch {
	case strings.Contains(text, ","):
		for word := range strings.SplitSeq(text, ",") {
			if word != "" {
				q.ports = append(q.ports, portNumber(word))
			}
		}
	case isRange:
		first, last := portNumber(low), portNumber(high)
		if first >= last {
			return q.fail(nil, "max port must be greater than min port in range"), true
		}
		for port := first; port <= last && len(q.ports) <= most; port++ {
			q.ports = append(q.ports, port)
		}
	default:
		q.port = portNumber(text)
		return 0, false
	}
	if len(q.ports) > most {
		return q.fail(nil, "more than %d ports", most), true
	}
	q.port = 0
	if len(q.ports) > 0 {
		q.port = q.ports[0]
	}
	return 0, false
}

func portNumber(text string) int32 {
	v, _ := clib.Strtoul(text, 0)
	return int32(uint32(v)) //nolint:gosec // C cuts it too
}

// find sets the destination: the port of the operand, or the local port.
func (q *perfQuery) find(ctx context.Context) (err error) {
	if len(q.operands) > 0 {
		q.to, err = q.resolveAddress(ctx, q.operands[0])
		return err
	}
	own, err := q.ownPort(ctx)
	if err != nil {
		return err
	}
	node, err := q.nodeInfo(ctx, address{})
	q.to, q.port = address{Target: fabric.Target{LID: own.LID}}, int32(node.LocalPortNum)
	return err
}

// get reads an attribute of a port from the performance agent.
func (q *perfQuery) get(ctx context.Context, a mad.Attribute, port int32) ([]byte, error) {
	return q.client.Performance(ctx, q.lid(), mad.MethodGet, a, []byte{1: uint8(port)}) //nolint:gosec // C cuts it too
}

func (q *perfQuery) lid() ib.LID { return q.to.LID }

// showCounters prints and resets the port's counters. With each, the agent can't sum over its
// ports, so showCounters does.
func (q *perfQuery) showCounters(ctx context.Context, each bool) int {
	ports := []int32{q.port}
	aggregate := false
	switch {
	case each || q.loop && (q.all || q.port == allPorts):
		var code int
		if ports, code = q.everyPort(ctx); code != 0 {
			return code
		}
		aggregate = each && !q.loop
		if aggregate {
			q.warn("main", "Emulating AllPortSelect by iterating through all ports")
		}
	case len(q.ports) > 1:
		ports, aggregate = q.ports, q.all && !q.loop
	}
	if !q.onlyReset {
		for _, port := range ports {
			if code := q.showPort(ctx, port, aggregate); code != 0 {
				return code
			}
		}
		if aggregate {
			q.showSum()
		}
		if !q.reset {
			return 0
		}
	}
	for _, port := range ports {
		if code := q.resetPort(ctx, port); code != 0 {
			return code
		}
	}
	return 0
}

// everyPort lists the ports of the node, including port 0 of a switch if it has counters.
func (q *perfQuery) everyPort(ctx context.Context) ([]int32, int) {
	node, err := q.nodeInfo(ctx, q.to)
	switch {
	case err != nil:
		return nil, q.fail(err, "smp query nodeinfo failed")
	case node.NumPorts == 0:
		return nil, q.fail(nil, "smp query nodeinfo: num ports invalid")
	}
	first := int32(1)
	if node.NodeType == mad.NodeTypeSwitch {
		info, err := q.switchInfo(ctx, q.to)
		if err != nil {
			return nil, q.fail(err, "smp query nodeinfo failed")
		}
		if info.EnhancedPort0 {
			first = 0
		}
	}
	var ports []int32
	for port := first; port <= int32(node.NumPorts); port++ {
		ports = append(ports, port)
	}
	return ports, 0
}

// showPort prints one port's counters, or adds them to the sum.
func (q *perfQuery) showPort(ctx context.Context, port int32, aggregate bool) int {
	attribute, wrong := mad.AttributePortCounters, "perfquery"
	if q.extended {
		attribute, wrong = mad.AttributePortCountersExtended, "perfextquery"
		if q.agent.CapabilityMask&(mad.PerformanceExtendedWidth|mad.PerformanceExtendedWidthNoUnicast) == 0 {
			q.warn("dump_perfcounters", "PerfMgt ClassPortInfo CapMask 0x%02X; No extended counter support indicated\n",
				q.agent.CapabilityMask)
		}
	}
	data, err := q.get(ctx, attribute, port)
	if err != nil {
		return q.fail(err, "%s", wrong)
	}
	if q.extended {
		var c mad.PortCountersExtended
		c.Decode(data) //nolint:errcheck // get has the length
		addExtended(&q.sumExtended, &c)
		if !aggregate {
			q.printExtended(port, &c)
		}
		return 0
	}
	var c mad.PortCounters
	c.Decode(data) //nolint:errcheck // get has the length
	if q.agent.CapabilityMask&mad.PerformancePortCountersXmitWait == 0 {
		c.PortXmitWait = 0
	}
	addCounters(&q.sum, &c)
	if !aggregate {
		q.printCounters(port, &c)
	}
	return 0
}

// showSum prints the sum over ports, under the number that stands for all.
func (q *perfQuery) showSum() {
	q.sum.PortSelect, q.sumExtended.PortSelect = allPorts, allPorts
	if q.extended {
		q.printExtended(allPorts, &q.sumExtended)
	} else {
		q.printCounters(allPorts, &q.sum)
	}
}

func (q *perfQuery) printCounters(port int32, c *mad.PortCounters) {
	q.printf("# Port counters: %s port %d (CapMask: 0x%02X)\n%s",
		q.to, port, q.agent.CapabilityMask, dump(counterRows(c)))
}

func (q *perfQuery) printExtended(port int32, c *mad.PortCountersExtended) {
	byCast := q.agent.CapabilityMask&mad.PerformanceExtendedWidth != 0
	errors := q.agent.CapabilityMask2&mad.PerformanceAdditionalExtended != 0
	q.printf("# Port extended counters: %s port %d (CapMask: 0x%02X CapMask2: 0x%07X)\n%s",
		q.to, port, q.agent.CapabilityMask, q.agent.CapabilityMask2, dump(extendedCounterRows(c, byCast, errors)))
}

// Bits of a reset beyond the 16 of CounterSelect.
const (
	resetXmitWait           = 1 << 16
	resetQP1Dropped         = 1 << 17
	resetExtendedErrors     = 0xfff << 16
	resetExtendedXmitWait   = 1 << 28
	resetExtendedQP1Dropped = 1 << 29
	counterSelect2Offset    = 18
	extendedSelect2Offset   = 4
	resetDefault            = 0xffff
)

// resetMask selects the counters that a reset sets to 0.
func (q *perfQuery) resetMask() uint32 {
	bits := uint32(resetDefault)
	if q.hasMask {
		bits = uint32(q.mask) //nolint:gosec // C cuts it too
	}
	wait := q.agent.CapabilityMask&mad.PerformancePortCountersXmitWait != 0
	dropped := q.agent.CapabilityMask&mad.PerformanceQP1Dropped != 0
	waitBit, droppedBit := uint32(resetXmitWait), uint32(resetQP1Dropped)
	if q.extended {
		bits |= resetExtendedErrors
		waitBit, droppedBit = resetExtendedXmitWait, resetExtendedQP1Dropped
	}
	if q.extended || !q.hasMask {
		if wait {
			bits |= waitBit
		}
		if dropped {
			bits |= droppedBit
		}
	}
	return bits
}

func (q *perfQuery) resetPort(ctx context.Context, port int32) int {
	attribute, wrong := mad.AttributePortCounters, "perf reset"
	if q.extended {
		attribute, wrong = mad.AttributePortCountersExtended, "perf ext reset"
	}
	if err := q.set(ctx, attribute, port, q.resetMask()); err != nil {
		return q.fail(err, "%s", wrong)
	}
	return 0
}

// set writes zeros to the counters that are selected; no bits mean all of them (C twin:
// performance_reset_via).
func (q *perfQuery) set(ctx context.Context, a mad.Attribute, port int32, selected uint32) error {
	if selected == 0 {
		selected = 1<<32 - 1
	}
	data := make([]byte, mad.PerformanceDataLen)
	data[1], data[2], data[3] = uint8(port), uint8(selected>>8), uint8(selected) //nolint:gosec // C cuts it too
	switch a {
	case mad.AttributePortCountersExtended:
		data[extendedSelect2Offset+2], data[extendedSelect2Offset+3] = uint8(selected>>24), uint8(selected>>16)
	default:
		data[counterSelect2Offset] = uint8(selected >> 16)
	}
	_, err := q.client.Performance(ctx, q.lid(), mad.MethodSet, a, data)
	return err
}
