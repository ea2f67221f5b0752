package connect

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/connect"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// testNode returns the node of a tree.
func testNode(t *testing.T, tree string) *node {
	t.Helper()
	files, err := testtrees.Load(tree)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := inventory.Scan(t.Context(), inventory.Sources{Root: files.FS()})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := launch.Derive(snap, launch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{app: &cli.App{Config: &config.Config{}}, snap: snap, root: files.FS(), plan: plan}
	n.describe()
	return n
}

// TestAllPorts checks that --all takes the ports that jobs use, ordered by rail, and that the facts
// say so for each port.
func TestAllPorts(t *testing.T) {
	for _, tree := range []string{"02_rocev2_8hca", "14_lexical_gid_order", "47_gpu_switches", "58_two_ib_fabrics"} {
		n := testNode(t, tree)
		ports, err := n.allPorts(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", tree, err)
		}
		var want, got, offered []string
		for _, p := range n.plan.Ports {
			if p.Decision == launch.DecisionSelected {
				want = append(want, p.Name())
			}
		}
		last := -1
		for _, p := range ports {
			got = append(got, p.Name)
			if p.Rail != nil {
				if *p.Rail < last {
					t.Errorf("%s: rail %d follows rail %d", tree, *p.Rail, last)
				}
				last = *p.Rail
			}
			if p.PKey == 0 {
				t.Errorf("%s: %s has no P_Key", tree, p.Name)
			}
		}
		for _, f := range n.facts.Ports {
			if f.Offered {
				offered = append(offered, f.Name)
			}
			if f.Reason == "" || f.Driver == "" {
				t.Errorf("%s: facts %+v", tree, f)
			}
		}
		sorted := cmp.Transformer("set", func(list []string) map[string]bool {
			set := map[string]bool{}
			for _, s := range list {
				set[s] = true
			}
			return set
		})
		if len(got) < 2 || cmp.Diff(want, got, sorted) != "" || cmp.Diff(want, offered, sorted) != "" {
			t.Errorf("%s: ports %v, offered %v, want %v", tree, got, offered, want)
		}
		n.device = ports[1].Name[:strings.IndexByte(ports[1].Name, ':')]
		if one, err := n.allPorts(t.Context()); err != nil || len(one) != 1 || one[0].Name != ports[1].Name {
			t.Errorf("%s with -d %s: %v, %v", tree, n.device, one, err)
		}
		n.device = "nosuch"
		if none, err := n.allPorts(t.Context()); len(none) != 0 || cli.ExitCode(err) != cli.ExitNotFound {
			t.Errorf("%s with -d nosuch: %v, %v, want exit code 3", tree, none, err)
		}
	}
}

// TestNoPorts checks that devices without connections of type RC and without RDMA are not tried.
func TestNoPorts(t *testing.T) {
	for _, tree := range []string{"48_efa", "04_iwarp"} {
		ports, err := testNode(t, tree).allPorts(t.Context())
		if len(ports) != 0 || cli.ExitCode(err) != cli.ExitNotFound {
			t.Errorf("%s: ports %v, %v, want none and exit code 3", tree, ports, err)
		}
	}
}

// TestPreferred checks that a port prefers the GID that rdmactl env derives: its index is not that
// of the first RoCE v2 entry by name.
func TestPreferred(t *testing.T) {
	n := testNode(t, "14_lexical_gid_order")
	for _, p := range n.plan.Ports {
		if p.GID == nil {
			continue
		}
		port := n.port(p.Device, p.Port)
		if port.Preferred == nil || *port.Preferred != p.GID.Index {
			t.Errorf("%s prefers %v, want index %d", p.Name(), port.Preferred, p.GID.Index)
		}
	}
}

// TestIsDevice tells devices from peers.
func TestIsDevice(t *testing.T) {
	n := &node{snap: inventory.Snapshot{Devices: []inventory.Device{{Name: "mlx5_0"}}}}
	for name, want := range map[string]bool{
		"mlx5_0": true, "mlx5_0:2": true, "mlx5_1": false, "roce@eth0": true, "roce@::1": true, "node1": false,
		"192.0.2.1": false, "2001:db8::1": false, "mlx5_0:x": false,
	} {
		if got := n.isDevice(name); got != want {
			t.Errorf("isDevice(%s) = %t, want %t", name, got, want)
		}
	}
	for name, want := range map[string]int{"mlx5_0:2": 2, "mlx5_0": 0, "roce@::1": 0, "roce@127.0.0.1": 0, "a:0": 0} {
		if _, got := split(name); got != want {
			t.Errorf("split(%s) = %d, want %d", name, got, want)
		}
	}
}

// TestEngineNames recognizes an engine by each of its names: it can be opened only once.
func TestEngineNames(t *testing.T) {
	list, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(n net.Interface) bool { return n.Flags&net.FlagLoopback != 0 })
	if i < 0 {
		t.Fatal("no loopback device")
	}
	addr, err := roce.Address("roce@" + list[i].Name)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{app: &cli.App{Config: &config.Config{}}}
	names := []string{"roce@" + list[i].Name, "roce@" + addr.String()}
	if addr.Is4() {
		names = append(names, "roce@::ffff:"+addr.String())
	}
	for _, name := range names {
		p := n.port(name, 1)
		if p.GIDIndex == nil || *p.GIDIndex != 0 {
			t.Errorf("port(%q) has GID index %v, want 0: the only GID may be link-local", name, p.GIDIndex)
		}
		if p.Device != names[1] || p.Name != name {
			t.Errorf("port of %s: device %q, name %q, want %q", name, p.Device, p.Name, names[1])
		}
	}
	if p := n.port("roce@nosuch", 1); p.Device != "" {
		t.Errorf("device %q of an engine that doesn't exist", p.Device)
	}
}

// TestSavedName makes a file name of any host name.
func TestSavedName(t *testing.T) {
	if got := fileName("gpu-00.lab/../x y"); got != "gpu-00.lab_.._x_y" || got != filepath.Base(got) {
		t.Errorf("fileName = %q", got)
	}
}

// TestAloneTCP tries two ports with themselves: the measurement over TCP, which has nothing to do
// with them, takes place once.
func TestAloneTCP(t *testing.T) {
	n := &node{app: &cli.App{Config: &config.Config{}}}
	for _, name := range []string{"roce@127.0.61.70", "roce@127.0.61.71"} {
		n.facts.Ports = append(n.facts.Ports, connect.PortFacts{Name: name, Offered: true})
	}
	measured := 0
	flags := connectFlags{config: connect.Config{Pings: 1, Writes: 1, AllowTCP: true}}
	flags.config.Progress = func(format string, _ ...any) {
		if format == "measuring over TCP" {
			measured++
		}
	}
	r, err := flags.alone(t.Context(), n)
	if err != nil || r.Err() != nil || len(r.Attempts) != 2 || r.TCP == nil {
		t.Fatalf("alone = %+v, %v", r, err)
	}
	if measured != 1 {
		t.Errorf("%d measurements over TCP, want one", measured)
	}
}

// TestNotHere explains a name that is neither a device nor a PEER.
func TestNotHere(t *testing.T) {
	n := &node{loads: true}
	const none = "no device of this machine has the name mlx5_0: it has no RDMA device; roce@NETDEV is RoCE v2 in " +
		"user space"
	if diff := cmp.Diff([]string{none}, n.devicesHints("mlx5_0")); diff != "" {
		t.Errorf("devicesHints, -want +got:\n%s", diff)
	}
	n = &node{snap: inventory.Snapshot{Devices: []inventory.Device{{Name: "mlx5_0"}}}}
	hints := strings.Join(n.devicesHints("mlx5_7"), "\n")
	if !strings.Contains(hints, "it has mlx5_0, or roce@NETDEV") ||
		!strings.Contains(hints, "rdmactl-static opens no devices of the kernel") {
		t.Errorf("devicesHints of a build without libibverbs = %s", hints)
	}
}

// TestTaken tries a device that another run uses, as either end: it can't be used, which is exit
// code 3, not that of a failed stage.
func TestTaken(t *testing.T) {
	const taken, free = "roce@127.0.77.62", "roce@127.0.77.63"
	d, err := verbs.Open(t.Context(), taken, builtin.All()...)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	n := &node{app: &cli.App{Config: &config.Config{}}}
	for _, args := range [][]string{{taken}, {taken, free}, {free, taken}} {
		flags := connectFlags{config: connect.Config{Pings: 1, Writes: 1}}
		r, err := flags.local(t.Context(), n, args)
		if err != nil || len(r.Attempts) != 1 || r.Attempts[0].Failure == nil {
			t.Fatalf("local(%v) = %+v, %v, want a failure", args, r, err)
		}
		if got := flags.verdict(&r); cli.ExitCode(got) != cli.ExitNotFound {
			t.Errorf("verdict of %v: %v, exit code %d, want 3", args, got, cli.ExitCode(got))
		}
	}
}

// TestVerdict derives the exit code from where the failure was found.
func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		name  string
		code  connect.Code
		flags connectFlags
		want  int
	}{
		{"device, the peer's", connect.CodeOpen, connectFlags{}, cli.ExitFault},
		{"device", connect.CodeOpen, connectFlags{bothHere: true}, cli.ExitNotFound},
		{"device, denied", connect.CodeOpen, connectFlags{bothHere: true, denied: true}, cli.ExitPermission},
		{"no GID", connect.CodeNoGID, connectFlags{bothHere: true}, cli.ExitFault},
		{"no GID at an index", connect.CodeNoGID, connectFlags{bothHere: true, gidGiven: true}, cli.ExitNotFound},
		{"port down", connect.CodePortDown, connectFlags{bothHere: true}, cli.ExitFault},
	} {
		one := connect.Attempt{Failure: &connect.Failure{Code: tt.code}}
		r := connect.Report{Attempts: []connect.Attempt{one}}
		if got := cli.ExitCode(tt.flags.verdict(&r)); got != tt.want {
			t.Errorf("%s: exit code %d, want %d", tt.name, got, tt.want)
		}
		r.Attempts = append(r.Attempts, one) // of another port
		if got := cli.ExitCode(tt.flags.verdict(&r)); got != tt.want {
			t.Errorf("%s, two ports: exit code %d, want %d", tt.name, got, tt.want)
		}
		r.Attempts[1].Failure = nil
		if got := cli.ExitCode(tt.flags.verdict(&r)); got != cli.ExitFault && !tt.flags.denied {
			t.Errorf("%s of one of two ports: exit code %d, want 1", tt.name, got)
		}
	}
}

// TestHeadline names the end that has failed if the other one is not known, and both otherwise.
func TestHeadline(t *testing.T) {
	a, b := connect.PortEnd{Host: "node1", Port: "mlx5_0:1"}, connect.PortEnd{Host: "node2", Port: "mlx5_1:1"}
	failure := func(end string) *connect.Failure { return &connect.Failure{Stage: connect.StageOpen, End: end} }
	for _, tt := range []struct {
		attempt    connect.Attempt
		want, peer string
	}{
		{connect.Attempt{Local: a, Remote: b}, "node1 mlx5_0:1 and node2 mlx5_1:1", "node2 mlx5_1:1"},
		{
			connect.Attempt{Local: a, Remote: b, Failure: failure("node2 mlx5_1:1")},
			"node1 mlx5_0:1 and node2 mlx5_1:1", "node2 mlx5_1:1",
		},
		{connect.Attempt{Local: a, Failure: failure("node2 mlx5_1:1")}, "node2 mlx5_1:1", "node2 mlx5_1:1"},
		{connect.Attempt{Local: a, Failure: failure("node1 mlx5_0:1")}, "node1 mlx5_0:1", ""},
		{connect.Attempt{Failure: failure("node1")}, "this end", ""},
	} {
		if got := betweenEnds(&tt.attempt); got != tt.want {
			t.Errorf("headline %q, want %q", got, tt.want)
		}
		if tt.attempt.Local.Port == "" {
			continue
		}
		r := connect.Report{Attempts: []connect.Attempt{tt.attempt}}
		table := summary(&r)
		if got := table.Rows[0][2].Text; got != tt.peer {
			t.Errorf("peer of %s in the table %q, want %q", tt.want, got, tt.peer)
		}
	}
}

// TestSaveNew writes two reports of one second.
func TestSaveNew(t *testing.T) {
	base := filepath.Join(t.TempDir(), "connect-a-20260102T030405Z")
	for i, want := range []string{base + ".json", base + "-2.json", base + "-3.json"} {
		name, err := saveNew(base, func(w io.Writer) error {
			_, err := fmt.Fprint(w, i)
			return err
		})
		text, readErr := os.ReadFile(want)
		if err != nil || name != want || readErr != nil || string(text) != strconv.Itoa(i) {
			t.Errorf("saveNew = %s, %v, %s has %q, want %d", name, err, want, text, i)
		}
	}
	if name, err := saveNew(filepath.Join(base, "x"), nil); err == nil {
		t.Errorf("saveNew in a folder that doesn't exist = %s", name)
	}
}
