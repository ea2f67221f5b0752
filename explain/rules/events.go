package rules

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// eventRules are about asynchronous events, plugins, and defects of the library.
func eventRules() []Rule {
	return []Rule{
		{
			ID:    "RDX-140",
			Name:  "port-event",
			Title: "a port reported an event",
			Explanation: "Cards report that a link went down, that the GID table changed, or that a queue pair " +
				"failed. On cards with several ports NCCL can name the wrong one.",
			Sources: []string{"ibv_get_async_event(3)", "NVIDIA/nccl#1819", "NVIDIA/nccl#2157", "open-mpi/ompi#180"},
			Find:    findPortEvent,
		},
		{
			ID: "RDX-141", Name: "external-plugin", Title: "an external network plugin is in use",
			Explanation: "HPC-X's plugin has switches of its own: NCCL_IB_DISABLE doesn't switch it off.",
			Sources:     []string{"NVIDIA/nccl-tests#227"},
			Find:        findPlugin,
		},
		{
			ID:    "RDX-142",
			Name:  "gid-table-read",
			Title: "NCCL could not read the type of a GID",
			Explanation: "NCCL 2.23 to 2.25 ends if an entry of the GID table can't be read, as in pods, whose " +
				"tables have gaps.",
			Sources: []string{"NVIDIA/nccl#1573"},
			Find: faultOf(
				"gid-version",
				"NCCL could not read the type of a GID",
				func(f *facts.Facts, c *candidates, x *facts.Failure) {
					d := c.add(
						"defect:nccl-gid-version-read",
						"NCCL 2.23 to 2.25 can't read GID tables with gaps",
						common+strong,
					)
					if l, ok := f.Library("nccl"); ok {
						plugin := strings.HasPrefix(x.Event.Fields["source"], "ib_plugin")
						if possible, certain := l.Between("2.23", "2.25.99"); certain && !plugin {
							d.proves("the version has this defect", l.Place()...)
						} else if plugin {
							d.supports(strong, "the line is of HPC-X's plugin, which has the same code", x.Event.Place)
						} else if !possible {
							d.opposes(usual, "the version is another one", l.Place()...)
						}
					}
					d.todo("the version", "NCCL 2.26 or later").from("NVIDIA/nccl#1573")
				},
			),
		},
		{
			ID:    "RDX-143",
			Name:  "gdaki",
			Title: "a device-initiated connection failed",
			Explanation: "Queue pairs that GPUs use directly (GIN, GDAKI) are made by other code than NCCL's usual " +
				"ones.",
			Sources: []string{"NVIDIA/nccl#2237", "NVIDIA/nccl#1957", "NVIDIA/nccl#2383"},
			Find: faultOf(
				"doca",
				"a device-initiated connection failed",
				func(_ *facts.Facts, c *candidates, x *facts.Failure) {
					c.add("grh-required",
						"the port needs a global routing header, which this release doesn't set", common).
						supportsIf(x.Event.Fields["code"] == "21", strong, "DOCA failure 21", x.Event.Place).
						todo("ibv_devinfo -v: GRH required", "a later NCCL; NCCL_GIN_TYPE=2").
						from("NVIDIA/nccl#2237")
					c.add("defect:nccl-gin-grh", "NCCL's GDAKI doesn't set a global routing header", usual).
						todo("the release notes", "a later NCCL").from("NVIDIA/nccl#2237")
					c.add("not-privileged", "permissions of DOCA", rare).todo("run privileged", "the permission")
				},
			),
		},
		{
			ID: "RDX-145", Name: "recovery", Title: "NCCL could not recover a port",
			Explanation: "After a port error NCCL 2.30 connects anew with the GID index that it had; the table has " +
				"changed meanwhile.",
			Sources: []string{"NVIDIA/nccl#2157"},
			Find:    faultOf("recovery", "NCCL could not recover a port", recoveryCauses),
		},
		{
			ID:          "RDX-144",
			Name:        "resiliency",
			Title:       "NCCL's recovery lost a request",
			Explanation: "With resiliency on, NCCL 2.28.9 to 2.30.7 can lose the place of a clear-to-send under load.",
			Sources:     []string{"NVIDIA/nccl#2334"},
			Find: faultOf(
				"cts-unused",
				"NCCL's recovery lost a request",
				func(_ *facts.Facts, c *candidates, x *facts.Failure) {
					c.add("defect:nccl-resiliency-cts",
						"an open defect of NCCL 2.28.9 to 2.30.7 with resiliency", common).
						supports(usual, "the line is that of this defect", x.Event.Place).
						todo("the same job with resiliency off", "resiliency off").
						from("NVIDIA/nccl#2334")
				},
			),
		},
	}
}

func recoveryCauses(f *facts.Facts, c *candidates, _ *facts.Failure) {
	d := c.add("defect:nccl-resiliency-gid", "NCCL 2.30's recovery keeps the old GID index", usual)
	moved := c.add("gid-moved", "the GID table changed, and the index is empty now", usual)
	if e := firstOf(f, evidence.NCCLVerbRetry, "errno", "61"); e != nil {
		d.supports(strong, e.Text, e.Place)
		moved.supports(strong, e.Text, e.Place)
	}
	d.todo("show_gids before and after", "a later NCCL; restart the job").from("NVIDIA/nccl#2157")
	moved.todo("show_gids", "stable addresses")
	c.add("link-flap", "the link stayed down", usual).todo("the port's state", "repair the link")
}

// faultOf returns the search for a warning that stands for one cause.
func faultOf(
	what, text string, causes func(f *facts.Facts, c *candidates, x *facts.Failure),
) func(*facts.Facts) []Finding {
	return func(f *facts.Facts) []Finding {
		list := with(of(f, evidence.NCCLFault), "what", what)
		if len(list) == 0 {
			return nil
		}
		c := &candidates{}
		causes(f, c, list[0])
		return []Finding{
			{What: where(list[0]) + ": " + text, Failure: list[0], Events: events(list), Causes: c.causes()},
		}
	}
}

func findPortEvent(f *facts.Facts) []Finding {
	var findings []Finding
	list := of(f, evidence.NCCLAsync, evidence.VerbsAsync)
	byEvent := map[string][]*facts.Failure{}
	var order []string
	for _, x := range list {
		name := x.Event.Fields["event"]
		if byEvent[name] == nil {
			order = append(order, name)
		}
		byEvent[name] = append(byEvent[name], x)
	}
	hasTimeout := len(completions(f, "12")) > 0
	for _, name := range order {
		list := byEvent[name]
		x := list[0]
		c := &candidates{}
		finding := Finding{What: fmt.Sprintf("%s reported: %s", where(x), name), Failure: x, Events: events(list)}
		switch {
		case strings.Contains(name, "gid table"),
			strings.Contains(name, "gid change"),
			strings.Contains(name, "(18)"),
			strings.Contains(name, "unknown event"):
			gidMoved(f, c, x, name)
		case name == "port error":
			if hasTimeout {
				continue // evidence of the timeout's cause
			}
			c.add("link-flap", "the link went down", common).supports(usual, "the card says so", x.Event.Place).
				todo("rdmactl doctor; dmesg -T; the switch's log", "repair the link").from("NVIDIA/nccl#905")
			c.add("other-port-event", "the event is of the card's other port, which the job doesn't use", usual).
				supportsIf(len(f.Failures) == len(list), strong, "nothing else failed").
				todo("rdmactl detect: the state of both ports", "nothing, if that port isn't used").
				from("open-mpi/ompi#180", "NVIDIA/nccl#1819")
		case strings.Contains(name, "speed change"):
			c.add("link-flap", "the link was trained again at another speed", usual).
				todo("rdmactl doctor --only rail-rate", "cable or transceiver")
		case strings.Contains(name, "local access violation"), strings.Contains(name, "invalid request local"):
			continue // rule RDX-103
		case strings.Contains(name, "device fatal"), strings.Contains(name, "internal error"):
			c.add("card-firmware", "the card stopped working", common).
				supports(usual, "it reported a fatal event", x.Event.Place).
				todo("dmesg | grep -i health", "reset or replace the card; new firmware")
		default:
			continue
		}
		finding.Causes = c.causes()
		findings = append(findings, finding)
	}
	return findings
}

func gidMoved(f *facts.Facts, c *candidates, x *facts.Failure, name string) {
	unknown := strings.Contains(name, "unknown")
	benign := c.add(
		"unknown-event",
		"an event that this release of NCCL doesn't know, or reports for the wrong port: no fault in itself",
		usual,
	)
	benign.supportsIf(unknown, strong, "the release has no name for it", x.Event.Place).
		supportsIf(len(f.Failures) <= 2, hint, "little else failed").
		todo("rdmactl detect: state and addresses of the ports", "NCCL 2.28.3 or later").from("NVIDIA/nccl#1819")
	moved := c.add("gid-moved", "the GID table changed, and NCCL keeps the old index", usual)
	moved.supports(hint, "the event says that the table changed", x.Event.Place)
	for _, y := range f.Failures {
		if k := y.Event.Kind; k == evidence.NCCLCompletion || k == evidence.NCCLVerb {
			moved.supports(strong, "connections fail as well", y.Event.Place)
			break
		}
	}
	moved.todo("show_gids before and after; the addresses of the interface", "stable addresses; restart the job").
		from("NVIDIA/nccl#2157")
	if l, ok := f.Library("nccl"); ok {
		if possible, certain := l.Between("2.30", "2.30.7"); possible && certain {
			c.add("defect:nccl-resiliency-gid", "NCCL 2.30's recovery keeps the old GID index", usual).
				supports(hint, "the version is 2.30", l.Place()...).
				todo("the release notes", "a later NCCL").from("NVIDIA/nccl#2157")
		}
	}
}

// pluginNames are the external plugins that use verbs by themselves.
func isIBExt(name string) bool { return strings.HasPrefix(name, "IBext") || name == "ib_plugin" }

// externalPlugin adds the cause that a plugin ignores NCCL's settings.
func externalPlugin(f *facts.Facts, c *candidates) {
	for e := range f.Store.Of(evidence.NCCLPlugin) {
		if !isIBExt(e.Fields["name"]) || e.Fields["state"] != "loaded" {
			continue
		}
		x := c.add("external-plugin", "HPC-X's plugin uses the cards, and NCCL_IB_DISABLE doesn't concern it", rare)
		x.supports(hint, "the plugin "+e.Fields["name"]+" is loaded", e.Place)
		if v, p, ok := variable(f, "NCCL_IB_DISABLE"); ok && v == "1" {
			x.supports(decisive, "NCCL_IB_DISABLE=1, and still verbs are called", p...)
		}
		for y := range f.Store.Of(evidence.NCCLVerb) {
			if source := y.Fields["source"]; strings.Contains(source, "ib_plugin") ||
				strings.HasSuffix(strings.Split(source, ":")[0], ".c") {
				x.supports(strong, "the line is of the plugin's source file "+source, y.Place)
				break
			}
		}
		if y := pluginLine(f); y != nil {
			x.supports(strong, "the line is of the plugin's source file "+y.Fields["source"], y.Place)
		}
		x.todo("the line \"P2P plugin\"", "NCCL_IBEXT_DISABLE=1, or remove the plugin").from("NVIDIA/nccl-tests#227")
		return
	}
}

// pluginLine returns a call that failed in a C file: NCCL's own files are C++.
func pluginLine(f *facts.Facts) *evidence.Event {
	for e := range f.Store.Of(evidence.NCCLVerb) {
		file, _, _ := strings.Cut(e.Fields["source"], ":")
		if strings.HasSuffix(file, ".c") {
			return e
		}
	}
	return nil
}

func findPlugin(f *facts.Facts) []Finding {
	v, p, ok := variable(f, "NCCL_IB_DISABLE")
	if !ok || v != "1" || len(modifies(f)) > 0 {
		return nil // rule RDX-110 names it beside the failure
	}
	c := &candidates{}
	externalPlugin(f, c)
	if len(c.list) == 0 {
		return nil
	}
	e := firstOf(f, evidence.NCCLPlugin, "state", "loaded")
	return []Finding{
		{
			What: fmt.Sprintf(
				"NCCL_IB_DISABLE=1 (%s) has no effect on the external plugin",
				p[0],
			),
			Events: []*evidence.Event{e},
			Causes: c.causes(),
		},
	}
}
