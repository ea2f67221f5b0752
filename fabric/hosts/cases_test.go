package hosts_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/hosts"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestUnevenUnits moves a rail of a host in a small unit to a large one: the hosts there share one
// leaf with it, those of its own unit seven.
func TestUnevenUnits(t *testing.T) {
	net := subnet.Rails(2, 6, 8)
	snaps := railHosts(t, net, 12)
	snaps = append(snaps[:3], snaps[6:]...)
	exchange(net, "gpu-01-mlx5_0", "gpu-07-mlx5_0")
	r := hosts.Join(sweep(t, net), digest(t, snaps))
	var got []string
	for _, o := range r.Rails.Odd {
		for _, rail := range o.Rails {
			got = append(got, fmt.Sprintf("%s rail %d: %s, usual %s", o.Host, rail.Rail, rail.Leaf, rail.Usual))
		}
	}
	want := []string{"gpu-01 rail 0: su1-rail0, usual su0-rail0", "gpu-07 rail 0: su0-rail0, usual su1-rail0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("odd (-want +got):\n%s", diff)
	}
}

// TestAmbiguousAddresses lacks a card, and the other hosts have the addresses of two cards at
// different rails: it isn't known which is missing.
func TestAmbiguousAddresses(t *testing.T) {
	net := subnet.Rails(1, 3, 8)
	snaps := railHosts(t, net, 3)
	a, b := snaps[2].Devices[4].PCI, snaps[2].Devices[5].PCI
	a.Address, b.Address = b.Address, a.Address
	snaps[1].Devices = slices.Delete(snaps[1].Devices, 2, 3)
	inventory.AssignRoles(&snaps[1], nil)
	topology, list := sweep(t, net), digest(t, snaps)
	for range 20 { // in any order of the votes
		r := hosts.Join(topology, list)
		if diff := cmp.Diff([]string{"gpu-01 (7 of 8)"}, r.Rails.Shifted); diff != "" {
			t.Fatalf("shifted (-want +got):\n%s", diff)
		}
	}
}

// TestNameless has a recording without a host name: a node description can't contradict it.
func TestNameless(t *testing.T) {
	net := subnet.Rails(1, 1, 8)
	snaps := railHosts(t, net, 1)
	snaps[0].Host.Name = "(none)"
	topology := sweep(t, net)
	r := hosts.Join(topology, digest(t, snaps))
	got := topology.Hosts[fabric.PortID{Node: net.Node("gpu-00-mlx5_0").GUID, Port: 1}]
	if len(r.Contradictions) != 0 || got.Host != "(none)" {
		t.Errorf("host %q, contradictions %+v; want the file's name, none", got.Host, r.Contradictions)
	}
}

// TestAmbiguousFunction has a virtual function whose card has two ports with its LID.
func TestAmbiguousFunction(t *testing.T) {
	host := scanned(t, "61_ib_vfs_host")
	pf := slices.IndexFunc(host.Devices, func(d inventory.Device) bool {
		return d.VF == nil && d.Ports[0].LinkLayer == inventory.LinkLayerInfiniBand
	})
	vf := slices.IndexFunc(host.Devices, func(d inventory.Device) bool { return d.VF != nil })
	net := subnet.New()
	leaf := net.Add("leaf0", mad.NodeTypeSwitch, 2)
	card := net.Add("card", mad.NodeTypeCA, 1)
	net.Connect(leaf, 1, card, 1)
	card.Description = host.Host.Name + " " + host.Devices[pf].Name
	setGUIDs(&host.Devices[pf], card)
	// A function with the GUIDs of its card's device is no second host.
	host.Devices[vf].NodeGUID, host.Devices[vf].SystemGUID = new(card.GUID), new(card.GUID)
	host.Devices[vf].Ports[0].LID = new(card.LIDs[1])
	both := copyOf(t, host)
	both.Devices = []inventory.Device{both.Devices[pf], both.Devices[vf]}
	r := hosts.Join(sweep(t, net), digest(t, []inventory.Snapshot{both}))
	if len(r.Contradictions) != 0 || r.Joined != 1 || r.Functions != 1 {
		t.Errorf("report = %+v, want a port and a function", r)
	}
	pod := copyOf(t, host)
	pod.Devices = pod.Devices[vf : vf+1]
	other := net.Add("other", mad.NodeTypeCA, 1)
	net.Connect(leaf, 2, other, 1)
	topology := sweep(t, net)
	topology.Node(other.GUID).Info.SystemImageGUID = topology.Node(card.GUID).Info.SystemImageGUID
	topology.Node(other.GUID).Ports[1].Info.LID = card.LIDs[1]
	hosts.Join(topology, digest(t, []inventory.Snapshot{pod}))
	if len(topology.Hosts) != 0 {
		t.Errorf("the function is at %v, want it nowhere: two ports have its card and LID", topology.Hosts)
	}
}
