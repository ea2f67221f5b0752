package hosts_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/hosts"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch/consensus"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// scanned returns the snapshot of a test tree.
func scanned(t *testing.T, tree string) inventory.Snapshot {
	t.Helper()
	node, err := testtrees.Load(tree)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := inventory.Scan(t.Context(), inventory.Sources{Root: node.FS()})
	if err != nil && len(snap.Devices) == 0 {
		t.Fatal(err)
	}
	return snap
}

// copyOf returns a copy that can be changed.
func copyOf(t *testing.T, snap inventory.Snapshot) inventory.Snapshot {
	t.Helper()
	data, err := json.Marshal(snap)
	if err != nil {
		t.Fatal(err)
	}
	var out inventory.Snapshot
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// setGUIDs gives a device the identity of an adapter of the subnet.
func setGUIDs(d *inventory.Device, n *subnet.Node) {
	d.NodeGUID, d.SystemGUID = new(n.GUID), new(n.GUID)
	p := &d.Ports[0]
	guid := n.GUID
	guid[7]++
	copy(p.GIDs[0].GID[8:], guid[:])
	p.LID = new(n.LIDs[1])
}

// railHosts returns the snapshots of the hosts of a subnet of subnet.Rails with 8 rails.
func railHosts(t *testing.T, net *subnet.Subnet, count int) []inventory.Snapshot {
	t.Helper()
	one := scanned(t, "01_ib_8hca")
	var list []inventory.Snapshot
	for h := range count {
		snap := copyOf(t, one)
		snap.Host.Name = fmt.Sprintf("gpu-%02d", h)
		for i := range snap.Devices {
			setGUIDs(&snap.Devices[i], net.Node(fmt.Sprintf("%s-mlx5_%d", snap.Host.Name, i)))
		}
		list = append(list, snap)
	}
	return list
}

func sweep(t *testing.T, net *subnet.Subnet) *fabric.Topology {
	t.Helper()
	var topology *fabric.Topology
	synctest.Test(t, func(t *testing.T) {
		net.Delay = time.Millisecond
		var err error
		origin := net.Nodes[slices.IndexFunc(net.Nodes, func(n *subnet.Node) bool { return n.Type == mad.NodeTypeCA })]
		if topology, err = fabric.Discover(t.Context(), net.Transport(origin.Name), fabric.Options{}); err != nil {
			t.Fatal(err)
		}
	})
	return topology
}

func digest(t *testing.T, snaps []inventory.Snapshot) []*hosts.Host {
	t.Helper()
	var list []*hosts.Host
	for _, s := range snaps {
		h, err := hosts.NewHost(s.Host.Name+".json", s, consensus.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, h)
	}
	return list
}

// exchange swaps the cables of two adapters.
func exchange(net *subnet.Subnet, a, b string) {
	one, two := net.Node(a), net.Node(b)
	leafA, portA := one.Ports[1].Peer, one.Ports[1].PeerPort
	leafB, portB := two.Ports[1].Peer, two.Ports[1].PeerPort
	net.Disconnect(one, 1)
	net.Disconnect(two, 1)
	net.Connect(leafA, portA, two, 1)
	net.Connect(leafB, portB, one, 1)
}

// TestJoin joins 8 hosts with 8 rails each: every port has its host, PCI address and rail.
func TestJoin(t *testing.T) {
	net := subnet.Rails(2, 4, 8)
	topology := sweep(t, net)
	r := hosts.Join(topology, digest(t, railHosts(t, net, 8)))
	want := &hosts.Report{
		Hosts: 8, Ports: 64, Joined: 64, NotSwept: []hosts.NotSwept{}, Unknown: []hosts.UnknownPort{},
		NoPorts: []string{}, Contradictions: []hosts.Contradiction{},
		Rails: hosts.RailReport{Pairing: r.Rails.Pairing, Judged: 64, Odd: []hosts.OddHost{}},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if r.Rails.Pairing.Method != consensus.PairedByNumber {
		t.Errorf("pairing = %+v, want the numbers of the inventory", r.Rails.Pairing)
	}
	got := topology.Hosts[fabric.PortID{Node: net.Node("gpu-07-mlx5_3").GUID, Port: 1}]
	host := fabric.HostPort{
		Host: "gpu-07", Device: "mlx5_3", Port: 1, PCIAddress: "0000:5d:00.0", Rail: new(3), Source: "gpu-07.json",
	}
	if diff := cmp.Diff(host, got); diff != "" || got.String() != "gpu-07 mlx5_3[1] rail 3" {
		t.Errorf("port is %q (-want +got):\n%s", got, diff)
	}
	if len(topology.Hosts) != 64 {
		t.Errorf("%d ports have a host, want 64", len(topology.Hosts))
	}
}

// TestMissing joins hosts with ports that the sweep lacks, and a sweep with adapters of no host.
func TestMissing(t *testing.T) {
	net := subnet.Rails(1, 4, 8)
	snaps := railHosts(t, net, 3)
	net.Disconnect(net.Node("gpu-01-mlx5_2"), 1)
	snaps[2].Devices[5].Ports[0].GIDs[0].GID[7] = 9 // another prefix
	snaps[2].Devices[5].Ports[0].Fabric.SubnetPrefix = 0xfe80<<48 | 9
	net.Disconnect(net.Node("gpu-02-mlx5_5"), 1)
	p := &snaps[0].Devices[7].Ports[0]
	p.State, p.PhysState = inventory.PortStateDown, inventory.PhysStatePolling
	net.Disconnect(net.Node("gpu-00-mlx5_7"), 1)
	none := copyOf(t, scanned(t, "04_iwarp"))
	none.Host.Name = "login"
	topology := sweep(t, net)
	r := hosts.Join(topology, digest(t, append(snaps, none)))
	var got []string
	for _, n := range r.NotSwept {
		got = append(got, fmt.Sprintf("%s %s rail %d %s: %s", n.Host, n.Device, *n.Rail, n.PCIAddress, n.Reason))
	}
	want := []string{
		"gpu-00 mlx5_7 rail 7 0000:db:00.0: the port was DOWN (Polling) when the host was recorded",
		"gpu-01 mlx5_2 rail 2 0000:3a:00.0: the port was ACTIVE when the host was recorded: it has lost its link " +
			"since, or is in another subnet",
		"gpu-02 mlx5_5 rail 5 0000:ab:00.0: another subnet: its prefix is fe80:0000:0000:0009",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("not in the sweep (-want +got):\n%s", diff)
	}
	if r.Ports != 24 || r.Joined != 21 || len(r.Unknown) != 8 || r.Unknown[0].Name != "gpu-03 mlx5_0" {
		t.Errorf("%d of %d ports joined, unknown %+v, want 21 of 24 and the 8 of gpu-03", r.Joined, r.Ports, r.Unknown)
	}
	if diff := cmp.Diff([]string{"login"}, r.NoPorts); diff != "" {
		t.Errorf("hosts without a port (-want +got):\n%s", diff)
	}
}

// railText returns what a report says of rails.
func railText(r *hosts.Report) (list []string) {
	for _, o := range r.Rails.Odd {
		list = append(list, o.Host+": "+o.Detail)
	}
	return list
}

// TestRails exchanges cables. The expectations are the planted faults.
func TestRails(t *testing.T) {
	const group = " (3 of 3 other hosts of the group)"
	tests := []struct {
		name  string
		plant func(net *subnet.Subnet)
		want  []string
	}{
		{"two rails of a host", func(net *subnet.Subnet) {
			exchange(net, "gpu-02-mlx5_3", "gpu-02-mlx5_5")
		}, []string{"gpu-02: rails 3 and 5 are exchanged: rail 3 is at su0-rail5, rail 5 at su0-rail3" + group}},
		{"a rail of two units", func(net *subnet.Subnet) {
			exchange(net, "gpu-01-mlx5_0", "gpu-06-mlx5_0")
		}, []string{
			"gpu-01: rail 0 is at su1-rail0, not at su0-rail0" + group,
			"gpu-06: rail 0 is at su0-rail0, not at su1-rail0" + group,
		}},
		{"two hosts of a leaf", func(net *subnet.Subnet) { exchange(net, "gpu-00-mlx5_4", "gpu-01-mlx5_4") }, nil},
	}
	for _, tt := range tests {
		net := subnet.Rails(2, 4, 8)
		snaps := railHosts(t, net, 8)
		tt.plant(net)
		r := hosts.Join(sweep(t, net), digest(t, snaps))
		if diff := cmp.Diff(tt.want, railText(r)); diff != "" || r.Rails.Judged != 64 {
			t.Errorf("%s: %d judged (-want +got):\n%s", tt.name, r.Rails.Judged, diff)
		}
	}
}

// TestRailsTie has two hosts: neither is the majority.
func TestRailsTie(t *testing.T) {
	net := subnet.Rails(2, 2, 8)
	snaps := railHosts(t, net, 2)
	exchange(net, "gpu-01-mlx5_0", "gpu-02-mlx5_0")
	r := hosts.Join(sweep(t, net), digest(t, snaps))
	if len(r.Rails.Odd) != 2 || !r.Rails.Odd[0].Tie || !r.Rails.Odd[1].Tie {
		t.Fatalf("odd = %+v, want both hosts, without a majority", r.Rails.Odd)
	}
	const want = "gpu-00: rail 0 is at su0-rail0, not at su1-rail0 (1 of 1 other host of the group); " +
		"no majority: either may be wrong"
	if got := railText(r)[0]; got != want {
		t.Errorf("text = %q, want %q", got, want)
	}
}

// TestRailsUnjudged has a host alone, and a fat tree whose leaves serve all rails.
func TestRailsUnjudged(t *testing.T) {
	net := subnet.Rails(2, 1, 8)
	r := hosts.Join(sweep(t, net), digest(t, railHosts(t, net, 2)))
	if r.Rails.Judged != 0 || r.Rails.NotJudged != 16 || len(r.Rails.Odd) != 0 {
		t.Errorf("hosts without neighbours: %+v, want 16 not judged", r.Rails)
	}
	all := subnet.New()
	leaf := all.Add("leaf0", mad.NodeTypeSwitch, 16)
	for i := range 16 {
		n := all.Add(fmt.Sprintf("gpu-%02d-mlx5_%d", i/8, i%8), mad.NodeTypeCA, 1)
		all.Connect(leaf, uint8(i+1), n, 1)
	}
	r = hosts.Join(sweep(t, all), digest(t, railHosts(t, all, 2)))
	if r.Rails.Judged != 16 || len(r.Rails.Odd) != 0 {
		t.Errorf("one leaf for all rails: %+v, want 16 judged, none odd", r.Rails)
	}
}

// TestLostCard removes a card of a host: the inventory numbers the others without a gap, and PCI
// addresses show which is missing. With other addresses nothing is judged.
func TestLostCard(t *testing.T) {
	net := subnet.Rails(1, 4, 8)
	snaps := railHosts(t, net, 4)
	lost := &snaps[1]
	lost.Devices = slices.Delete(lost.Devices, 2, 3)
	inventory.AssignRoles(lost, nil)
	topology := sweep(t, net)
	r := hosts.Join(topology, digest(t, snaps))
	if len(r.Rails.Odd) != 0 || len(r.Rails.Pairing.Realigned) != 1 || r.Rails.Judged != 31 {
		t.Errorf("rails = %+v, want 31 judged, one host renumbered, none odd", r.Rails)
	}
	id := fabric.PortID{Node: net.Node("gpu-01-mlx5_3").GUID, Port: 1}
	if got := topology.Hosts[id].String(); got != "gpu-01 mlx5_3[1] rail 3" {
		t.Errorf("behind the missing card: %q, want rail 3", got)
	}
	for i := range lost.Devices {
		lost.Devices[i].PCI.Address = fmt.Sprintf("0001:%02d:00.0", i)
	}
	r = hosts.Join(topology, digest(t, snaps))
	if diff := cmp.Diff([]string{"gpu-01 (7 of 8)"}, r.Rails.Shifted); diff != "" ||
		len(r.Rails.Odd) != 0 || topology.Hosts[id].Rail != nil {
		t.Errorf("other addresses: %+v, %v; want no rails (-want +got):\n%s", r.Rails, topology.Hosts[id], diff)
	}
}

// TestLinkless has the local host with a second port that the sweep knows, but without a link.
func TestLinkless(t *testing.T) {
	host := scanned(t, "01_ib_8hca")
	host.Host.Name = "gpu-00"
	host.Devices = host.Devices[:1]
	second := copyOf(t, host).Devices[0].Ports[0]
	second.Number = 2
	host.Devices[0].Ports = append(host.Devices[0].Ports, second)
	net := subnet.New()
	leaf := net.Add("leaf0", mad.NodeTypeSwitch, 2)
	card := net.Add("gpu-00 mlx5_0", mad.NodeTypeCA, 2)
	net.Connect(leaf, 1, card, 1)
	setGUIDs(&host.Devices[0], card)
	second.GIDs[0].GID[15] = 2
	topology := sweep(t, net)
	topology.Node(card.GUID).Ports[2].Known = true
	topology.Node(card.GUID).Ports[2].Info.PortPhysicalState = mad.PortPhysicalStatePolling
	r := hosts.Join(topology, digest(t, []inventory.Snapshot{host}))
	if r.Ports != 2 || r.Joined != 1 || len(r.NotSwept) != 1 || r.NotSwept[0].Port != 2 ||
		r.NotSwept[0].Reason != "the sweep has the port without a link" {
		t.Errorf("report = %+v, want port 2 without a link", r)
	}
	if got := topology.Hosts[fabric.PortID{Node: card.GUID, Port: 2}]; got.Host != "gpu-00" || got.Port != 2 {
		t.Errorf("port 2 is %v, want it named", got)
	}
}

// TestKinds has a machine with half of the ports beside the others, at every second leaf: its rails
// 0 to 3 are at other leaves than those of the others, which is no fault.
func TestKinds(t *testing.T) {
	net := subnet.Rails(1, 4, 8)
	snaps := railHosts(t, net, 4)
	small := &snaps[3]
	var devices []inventory.Device
	for i := 0; i < 8; i += 2 {
		devices = append(devices, small.Devices[i])
	}
	small.Devices = devices
	inventory.AssignRoles(small, nil)
	topology := sweep(t, net)
	r := hosts.Join(topology, digest(t, snaps))
	if r.Rails.Judged != 24 || r.Rails.NotJudged != 4 || len(r.Rails.Odd)+len(r.Rails.Shifted) != 0 {
		t.Errorf("rails = %+v, want the 24 of the three others judged", r.Rails)
	}
	id := fabric.PortID{Node: net.Node("gpu-03-mlx5_6").GUID, Port: 1}
	if got := topology.Hosts[id].String(); got != "gpu-03 mlx5_6[1] rail 3" {
		t.Errorf("last port of the small machine = %q, want its rail 3", got)
	}
}

// TestDescriptions has node descriptions that ibdiagnet printed of a real fabric of 7,982 adapters,
// whose hosts they name in several forms.
func TestDescriptions(t *testing.T) {
	const generic = "MT4129 ConnectX7   Mellanox Technologies"
	net := subnet.Rails(1, 1, 8)
	snaps := railHosts(t, net, 1)
	for _, tt := range []struct {
		host, description string
		want              hosts.Kind
	}{
		{"zoho022", "zoho022 HCA-7", ""},
		{"kepler-h100-009", "kepler-h100-009 mlx5_0", ""},
		{"bm-p1-hgx-228", "bm-p1-hgx-228 ibp193s0", ""},
		{"p5-hgx-190.example.com", "P5-HGX-190 mlx5_0", ""},
		{"run-pod-121", "run-pod-27 mlx5_9", hosts.KindOtherName},
		{"run-pod-121", generic, hosts.KindNoHostName},
		{"run-pod-121", "", hosts.KindNoHostName},
	} {
		for i := range 8 {
			net.Node(fmt.Sprintf("gpu-00-mlx5_%d", i)).Description = tt.host + " HCA-1"
		}
		net.Node("gpu-00-mlx5_0").Description = tt.description + " "
		snaps[0].Host.Name = tt.host
		r := hosts.Join(sweep(t, net), digest(t, snaps))
		var kind hosts.Kind
		for _, c := range r.Contradictions {
			kind = c.Kind
		}
		if kind != tt.want || len(r.Contradictions) > 1 {
			t.Errorf("%s described as %q: %+v, want %q", tt.host, tt.description, r.Contradictions, tt.want)
		}
	}
}

// TestContradictions has stale node descriptions, moved cards and two hosts with the same card.
func TestContradictions(t *testing.T) {
	net := subnet.Rails(1, 4, 8)
	snaps := railHosts(t, net, 4)
	net.Node("gpu-00-mlx5_1").Description = "MT4129 ConnectX7   Mellanox Technologies"
	net.Node("gpu-00-mlx5_2").Description = "MT4129 ConnectX7   Mellanox Technologies"
	net.Node("gpu-01-mlx5_4").Description = "gpu-02 mlx5_4"
	net.Node("gpu-02-mlx5_0").Description = "oldname mlx5_0"
	net.Node("gpu-02-mlx5_6").Description = "gpu-02 mlx5_7"
	net.Node("gpu-02-mlx5_1").Description = "GPU-02.cluster mlx5_1" // the same name
	snaps[3].Devices[7] = copyOf(t, snaps[2]).Devices[7]
	twice := copyOf(t, snaps[0])
	list := digest(t, snaps)
	topology := sweep(t, net)
	r := hosts.Join(topology, list)
	var got []string
	for _, c := range r.Contradictions {
		got = append(got, fmt.Sprintf("%s %s %d: %s", c.Host, c.Kind, len(c.Ports), c.Detail))
	}
	guid := net.Node("gpu-02-mlx5_7").GUID
	guid[7]++
	want := []string{
		fmt.Sprintf("gpu-02 duplicate-guid 1: port GUID 0x%x is of gpu-02 mlx5_7 (gpu-02.json) and gpu-03 mlx5_7 "+
			"(gpu-03.json): no host is shown", guid[:]),
		`gpu-00 no-host-name 2: the node description of gpu-00 mlx5_1, mlx5_2 is "MT4129 ConnectX7   Mellanox ` +
			`Technologies", which names no host: rdma-ndd hasn't set it`,
		"gpu-01 other-host 1: the node description of gpu-01 mlx5_4 names gpu-02: the card was moved, or the " +
			"description is stale (rdma-ndd sets it)",
		`gpu-02 other-device 1: the node description of gpu-02 mlx5_6 is "gpu-02 mlx5_7": the devices were renamed ` +
			"since it was set",
		"gpu-02 other-name 1: the node description of gpu-02 mlx5_0 names oldname, of which there is no recording: " +
			"the host was renamed, or the description is stale",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("contradictions (-want +got):\n%s", diff)
	}
	if h, ok := topology.Hosts[fabric.PortID{Node: net.Node("gpu-02-mlx5_7").GUID, Port: 1}]; ok {
		t.Errorf("a port of two hosts is shown as %v", h)
	}
	r = hosts.Join(topology, digest(t, append(snaps[:1:1], twice)))
	if len(r.Contradictions) < 8 || !strings.Contains(r.Contradictions[0].Detail, "several recordings of the host") ||
		topology.Hosts[fabric.PortID{Node: net.Node("gpu-00-mlx5_0").GUID, Port: 1}].Host != "gpu-00" {
		t.Errorf("a host given twice: %+v, want 8 contradictions and its name", r.Contradictions)
	}
}

// TestFunctions joins a pod that has virtual functions only, and a host with physical and virtual
// ones. A subnet doesn't see the ports of virtual functions.
func TestFunctions(t *testing.T) {
	host := scanned(t, "61_ib_vfs_host")
	net := subnet.New()
	leaf := net.Add("leaf0", mad.NodeTypeSwitch, 8)
	physical := 0
	for i := range host.Devices {
		d := &host.Devices[i]
		if d.VF != nil || d.Ports[0].LinkLayer != inventory.LinkLayerInfiniBand {
			continue
		}
		n := net.Add("node"+d.Name, mad.NodeTypeCA, 1)
		net.Connect(leaf, uint8(physical+1), n, 1)
		n.Description = host.Host.Name + " " + d.Name
		setGUIDs(d, n)
		physical++
	}
	topology := sweep(t, net)
	r := hosts.Join(topology, digest(t, []inventory.Snapshot{host}))
	if r.Functions == 0 || r.Ports != physical || r.Joined != physical || len(r.NotSwept) != 0 {
		t.Errorf("report = %+v, want %d ports, all joined, and functions", r, physical)
	}
	first := slices.IndexFunc(host.Devices, func(d inventory.Device) bool { return d.VF == nil && d.PCI != nil })
	pod := copyOf(t, host)
	pod.Host.Name = "pod-a"
	pod.Devices = slices.DeleteFunc(pod.Devices, func(d inventory.Device) bool { return d.VF == nil })
	for i := range pod.Devices {
		pod.Devices[i].SystemGUID, pod.Devices[i].Ports[0].LID = new(ib.GUID), nil
	}
	pod.Devices[0].SystemGUID = host.Devices[first].SystemGUID
	pod.Devices[0].Ports[0].LID = host.Devices[first].Ports[0].LID
	r = hosts.Join(topology, digest(t, []inventory.Snapshot{pod}))
	id := fabric.PortID{Node: *host.Devices[first].NodeGUID, Port: 1}
	if got := topology.Hosts[id]; got.Host != "pod-a" || len(topology.Hosts) != 1 || len(r.Contradictions) != 0 {
		t.Errorf("the card of the pod is %v of %v, %+v", got, topology.Hosts, r)
	}
}

// TestPlanes joins a multi-plane card: the subnet has the ports of its SMI device.
func TestPlanes(t *testing.T) {
	host := scanned(t, "52_xdr")
	host.Host.Name = "gpu-00"
	net := subnet.New()
	smi := net.Add("gpu-00 smi1", mad.NodeTypeCA, 4)
	core := net.Add("core", mad.NodeTypeSwitch, 4)
	for p := range 4 {
		leaf := net.Add(fmt.Sprintf("plane%d", p), mad.NodeTypeSwitch, 2)
		net.Connect(leaf, 1, smi, uint8(p+1))
		net.Connect(leaf, 2, core, uint8(p+1))
	}
	for i := range host.Devices {
		d := &host.Devices[i]
		d.SMIOf = map[string]string{"smi0": "mlx5_0", "smi1": "mlx5_1"}[d.Name]
		if d.Name == "smi1" {
			d.NodeGUID = new(smi.GUID)
		}
	}
	topology := sweep(t, net)
	r := hosts.Join(topology, digest(t, []inventory.Snapshot{host}))
	got := topology.Hosts[fabric.PortID{Node: smi.GUID, Port: 3}]
	if got.Device != "mlx5_1" || got.Plane != 3 || !strings.HasPrefix(got.String(), "gpu-00 mlx5_1[1] plane 3") {
		t.Errorf("port 3 of smi1 is %v, want plane 3 of mlx5_1", got)
	}
	if len(r.NotSwept) != 1 || r.NotSwept[0].Device != "mlx5_0" || r.NotSwept[0].Plane != 0 || r.Joined != 5 {
		t.Errorf("%d joined, not swept %+v; want mlx5_1 with four planes, and mlx5_0 missing once",
			r.Joined, r.NotSwept)
	}
	net.Disconnect(smi, 3)
	r = hosts.Join(sweep(t, net), digest(t, []inventory.Snapshot{host}))
	if len(r.NotSwept) != 2 || r.NotSwept[1].Device != "mlx5_1" || r.NotSwept[1].Plane != 3 {
		t.Errorf("without the cable of plane 3: not swept %+v", r.NotSwept)
	}
}
