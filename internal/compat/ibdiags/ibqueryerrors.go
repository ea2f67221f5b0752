package ibdiags

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

func ibqueryerrors() Program {
	return Program{
		Name: "ibqueryerrors", Summary: "Print the ports whose error counters are above thresholds",
		Usage: "[options] ",
		Long: sweepLong + cacheLong + `Counters are read with service level 0, as with --skip-sl,
because tables of paths need RMPP. So the run continues without subnet administration, where the C
program exits silently with 0. --details shows each detail under its own name, while the C program
mixes the names up. With -G, -S or -D only the neighbourhood of one node is queried, by directed
routes. Exit code 1: ports have errors above their threshold.`,
		Example: "--data --report-port",
		Options: append([]Option{
			valueOption("suppress", 's', "<err1,err2,...>", "suppress errors listed"),
			flagOption("suppress-common", 'c', "suppress some of the common counters"),
			nodeNameMapOption(long1),
			valueOption("port-guid", 'G', "<port_guid>",
				"report the node containing the port \nspecified by <port_guid>"),
			valueOption("", 'S', "<port_guid>", "Same as \"-G\" for backward compatibility"),
			valueOption("Direct", 'D', "<dr_path>", "report the node containing the port specified \nby <dr_path>"),
			flagOption("skip-sl", long10, "don't obtain SL to all destinations"),
			flagOption("report-port", 'r', "report port link information"),
			valueOption("threshold-file", long8, "<val>",
				"specify an alternate threshold file, default: "+thresholdFile),
			flagOption("GNDN", 'R', "(This option is obsolete and does nothing)"),
			flagOption("data", long2, "include data counters for ports with errors"),
			flagOption("switch", long3, "print data for switches only"),
			flagOption("ca", long4, "print data for CA's only"),
			flagOption("router", long5, "print data for routers only"),
			flagOption("details", long6, "include transmit discard details"),
			flagOption("counters", long9, "print data counters only"),
			flagOption("clear-errors", 'k', "Clear error counters after read"),
			flagOption("clear-counts", 'K', "Clear data counters after read"),
			valueOption("load-cache", long7, "<file>", loadCacheHelp),
			valueOption("outstanding_smps", 'o', "<val>", outstandingHelp),
		}, commonOptions("cDGKLnRrSs")...),
		run: runIbqueryerrors,
	}
}

// queryErrors is one run of ibqueryerrors.
type queryErrors struct {
	*run
	settings     sweepSettings
	start        startAt
	suppressed   []string
	types        map[mad.NodeType]bool // empty: all
	report       bool                  // -r
	data         bool                  // --data
	countersOnly bool
	details      bool
	clearErrors  bool
	clearCounts  bool

	mapFile, loadCache, limitsFile string

	names  nodeNames
	limits thresholds
	agents *agents
	out    *bufio.Writer

	nodes, badNodes, ports, badPorts, failures int // for the summary
	noLIDs                                     int // nodes that can't be queried
}

func (e *queryErrors) option(letter byte, arg string) bool {
	switch letter {
	case 's':
		for name := range strings.SplitSeq(arg, ",") {
			if suppressible(name) {
				e.suppressed = append(e.suppressed, name)
			}
		}
	case 'c':
		e.suppressed = append(e.suppressed, relayErrors)
	case long1:
		e.mapFile = arg
	case long2:
		e.data = true
	case long3:
		e.types[mad.NodeTypeSwitch] = true
	case long4:
		e.types[mad.NodeTypeCA] = true
	case long5:
		e.types[mad.NodeTypeRouter] = true
	case long6:
		e.details = true
	case long7:
		e.loadCache = arg
	case long8:
		e.limitsFile = arg
	case long9:
		e.countersOnly = true
	case 'G', 'S':
		e.start.guid = arg
	case 'D':
		e.start.path = arg
	case 'r':
		e.report = true
	case 'k':
		e.clearErrors = true
	case 'K':
		e.clearCounts = true
	case 'o':
		e.settings.setWindow(arg)
	}
	return true
}

func runIbqueryerrors(ctx context.Context, r *run) int {
	e := &queryErrors{run: r, types: map[mad.NodeType]bool{}, limitsFile: thresholdFile}
	if code, done := r.options(e.option); done {
		return code
	}
	if err := r.join(ctx); err != nil {
		return r.fail(err, "Failed to open port; %s:%d\n", r.deviceName(), r.port)
	}
	if e.start.path != "" && e.loadCache != "" {
		r.errorf("Cannot specify cache and direct route path\n")
		return exitMinusOne
	}
	e.names = r.readNodeNames(e.mapFile)
	e.out = bufio.NewWriter(r.Stdout)
	defer e.out.Flush() //nolint:errcheck // as for all output
	at, _ := r.locate(ctx, e.start)
	s := e.subnet(ctx, e.loadCache,
		neighbourhood{at, 0, "Single node discover failed; attempting full scan"}, e.settings)
	if s == nil {
		return exitMinusOne
	}
	e.limits = r.readThresholds(e.limitsFile)
	nodes, ok := e.chosen(ctx, s, at)
	if !ok {
		return 0
	}
	if err := e.query(ctx, nodes); err != nil {
		e.cause(err)
		return exitMinusOne
	}
	return e.summary()
}

// chosen returns the nodes to query: all, or the one that an option names. False ends the run
// without a summary.
func (e *queryErrors) chosen(ctx context.Context, s *subnet, at place) ([]*subnetNode, bool) {
	var guid uint64
	text := e.start.guid
	switch {
	case e.start.guid != "":
		guid, _ = clib.Strtoul(e.start.guid, 0)
	case e.start.path != "":
		text = e.start.path
		var err error
		if guid, err = e.portGUID(ctx, at.path); err != nil {
			e.errorf("Failed to query local Node Info\n")
			e.cause(err)
			return nil, false
		}
	default:
		return s.nodes, true
	}
	p := s.find(guid)
	if p == nil {
		e.errorf("Failed to find node: %s\n", text)
		return nil, true
	}
	return []*subnetNode{p.node}, true
}

// summary prints the last lines, and returns the exit code.
func (e *queryErrors) summary() int {
	e.printf("\n## Summary: %d nodes checked, %d bad nodes found\n", e.nodes, e.badNodes)
	e.printf("##          %d ports checked, %d ports have errors beyond threshold\n", e.ports, e.badPorts)
	e.printf("## %s\n", e.limits.text)
	if e.failures > 0 {
		e.printf("##          %d PMA query failures\n", e.failures)
	}
	e.printf("## Suppressed:")
	for _, name := range e.suppressed {
		e.printf(" %s", name)
	}
	e.printf("\n")
	if e.badPorts > 0 {
		return exitOne
	}
	return 0
}

func (e *queryErrors) printf(format string, a ...any) { _, _ = fmt.Fprintf(e.out, format, a...) }
