package ibdiags

import (
	"context"
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

func ibtracert() Program {
	return Program{
		Name: "ibtracert", Summary: "Trace the path between two ports through the forwarding tables",
		Usage: "[options] <src-addr> <dest-addr>",
		Long: `Differences from the C program: -m accepts multicast LIDs only; it follows all ports of a switch,
where C misses port 64 of 64, and shows the port by which the multicast enters the first switch,
where C shows the port of its request. With -m too, each line of --ports-file is a separate trace.
-v and -d don't print the C program's internal debug messages.`,
		Options: append([]Option{
			flagOption("force", 'f', "force"),
			flagOption("no_info", 'n', "simple format"),
			valueOption("mlid", 'm', "<mlid>", "multicast trace of the mlid"),
			nodeNameMapOption(1),
			valueOption("ports-file", 2, "<file>", "port pairs file"),
		}, commonOptions("DK")...),
		Example: "4 16",
		Examples: []string{
			"- Unicast examples:",
			"4 16\t\t\t# show path between lids 4 and 16",
			"-n 4 16\t\t# same, but using simple output format",
			"-G 0x8f1040396522d 0x002c9000100d051\t# use guid addresses",
			" - Multicast examples:",
			"-m 0xc000 4 16\t# show multicast path of mlid 0xc000 between lids 4 and 16",
		},
		run: runIbtracert,
	}
}

// Levels of detail of a line of a trace.
const (
	quiet  = 0
	simple = 1
	full   = 2
)

// trace is a run of ibtracert.
type trace struct {
	*run
	names     nodeNames
	force     bool
	format    int
	multicast bool
	mlid      uint32
}

// tracedPort is a port on the path, with its node.
type tracedPort struct {
	node        mad.NodeInfo
	description mad.NodeDescription
	guid        uint64
	number      int
	lid, last   int
	state       mad.PortState
}

func (p *tracedPort) isSwitch() bool { return p.node.NodeType == mad.NodeTypeSwitch }

func (p *tracedPort) nodeGUID() uint64 { return guid64(p.node.NodeGUID) }

// kind returns the name of the node's type in the output.
func (p *tracedPort) kind() string {
	switch p.node.NodeType {
	case mad.NodeTypeCA:
		return "ca"
	case mad.NodeTypeSwitch:
		return "switch"
	case mad.NodeTypeRouter:
		return "router"
	}
	return "???"
}

func runIbtracert(ctx context.Context, r *run) int {
	t := &trace{run: r, format: full}
	var nameFile, pairs string
	if code, done := r.options(func(letter byte, arg string) bool {
		switch letter {
		case 'f':
			t.force = true
		case 'n':
			t.format = simple
		case 'm':
			v, _ := clib.Strtoul(arg, 0)
			t.multicast, t.mlid = true, uint32(v) //nolint:gosec // C cuts it too
		case 1:
			nameFile = arg
		case 2:
			pairs = arg
		}
		return true
	}); done {
		return code
	}
	if len(r.operands) < 2 && pairs == "" {
		return r.usage()
	}
	if !r.open(ctx) {
		return exitMinusOne
	}
	t.names = r.readNodeNames(nameFile)
	if pairs != "" {
		return t.traceFile(ctx, pairs)
	}
	switch code := t.between(ctx, r.operands[0], r.operands[1]); code {
	case 0, exitUsage:
		return code
	}
	return r.fail(nil, "Failed to get route information")
}

// traceFile traces the pairs of addresses in a file, one per line.
func (t *trace) traceFile(ctx context.Context, file string) int {
	text, err := t.ReadFile(file)
	if err != nil {
		return t.fail(err, "cannot open ports-file %s", file)
	}
	number, pairs := 0, 0
	for line := range strings.Lines(string(text)) {
		number++
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if len(words) < 2 {
			return t.fail(nil, "ports-file, %s, at line %d contains bad data", file, number)
		}
		pairs++
		switch code := t.between(ctx, words[0], words[1]); code {
		case 0:
		case exitUsage:
			return code
		default:
			return t.fail(nil, "Failed to get route information at line %d", number)
		}
	}
	t.printf("%d lid/guid pairs processed from %s\n", pairs, file)
	return 0
}

// between traces one pair. It returns 0, exitUsage, or exitMinusOne after a warning.
func (t *trace) between(ctx context.Context, source, destination string) int {
	from, err := t.resolveAddress(ctx, source)
	if err != nil {
		return t.lost(err, "can't resolve source port %s", source)
	}
	to, err := t.resolveAddress(ctx, destination)
	if err != nil {
		return t.lost(err, "can't resolve destination port %s", destination)
	}
	if from.LID == 0 || to.LID == 0 {
		t.warn("get_route", "bad src/dest lid")
		return t.usage()
	}
	at, err := t.route(ctx, mad.Path{}, from.LID, quiet)
	if err != nil {
		return t.lost(err, "can't find a route to the src port")
	}
	if !t.multicast {
		if _, err := t.route(ctx, at, to.LID, t.format); err != nil {
			return t.lost(err, "can't find a route from src to dest")
		}
		return 0
	}
	if err := t.multicastRoute(ctx, at, to); err != nil {
		return t.lost(err, "can't find a multicast route from src to dest")
	}
	return 0
}

// lost prints why a trace ended.
func (t *trace) lost(cause error, format string, a ...any) int {
	t.warn("get_route", "%s", cause.Error())
	t.warn("get_route", format, a...)
	return exitMinusOne
}

// look reads the attributes of a port that the output shows.
func (t *trace) look(ctx context.Context, at address) (p tracedPort, err error) {
	if p.node, err = t.nodeInfo(ctx, at); err != nil {
		return p, err
	}
	if p.description, err = t.nodeDescription(ctx, at); err != nil {
		return p, err
	}
	info, err := t.portInfo(ctx, at, 0)
	if err != nil {
		return p, err
	}
	p.guid, p.number = guid64(p.node.PortGUID), int(p.node.LocalPortNum)
	p.lid, p.last, p.state = int(info.LID), int(info.LID)+1<<info.LMC-1, info.PortState
	return p, nil
}

// forwarding is a switch's forwarding entry for a LID.
type forwarding struct {
	out      int
	top      uint16
	enhanced bool // the switch has an enhanced port 0, with a port state
}

// lookUp reads a switch's output port; an invalid entry is an error too.
func (t *trace) lookUp(ctx context.Context, at address, p *tracedPort, lid ib.LID) (f forwarding, err error) {
	info, err := t.switchInfo(ctx, at)
	if err != nil {
		return f, err
	}
	f = forwarding{out: -1, top: info.LinearFDBTop, enhanced: info.EnhancedPort0}
	if uint16(lid) < info.LinearFDBCap || uint16(lid) <= info.LinearFDBTop {
		data, err := t.ask(ctx, at, mad.AttributeLFT, uint32(lid)/mad.LFTBlockLen)
		if err != nil {
			return f, err
		}
		f.out = int(data[lid%mad.LFTBlockLen])
	}
	if f.out < 0 || f.out > int(p.node.NumPorts) {
		return f, f.bad(t, p, lid)
	}
	return f, nil
}

// bad returns the error for an invalid entry.
func (f forwarding) bad(t *trace, p *tracedPort, lid ib.LID) error {
	return fmt.Errorf("bad forwarding table entry found at: node %q lid entry %d is %d (top %d)",
		t.nameOf(p), lid, f.out, f.top)
}

func (t *trace) nameOf(p *tracedPort) string { return t.names.name(p.node.NodeGUID, p.description) }

// route follows the forwarding tables from the end of a directed route to a LID, and returns the
// directed route to that port (C twin: find_route).
func (t *trace) route(ctx context.Context, path mad.Path, lid ib.LID, format int) (mad.Path, error) {
	from, err := t.look(ctx, directed(path))
	var target tracedPort
	if err == nil {
		target, err = t.look(ctx, address{Target: fabric.Target{LID: lid}})
	}
	if err != nil {
		if !t.force || ctx.Err() != nil {
			return path, err
		}
		t.warn("find_route", "can't reach to/from ports: %v", err)
		t.warn("find_route", "Force: look for lid %d", lid)
		target.lid = int(lid)
	}
	t.end(format, "From", &from)
	w := walk{trace: t, path: path, lid: lid, start: from, at: from, target: target, format: format}
	if from.isSwitch() {
		if w.next, err = t.lookUp(ctx, directed(path), &from, lid); err != nil {
			return path, err
		}
	}
	for hop := 1; ; hop++ {
		found, err := w.step(ctx)
		switch {
		case err != nil:
			return path, err
		case hop >= mad.MaxHops:
			return path, fmt.Errorf("no route found after %d hops", mad.MaxHops)
		case found:
			t.end(format, "To", &w.at)
			return w.path, nil
		}
	}
}

func directed(path mad.Path) address { return address{Target: fabric.Target{Path: path}} }

// walk is the state of a trace.
type walk struct {
	*trace
	path          mad.Path // to the current node
	lid           ib.LID
	start, target tracedPort
	at            tracedPort
	next          forwarding // entry of the current switch
	format        int
}

// isTarget compares ports as C does: with -f by LID too.
func (w *walk) isTarget(p *tracedPort) bool {
	return p.guid == w.target.guid || w.force && p.lid == w.target.lid
}

// isInactive reports whether a port carries no traffic. Port 0 of most switches has no state.
func (w *walk) isInactive(p *tracedPort) bool {
	return p.state != mad.PortStateActive && (!p.isSwitch() || w.next.enhanced)
}

// step advances by one hop; found reports that the target is reached.
func (w *walk) step(ctx context.Context) (found bool, err error) {
	if w.isInactive(&w.at) {
		return false, fmt.Errorf("bad port state found: node %q port %d state %d",
			w.nameOf(&w.at), w.at.number, w.at.state)
	}
	if w.isTarget(&w.at) {
		return true, nil
	}
	var out int
	var next tracedPort
	if w.at.isSwitch() {
		out = w.next.out
		next, err = w.leaveSwitch(ctx)
		if err != nil {
			return false, err
		}
		if out == 0 {
			if !w.isTarget(&next) {
				return false, w.next.bad(w.trace, &w.at, w.lid)
			}
			return true, nil
		}
	} else {
		out = w.at.number
		if next, err = w.leaveAdapter(ctx); err != nil {
			return false, err
		}
	}
	if next.isSwitch() {
		if w.next, err = w.lookUp(ctx, directed(w.path), &next, w.lid); err != nil {
			return false, err
		}
	}
	if w.isInactive(&next) {
		return false, fmt.Errorf("bad out port state found: node %q outport %d state %d",
			w.nameOf(&w.at), out, next.state)
	}
	w.at = next
	w.hop(w.format, &next, out)
	return false, nil
}

// leaveSwitch follows the output port of the forwarding table.
func (w *walk) leaveSwitch(ctx context.Context) (next tracedPort, err error) {
	if w.path, err = w.path.Extend(uint8(w.next.out)); err != nil { //nolint:gosec // a port's number
		return next, err
	}
	return w.look(ctx, directed(w.path))
}

// leaveAdapter goes from the adapter or router where the trace begins to its switch: back by one
// hop, or out of the local port.
func (w *walk) leaveAdapter(ctx context.Context) (next tracedPort, err error) {
	if w.at.guid != w.start.guid && (!w.force || w.at.lid != w.start.lid) {
		return next, fmt.Errorf("can't continue: reached CA or router port %x, lid %d", w.at.guid, w.at.lid)
	}
	ports := w.path.Ports()
	if len(ports) == 0 {
		if w.at.number != 0 {
			if w.path, err = w.path.Extend(uint8(w.at.number)); err != nil { //nolint:gosec // a port's number
				return next, err
			}
		}
		return w.look(ctx, directed(w.path))
	}
	entry := int(ports[len(ports)-1]) // as seen from the adapter
	if w.path, err = mad.NewPath(ports[:len(ports)-1]...); err != nil {
		return next, err
	}
	next, err = w.look(ctx, directed(w.path))
	next.number = entry
	return next, err
}

// end prints the first or last line of a trace.
func (t *trace) end(format int, prompt string, p *tracedPort) {
	number := p.number
	if p.isSwitch() {
		number = 0
	}
	switch format {
	case quiet:
	case simple:
		t.printf("%s {0x%016x}[%d]\n", prompt, p.nodeGUID(), number)
	default:
		t.printf("%s %s {0x%016x} portnum %d lid %d-%d \"%s\"\n",
			prompt, p.kind(), p.nodeGUID(), number, p.lid, p.last, t.nameOf(p))
	}
}

// hop prints a line of the path; with -v also the path to the source.
func (t *trace) hop(format int, p *tracedPort, out int) {
	switch {
	case format == quiet && t.verbose == 0:
	case format == simple:
		t.printf("[%d] -> {0x%016x}[%d]\n", out, p.guid, p.number)
	default:
		t.printf("[%d] -> %s port {0x%016x}[%d] lid %d-%d \"%s\"\n",
			out, p.kind(), p.guid, p.number, p.lid, p.last, t.nameOf(p))
	}
}
