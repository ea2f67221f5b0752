package ibdiags

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// exitOne is exit(1) of the C programs.
const exitOne = 1

func iblinkinfo() Program {
	return Program{
		Name: "iblinkinfo", Summary: "Print the state of each link, with both its ends", Usage: "[options] ",
		Long: sweepLong + cacheLong + `With -S, -G or -D only the neighbourhood of one node is
queried, by directed routes. The far end of a link is shown, where the C program may print "Port not
available". A GUID is resolved through subnet administration and the forwarding tables.`,
		Example: "--line --down",
		Options: append([]Option{
			nodeNameMapOption(long1),
			valueOption("switch", 'S', "<port_guid>",
				"start partial scan at the port specified by \n<port_guid> (hex format)"),
			valueOption("port-guid", 'G', "<port_guid>", "(same as -S)"),
			valueOption("Direct", 'D', "<dr_path>", "start partial scan at the port specified by <dr_path>"),
			flagOption("all", 'a', "print all nodes found in a partial fabric scan"),
			valueOption("hops", 'n', "<hops>", "Number of hops to include away from specified node"),
			flagOption("down", 'd', "print only down links"),
			flagOption("line", 'l', "(line mode) print all information for each link \non a single line"),
			flagOption("additional", 'p', "print additional port settings (PktLifeTime, \nHoqLife, VLStallCount)"),
			valueOption("load-cache", long2, "<file>", loadCacheHelp),
			valueOption("diff", long3, "<file>", diffHelp),
			valueOption("diffcheck", long4, "<key(s)>", diffCheckHelp),
			valueOption("filterdownports", long5, "<file>", "filename of ibnetdiscover cache to filter downports"),
			valueOption("outstanding_smps", 'o', "<val>", outstandingHelp),
			flagOption("switches-only", long6, "Output only switches"),
			flagOption("cas-only", long7, "Output only CAs"),
		}, commonOptions("aDdGgKLlnpRS")...),
		run: runIblinkinfo,
	}
}

// linkinfo is one run of iblinkinfo.
type linkinfo struct {
	*run
	settings sweepSettings
	start    startAt
	all      bool
	hops     int
	down     bool
	line     bool
	extra    bool
	only     mad.NodeType // 0: all

	mapFile, loadCache, diff, filter string
	checks                           diffChecks

	names  nodeNames
	hidden *subnet // ports that were down in this sweep are not shown
	out    *bufio.Writer
}

// startAt is the start of a partial sweep: at most one of the two is given.
type startAt struct {
	path string // -D
	guid string // -G, -S
}

func (l *linkinfo) option(letter byte, arg string) bool {
	ok := true
	switch letter {
	case long1:
		l.mapFile = arg
	case long2:
		l.loadCache = arg
	case long3:
		l.diff = arg
	case long4:
		l.checks, ok = l.parseChecks(arg,
			map[string]diffChecks{"port": diffPort, "state": diffState, "lid": diffLID, "nodedesc": diffDescription})
	case long5:
		l.filter = arg
	case long6:
		l.only = mad.NodeTypeSwitch
	case long7:
		l.only = mad.NodeTypeCA
	case 'S', 'G':
		l.start.guid = arg
	case 'D':
		l.start.path = arg
	case 'a':
		l.all = true
	case 'n':
		v, _ := clib.Strtoul(arg, 0)
		l.hops = int(min(v, mad.MaxHops+1))
	case 'd':
		l.down = true
	case 'l':
		l.line = true
	case 'p':
		l.extra = true
	case 'o':
		l.settings.setWindow(arg)
	}
	return ok
}

func runIblinkinfo(ctx context.Context, r *run) int {
	l := &linkinfo{run: r, checks: diffPort | diffState}
	if code, done := r.options(l.option); done {
		return code
	}
	if err := r.join(ctx); err != nil {
		r.errorf("Failed to open %s port %d\n", r.deviceName(), r.port)
		r.cause(err)
		return exitOne
	}
	l.names = r.readNodeNames(l.mapFile)
	l.out = bufio.NewWriter(r.Stdout)
	defer l.out.Flush() //nolint:errcheck // as for all output
	if l.start.path != "" && l.loadCache != "" {
		r.errorf("Cannot specify cache and direct route path\n")
		return exitOne
	}
	only, where, code := l.startPort(ctx)
	if code != 0 {
		return code
	}
	before, code := l.files()
	if code != 0 {
		return code
	}
	s := l.subnet(ctx, l.loadCache,
		neighbourhood{where, l.hops, "Partial fabric scan failed; attempting full scan"}, l.settings)
	if s == nil {
		return exitOne
	}
	l.print(before, s, only)
	return 0
}

// place is the resolved start of a partial sweep.
type place struct {
	path  mad.Path
	found bool
}

// onePort is the port of the only node to be printed, as given in the option. Empty text: all
// nodes.
type onePort struct {
	text string
	guid uint64
}

// startPort determines where a partial sweep starts, and which node to print.
func (l *linkinfo) startPort(ctx context.Context) (only onePort, at place, code int) {
	at, text := l.locate(ctx, l.start)
	if l.all || text == "" {
		return onePort{}, at, 0
	}
	only.text = text
	if l.start.path == "" {
		only.guid, _ = clib.Strtoul(text, 0)
		return only, at, 0
	}
	var err error
	if only.guid, err = l.portGUID(ctx, at.path); err != nil {
		l.errorf("Failed to get local Node Info\n")
		l.cause(err)
		return only, at, exitOne
	}
	return only, at, 0
}

// locate finds the directed route to the start of a partial sweep. text is the option's argument,
// "" without one.
func (r *run) locate(ctx context.Context, start startAt) (at place, text string) {
	var err error
	switch {
	case start.path != "":
		text = start.path
		var to address
		to, err = parseRoute(start.path)
		at.path = to.Path
	case start.guid != "":
		text = start.guid
		guid, _ := clib.Strtoul(start.guid, 0)
		if guid == 0 {
			err = fmt.Errorf("%w: %q is not a port GUID", errAddress, start.guid)
			break
		}
		lid, e := r.lidOfGUID(ctx, guid)
		if err = e; err == nil {
			at.path, err = r.routeTo(ctx, lid)
		}
	default:
		return at, ""
	}
	if err != nil {
		r.warn("main", "Failed to resolve %s; attempting full scan", text)
		r.cause(err)
		return place{}, text
	}
	at.found = true
	return at, text
}

// portGUID reads the GUID of the port at the end of a route.
func (r *run) portGUID(ctx context.Context, path mad.Path) (uint64, error) {
	s := &asking{ctx: ctx, r: r, most: maxPartPorts}
	info, ok := s.nodeInfo(nil, 0, path)
	if !ok {
		return 0, fmt.Errorf("no node info by route %s", path)
	}
	return guid64(info.PortGUID), nil
}

// files reads the sweeps to compare with.
func (l *linkinfo) files() (before *subnet, code int) {
	if l.diff != "" {
		t, err := l.loadTopology(l.diff)
		if err != nil {
			return nil, l.fail(err, "loading cached fabric for diff failed\n")
		}
		before = fromTopology(t, nil)
	}
	if l.filter != "" {
		t, err := l.loadTopology(l.filter)
		if err != nil {
			return nil, l.fail(err, "loading cached fabric for filterdownports failed\n")
		}
		l.hidden = fromTopology(t, nil)
	}
	return before, 0
}

// print prints the one node, or all nodes, or how they differ from before.
func (l *linkinfo) print(before, s *subnet, only onePort) {
	nodes := s.nodes
	switch {
	case only.text != "":
		p := s.find(only.guid)
		if p == nil || l.only != 0 && p.node.Info.NodeType != l.only {
			l.errorf("Failed to find port: %s\n", only.text)
			return
		}
		nodes = []*subnetNode{p.node}
	case l.only != 0:
		nodes = s.ofType(l.only)
	}
	if before == nil {
		for _, n := range nodes {
			l.node(n, "")
		}
		return
	}
	l.compare(before, s, only.text != "", nodes)
}

func (l *linkinfo) printf(format string, a ...any) { _, _ = fmt.Fprintf(l.out, format, a...) }

// node prints the ports of a node.
func (l *linkinfo) node(n *subnetNode, prefix string) {
	headed := false
	for number := 1; number < len(n.ports); number++ {
		p := n.ports[number]
		if p == nil || l.down && p.Info.PortState != mad.PortStateDown {
			continue
		}
		if !headed {
			l.head(n, prefix)
			headed = true
		}
		l.port(p, prefix)
	}
}

// head prints the line above a node's ports, unless each line has that information.
func (l *linkinfo) head(n *subnetNode, prefix string) {
	if l.line {
		return
	}
	word := "CA"
	switch n.Info.NodeType {
	case mad.NodeTypeSwitch:
		l.printf("%sSwitch: 0x%016x %s:\n", prefix, guid64(n.Info.PortGUID), l.names.name(n.GUID(), n.Description))
		return
	case mad.NodeTypeRouter:
		word = "Router"
	}
	l.printf("%s%s: %s:\n", prefix, word, l.names.name(n.GUID(), n.Description))
}

// port prints a line.
func (l *linkinfo) port(p *subnetPort, prefix string) {
	isDown := p.Info.PortState == mad.PortStateDown
	if isDown && l.wasDown(p) {
		return
	}
	state := p.linkState()
	if l.extra && !isDown {
		state += fmt.Sprintf(" (HOQ:%d VL_Stall:%d)", p.Info.HOQLife, p.Info.VLStallCount)
	}
	other := "    \"Port not available\""
	switch {
	case p.remote != nil:
		other = p.other(l.names)
		if l.line {
			other = fmt.Sprintf("0x%016x ", p.remote.guid) + other
		}
	case isDown:
		other = "           [  ] \"\" ( )"
	}
	n := p.node
	l.printf("%s", prefix)
	if l.line {
		name := l.names.name(n.GUID(), n.Description)
		l.printf("0x%016x \"%s%s\" ", p.guid, strings.Repeat(" ", max(0, 30-len(name))), name)
	} else {
		l.printf("      ")
		if !n.IsSwitch() {
			l.printf("0x%016x ", p.guid)
		}
	}
	l.printf("%6d %4d[%2s] ==%s==>  %s\n", p.base(), p.number, p.mark(), state, other)
}

// wasDown reports that --filterdownports hides the port.
func (l *linkinfo) wasDown(p *subnetPort) bool {
	if l.hidden == nil {
		return false
	}
	n := l.hidden.byGUID[p.node.GUID()]
	return n != nil && p.number < len(n.ports) && n.ports[p.number] != nil &&
		n.ports[p.number].Info.PortState == mad.PortStateDown
}
