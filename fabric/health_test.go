package fabric_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
)

// portOf finds a port by its name in lists: "leaf1[2]".
func portOf(t *testing.T, topology *fabric.Topology, name string) fabric.PortID {
	t.Helper()
	e, err := topology.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return e.Port
}

func TestIsOneSided(t *testing.T) {
	topology := swept(t, subnet.FatTree(2, 2, 1))
	at := portOf(t, topology, "leaf1[2]") // the cable of host3
	topology.Anomalies = append(topology.Anomalies, fabric.Anomaly{Kind: fabric.AnomalyOneSided, At: at})
	for name, want := range map[string]bool{"host0": false, "leaf0": false, "leaf1": true, "host3": true} {
		if got := topology.IsOneSided(topology.Node(portOf(t, topology, name).Node)); got != want {
			t.Errorf("IsOneSided(%s) = %v, want %v", name, got, want)
		}
	}
}

// TestFaultyLinks narrows one link and cuts another.
func TestFaultyLinks(t *testing.T) {
	net := subnet.FatTree(2, 2, 1)
	before := swept(t, net)
	narrow(net.Node("leaf1"), 1)
	narrow(net.Node("host2"), 1)
	net.Disconnect(net.Node("leaf1"), 2)
	after := swept(t, net)
	var faulty []string
	for _, l := range after.Links() {
		if l = after.Ordered(l); after.IsFaulty(l) {
			faulty = append(faulty, after.Node(l.A.Node).Name()+" "+after.Node(l.B.Node).Name())
		}
	}
	if diff := cmp.Diff([]string{"leaf1 host2"}, faulty); diff != "" {
		t.Errorf("faulty links (-want +got):\n%s", diff)
	}
	leaf := portOf(t, after, "leaf1[2]")
	want := fabric.DownPort{Port: leaf, Was: portOf(t, before, "host3")}
	found := false
	for _, down := range after.DownPorts(before) {
		found = found || down == want
	}
	if !found {
		t.Errorf("DownPorts = %+v, want %+v among them", after.DownPorts(before), want)
	}
	if up, active := after.Node(leaf.Node).PortsUp(); up != 2 || active != 2 {
		t.Errorf("PortsUp of leaf1 = %d, %d, want 2, 2", up, active)
	}
}

func TestNames(t *testing.T) {
	topology := swept(t, subnet.FatTree(3, 4, 1))
	var names []string
	for _, n := range topology.NodesByName() {
		names = append(names, n.Name())
	}
	if len(names) != 16 || names[2] != "host2" || names[10] != "host10" {
		t.Errorf("NodesByName = %q, want host2 before host10", names)
	}
	leaf := topology.Node(portOf(t, topology, "leaf0").Node)
	bundles := topology.Bundles(leaf, topology.Tiers())
	if len(bundles) != 5 || bundles[0].Peer.Name() != "spine0" || bundles[1].Peer.Name() != "host0" {
		t.Errorf("Bundles(leaf0) = %+v, want the spine first", bundles)
	}
	if routes, counters := topology.HasRoutes(), topology.HasCounters(); leaf.LIDs() == "" || !routes || counters {
		t.Errorf("LIDs of leaf0 = %q, routes %v, counters %v", leaf.LIDs(), routes, counters)
	}
}
