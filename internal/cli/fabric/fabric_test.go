package fabric

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/clitest"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// sweptNet returns the result of a sweep of a simulated subnet.
func sweptNet(t *testing.T, net *subnet.Subnet) *fabric.Topology {
	t.Helper()
	var topology *fabric.Topology
	synctest.Test(t, func(t *testing.T) {
		net.Delay = time.Millisecond
		var err error
		if topology, err = fabric.Discover(t.Context(), net.Transport("host0"),
			fabric.Options{Counters: true}); err != nil {
			t.Fatal(err)
		}
	})
	return topology
}

// narrow sets a node's port to run at 1X although it supports 1X and 4X.
func narrow(n *subnet.Node, at uint8) {
	n.PortInfo = func(port uint8, info *mad.PortInfo) {
		if port == at {
			info.LinkWidthSupported, info.LinkWidthEnabled, info.LinkWidthActive = 3, 3, mad.LinkWidth1X
		}
	}
}

func TestDowntrainedLinks(t *testing.T) {
	net := subnet.FatTree(2, 2, 1)
	narrow(net.Node("leaf1"), 2)
	narrow(net.Node("host3"), 1)
	topology := sweptNet(t, net)
	chosen, err := selectNodes(topology, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newLinksReport(topology, nil, chosen, linkFlags{downtrained: true})
	if len(r.Links) != 1 {
		t.Fatalf("links --downtrained lists %+v, want the one of host3", r.Links)
	}
	l := r.Links[0]
	if l.A.String() != "leaf1[2]" || l.B.String() != "host3[1]" || !l.isFault() || l.Width != "1X" ||
		l.Possible.Width != "4X" {
		t.Errorf("links --downtrained lists %+v, possible %+v, want leaf1[2] to host3[1], 1X of 4X", l, l.Possible)
	}
	if got := l.note().Text; !strings.HasPrefix(got, "could be 4X ") {
		t.Errorf("note = %q, want what it could be", got)
	}
	all := newLinksReport(topology, nil, chosen, linkFlags{})
	var order []string
	for _, l := range all.Links {
		order = append(order, l.A.String()+" "+l.B.String())
	}
	want := []string{
		"leaf0[1] host0[1]", "leaf0[2] host1[1]", "leaf0[3] spine0[1]", "leaf1[1] host2[1]", "leaf1[2] host3[1]",
		"leaf1[3] spine0[2]",
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}

func TestLostLinks(t *testing.T) {
	net := subnet.FatTree(2, 2, 1)
	before := sweptNet(t, net)
	net.Disconnect(net.Node("leaf1"), 2)
	after := sweptNet(t, net)
	chosen, err := selectNodes(after, []string{"leaf1"})
	if err != nil {
		t.Fatal(err)
	}
	r := newLinksReport(after, before, chosen, linkFlags{down: true})
	if len(r.Links) != 1 || !r.Links[0].LostLink || r.Links[0].B.String() != "host3[1]" || !r.Links[0].isFault() {
		t.Errorf("links --down lists %+v, want leaf1[2], which was host3", r.Links)
	}
}

func TestErrorsSince(t *testing.T) {
	net := subnet.FatTree(1, 2, 1)
	port := &net.Node("leaf0").Ports[2]
	port.Counters.SymbolErrorCounter, port.Counters.LinkDownedCounter = 5, 7
	before := sweptNet(t, net)
	port.Counters.SymbolErrorCounter, port.Counters.LinkDownedCounter = 25, 2
	after := sweptNet(t, net)
	after.Started = before.Started.Add(10 * time.Second)
	chosen, err := selectNodes(after, nil)
	if err != nil {
		t.Fatal(err)
	}
	limits := fabric.DefaultThresholds()
	limits["SymbolErrorCounter"], limits["LinkDownedCounter"] = 100, 1
	r := newErrorsReport(after, before, chosen, limits, false)
	if r.Faults != 2 || len(r.Links) != 1 || r.Seconds != 10 {
		t.Fatalf("errors --since = %+v, want two counters of one link in 10 s", r)
	}
	growing, reset := r.Links[0].Counters[0], r.Links[0].Counters[1]
	if growing.At != "a" || growing.Exceeded || *growing.Delta != 20 || *growing.PerSecond != 2 {
		t.Errorf("below its threshold and growing: %+v, want 20 new, 2 a second", growing)
	}
	if !reset.Exceeded || *reset.Delta != 2 || !reset.AtLeast || reset.note().Text != "was reset" {
		t.Errorf("above its threshold and reset: %+v, want at least the 2 that it shows", reset)
	}
}

// TestErrorsAtTheirEnd checks that a saturated counter is reported as such, with the lower bound of
// its growth.
func TestErrorsAtTheirEnd(t *testing.T) {
	net := subnet.FatTree(1, 2, 1)
	port := &net.Node("leaf0").Ports[2]
	port.Counters.LinkDownedCounter, port.Counters.LinkErrorRecoveryCounter = 250, 255
	port.Counters.PortXmitDiscards = 9
	before := sweptNet(t, net)
	port.Counters.LinkDownedCounter, port.Counters.PortXmitDiscards = 255, 3
	after := sweptNet(t, net)
	after.Started = before.Started.Add(10 * time.Second)
	chosen, err := selectNodes(after, nil)
	if err != nil {
		t.Fatal(err)
	}
	limits := fabric.Thresholds{"LinkDownedCounter": 1000, "LinkErrorRecoveryCounter": 0, "PortXmitDiscards": 1000}
	r := newErrorsReport(after, before, chosen, limits, false)
	var got []string
	for i := range r.Links[0].Counters {
		for _, cell := range r.row(&r.Links[0], &r.Links[0].Counters[i], false)[1:5] {
			got = append(got, cell.Text)
		}
	}
	want := []string{
		"LinkErrorRecoveryCounter", "≥255", "", "",
		"LinkDownedCounter", "≥255", "≥5", "≥0.5",
		"PortXmitDiscards", "3", "≥3", "≥0.3",
	}
	if diff := cmp.Diff(want, got); diff != "" || r.Faults != 3 {
		t.Errorf("errors --since has %d faults, want 3 (-want +got):\n%s", r.Faults, diff)
	}
	for i, c := range r.Links[0].Counters {
		if want := i < 2; c.Saturated != want || strings.HasPrefix(c.note().Text, "saturated") != want {
			t.Errorf("%s: saturated %t, note %q, want %t", c.Name, c.Saturated, c.note().Text, want)
		}
	}
}

func TestParseThresholds(t *testing.T) {
	defaults := fabric.DefaultThresholds()
	with := func(change func(fabric.Thresholds)) fabric.Thresholds {
		limits := fabric.DefaultThresholds()
		change(limits)
		return limits
	}
	tests := []struct {
		text string
		want fabric.Thresholds
		err  string
	}{
		{"", defaults, ""},
		{"# nothing\n\n", defaults, ""},
		{
			"SymbolErrorCounter=10\n PortXmitWait = 1000 # ticks\n",
			with(func(l fabric.Thresholds) { l["SymbolErrorCounter"], l["PortXmitWait"] = 10, 1000 }), "",
		},
		{
			"SymbolErrorCounter: 10\nVL15Dropped: never\n",
			with(func(l fabric.Thresholds) { l["SymbolErrorCounter"] = 10; delete(l, "VL15Dropped") }), "",
		},
		{"{SymbolErrorCounter: 10}", with(func(l fabric.Thresholds) { l["SymbolErrorCounter"] = 10 }), ""},
		{"VL15Dropped=NEVER", with(func(l fabric.Thresholds) { delete(l, "VL15Dropped") }), ""},
		{"SymbolErrorCounter=ten", nil, `line 1: SymbolErrorCounter: "ten" is neither a number nor "never"`},
		{"SymbolErrorCounter=-1", nil, `line 1: SymbolErrorCounter: "-1" is neither a number nor "never"`},
		{"\nsymbolerrorcounter=1", nil, `line 2: no counter is named "symbolerrorcounter"`},
		{"VL15Dropped=1\nVL15Dropped=2", nil, "line 2: duplicate counter VL15Dropped (first at line 1)"},
		{"VL15Dropped: 1\nVL15Dropped: 2", nil, "line 2: duplicate counter VL15Dropped (first at line 1)"},
		{"VL15Dropped\nPortXmitWait=1", nil, "line 1: not of the form Name=VALUE like the other lines"},
		{"- a\n- b", nil, "neither lines of Name=VALUE nor a YAML mapping of names to values"},
		{"VL15Dropped: [1]", nil, "line 1: not a name with a value"},
	}
	for _, tt := range tests {
		got, err := parseThresholds([]byte(tt.text))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || text != tt.err {
			t.Errorf("parseThresholds(%q) = %v, %q, want %v, %q", tt.text, got, text, tt.want, tt.err)
		}
	}
}

func FuzzParseThresholds(f *testing.F) {
	f.Add([]byte("SymbolErrorCounter=10\n"))
	f.Add([]byte("SymbolErrorCounter: never\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		limits, err := parseThresholds(data)
		if (limits == nil) == (err == nil) {
			t.Errorf("parseThresholds(%q) = %v, %v, want either", data, limits, err)
		}
	})
}

// TestSweepCutShort ends a sweep early, for each possible reason.
func TestSweepCutShort(t *testing.T) {
	tests := []struct {
		name   string
		end    error // of the context, after 3 s
		budget time.Duration
		code   int
		note   string
	}{
		{
			"interrupted", &cli.SignalError{Signal: os.Interrupt}, 0, cli.ExitPartial,
			"interrupted: the result is partial",
		},
		{
			"--timeout", &cli.TimeoutError{Limit: 3 * time.Second}, 0, cli.ExitTimeout,
			"timed out after 3s: the result is partial",
		},
		{"--budget", nil, 3 * time.Second, cli.ExitPartial, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var notes bytes.Buffer
				app := clitest.NewApp(Commands())
				app.Out, app.Log = output.New(output.Options{Err: &notes}), slog.New(slog.DiscardHandler)
				ctx, cancel := context.WithCancelCause(t.Context())
				if tt.end != nil {
					time.AfterFunc(3*time.Second, func() { cancel(tt.end) })
				}
				net := subnet.FatTree(4, 4, 2)
				net.Delay = 700 * time.Millisecond
				view := &fabricView{transport: net.Transport("host0")}
				flags := &fabricFlags{budget: cli.SecondsValue(tt.budget)}
				if err := sweep(ctx, app, view, flags, fabric.Options{}); err != nil {
					t.Fatal(err)
				}
				if n := len(view.Nodes); n == 0 || n >= len(net.Nodes) || len(view.Unreached) == 0 {
					t.Errorf("the sweep knows %d of %d nodes, and names %v, want a part and what is missing",
						n, len(net.Nodes), view.Unreached)
				}
				if code := cli.ExitCode(view.end()); code != tt.code || !strings.Contains(notes.String(), tt.note) {
					t.Errorf("the command ends with %d and notes %q, want %d and %q",
						code, notes.String(), tt.code, tt.note)
				}
				cancel(nil)
			})
		})
	}
}

// TestTriesFlags checks what --mad-timeout and --retries mean for a dead host.
func TestTriesFlags(t *testing.T) {
	for _, tt := range []struct {
		flags fabricFlags
		want  string
	}{
		{fabricFlags{retries: usualRetries}, "no answer to 4 tries in 4s"},
		{fabricFlags{retries: 1}, "no answer to 2 tries in 4s"},
		{fabricFlags{retries: 9}, "no answer to 10 tries in 10s"},
		{fabricFlags{}, "no answer to 1 try in 4s"},
		{fabricFlags{madTimeout: cli.SecondsValue(3 * time.Second), retries: 3}, "no answer to 4 tries in 12s"},
		{fabricFlags{madTimeout: cli.SecondsValue(100 * time.Millisecond)}, "no answer to 1 try in 100ms"},
	} {
		synctest.Test(t, func(t *testing.T) {
			app := clitest.NewApp(Commands())
			app.Out, app.Log = output.New(output.Options{}), slog.New(slog.DiscardHandler)
			net := subnet.FatTree(1, 4, 0)
			net.Node("host2").Dead = true
			view := &fabricView{transport: net.Transport("host0")}
			if err := sweep(t.Context(), app, view, &tt.flags, fabric.Options{}); err != nil {
				t.Fatal(err)
			}
			if len(view.Unreached) != 1 || view.Unreached[0].Reason != tt.want {
				t.Errorf("--mad-timeout %v --retries %d: unreached %v, want %q",
					time.Duration(tt.flags.madTimeout), tt.flags.retries, view.Unreached, tt.want)
			}
		})
	}
}

// TestTimedOut checks that a partial result under --timeout gets the exit code of a timeout and
// keeps its message.
func TestTimedOut(t *testing.T) {
	cut, cancel := context.WithCancelCause(t.Context())
	cancel(&cli.TimeoutError{Limit: time.Second})
	noNode := cli.WithHints(cli.Exitf(cli.ExitPartial, "no node leaf9"), "the sweep is partial")
	tests := []struct {
		name string
		cut  bool
		err  error
		code int
		text string
	}{
		{"partial in time", false, noNode, cli.ExitPartial, "no node leaf9"},
		{"partial", true, noNode, cli.ExitTimeout, "no node leaf9"},
		{"partial without words", true, cli.ExitSilently(cli.ExitPartial), cli.ExitTimeout, "timed out after 1s"},
		{"fault", true, cli.ExitSilently(cli.ExitFault), cli.ExitFault, "exit code 1"},
	}
	for _, tt := range tests {
		ctx := t.Context()
		if tt.cut {
			ctx = cut
		}
		got := timedOut(ctx, tt.err)
		if code := cli.ExitCode(got); code != tt.code || got.Error() != tt.text {
			t.Errorf("%s: timedOut = %q with %d, want %q with %d", tt.name, got, code, tt.text, tt.code)
		}
	}
	if got := timedOut(cut, nil); got != nil {
		t.Errorf("timedOut(nil) = %v, want nil", got)
	}
}

func TestSecondReadingCutShort(t *testing.T) {
	for _, tt := range []struct {
		end  error
		code int
		note string
	}{
		{&cli.SignalError{Signal: os.Interrupt}, cli.ExitPartial, "interrupted: the counters were read only once"},
		{
			&cli.TimeoutError{Limit: time.Minute}, cli.ExitTimeout,
			"timed out after 1m0s: the counters were read only once",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var notes bytes.Buffer
			app := clitest.NewApp(Commands())
			app.Out, app.Log = output.New(output.Options{Err: &notes}), slog.New(slog.DiscardHandler)
			net := subnet.FatTree(4, 4, 2)
			net.Delay = time.Millisecond
			view, flags := &fabricView{transport: net.Transport("host0")}, &fabricFlags{}
			if err := sweep(t.Context(), app, view, flags, fabric.Options{Counters: true}); err != nil {
				t.Fatal(err)
			}
			first, nodes := view.Topology, len(view.Nodes)
			ctx, cancel := context.WithCancelCause(t.Context())
			net.Delay = 100 * time.Millisecond
			time.AfterFunc(time.Minute+500*time.Millisecond, func() { cancel(tt.end) })
			if earlier := readAgain(ctx, app, view, flags, time.Minute); earlier != nil || view.Topology != first ||
				len(view.Nodes) != nodes {
				t.Errorf("%v: the first reading is gone, want it alone", tt.end)
			}
			if code := cli.ExitCode(view.end()); code != tt.code || !strings.Contains(notes.String(), tt.note) {
				t.Errorf("%v: the command ends with %d and notes %q, want %d and %q",
					tt.end, code, notes.String(), tt.code, tt.note)
			}
			cancel(nil)
		})
	}
}

// TestErrorsByPort checks the rates of a port, which rest on the times at which this port was read,
// and the note of a port that is down.
func TestErrorsByPort(t *testing.T) {
	net := subnet.FatTree(2, 2, 1)
	net.Node("leaf0").Ports[2].Counters.LinkDownedCounter = 1
	net.Disconnect(net.Node("leaf0"), 2)
	leaf := fabric.PortID{Node: net.Node("leaf0").GUID, Port: 1}
	before, after := sweptNet(t, net), sweptNet(t, net)
	after.Started = before.Started.Add(10 * time.Second)
	before.Port(leaf).CountersAfter, after.Port(leaf).CountersAfter = time.Second, 3*time.Second
	after.Port(leaf).Counters.SymbolErrorCounter = 24
	chosen, err := selectNodes(after, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newErrorsReport(after, before, chosen, fabric.DefaultThresholds(), false)
	var got []string
	for _, l := range r.Links {
		for _, c := range l.Counters {
			row := r.row(&l, &c, false)
			cells := []string{row[0].Text, row[1].Text, row[2].Text, row[4].Text, row[7].Text}
			got = append(got, strings.Join(cells, "|"))
			if at := after.CountersRead(leaf); c.Name == "SymbolErrorCounter" && !c.Read.Equal(at) {
				t.Errorf("read at %v, want %v", c.Read, at)
			}
		}
	}
	want := []string{
		"leaf0[1]|SymbolErrorCounter|24|2|", // in 12 seconds
		"leaf0[2]|LinkDownedCounter|1|0|the port is DOWN (Polling)",
	}
	if diff := cmp.Diff(want, got); diff != "" || r.Faults != 2 {
		t.Errorf("%d faults (-want +got):\n%s", r.Faults, diff)
	}
	all := newErrorsReport(after, before, chosen, fabric.DefaultThresholds(), true)
	for _, l := range all.Links {
		if l.A.Port == 2 && l.B == nil && len(l.Counters) != 1 {
			t.Errorf("--all lists %d counters of a port that is down, want the one that isn't 0", len(l.Counters))
		}
	}
}

// runOn runs a command of fabric on a saved topology and returns its output.
func runOn(t *testing.T, topology *fabric.Topology, code int, args ...string) string {
	t.Helper()
	var saved, stdout, stderr bytes.Buffer
	if err := topology.WriteJSON(&saved); err != nil {
		t.Fatal(err)
	}
	app := cli.NewApp(Commands())
	app.Stdin, app.Stdout, app.Stderr = &saved, &stdout, &stderr
	app.IsTerminal = func(any) bool { return false }
	app.Environ = []string{"HOME=" + t.TempDir()}
	if got := app.Run(t.Context(), append([]string{"fabric", "--from", "-"}, args...)); got != code {
		t.Errorf("fabric %v ends with %d, want %d: %s", args, got, code, &stderr)
	}
	return stdout.String()
}

// TestAggregationLists checks that an aggregation node is counted and named as such, and not listed
// as a host.
func TestAggregationLists(t *testing.T) {
	net := subnet.FatTree(2, 2, 1)
	inside := net.Node("host3")
	inside.VendorID, inside.DeviceID = 0x2c9, 0xcf09
	inside.Description = "Mellanox Technologies Aggregation Node"
	topology := sweptNet(t, net)
	if r := newSweepReport(topology); r.Hosts != 3 || r.AggregationNodes != 1 || r.Switches != 3 {
		t.Errorf("%d hosts, %d aggregation nodes, %d switches; want 3, 1 and 3",
			r.Hosts, r.AggregationNodes, r.Switches)
	}
	if got := newNodeReport(topology.Node(inside.GUID)).Type; got != "aggregation-node" {
		t.Errorf("type = %q", got)
	}
	for _, test := range []struct {
		command string
		with    []string
		without string
	}{
		{"hosts", []string{"host0", "host1", "host2"}, "Aggregation"},
		{"topology", []string{
			"3 switches, 3 hosts, 1 aggregation node, 6 links", "aggr [2] Mellanox Technologies Aggregation Node[1]",
		}, "host [2] Mellanox"},
		{"topology -o table", []string{"aggregation-node"}, "nothing"},
	} {
		stdout := runOn(t, topology, cli.ExitOK, strings.Fields(test.command)...)
		for _, want := range test.with {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s doesn't print %q:\n%s", test.command, want, stdout)
			}
		}
		if strings.Contains(stdout, test.without) {
			t.Errorf("%s prints %q:\n%s", test.command, test.without, stdout)
		}
	}
}

// TestTraceNotes checks what trace prints of other ways, and of LIDs that several ports have.
func TestTraceNotes(t *testing.T) {
	routed := func(net *subnet.Subnet) *fabric.Topology {
		var topology *fabric.Topology
		synctest.Test(t, func(t *testing.T) {
			var err error
			net.Delay = time.Millisecond
			if topology, err = fabric.Discover(t.Context(), net.Transport("host0"),
				fabric.Options{Routes: true}); err != nil {
				t.Fatal(err)
			}
		})
		return topology
	}
	const note = "note: the linear tables name one of several ways: adaptive routing, which the sweep doesn't " +
		"read and can't rule out, may choose "
	twice := subnet.FatTree(2, 2, 2)
	twice.Node("host3").LIDs[1] = twice.Node("host1").LIDs[1]
	for _, test := range []struct {
		net  *subnet.Subnet
		to   string
		code int
		want []string
	}{
		{subnet.FatTree(2, 2, 3), "host3", cli.ExitOK, []string{
			"arrives, 4 hops", note + "another at leaf0 (2 other ports)",
		}},
		{subnet.FatTree(3, 2, 1), "host3", cli.ExitOK, []string{"arrives, 4 hops", note + "a longer one"}},
		{twice, "host3", cli.ExitFault, []string{
			"stray: host1[1] has LID 3 too", "warning: LID 3 of host3[1] also belongs to host1[1]: ",
		}},
	} {
		topology := routed(test.net)
		stdout := strings.Join(strings.Fields(runOn(t, topology, test.code, "trace", "host0", test.to)), " ")
		for _, want := range test.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("trace to %s doesn't print %q:\n%s", test.to, want, stdout)
			}
		}
	}
	near := runOn(t, routed(subnet.FatTree(2, 2, 3)), cli.ExitOK, "trace", "host0", "host1")
	if strings.Contains(near, "note:") {
		t.Errorf("trace at one switch prints a note:\n%s", near)
	}
	runOn(t, routed(twice), cli.ExitUsage, "trace", "host0", "3")
}

// TestTwoMasters lists two masters of a topology that was saved without the anomaly, as an older
// version does.
func TestTwoMasters(t *testing.T) {
	topology := sweptNet(t, subnet.FatTree(2, 2, 1))
	for i, n := range topology.Nodes[1:3] {
		topology.SubnetManagers = append(topology.SubnetManagers, fabric.SubnetManager{
			Port: fabric.PortID{Node: n.GUID(), Port: 1}, LID: n.LID(1),
			Info: mad.SMInfo{GUID: n.GUID(), State: mad.SMStateMaster, Priority: uint8(i)},
		})
	}
	stdout := runOn(t, topology, cli.ExitFault, "sm")
	if !strings.Contains(stdout, "two-masters") || strings.Count(stdout, " master ") < 2 {
		t.Errorf("sm prints\n%s", stdout)
	}
	r := newManagersReport(topology)
	for _, m := range r.SubnetManagers {
		if got, one := m.stateCell(r.Masters), m.stateCell(1); got.Style != output.StyleBad ||
			one.Style != output.StyleGood {
			t.Errorf("state = %+v, of a single master %+v", got, one)
		}
	}
	topology.SubnetManagers[1].Info.State = mad.SMStateStandby
	runOn(t, topology, cli.ExitOK, "sm")
}
