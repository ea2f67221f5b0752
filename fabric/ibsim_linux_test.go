package fabric_test

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// open connects to a simulator at a node.
func open(t testing.TB, sim *ibsimtest.Simulator, node string) *fabric.IBSim {
	t.Helper()
	transport, err := fabric.OpenIBSim(t.Context(), sim.Getenv(node))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := transport.Close(); err != nil {
			t.Error(err)
		}
	})
	return transport
}

// TestSameAsIbnetdiscover sweeps each recorded net and compares nodes and cables with the output of
// the C tool, both recorded and from the same running simulator.
func TestSameAsIbnetdiscover(t *testing.T) {
	for name, host := range map[string]string{"ft2": "host0", "rail": "gpu000-mlx5_0", "dualsm": "host0"} {
		t.Run(name, func(t *testing.T) {
			sim := ibsimtest.Start(t, "testdata/"+name+"/net")
			topology := discover(t, open(t, sim, host), fabric.Options{})
			if !topology.Complete || len(topology.Anomalies) > 0 {
				t.Errorf("complete %v, anomalies %v, unreached %v",
					topology.Complete, topology.Anomalies, topology.Unreached)
			}
			t.Logf("%d nodes, %d links, %+v, %v", len(topology.Nodes), len(topology.Links()), topology.Stats,
				topology.Duration)
			got := ours(topology)
			recorded, err := os.ReadFile("testdata/" + name + "/ibnetdiscover.txt")
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(theirs(t, string(recorded)), got); diff != "" {
				t.Errorf("against the recorded output (-recorded +got):\n%s", diff)
			}
			if diff := gocmp.Diff(theirs(t, sim.Tool(host, "ibnetdiscover")), got); diff != "" {
				t.Errorf("against ibnetdiscover (-ibnetdiscover +got):\n%s", diff)
			}
		})
	}
}

// end is a node or, with a port, one end of a cable with the other end.
type end struct{ Node, Port, PeerNode, PeerPort, Description string }

// nodeID is ibnetdiscover's name for a node: S-, H- or R- and its GUID.
func nodeID(n *fabric.Node) string {
	letter := map[mad.NodeType]string{mad.NodeTypeCA: "H-", mad.NodeTypeSwitch: "S-", mad.NodeTypeRouter: "R-"}
	return letter[n.Info.NodeType] + strings.ReplaceAll(n.GUID().String(), ":", "")
}

func ours(topology *fabric.Topology) []end {
	var list []end
	for _, n := range topology.Nodes {
		list = append(list, end{Node: nodeID(n), Description: n.Description.String()})
		for number := range n.Ports {
			p := &n.Ports[number]
			if p.HasPeer() {
				peer := topology.Node(p.Peer.Node)
				list = append(list,
					end{nodeID(n), decimal(number), nodeID(peer), decimal(int(p.Peer.Port)), peer.Description.String()})
			}
		}
	}
	return sorted(list)
}

var (
	nodeLine = regexp.MustCompile(`^(?:Switch|Ca|Rt)\t\d+ "([SHR]-[0-9a-f]{16})"\s+# "([^"]*)"`)
	portLine = regexp.MustCompile(
		`^\[(\d+)\](?:\([0-9a-f]+\))?\s+"([SHR]-[0-9a-f]{16})"\[(\d+)\](?:\([0-9a-f]+\))?\s+# .*?"([^"]*)"`)
)

func theirs(t *testing.T, text string) []end {
	t.Helper()
	var list []end
	node := ""
	for line := range strings.Lines(text) {
		if m := nodeLine.FindStringSubmatch(line); m != nil {
			node = m[1]
			list = append(list, end{Node: node, Description: m[2]})
		} else if m := portLine.FindStringSubmatch(line); m != nil {
			list = append(list, end{node, m[1], m[2], m[3], m[4]})
		} else if strings.HasPrefix(line, "[") {
			t.Fatalf("line of ibnetdiscover not understood: %s", line)
		}
	}
	return sorted(list)
}

func sorted(list []end) []end {
	slices.SortFunc(list, func(a, b end) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port))
	})
	return list
}

// TestCutCable cuts a cable through the simulator's console.
func TestCutCable(t *testing.T) {
	sim := ibsimtest.Start(t, "testdata/ft2/net")
	transport := open(t, sim, "host0")
	before := discover(t, transport, fabric.Options{})
	sim.Console(`Unlink "leaf0"[9]`)
	after := discover(t, transport, fabric.Options{})
	if got, want := len(after.Links()), len(before.Links())-1; got != want {
		t.Errorf("links behind a cut = %d, want %d", got, want)
	}
	if got, want := len(after.Nodes), len(before.Nodes); got != want {
		t.Errorf("nodes behind a cut = %d, want %d", got, want)
	}
	if after.Duration > 5*time.Second {
		t.Errorf("sweep took %v", after.Duration)
	}
}

func decimal(n int) string { return strconv.Itoa(n) }

// TestRoutesAndCounters compares forwarding tables with ibroute and counters with perfquery, in a
// subnet with a subnet manager.
func TestRoutesAndCounters(t *testing.T) {
	sim := ibsimtest.Start(t, "testdata/ft2/net")
	sim.StartSM("host31")
	sim.Console(`PerformanceSet "host5"[1] PortCounters.SymbolErrorCounter=321`)
	topology := discover(t, open(t, sim, "host0"), fabric.Options{Routes: true, Counters: true})
	if !topology.Complete || len(topology.Anomalies) > 0 {
		t.Errorf("complete %v, anomalies %v, unreached %v", topology.Complete, topology.Anomalies, topology.Unreached)
	}
	t.Logf("%+v in %v", topology.Stats, topology.Duration)
	route := regexp.MustCompile(`(?m)^0x([0-9a-f]{4}) (\d{3}) :`)
	found := false
	for _, n := range topology.Nodes {
		lid := decimal(int(n.LID(1)))
		if !n.IsSwitch() {
			if n.Description.String() == "host5 mlx5_0" {
				found = true
				if got := n.Ports[1].Counters.SymbolErrorCounter; got != 321 {
					t.Errorf("symbol errors of host5 = %d, want the 321 that were set", got)
				}
				if text := sim.Tool("host0", "perfquery", lid,
					"1"); !strings.Contains(text, "SymbolErrorCounter:..............321\n") {
					t.Errorf("perfquery disagrees:\n%s", text)
				}
			}
			continue
		}
		want := map[string]string{}
		for _, m := range route.FindAllStringSubmatch(sim.Tool("host0", "ibroute", lid), -1) {
			want[m[1]] = m[2]
		}
		got := map[string]string{}
		for lid, port := range n.Routes {
			if port != mad.LFTPortNone {
				got[fmt.Sprintf("%04x", lid)] = fmt.Sprintf("%03d", port)
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" || len(want) < 38 {
			t.Errorf("routes of %s, %d by ibroute (-ibroute +got):\n%s", n.Description, len(want), diff)
		}
	}
	if !found {
		t.Error("host5 is missing")
	}
}
