package fabric

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/hosts"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/clitest"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch/consensus"
	"github.com/rdmakit/rdmakit/launch/consensus/inputs"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// bundles writes the snapshots of hosts of subnet.Rails into a directory.
func bundles(t *testing.T, net *subnet.Subnet, count int) string {
	t.Helper()
	tree, err := testtrees.Load("01_ib_8hca")
	if err != nil {
		t.Fatal(err)
	}
	snap, _ := inventory.Scan(t.Context(), inventory.Sources{Root: tree.FS()}) // lists what the tree lacks
	dir := t.TempDir()
	for h := range count {
		snap.Host.Name = fmt.Sprintf("gpu-%02d", h)
		for i := range snap.Devices {
			n := net.Node(fmt.Sprintf("%s-mlx5_%d", snap.Host.Name, i))
			d := &snap.Devices[i]
			d.NodeGUID, d.SystemGUID = new(n.GUID), new(n.GUID)
			guid := n.GUID
			guid[7]++
			copy(d.Ports[0].GIDs[0].GID[8:], guid[:])
		}
		data, err := json.Marshal(snap)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, snap.Host.Name+".json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// sweptRails sweeps a subnet with everything that is saved.
func sweptRails(t *testing.T, net *subnet.Subnet) *fabric.Topology {
	t.Helper()
	var topology *fabric.Topology
	synctest.Test(t, func(t *testing.T) {
		net.Delay = time.Millisecond
		var err error
		topology, err = fabric.Discover(t.Context(), net.Transport("gpu-00-mlx5_0"),
			fabric.Options{Counters: true, Routes: true})
		if err != nil {
			t.Fatal(err)
		}
	})
	return topology
}

// spaced returns a text with single spaces.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestHosts shows ports by their hosts in all lists.
func TestHosts(t *testing.T) {
	net := subnet.Rails(2, 3, 8)
	dir := bundles(t, net, 5)
	net.Node("gpu-01-mlx5_3").Ports[1].Counters.SymbolErrorCounter = 7
	net.Disconnect(net.Node("gpu-04-mlx5_6"), 1)
	topology := sweptRails(t, net)
	tests := []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"links", "su0-rail3"}, cli.ExitOK, []string{
			"su0-rail3[2] gpu-01 mlx5_3[1] rail 3 ACTIVE",
			"5 hosts: 39 of 40 InfiniBand ports in the sweep; 1 not in the sweep or without a link; 8 adapter " +
				"ports of the sweep without a host (-o wide has the names)",
			// the only other host at gpu-03's leaves has lost its rail 6
			"rails: 38 ports compared with the other hosts at the same leaves, 1 without such hosts not judged: " +
				"each rail is at one leaf",
		}},
		{[]string{"links", "gpu-01 rail 3", "-o", "wide"}, cli.ExitOK, []string{
			"gpu-01 mlx5_3[1] rail 3: SymbolErrorCounter 7",
			"Not in the sweep, or without a link", "gpu-04 mlx5_6[1] rail 6 0000:ba:00.0",
			"Without a host", "gpu-05 mlx5_7[1]",
		}},
		{[]string{"hosts", "gpu-01 mlx5_3[1] rail 3"}, cli.ExitOK, []string{"gpu-01 mlx5_3 rail 3", "su0-rail3[2]"}},
		{[]string{"errors"}, cli.ExitFault, []string{
			"gpu-01 mlx5_3[1] rail 3 SymbolErrorCounter 7 su0-rail3[2]",
			"su0-rail3[2] gpu-01 mlx5_3[1] rail 3 gpu-01 mlx5_3[1] rail 3 receives errors: the transmitter of " +
				"su0-rail3[2], the cable, or this receiver",
		}},
		{[]string{"trace", "gpu-00 rail 3", "gpu-01 rail 3"}, cli.ExitOK, []string{
			"gpu-00 mlx5_3[1] rail 3", "su0-rail3[2]", "gpu-01 mlx5_3[1] rail 3: SymbolErrorCounter 7",
			"arrives, 2 hops", "5 hosts: 39 of 40",
		}},
		{[]string{"topology"}, cli.ExitOK, []string{"host [2] gpu-01 mlx5_3[1] rail 3", "5 hosts: 39 of 40"}},
		{[]string{"topology", "-o", "table"}, cli.ExitOK, []string{"gpu-01 mlx5_3 rail 3 hca"}},
		{[]string{"topology", "-o", "dot"}, cli.ExitOK, []string{`label="gpu-01 mlx5_3 rail 3`}},
		{[]string{"switches"}, cli.ExitOK, []string{"5 hosts: 39 of 40"}},
		{[]string{"trace", "gpu-00", "gpu-01"}, cli.ExitUsage, nil},
	}
	for _, tt := range tests {
		got := spaced(runOn(t, topology, tt.code, append([]string{"--hosts", dir}, tt.args...)...))
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%v doesn't print %q:\n%s", tt.args, want, got)
			}
		}
	}
	if got := runOn(t, topology, cli.ExitOK, "links"); strings.Contains(got, "hosts:") ||
		strings.Contains(got, "rail 3") {
		t.Errorf("links without --hosts prints\n%s", got)
	}
}

// TestHostsJSON has both ends of a link as objects with their hosts.
func TestHostsJSON(t *testing.T) {
	net := subnet.Rails(1, 2, 8)
	dir := bundles(t, net, 2)
	var r linksReport
	text := runOn(t, sweptRails(t, net), cli.ExitOK, "--hosts", filepath.Join(dir, "gpu-00.json"), "--hosts",
		filepath.Join(dir, "gpu-01.json"), "links", "gpu-01 mlx5_5", "-o", "json")
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Links) != 1 || r.Sweep.HostPorts == nil || r.Sweep.HostPorts.Joined != 16 {
		t.Fatalf("links = %s", text)
	}
	guid := net.Node("gpu-01-mlx5_5").GUID
	guid[7]++
	want := fabric.HostPort{
		Host: "gpu-01", Device: "mlx5_5", Port: 1, PCIAddress: "0000:ab:00.0", Rail: new(5),
		Source: filepath.Join(dir, "gpu-01.json"),
	}
	b := r.Links[0].B
	if diff := cmp.Diff(&want, b.Host); diff != "" || b.PortGUID != guid || r.Links[0].Counters == nil ||
		r.Links[0].Supported == nil || r.Links[0].A.Host != nil {
		t.Errorf("link = %+v (-want +got):\n%s", r.Links[0], diff)
	}
	for _, args := range [][]string{{"hosts", "gpu-01 mlx5_5"}, {"switches"}, {"sm"}} {
		code := cli.ExitOK
		if args[0] == "sm" {
			code = cli.ExitNotFound
		}
		got := runOn(t, sweptRails(t, net), code, append(args, "--hosts", dir, "-o", "json")...)
		if !strings.Contains(got, `"joined": 16`) {
			t.Errorf("%v has no hostPorts:\n%s", args, got)
		}
	}
}

// TestHostsFaults checks what links --check makes of exchanged cables and contradictions.
func TestHostsFaults(t *testing.T) {
	net := subnet.Rails(1, 3, 8)
	dir := bundles(t, net, 3)
	a, b := net.Node("gpu-02-mlx5_3"), net.Node("gpu-02-mlx5_5")
	leafA, leafB := a.Ports[1].Peer, b.Ports[1].Peer
	net.Disconnect(a, 1)
	net.Disconnect(b, 1)
	net.Connect(leafA, 3, b, 1)
	net.Connect(leafB, 3, a, 1)
	got := spaced(runOn(t, sweptRails(t, net), cli.ExitFault, "--hosts", dir, "links", "--check"))
	const want = "gpu-02 rails 3 and 5 are exchanged: rail 3 is at su0-rail5, rail 5 at su0-rail3 " +
		"(2 of 2 other hosts of the group)"
	if !strings.Contains(got, want) {
		t.Errorf("links doesn't print %q:\n%s", want, got)
	}
	net = subnet.Rails(1, 3, 8)
	dir = bundles(t, net, 3)
	net.Node("gpu-02-mlx5_3").Description = "MT4129 ConnectX7   Mellanox Technologies"
	got = spaced(runOn(t, sweptRails(t, net), cli.ExitFault, "--hosts", dir, "links", "--check"))
	if !strings.Contains(got, "gpu-02 no-host-name the node description of gpu-02 mlx5_3 is") {
		t.Errorf("links doesn't print the contradiction:\n%s", got)
	}
	runOn(t, sweptRails(t, net), cli.ExitOK, "--hosts", dir, "links")
}

// TestHostsOfReadings joins both readings of errors --interval, and the file of --rescan.
func TestHostsOfReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.Rails(1, 2, 8)
		app := clitest.NewApp(Commands())
		app.Out, app.Log = output.New(output.Options{}), slog.New(slog.DiscardHandler)
		list, _, err := hosts.Read(t.Context(), inputs.Files{Names: []string{bundles(t, net, 2)}}, consensus.Options{})
		if err != nil {
			t.Fatal(err)
		}
		net.Delay = time.Millisecond
		view := &fabricView{transport: net.Transport("gpu-00-mlx5_0"), hosts: list}
		flags := &fabricFlags{}
		if err := sweep(t.Context(), app, view, flags, fabric.Options{Counters: true}); err != nil {
			t.Fatal(err)
		}
		earlier := readAgain(t.Context(), app, view, flags, time.Second)
		if earlier == nil || view.Topology == earlier || len(view.Hosts) != 16 || view.joined == nil {
			t.Errorf("the second reading has %d ports with hosts, want 16", len(view.Hosts))
		}
		view.previous = earlier
		view.join()
		if len(earlier.Hosts) != 16 {
			t.Errorf("the topology of --rescan has %d ports with hosts, want 16", len(earlier.Hosts))
		}
	})
}

// TestBadHosts names inputs that are no hosts.
func TestBadHosts(t *testing.T) {
	net := subnet.Rails(1, 1, 8)
	topology := sweptRails(t, net)
	dir := bundles(t, net, 1)
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct{ path, want string }{
		{t.TempDir(), ": the directory has no files"},
		{filepath.Join(dir, "absent"), "absent: no such file or directory"},
		{write("b.tar.gz", "\x1f\x8b\x08\x00broken"), "b.tar.gz: "},
		{write("c.json", `{"schema":"rdmakit.launch/v1"}`), "c.json: a launch plan (rdmakit.launch/v1)"},
		{
			write("d.json", `{"schema":"rdmakit.fabric/v1"}`),
			`d.json: schema "rdmakit.fabric/v1" does not describe a node`,
		},
		{write("e.txt", ""), "e.txt: empty"},
		{"", "--hosts: empty"},
		{"-", "--hosts -: another flag already reads standard input"},
	} {
		var saved, stdout, stderr bytes.Buffer
		if err := topology.WriteJSON(&saved); err != nil {
			t.Fatal(err)
		}
		app := cli.NewApp(Commands())
		app.Stdin, app.Stdout, app.Stderr = &saved, &stdout, &stderr
		app.IsTerminal = func(any) bool { return false }
		app.Environ = []string{"HOME=" + t.TempDir()}
		name := filepath.Join(t.TempDir(), "sweep.json")
		from := name
		if err := os.WriteFile(name, saved.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if tt.path == "-" {
			from = "-"
		}
		code := app.Run(t.Context(), []string{"fabric", "links", "--from", from, "--hosts", dir, "--hosts", tt.path})
		if code != cli.ExitUsage || !strings.Contains(stderr.String(), tt.want) || stdout.Len() > 0 {
			t.Errorf("--hosts %s ends with %d: %s, want %d and %q", tt.path, code, &stderr, cli.ExitUsage, tt.want)
		}
	}
}

// TestSuspects checks what errors says of a cable by the counters of its ends.
func TestSuspects(t *testing.T) {
	type values map[uint8]mad.PortCountersExtended // by end: 0 is leaf0, 1 the host
	tests := []struct {
		name    string
		ends    values
		suspect fabric.Suspect
		want    string
	}{
		{
			"the host receives errors",
			values{1: {SymbolErrorCounter: 5}},
			fabric.SuspectAToB,
			"host1[1] receives errors: the transmitter of leaf0[2], the cable, or this receiver",
		},
		{"both receive errors, and went down", values{
			0: {SymbolErrorCounter: 5, LinkDownedCounter: 1}, 1: {PortRcvErrors: 2, LinkDownedCounter: 1},
		}, fabric.SuspectBoth, "both ends receive errors: the cable is what both directions share; the link " +
			"went down, which both ends count"},
		{
			"went down at one end",
			values{0: {LinkDownedCounter: 2}},
			fabric.SuspectLink,
			"the link went down, which only leaf0[2] counts: host1[1] was restarted, its counters were reset, or it " +
				"ended the link itself",
		},
		{
			"damaged before",
			values{1: {PortRcvRemotePhysicalErrors: 2}},
			fabric.SuspectOther,
			"the packets were damaged on a link before this one",
		},
		{
			"discards",
			values{0: {PortXmitDiscards: 2}},
			fabric.SuspectTraffic,
			"no damage of this cable: packets were discarded or refused",
		},
		{
			"retrained",
			values{0: {LinkErrorRecoveryCounter: 2}},
			fabric.SuspectLink,
			"the link retrained, which shows no direction",
		},
	}
	for _, tt := range tests {
		net := subnet.FatTree(1, 2, 1)
		for end, counters := range tt.ends {
			if end == 0 {
				net.Node("leaf0").Ports[2].Counters = counters
			} else {
				net.Node("host1").Ports[1].Counters = counters
			}
		}
		topology := sweptNet(t, net)
		r := newErrorsReport(topology, nil, everything(t, topology), fabric.DefaultThresholds(), false)
		if len(r.Links) != 1 || r.Links[0].Suspect != tt.suspect || !slices.Equal(r.Links[0].Read, endNames()) {
			t.Errorf("%s: links = %+v, want one with suspect %s", tt.name, r.Links, tt.suspect)
			continue
		}
		if got := r.Links[0].advice(r.Thresholds); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		text := spaced(runOn(t, topology, cli.ExitFault, "errors"))
		for _, want := range []string{"Where to look", "leaf0[2] host1[1] " + tt.want} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: errors doesn't print %q:\n%s", tt.name, want, text)
			}
		}
	}
}

// TestSuspectUnread says that the counters of the other end were not read.
func TestSuspectUnread(t *testing.T) {
	net := subnet.FatTree(1, 2, 1)
	net.Node("host1").Ports[1].Counters.SymbolErrorCounter = 5
	topology := sweptNet(t, net)
	leaf := topology.Port(fabric.PortID{Node: net.Node("leaf0").GUID, Port: 2})
	leaf.Counters, leaf.Extended = nil, nil
	r := newErrorsReport(topology, nil, everything(t, topology), fabric.DefaultThresholds(), false)
	if got := r.Links[0].advice(r.Thresholds); !strings.HasSuffix(got, "; the counters of leaf0[2] were not read") {
		t.Errorf("advice = %q, want that leaf0[2] wasn't read", got)
	}
	links := newLinksReport(topology, nil, everything(t, topology, "leaf0[2]"), linkFlags{})
	if got := links.Links[0].Counters.cell(&links.Links[0].A, links.Links[0].B).Text; got !=
		"host1[1]: SymbolErrorCounter 5" {
		t.Errorf("errors of the link = %q", got)
	}
}

// TestTraceLinks has a row for each link of a path, with both ends, and what is wrong with it.
func TestTraceLinks(t *testing.T) {
	net := subnet.FatTree(2, 2, 1)
	net.Node("spine0").Ports[2].Counters.SymbolErrorCounter = 9
	var topology *fabric.Topology
	synctest.Test(t, func(t *testing.T) {
		net.Delay = time.Millisecond
		var err error
		topology, err = fabric.Discover(t.Context(), net.Transport("host0"),
			fabric.Options{Routes: true, Counters: true})
		if err != nil {
			t.Fatal(err)
		}
	})
	text := runOn(t, topology, cli.ExitOK, "trace", "host0", "host3")
	var got []string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 && len(fields[0]) == 1 {
			got = append(got, strings.Join(fields, " "))
		}
	}
	want := []string{
		"1 host0[1] 2 leaf0[1] 1 4X NDR none", "2 leaf0[3] 1 spine0[1] 7 4X NDR none",
		"3 spine0[2] 7 leaf1[3] 4 4X NDR spine0[2]: SymbolErrorCounter 9", "4 leaf1[2] 4 host3[1] 6 4X NDR none",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	var r traceReport
	text = runOn(t, topology, cli.ExitOK, "trace", "host0", "host3", "-o", "json")
	if err := json.Unmarshal([]byte(text), &r); err != nil || len(r.Links) != 4 || len(r.Hops) != 5 ||
		r.Links[2].Counters.Suspect != fabric.SuspectBToA || r.Links[3].B.LID != 6 {
		t.Errorf("trace -o json = %s, %v", text, err)
	}
}
