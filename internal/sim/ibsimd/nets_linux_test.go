package ibsimd_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/ibsimd"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

func generate(t *testing.T, text string) *ibsimd.Net {
	t.Helper()
	n, err := ibsimd.Generate(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestGeneratedNets compares generated nets with what ibsim makes of their files.
func TestGeneratedNets(t *testing.T) {
	for text, host := range map[string]string{
		"fat-tree:leaves=3,spines=2,hosts=4,cables=2":          "host0",
		"fat-tree:pods=2,leaves=2,spines=2,cores=4,hosts=3":    "host5",
		"rail:groups=2,nodes=3,rails=2,spines=2,speed=edr":     "node1-mlx5_1",
		"dragonfly:groups=3,leaves=2,spines=2,hosts=2,radix=9": "host0",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			n := generate(t, text)
			file := filepath.Join(t.TempDir(), "net")
			if err := os.WriteFile(file, []byte(written(t, n)), 0o600); err != nil {
				t.Fatal(err)
			}
			ref := ibsimtest.Start(t, file)
			_, ours := serve(t, n, ibsimd.Options{})
			t.Logf("%d of %d equal", compare(t, host, ref, ours, sweeps()), len(sweeps()))
			ref.StartStillSM(host)
			ours.StartStillSM(host)
			list := append(sweeps(), program{"sminfo"}, program{"dump_lfts"}, program{"dump_mfts"})
			t.Logf("%d of %d equal with opensm", compare(t, host, ref, ours, list), len(list))
		})
	}
}

// TestRoutingEngines has opensm configure a generated fat tree and a dragonfly with other engines.
func TestRoutingEngines(t *testing.T) {
	for text, engine := range map[string]string{
		"fat-tree:pods=2,leaves=2,spines=2,cores=4,hosts=3": "ftree", "dragonfly:hosts=2": "updn",
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			_, at := serve(t, generate(t, text), ibsimd.Options{})
			at.StartStillSM("host0", "-R", engine)
			topology := discover(t, at, "host3", fabric.Options{Routes: true})
			hosts := 0
			for _, n := range topology.Nodes {
				if n.IsSwitch() {
					continue
				}
				hosts++
				arrives(t, topology, n)
			}
			if hosts < 12 {
				t.Errorf("%d hosts", hosts)
			}
		})
	}
}

// arrives checks that the forwarding tables lead from the local node to another one.
func arrives(t *testing.T, topology *fabric.Topology, to *fabric.Node) {
	t.Helper()
	end := func(n *fabric.Node) fabric.Endpoint {
		port := uint8(1)
		if n.IsSwitch() {
			port = 0
		}
		return fabric.Endpoint{Port: fabric.PortID{Node: n.GUID(), Port: port}, LID: n.LID(port)}
	}
	trace, err := topology.Trace(end(topology.Nodes[0]), end(to), fabric.RoutesRead)
	if err != nil || trace.End != fabric.TraceArrived {
		t.Errorf("trace to %s: %s %s, %v", to.Description, trace.End, trace.Reason, err)
	}
}

// TestManaged checks that a simulated manager has configured the subnet: sweep, routes, programs.
func TestManaged(t *testing.T) {
	n := generate(t, "dragonfly:groups=3")
	_, at := serve(t, n, ibsimd.Options{Managers: master("host7")})
	topology := discover(t, at, "host0", fabric.Options{Routes: true, SubnetManagers: true})
	if !topology.Complete || len(topology.Anomalies) > 0 || len(topology.SubnetManagers) != 1 {
		t.Errorf("complete %v, anomalies %v, managers %v", topology.Complete, topology.Anomalies,
			topology.SubnetManagers)
	}
	for _, to := range topology.Nodes {
		arrives(t, topology, to)
	}
	out := at.Tool("host3", "sminfo")
	if !strings.Contains(out, "priority 5 state 3 SMINFO_MASTER") {
		t.Errorf("sminfo: %s", out)
	}
	lid := strconv.Itoa(int(topology.Nodes[0].LID(1)))
	if out := at.Tool("host3", "perfquery", lid, "1"); !strings.Contains(out, "Lid "+lid+" port 1") {
		t.Errorf("perfquery: %s", out)
	}
}

// TestSavedSweep serves a sweep of a subnet that ibsim and opensm have made: a sweep of it is the
// same, counters that traffic changes excepted.
func TestSavedSweep(t *testing.T) {
	for file, first := range map[string]string{
		testdata + "rail/net": "gpu003-mlx5_2", testdata + "dualsm/net": "host7", "testdata/widths.net": "h1",
	} {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			ref := ibsimtest.Start(t, file)
			ref.StartStillSM(first)
			o := fabric.Options{Routes: true, Multicast: true, Counters: true, SubnetManagers: true}
			want := saved(t, discover(t, ref, first, o))
			again, managers, err := ibsimd.FromTopology(want)
			if err != nil {
				t.Fatal(err)
			}
			_, ours := serve(t, again, ibsimd.Options{Managers: managers})
			got := discover(t, ours, again.Nodes[0].Name, o)
			diff := cmp.Diff(placeless(want.Document()), placeless(got.Document()),
				cmpopts.IgnoreFields(fabric.Document{}, "Started", "Duration", "Stats"),
				cmpopts.IgnoreFields(fabric.ManagerDocument{}, "Activity"),
				cmpopts.IgnoreFields(fabric.PortDocument{}, "CountersAfter"),
				cmpopts.IgnoreMapEntries(func(name string, _ uint64) bool {
					return strings.HasSuffix(name, "Data") || strings.HasSuffix(name, "Pkts")
				}), cmpopts.EquateEmpty())
			if diff != "" {
				t.Errorf("sweep (-ibsim +ours):\n%s", diff)
			}
		})
	}
}

// placeless sorts the nodes, and removes what depends on the way by which a sweep has found them.
func placeless(d *fabric.Document) *fabric.Document {
	slices.SortFunc(d.Nodes, func(a, b fabric.NodeDocument) int { return bytes.Compare(a.GUID[:], b.GUID[:]) })
	const localPortOfNode, localPort = 36, 28
	for i := range d.Nodes {
		n := &d.Nodes[i]
		n.Path, n.NodeInfo[localPortOfNode] = "", 0
		for k := range n.Ports {
			p := &n.Ports[k]
			p.Path = ""
			if len(p.PortInfo) > 0 {
				p.PortInfo[localPort] = 0
			}
		}
	}
	return d
}

// saved returns the topology as it is read from a file.
func saved(t *testing.T, topology *fabric.Topology) *fabric.Topology {
	t.Helper()
	var b strings.Builder
	if err := topology.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	again, err := fabric.ReadTopology(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// TestSavedUnreached serves a sweep with a node that didn't answer: it doesn't answer here either.
func TestSavedUnreached(t *testing.T) {
	f, err := os.Open("../../cli/commands/testdata/fabric/faults.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, err := fabric.ReadTopology(f)
	if err != nil {
		t.Fatal(err)
	}
	n, managers, err := ibsimd.FromTopology(want)
	if err != nil {
		t.Fatal(err)
	}
	n.LostAfter = 1 // as soon as possible
	_, at := serve(t, n, ibsimd.Options{Managers: managers})
	got := discover(t, at, n.Nodes[0].Name, fabric.Options{})
	if got.Complete || len(got.Unreached) != len(want.Unreached) || len(got.Nodes) != len(want.Nodes) {
		t.Errorf("%d nodes, unreached %v; want %d, %v", len(got.Nodes), got.Unreached, len(want.Nodes), want.Unreached)
	}
}
