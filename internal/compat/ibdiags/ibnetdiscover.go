package ibdiags

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/mad"
)

func ibnetdiscover() Program {
	return Program{
		Name: "ibnetdiscover", Summary: "Sweep the subnet and print its nodes and cables",
		Usage: "[options] [topology-file]",
		Long: sweepLong + cacheLong + `-m counts the packets that this program sent, which are
fewer than the C program's. -g recognizes chassis by their system image GUID, and the slots of
InfiniScale IV systems, but not the slots of Voltaire's and Xsigo's systems.`,
		Example: "-p",
		Options: append([]Option{
			flagOption("full", 'f', "show full information (ports' speed and width, vlcap)"),
			flagOption("show", 's', "show more information"),
			flagOption("list", 'l', "list of connected nodes"),
			flagOption("grouping", 'g', "show grouping"),
			flagOption("Hca_list", 'H', "list of connected CAs"),
			flagOption("Switch_list", 'S', "list of connected switches"),
			flagOption("Router_list", 'R', "list of connected routers"),
			nodeNameMapOption(long1),
			valueOption("cache", long2, "<file>", "filename to cache ibnetdiscover data to"),
			valueOption("load-cache", long3, "<file>", loadCacheHelp),
			valueOption("diff", long4, "<file>", diffHelp),
			valueOption("diffcheck", long5, "<key(s)>", diffCheckHelp),
			flagOption("ports", 'p', "obtain a ports report"),
			flagOption("max_hops", 'm', "report max hops discovered by the library"),
			valueOption("outstanding_smps", 'o', "<val>", outstandingHelp),
		}, commonOptions("DGKLs")...),
		run: runIbnetdiscover,
	}
}

// netdiscover is one run of ibnetdiscover.
type netdiscover struct {
	*run
	settings sweepSettings
	progress bool // -s
	full     bool
	list     string // letters of the types to list, in C's order
	group    bool
	ports    bool
	maxHops  bool

	mapFile, cache, loadCache, diff string
	checks                          diffChecks

	names  nodeNames
	stdout *bufio.Writer // the remarks of -s, and the ports report
	out    *bufio.Writer // the rest
	sent   int
}

// Keys of --diffcheck.
const (
	diffSwitch diffChecks = 1 << iota
	diffCA
	diffRouter
	diffPort
	diffLID
	diffDescription
	diffState
)

type diffChecks uint8

// parseChecks reads "sw,port,lid"; false after a message.
func (r *run) parseChecks(arg string, known map[string]diffChecks) (checks diffChecks, ok bool) {
	for key := range strings.SplitSeq(arg, ",") {
		if key == "" {
			continue
		}
		bit, found := known[strings.ToLower(key)]
		if !found {
			r.errorf("invalid diff check key: %s\n", key)
			return 0, false
		}
		checks |= bit
	}
	return checks, true
}

func (n *netdiscover) option(letter byte, arg string) bool {
	ok := true
	switch letter {
	case long1:
		n.mapFile = arg
	case long2:
		n.cache = arg
	case long3:
		n.loadCache = arg
	case long4:
		n.diff = arg
	case long5:
		n.checks, ok = n.parseChecks(arg, map[string]diffChecks{
			"sw": diffSwitch, "ca": diffCA, "router": diffRouter, "port": diffPort, "lid": diffLID,
			"nodedesc": diffDescription,
		})
	case 's':
		n.progress = true
	case 'f':
		n.full = true
	case 'l':
		n.list = "HSR"
	case 'S', 'H', 'R':
		n.list = string(rune(letter))
	case 'g':
		n.group = true
	case 'p':
		n.ports = true
	case 'm':
		n.maxHops = true
	case 'o':
		n.settings.setWindow(arg)
	}
	return ok
}

func runIbnetdiscover(ctx context.Context, r *run) int {
	n := &netdiscover{run: r, checks: diffSwitch | diffCA | diffRouter | diffPort}
	if code, done := r.options(n.option); done {
		return code
	}
	n.stdout = bufio.NewWriter(r.Stdout)
	defer n.stdout.Flush() //nolint:errcheck // as for all output
	n.out = n.stdout
	var file bytes.Buffer
	if len(r.operands) > 0 {
		if err := r.WriteFile(r.operands[0], nil); err != nil {
			return r.fail(err, "can't open file %s for writing", r.operands[0])
		}
		n.out = bufio.NewWriter(&file)
	}
	n.names = r.readNodeNames(n.mapFile)
	code := n.print(ctx)
	if len(r.operands) > 0 {
		n.out.Flush() //nolint:errcheck // into memory
		if err := r.WriteFile(r.operands[0], file.Bytes()); err != nil {
			r.cause(err)
		}
	}
	return code
}

// print sweeps and prints what the options ask for.
func (n *netdiscover) print(ctx context.Context) int {
	var other *subnet
	if n.diff != "" {
		t, err := n.loadTopology(n.diff)
		if err != nil {
			return n.fail(err, "loading cached fabric for diff failed\n")
		}
		other = fromTopology(t, nil)
	}
	t, err := n.topology(ctx)
	if err != nil {
		word := "discover failed\n"
		if n.loadCache != "" {
			word = "loading cached fabric failed\n"
		}
		return n.fail(err, "%s", word)
	}
	n.sent = t.Stats.Sent
	if n.progress && n.loadCache == "" {
		n.settings.remarks = func(line string) { io.WriteString(n.stdout, line) } //nolint:errcheck // as for all output
	}
	s := fromTopology(t, n.settings.remarks)
	switch {
	case n.ports:
		n.portsReport(s)
	case n.list != "":
		n.lists(s)
	case other != nil:
		n.compare(other, s)
	default:
		n.topologyReport(s)
	}
	if n.cache != "" {
		if err := n.saveTopology(n.cache, t); err != nil {
			n.stdout.Flush() //nolint:errcheck // as for all output
			return n.fail(err, "caching ibnetdiscover data failed\n")
		}
	}
	return 0
}

func (n *netdiscover) topology(ctx context.Context) (*fabric.Topology, error) {
	if n.loadCache != "" {
		return n.loadTopology(n.loadCache)
	}
	if err := n.join(ctx); err != nil {
		return nil, err
	}
	return n.sweepTopology(ctx, n.settings)
}

func (n *netdiscover) printf(format string, a ...any) { _, _ = fmt.Fprintf(n.out, format, a...) }

// name returns the node's name from the node name map, or else its description.
func (n *netdiscover) name(node *subnetNode) string {
	return n.names.name(node.GUID(), node.Description)
}

// lists prints the nodes of the types that the options select.
func (n *netdiscover) lists(s *subnet) {
	for _, letter := range n.list {
		kind, word := mad.NodeTypeCA, "Ca"
		switch letter {
		case 'S':
			kind, word = mad.NodeTypeSwitch, "Switch"
		case 'R':
			kind, word = mad.NodeTypeRouter, "Router"
		}
		for _, node := range s.ofType(kind) {
			n.printf("%s\t : 0x%016x ports %d devid 0x%x vendid 0x%x \"%s\"\n",
				word, guid64(node.GUID()), node.Info.NumPorts, node.Info.DeviceID, node.Info.VendorID, n.name(node))
		}
	}
}

// twoLetters returns a node's type as a ports report prints it.
func twoLetters(t mad.NodeType) string {
	switch t {
	case mad.NodeTypeSwitch:
		return "SW"
	case mad.NodeTypeCA:
		return "CA"
	case mad.NodeTypeRouter:
		return "RT"
	}
	return "??"
}

// portsReport prints a line for each port.
func (n *netdiscover) portsReport(s *subnet) {
	for _, node := range s.nodes {
		for number := len(node.ports) - 1; number > 0; number-- {
			p := node.ports[number]
			if p == nil {
				continue
			}
			width := p.Info.LinkWidthActive
			if p.capable() == nil {
				width = 0
			}
			fmt.Fprintf(n.stdout, "%2s %5d %2d 0x%016x %s %s", twoLetters(node.Info.NodeType), p.base(), number, p.guid,
				shortWidth(width), p.shortSpeed())
			if q := p.remote; q != nil {
				fmt.Fprintf(n.stdout, " - %2s %5d %2d 0x%016x ( '%s' - '%s' )\n",
					twoLetters(q.node.Info.NodeType), q.base(), q.number, q.guid, n.name(node), n.name(q.node))
				continue
			}
			fmt.Fprintf(n.stdout, "%36s'%s'\n", "", n.name(node))
		}
	}
}

// topologyReport prints nodes and cables in the form that ibsim and others read.
func (n *netdiscover) topologyReport(s *subnet) {
	n.printf("#\n# Topology file: generated on %s\n#\n", time.Now().Format(time.ANSIC))
	if n.maxHops {
		n.printf("# Reported max hops discovered: %d\n# Total MADs used: %d\n", s.hops, n.sent)
	}
	n.printf("# Initiated from node %016x port %016x\n", guid64(s.origin.GUID()), guid64(s.origin.Info.PortGUID))
	if n.group {
		n.chassisReport(s)
		n.printf("\nNon-Chassis Nodes\n")
	}
	for _, kind := range []mad.NodeType{mad.NodeTypeSwitch, mad.NodeTypeCA, mad.NodeTypeRouter} {
		for _, node := range s.ofType(kind) {
			if n.group && node.chassis != nil && node.chassis.number != 0 {
				continue
			}
			n.node(node)
		}
	}
}

// chassisReport prints the nodes that belong to chassis.
func (n *netdiscover) chassisReport(s *subnet) {
	for _, c := range s.chassis {
		if c.number == 0 {
			continue
		}
		n.printf("\nChassis %d", c.number)
		if c.guid != 0 {
			n.printf(" (guid 0x%x)", c.guid)
		}
		n.printf("\n")
		for _, part := range []struct {
			title string
			nodes []*subnetNode
			kind  mad.NodeType
		}{
			{"Spine Nodes", c.spine[:], 0},
			{"Line Nodes", c.lines[:], 0},
			{"Chassis Switches", c.nodes, mad.NodeTypeSwitch},
			{"Chassis CAs", c.nodes, mad.NodeTypeCA},
		} {
			n.printf("\n# %s", part.title)
			for _, node := range part.nodes {
				if node != nil && (part.kind == 0 || node.Info.NodeType == part.kind) {
					n.node(node)
				}
			}
		}
	}
}

// node prints a node with its cables.
func (n *netdiscover) node(node *subnetNode) {
	n.head(node, n.group, "", "")
	for number := 1; number < len(node.ports); number++ {
		if p := node.ports[number]; p != nil && p.remote != nil {
			n.cable(p, "")
		}
	}
}
