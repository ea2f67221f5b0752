package fabric_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// swept returns the result of a sweep of a subnet, with routes.
func swept(t *testing.T, net *subnet.Subnet) *fabric.Topology {
	t.Helper()
	var topology *fabric.Topology
	synctest.Test(t, func(t *testing.T) {
		net.Delay = roundTrip
		topology = discover(t, net.Transport("host0"), fabric.Options{Routes: true})
	})
	return topology
}

// named formats an endpoint with names.
func named(t *fabric.Topology, e fabric.Endpoint) string {
	return fmt.Sprintf("%s[%d] LID %d", t.Node(e.Port.Node).Description.String(), e.Port.Port, e.LID)
}

func TestFind(t *testing.T) {
	net := subnet.FatTree(2, 2, 1)
	net.Node("leaf0").Description = "MF0;leaf0:MQM9700/U1"
	net.Node("leaf1").Description = "MF0;leaf1:MQM9700/U1"
	net.Node("host1").Description = "host1 mlx5_0"
	net.Node("host2").Description = "host2 mlx5_0"
	net.Node("host3").Description = "mlx5_0"
	topology := swept(t, net)
	host1, leaf1 := net.Node("host1"), net.Node("leaf1")
	tests := []struct {
		text, want string
		err        error
	}{
		{"host0", "host0[1] LID 2", nil},
		{"host1", "host1 mlx5_0[1] LID 3", nil},
		{"host1 mlx5_0", "host1 mlx5_0[1] LID 3", nil},
		{"mlx5_0", "mlx5_0[1] LID 6", nil}, // a whole description takes precedence over a word of others
		{"leaf1", "MF0;leaf1:MQM9700/U1[0] LID 4", nil},
		{"leaf1[3]", "MF0;leaf1:MQM9700/U1[3] LID 4", nil},
		{"3", "host1 mlx5_0[1] LID 3", nil},
		{"0x3", "host1 mlx5_0[1] LID 3", nil},
		{fmt.Sprintf("0x%x", host1.GUID[:]), "host1 mlx5_0[1] LID 3", nil},
		{host1.GUID.String(), "host1 mlx5_0[1] LID 3", nil},
		{fmt.Sprintf("0x%x", topology.Node(host1.GUID).Ports[1].GUID[:]), "host1 mlx5_0[1] LID 3", nil},
		{fmt.Sprintf("0x%x", leaf1.GUID[:]), "MF0;leaf1:MQM9700/U1[0] LID 4", nil},
		{"MF0", "", fabric.ErrAmbiguous},
		{"leaf1[9]", "", fabric.ErrNoNode},
		{"host1[0]", "", fabric.ErrNoNode},
		{"leaf1[x]", "", nil},
		{"host9", "", fabric.ErrNoNode},
		{"99", "", fabric.ErrNoNode},
		{"0", "", fabric.ErrNoNode},
		{"", "", fabric.ErrNoNode},
		{"0x0011223344556677", "", fabric.ErrNoNode},
	}
	for _, tt := range tests {
		got, err := topology.Find(tt.text)
		switch {
		case tt.want == "" && (err == nil || tt.err != nil && !errors.Is(err, tt.err)):
			t.Errorf("Find(%q) = %v, %v, want error %v", tt.text, got, err, tt.err)
		case tt.want != "" && (err != nil || named(topology, got) != tt.want):
			t.Errorf("Find(%q) = %v, %v, want %s", tt.text, got, err, tt.want)
		}
	}
	if _, err := topology.Find("MF0"); !strings.Contains(err.Error(), `"MF0;leaf0:MQM9700/U1" (0x`) {
		t.Errorf("Find(MF0): %v, want the candidates named", err)
	}
}

func TestMatches(t *testing.T) {
	net := subnet.FatTree(1, 1, 1)
	net.Node("leaf0").Description = "MF0;leaf0:MQM9700/U1"
	topology := swept(t, net)
	leaf := topology.Node(net.Node("leaf0").GUID)
	for text, want := range map[string]bool{
		"leaf0": true, "leaf*": true, "MF0;*": true, "*/U1": true, "spine*": false, "leaf": false, "[": false,
		"1": true, "2": false, leaf.GUID().String(): true, "0x1122334455667788": false, "MQM9700/U1": true,
	} {
		if got := leaf.Matches(text); got != want {
			t.Errorf("Matches(%q) = %t, want %t", text, got, want)
		}
	}
}

func TestSelect(t *testing.T) {
	net := subnet.FatTree(2, 2, 1)
	net.Node("leaf0").Description = "MF0;leaf0:MQM9700/U1"
	net.Node("host0").Description = "host1 mlx5_0"
	net.Node("host1").Description = "host11 mlx5_0"
	net.Node("host2").Description = "gpu[1]"
	topology := swept(t, net)
	leaf := topology.Node(net.Node("leaf0").GUID).GUID()
	tests := []struct {
		text, want string
		port       int
	}{
		{"host1[1]", "host1 mlx5_0", 1},
		{"host1 mlx5_0[1]", "host1 mlx5_0", 1},
		{"host[1]", "host1 mlx5_0", -1}, // no node is named host
		{"host1[0-9]", "host11 mlx5_0", -1},
		{"host1[0]", "", 0},
		{"host1[2]", "", 2},
		{"leaf0[3]", "MF0;leaf0:MQM9700/U1", 3},
		{"leaf0[0]", "MF0;leaf0:MQM9700/U1", 0},
		{"MF0;leaf0:MQM9700/U1[3]", "MF0;leaf0:MQM9700/U1", 3},
		{fmt.Sprintf("0x%x[2]", leaf[:]), "MF0;leaf0:MQM9700/U1", 2},
		{leaf.String() + "[2]", "MF0;leaf0:MQM9700/U1", 2},
		{"leaf0[99]", "", 99},
		{"gpu[1]", "gpu[1]", -1}, // a whole name with brackets
		{"mlx5_0[1]", "host1 mlx5_0|host11 mlx5_0", 1},
		{"host*", "host1 mlx5_0|host11 mlx5_0|host3", -1},
		{"nosuch[1]", "", -1},
		{"1", "MF0;leaf0:MQM9700/U1", -1},
	}
	for _, tt := range tests {
		nodes, port := topology.Select(tt.text)
		var names []string
		for _, n := range nodes {
			names = append(names, n.Description.String())
		}
		slices.Sort(names)
		if got := strings.Join(names, "|"); got != tt.want || port != tt.port {
			t.Errorf("Select(%q) = %q, port %d, want %q, port %d", tt.text, got, port, tt.want, tt.port)
		}
	}
}

// TestOpenEnds has a host that doesn't answer, in a complete sweep and in one that ends early.
func TestOpenEnds(t *testing.T) {
	for budget, silent := range map[time.Duration]bool{0: true, 30 * time.Millisecond: false} {
		synctest.Test(t, func(t *testing.T) {
			net := subnet.FatTree(2, 2, 1)
			net.Delay = roundTrip
			net.Node("host1").Dead = true
			topology := discover(t, net.Transport("host0"), fabric.Options{Budget: budget})
			ends := topology.OpenEnds()
			want := fabric.OpenEnd{Port: fabric.PortID{Node: net.Node("leaf0").GUID, Port: 2}, Silent: silent}
			if !slices.Contains(ends, want) || silent && len(ends) != 1 {
				t.Errorf("OpenEnds within %v = %v, want %v; unreached %v", budget, ends, want, topology.Unreached)
			}
		})
	}
}

func TestTiers(t *testing.T) {
	tiers := func(net *subnet.Subnet) map[string]int {
		topology := swept(t, net)
		got := map[string]int{}
		for guid, tier := range topology.Tiers() {
			got[topology.Node(guid).Description.String()] = tier
		}
		return got
	}
	if diff := gocmp.Diff(map[string]int{"leaf0": 1, "leaf1": 1, "spine0": 2},
		tiers(subnet.FatTree(2, 2, 1))); diff != "" {
		t.Errorf("Tiers of a fat tree (-want +got):\n%s", diff)
	}
	// A management server at a spine doesn't make it a leaf; a leaf with only one running host is
	// still a leaf.
	net := subnet.FatTree(2, 6, 1)
	spine := net.Node("spine0")
	spine.Ports = append(spine.Ports, subnet.Port{})
	spine.LIDs = append(spine.LIDs, 0)
	net.Connect(spine, uint8(len(spine.Ports)-1), net.Add("ufm", mad.NodeTypeCA, 1), 1)
	for port := uint8(2); port <= 6; port++ {
		net.Disconnect(net.Node("leaf1"), port)
	}
	if diff := gocmp.Diff(map[string]int{"leaf0": 1, "leaf1": 1, "spine0": 2}, tiers(net)); diff != "" {
		t.Errorf("Tiers with a server at the spine (-want +got):\n%s", diff)
	}
}
