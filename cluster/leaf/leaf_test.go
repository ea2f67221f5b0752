package leaf_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/leaf"
	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// world is a cluster with what its nodes have reported.
type world struct {
	cluster plan.Cluster
	nodes   []result.Node
}

// add adds a node whose cards have these facts.
func (w *world) add(name string, cards ...map[string]string) {
	n := plan.Node{Name: name}
	r := result.Node{State: result.NodeReady}
	for rail, facts := range cards {
		n.Rails = append(n.Rails, plan.Card{Rail: rail, Device: fmt.Sprintf("mlx5_%d:1", rail)})
		r.Cards = append(r.Cards, result.Card{Facts: facts})
	}
	w.cluster.Nodes, w.nodes = append(w.cluster.Nodes, n), append(w.nodes, r)
}

// netdev are the facts of a card on Ethernet.
func netdev(names string) map[string]string { return map[string]string{result.FactNetdev: names} }

// guids are the facts of an InfiniBand card; zero GUIDs are left out.
func guids(node, port ib.GUID) map[string]string {
	facts := map[string]string{}
	if !node.IsZero() {
		facts[result.FactNodeGUID] = node.String()
	}
	if !port.IsZero() {
		facts[result.FactPortGUID] = port.String()
	}
	return facts
}

// saved sweeps a subnet and returns the saved sweep.
func saved(t *testing.T, net *subnet.Subnet) (out []byte) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		transport := net.Transport("host0")
		defer transport.Close()
		topology, err := fabric.Discover(t.Context(), transport, fabric.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := topology.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		out = b.Bytes()
	})
	return out
}

// read reads files from testdata, or texts by the name of their file.
func read(t *testing.T, files ...string) *leaf.Sources {
	t.Helper()
	s := new(leaf.Sources)
	for _, file := range files {
		name, text, ok := strings.Cut(file, "=")
		if !ok {
			b, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		if err := s.Read(name, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func find(t *testing.T, s *leaf.Sources, w *world) *leaf.Leaves {
	t.Helper()
	l, err := s.Find(w.cluster, w.nodes)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// check compares the leaves, and what is said about cards.
func check(t *testing.T, l *leaf.Leaves, from string, nodes []string, remarks ...string) {
	t.Helper()
	if l.From != from {
		t.Errorf("From = %q, want %q", l.From, from)
	}
	if diff := cmp.Diff(nodes, l.Nodes); diff != "" {
		t.Errorf("leaves (-want +got):\n%s", diff)
	}
	var got []string
	for _, m := range slices.Concat(l.Missing, l.Odd, l.Mixed) {
		got = append(got, m.String())
	}
	if diff := cmp.Diff(remarks, got); diff != "" {
		t.Errorf("remarks (-want +got):\n%s", diff)
	}
}

// TestSweep finds the leaves of hosts of a fat tree by the GUIDs of ports and of nodes.
func TestSweep(t *testing.T) {
	net := subnet.FatTree(3, 3, 2)
	for i := range 3 {
		net.Node(fmt.Sprintf("leaf%d", i)).Description = fmt.Sprintf("MF0;isr-%d:MQM9700/U1", i)
	}
	net.Disconnect(net.Node("leaf2"), 3)
	text := saved(t, net)

	w := new(world)
	for i := range 9 {
		host := net.Node(fmt.Sprintf("host%d", i))
		switch {
		case i == 5:
			w.add("host5", nil)
		case i%2 == 0:
			w.add(host.Name, guids(host.GUID, ib.GUID{}))
		default:
			w.add(host.Name, guids(ib.GUID{}, portGUID(t, text, host.GUID)))
		}
	}
	s := new(leaf.Sources)
	if err := s.Read("sweep.json", bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	l := find(t, s, w)
	check(t, l, "sweep sweep.json",
		[]string{"isr-0", "isr-0", "isr-0", "isr-1", "isr-1", "", "isr-2", "isr-2", ""},
		"host5 mlx5_0:1: it has reported no GUID", "host8 mlx5_0:1: it is not in the sweep")
	want := map[string]string{
		result.FactSwitch: "isr-1", result.FactSwitchPort: "2",
		result.FactSwitchID: "0x" + strings.ReplaceAll(net.Node("leaf1").GUID.String(), ":", ""),
	}
	if diff := cmp.Diff(want, leaf.Facts(l.Ports[4][0])); diff != "" {
		t.Errorf("facts of host4 (-want +got):\n%s", diff)
	}
	if leaves, least, most := l.Count(); leaves != 3 || least != 2 || most != 3 {
		t.Errorf("Count() = %d, %d, %d, want 3 leaves of 2 to 3 nodes", leaves, least, most)
	}
}

// TestBackToBack checks a sweep of two adapters without a switch.
func TestBackToBack(t *testing.T) {
	net := subnet.New()
	w := new(world)
	for _, name := range []string{"host0", "host1"} {
		w.add(name, guids(net.Add(name, mad.NodeTypeCA, 1).GUID, ib.GUID{}))
	}
	net.Connect(net.Nodes[0], 1, net.Nodes[1], 1)
	s := new(leaf.Sources)
	if err := s.Read("sweep.json", bytes.NewReader(saved(t, net))); err != nil {
		t.Fatal(err)
	}
	check(t, find(t, s, w), "", []string{"", ""},
		"host0 mlx5_0:1: it is connected to host1, which is no switch",
		"host1 mlx5_0:1: it is connected to host0, which is no switch")
}

// portGUID returns the GUID of the only port of an adapter in a saved sweep.
func portGUID(t *testing.T, text []byte, node ib.GUID) ib.GUID {
	t.Helper()
	topology, err := fabric.ReadTopology(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	guid := topology.Node(node).Ports[1].GUID
	if guid.IsZero() || guid == node {
		t.Fatalf("port GUID %s of node %s: the subnet tells them apart no more", guid, node)
	}
	return guid
}

// TestSweepOfRails finds leaves of two rails, each in a subnet and a sweep of its own.
func TestSweepOfRails(t *testing.T) {
	rails := []*subnet.Subnet{subnet.FatTree(2, 3, 1), subnet.FatTree(2, 3, 1)}
	s, w := new(leaf.Sources), new(world)
	for r, net := range rails {
		for i, n := range net.Nodes {
			n.GUID[1], n.GUID[6] = byte(r+1), byte(i+1)
			if n.Type == mad.NodeTypeSwitch {
				n.Description = fmt.Sprintf("rail%d %s", r, n.Name)
			}
		}
		if err := s.Read(fmt.Sprintf("rail%d.json", r), bytes.NewReader(saved(t, net))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6 {
		name := fmt.Sprintf("host%d", i)
		w.add(name, guids(rails[0].Node(name).GUID, ib.GUID{}), guids(rails[1].Node(name).GUID, ib.GUID{}))
	}
	a, b := "rail0 leaf0 and rail1 leaf0", "rail0 leaf1 and rail1 leaf1"
	check(t, find(t, s, w), "sweep rail0.json, sweep rail1.json", []string{a, a, a, b, b, b})

	// a second sweep of a rail after a cable was moved
	rails[1].Disconnect(rails[1].Node("leaf0"), 1)
	rails[1].Connect(rails[1].Node("leaf1"), 4, rails[1].Node("host0"), 1)
	text := saved(t, rails[1])
	if err := s.Read("later.json", bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	_, err := s.Find(w.cluster, w.nodes)
	want := "find leaves: host0 mlx5_1:1: contradictory topologies: it is connected to rail1 leaf0 port 1 by " +
		"rail1.json, and to rail1 leaf1 port 4 by later.json"
	if !errors.Is(err, leaf.ErrContradiction) || err.Error() != want {
		t.Errorf("Find = %v, want %s", err, want)
	}
}

// TestLLDP reads what lldpctl 1.0.16 printed, in all of its forms.
func TestLLDP(t *testing.T) {
	ports := func(device string) []leaf.Port {
		if device == "eth0" {
			return []leaf.Port{{Switch: "mac be:97:15:18:aa:12", Name: "sw1.example.net", Port: "Ethernet4"}}
		}
		return []leaf.Port{{Switch: "mac 82:3e:33:65:75:e5", Name: "sw2.example.net", Port: "Ethernet8"}}
	}
	both := "sw1.example.net and sw2.example.net"
	for _, file := range []string{"two.json", "two.json0", "chassis.json", "chassis.json0"} {
		b, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		n, err := leaf.ReadNeighbours(b)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, device := range []string{"eth0", "eth1"} {
			if diff := cmp.Diff(ports(device), n.Ports(device)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", file, device, diff)
			}
		}
		if got := n.Ports("eth1", "eth0"); len(got) != 2 { // a bond
			t.Errorf("%s: ports of a bond: %v", file, got)
		}
		if got := n.Ports("eth2"); got != nil {
			t.Errorf("%s: ports of a device without neighbour: %v", file, got)
		}
	}
	w := new(world)
	w.add("host", netdev("eth0"), netdev("eth1"))
	w.add("two.example.net", netdev("eth0"), netdev("eth1"))
	w.add("one", netdev("eth0"), netdev("eth1"))
	w.add("none", netdev("eth0"))
	w.add("nobody", netdev("eth0"))
	check(t, find(t, read(t, "two.json", "chassis.json", "one.json", "none.json"), w), "lldp",
		[]string{both, both, both, "", ""},
		"one mlx5_1:1: eth1 has no LLDP neighbour", "none mlx5_0:1: eth0 has no LLDP neighbour",
		"nobody mlx5_0:1: no file has its node, and its worker has reported no LLDP neighbour")
	l := find(t, read(t, "two.json", "chassis.json0", "stranger.json="+`{"lldp": {}}`), w)
	if diff := cmp.Diff([]string{"stranger.json"}, l.Unused); diff != "" {
		t.Errorf("files of other nodes (-want +got):\n%s", diff)
	}
}

// neighbour returns an element of a list of interfaces, of eth0.
func neighbour(via, chassis, capability string) string {
	return fmt.Sprintf(`{"eth0": {"via": %q, "chassis": {%s "capability": %s}, "port": {"id": {"type": "mac", `+
		`"value": "00:00:00:00:00:01"}, "descr": "swp1"}}}`, via, chassis, capability)
}

// TestHeard checks which of several neighbours of a device is the switch.
func TestHeard(t *testing.T) {
	const (
		id     = `"id": {"type": "mac", "value": "00:11:22:33:44:AA"},`
		local  = `"id": {"type": "local", "value": "leaf1"},`
		bridge = `{"type": "Bridge", "enabled": true}`
		router = `[{"type": "Bridge", "enabled": false}, {"type": "Router", "enabled": true}]`
		host   = `[{"type": "Bridge", "enabled": false}, {"type": "Station", "enabled": true}]`
	)
	for _, tt := range []struct {
		name       string
		neighbours []string
		want       []leaf.Port
		why        string
	}{
		{
			"without a name, one capability",
			[]string{neighbour("LLDP", id, bridge)},
			[]leaf.Port{{Switch: "mac 00:11:22:33:44:aa", Name: "mac 00:11:22:33:44:aa", Port: "swp1"}},
			"",
		},
		{
			"a router",
			[]string{neighbour("LLDP", id, router)},
			[]leaf.Port{{Switch: "mac 00:11:22:33:44:aa", Name: "mac 00:11:22:33:44:aa", Port: "swp1"}},
			"",
		},
		{
			"no capabilities",
			[]string{neighbour("LLDP", id, "[]")},
			[]leaf.Port{{Switch: "mac 00:11:22:33:44:aa", Name: "mac 00:11:22:33:44:aa", Port: "swp1"}},
			"",
		},
		{
			"a host and a switch",
			[]string{neighbour("LLDP", local, host), neighbour("LLDP", id, router)},
			[]leaf.Port{{Switch: "mac 00:11:22:33:44:aa", Name: "mac 00:11:22:33:44:aa", Port: "swp1"}},
			"",
		},
		{
			"LLDP and CDP of a switch",
			[]string{neighbour("CDPv2", local, router), neighbour("LLDP", id, router)},
			[]leaf.Port{{Switch: "mac 00:11:22:33:44:aa", Name: "mac 00:11:22:33:44:aa", Port: "swp1"}},
			"",
		},
		{
			"CDP only",
			[]string{neighbour("CDPv2", local, router)},
			[]leaf.Port{{Switch: "local leaf1", Name: "local leaf1", Port: "swp1"}},
			"",
		},
		{
			"a host",
			[]string{neighbour("LLDP", id, host)},
			nil,
			"the neighbour of eth0, mac 00:11:22:33:44:aa, is no switch",
		},
		{
			"two switches",
			[]string{neighbour("LLDP", id, bridge), neighbour("LLDP", local, bridge)},
			nil, "eth0 has two neighbours, mac 00:11:22:33:44:aa and local leaf1",
		},
	} {
		text := `{"lldp": {"interface": [` + strings.Join(tt.neighbours, ",") + `]}}`
		n, err := leaf.ReadNeighbours([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, n.Ports("eth0")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if tt.why == "" {
			continue
		}
		w := new(world)
		w.add("gpu", netdev("eth0"))
		check(t, find(t, read(t, "gpu.lldp.json="+text), w), "", []string{""}, "gpu mlx5_0:1: "+tt.why)
	}
}

// TestReported uses what workers have reported, and files before it.
func TestReported(t *testing.T) {
	sw := func(name, port string) map[string]string {
		facts := leaf.Facts([]leaf.Port{{Switch: "mac " + name, Name: name, Port: port}})
		facts[result.FactNetdev] = "eth0"
		return facts
	}
	w := new(world)
	w.add("a", sw("leaf1", "1"))
	w.add("b", sw("leaf1", "2"))
	w.add("c", sw("leaf2", "1"))
	w.add("d", nil)
	missing := "d mlx5_0:1: no file has its node, and its worker has reported no LLDP neighbour"
	check(t, find(t, new(leaf.Sources), w), "lldp", []string{"leaf1", "leaf1", "leaf2", ""}, missing)
	const id = `"id": {"type": "mac", "value": "leaf2"},`
	text := `{"lldp": {"interface": ` + neighbour("LLDP", id, "[]") + `}}`
	check(t, find(t, read(t, "b.json="+text), w), "lldp", []string{"leaf1", "mac leaf2", "mac leaf2", ""}, missing)
}

// TestNoLeaves checks a cluster of which nothing is known.
func TestNoLeaves(t *testing.T) {
	w := new(world)
	w.add("a", nil)
	l := find(t, new(leaf.Sources), w)
	check(t, l, "", []string{""}, "a mlx5_0:1: no file has its node, and its worker has reported no LLDP neighbour")
	if leaves, _, _ := l.Count(); leaves != 0 {
		t.Errorf("Count() = %d leaves, want 0", leaves)
	}
}
