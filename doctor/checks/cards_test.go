package checks_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// function makes an active RoCE compute function of a dual-port card, as plain data.
func function(card, fn int) inventory.Device {
	name := fmt.Sprintf("mlx5_%d", 2*card+fn)
	path := "/sys/class/infiniband/" + name
	return inventory.Device{
		Name: name, Path: path, NodeType: inventory.NodeTypeCA, Firmware: "28.39.2048", BoardID: "MT_0000000838",
		SystemGUID: &ib.GUID{0xb8, 0x3f, 0xd2, 3, 0, 0xa5, 0x10, byte(card)}, Driver: "mlx5_core",
		PCI: &inventory.PCI{
			Address: fmt.Sprintf("0000:%02x:00.%d", 0x18+card, fn), Path: "/sys/bus/pci/devices/x", VendorID: 0x15b3,
			DeviceID: 0x1021,
		},
		Ports: []inventory.Port{{
			Number: 1, Path: path + "/ports/1", State: inventory.PortStateActive, PhysState: inventory.PhysStateLinkUp,
			LinkLayer: inventory.LinkLayerEthernet, Transport: inventory.TransportRoCEv2,
			Rate: &inventory.Rate{GbPerSecond: 400, Width: 4, Generation: "NDR"}, Netdev: "net_" + name,
			Role: inventory.RoleCompute, RoleReason: "made up",
		}},
	}
}

// vf makes a virtual function of the first function of the first card.
func vf(index int) inventory.Device {
	d := function(0, 0)
	d.Name = fmt.Sprintf("mlx5_vf%d", index)
	d.PCI.Address = fmt.Sprintf("0000:18:00.%d", 2+index)
	d.VF = &inventory.VFInfo{ParentAddress: "0000:18:00.0", ParentDevice: "mlx5_0", Index: &index}
	d.Ports[0].Role = inventory.RoleUnknown
	d.Ports[0].Netdev = ""
	return d
}

func down(d inventory.Device) inventory.Device {
	d.Ports[0].State, d.Ports[0].PhysState = inventory.PortStateDown, inventory.PhysStatePolling
	return d
}

func snapshot(devices ...inventory.Device) inventory.Snapshot {
	return inventory.Snapshot{Schema: inventory.Schema, Devices: devices}
}

func expect(t *testing.T, id string, snap inventory.Snapshot, want ...string) doctor.Report {
	t.Helper()
	r := runCheck(t, id, snap)
	if diff := cmp.Diff(want, brief(r)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", id, diff)
	}
	return r
}

func TestSecondPortsOfCards(t *testing.T) {
	// Three cards, each with a cable in its first port only: as intended.
	expect(t, "port-active",
		snapshot(function(0, 0), down(function(0, 1)), function(1, 0), down(function(1, 1)), function(2, 0),
			down(function(2, 1))), "pass node", "info mlx5_1:1", "info mlx5_3:1", "info mlx5_5:1")
	// The other cards use both.
	expect(t, "port-active",
		snapshot(function(0, 0), down(function(0, 1)), function(1, 0), function(1, 1), function(2, 0), function(2, 1)),
		"fail mlx5_1:1")
	expect(t, "port-active", snapshot(function(0, 0), down(function(0, 1)), function(1, 0), function(1, 1)),
		"fail mlx5_1:1")
	// A card of which neither port works is no spare.
	expect(t, "port-active", snapshot(down(function(0, 0)), down(function(0, 1)), function(1, 0), down(function(1, 1))),
		"fail mlx5_0:1", "fail mlx5_1:1", "info mlx5_3:1")
	// A link without a port is a fault, whatever the sibling does.
	linked := down(function(0, 1))
	linked.Ports[0].PhysState = inventory.PhysStateLinkUp
	expect(t, "port-active", snapshot(function(0, 0), linked), "fail mlx5_1:1")
}

func TestPortsThatJobsDoNotUse(t *testing.T) {
	storage := down(function(1, 0))
	storage.Ports[0].Role = inventory.RoleStorage
	snap := snapshot(function(0, 0), storage)
	expect(t, "port-active", snap, "pass node", "info mlx5_2:1")
	snap.Netdevs = []inventory.Netdev{
		{Name: "net_mlx5_2", Path: "/sys/class/net/net_mlx5_2", AdminUp: true, Carrier: new(bool)},
	}
	expect(t, "port-active", snap, "warn mlx5_2:1")
}

// Virtual functions beside their physical function wait for a pod or a virtual machine.
func TestVirtualFunctionsBesideTheirPF(t *testing.T) {
	pf := function(0, 0)
	snap := snapshot(pf, down(vf(0)), vf(1), vf(2))
	expect(t, "port-active", snap, "pass node")
	expect(t, "mtu", snap, "not-applicable node")
	expect(t, "firmware", snap, "not-applicable node")
	r := expect(t, "role", snap, "pass node", "info mlx5_0")
	if got := r.Findings[1].Summary; !strings.Contains(got, "2 active virtual functions") ||
		!strings.Contains(got, "mlx5_vf1:1, mlx5_vf2:1") {
		t.Errorf("role says %q, want both virtual functions", got)
	}
}

// In a pod that has one, netlink may report the PF's network device.
func TestVirtualFunctionDownNamesItsPF(t *testing.T) {
	d := down(vf(3))
	d.VF.ParentDevice = ""
	d.Ports[0].Role = inventory.RoleCompute
	snap := snapshot(d)
	snap.Netdevs = []inventory.Netdev{{Name: "ens0np0", PCI: "0000:18:00.0"}}
	r := expect(t, "port-active", snap, "fail mlx5_vf3:1")
	if got, want := r.Findings[0].Remedy[1], "ip link set dev ens0np0 vf 3 state auto"; got != want {
		t.Errorf("remedy = %q, want %q", got, want)
	}
}

// Functions of a card share its firmware and must not outvote other cards.
func TestFirmwareCountsCards(t *testing.T) {
	old := function(1, 0)
	old.Firmware = "28.38.1002"
	r := expect(t, "firmware", snapshot(function(0, 0), function(0, 1), old), "warn mlx5_0", "warn mlx5_2")
	if got := r.Findings[0].Summary; !strings.Contains(got, "the cards of board") {
		t.Errorf("firmware says %q, want no majority of one card over the other", got)
	}
}

func TestRolesOfComputePorts(t *testing.T) {
	infiniBand := function(1, 0)
	infiniBand.Ports[0].LinkLayer, infiniBand.Ports[0].Transport = inventory.LinkLayerInfiniBand,
		inventory.TransportInfiniBand
	r := expect(t, "role", snapshot(function(0, 0), infiniBand), "pass node", "info node")
	if got := r.Findings[1].Summary; !strings.Contains(got, "InfiniBand (mlx5_2:1)") ||
		!strings.Contains(got, "Ethernet (mlx5_0:1)") {
		t.Errorf("role says %q, want both link layers", got)
	}

	withRoute := func(devices ...inventory.Device) inventory.Snapshot {
		snap := snapshot(devices...)
		snap.Netdevs = []inventory.Netdev{{Name: "net_mlx5_0", Path: "/sys/class/net/net_mlx5_0"}}
		snap.Host.DefaultRoutes = []inventory.DefaultRoute{
			{Family: "ipv6", Netdev: "net_mlx5_0", Gateway: "fe80::1", Metric: 1024},
		}
		return snap
	}
	expect(t, "role", withRoute(function(0, 0)), "pass node", "info mlx5_0:1")
	r = expect(t, "role", withRoute(function(0, 0), function(1, 0)), "pass node", "info mlx5_0:1")
	if got, want := r.Findings[1].Evidence[0].String(),
		"/proc/net/ipv6_route = default via fe80::1 dev net_mlx5_0 metric 1024"; got != want {
		t.Errorf("evidence = %q, want %q", got, want)
	}

	// The route may be on a VLAN on the port's bond.
	snap := withRoute(function(0, 0), function(1, 0))
	snap.Netdevs = []inventory.Netdev{
		{Name: "net_mlx5_0", Master: "bond0"},
		{Name: "bond0", Bond: &inventory.Bond{}},
		{Name: "bond0.7", Lower: "bond0"},
		{Name: "net_mlx5_2"},
	}
	for _, name := range []string{"bond0", "bond0.7"} {
		snap.Host.DefaultRoutes[0].Netdev = name
		r = expect(t, "role", snap, "pass node", "info mlx5_0:1")
		if got, want := r.Findings[1].Summary, "the default route uses this compute port ("+name+")"; got != want {
			t.Errorf("role says %q, want %q", got, want)
		}
	}
	snap.Host.DefaultRoutes[0].Netdev = "eno1"
	expect(t, "role", snap, "pass node")

	storage := function(0, 0)
	storage.Ports[0].Role = inventory.RoleStorage
	expect(t, "role", snapshot(storage), "info node")
}

func TestMTURemedies(t *testing.T) {
	small := func(n inventory.Netdev) inventory.Netdev {
		n.Name, n.Path, n.MTU = "net_mlx5_0", "/sys/class/net/net_mlx5_0", 1500
		return n
	}
	bond := inventory.Netdev{Name: "bond0", Bond: &inventory.Bond{Mode: "802.3ad", Slaves: []string{"net_mlx5_0"}}}
	tests := []struct {
		name    string
		device  inventory.Device
		netdevs []inventory.Netdev
		want    []string
	}{
		{"plain", function(0, 0), []inventory.Netdev{small(inventory.Netdev{})}, []string{
			"# ip link set dev net_mlx5_0 mtu 9000",
		}},
		{
			"bond", function(0, 0),
			[]inventory.Netdev{small(inventory.Netdev{Master: "bond0"}), bond},
			[]string{"# ip link set dev bond0 mtu 9000"},
		},
		{"bridge", function(0, 0), []inventory.Netdev{small(inventory.Netdev{Master: "br0"}), {Name: "br0"}}, []string{
			"# ip link set dev net_mlx5_0 mtu 9000",
		}},
		{
			"vlan", function(0, 0),
			[]inventory.Netdev{small(inventory.Netdev{Lower: "ens0"})},
			[]string{"# ip link set dev ens0 mtu 9000", "# ip link set dev net_mlx5_0 mtu 9000"},
		},
	}
	for _, tt := range tests {
		snap := snapshot(tt.device)
		snap.Netdevs = tt.netdevs
		f := expect(t, "mtu", snap, "warn mlx5_0:1").Findings[0]
		if diff := cmp.Diff(tt.want, f.Remedy[1:]); diff != "" {
			t.Errorf("%s: remedy (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A card of which no port has an address can't be used at all.
func TestCardWithoutAddresses(t *testing.T) {
	linkLocal := func(d inventory.Device) inventory.Device {
		d.Ports[0].GIDs = []inventory.GIDEntry{
			{GID: ib.GIDFromAddr(netip.MustParseAddr("fe80::1")), Type: inventory.GIDTypeRoCEv2},
		}
		return d
	}
	expect(t, "gid-routable", snapshot(linkLocal(function(0, 0)), linkLocal(function(0, 1)), function(1, 0)),
		"fail mlx5_0:1", "fail mlx5_1:1")
	rated := func(d inventory.Device) inventory.Device {
		d.Ports[0].Rate = &inventory.Rate{GbPerSecond: 200}
		return d
	}
	routable := rated(function(0, 1))
	routable.Ports[0].GIDs = []inventory.GIDEntry{
		{GID: ib.GIDFromAddr(netip.MustParseAddr("10.0.0.1")), Type: inventory.GIDTypeRoCEv2},
	}
	expect(t, "gid-routable", snapshot(rated(linkLocal(function(0, 0))), routable), "warn mlx5_0:1")
	expect(t, "gid-routable", snapshot(rated(linkLocal(function(0, 0))), rated(linkLocal(function(0, 1)))),
		"fail mlx5_0:1", "fail mlx5_1:1")
}

func TestSaturatedLinkDowned(t *testing.T) {
	r := runCheck(t, "link-downed", scan(t, load(t, "53_counters_saturated", nil)))
	got := text(r.Findings[len(r.Findings)-1])
	if !strings.Contains(got, "255 times or more") || !strings.Contains(got, "perfquery -R") {
		t.Errorf("link-downed says %q, want the end of the counter and how to reset it", got)
	}
}

// Without a compute port the uncertain ones are judged, and the check role says how to use them.
func TestUncertainPortsWithoutCompute(t *testing.T) {
	n, err := realnodes.Load("h20_ib_rails_down_bf3_up")
	if err != nil {
		t.Fatal(err)
	}
	snap := scan(t, n.Tree)
	r := expect(t, "role", snap, "info node")
	for _, word := range []string{
		"no active compute port; uncertain: mlx5_1:1, mlx5_2:1 (", "have no link", "management: mlx5_bond_0:1",
		"\nrdmactl env --include mlx5_1:1,mlx5_2:1",
	} {
		if got := text(r.Findings[0]); !strings.Contains(got, word) {
			t.Errorf("role says %q, want %q in it", got, word)
		}
	}
	expect(t, "port-active", snap, "fail mlx5_0:1", "fail mlx5_3:1", "fail mlx5_4:1", "fail mlx5_7:1")
	expect(t, "mtu", snap, "pass node", "info mlx5_bond_0:1")

	uncertain := snap.Device("mlx5_1")
	uncertain.Ports[0].GIDs = []inventory.GIDEntry{
		{GID: ib.GIDFromAddr(netip.MustParseAddr("fe80::1")), Type: inventory.GIDTypeRoCEv2},
	}
	expect(t, "gid-routable", snap, "warn mlx5_1:1")
	snap.Device("mlx5_2").Ports[0].Role = inventory.RoleCompute
	expect(t, "gid-routable", snap, "pass node", "info mlx5_1:1")
}

// Two ports of 200 Gb/s share x16 at 16 GT/s, which carries 16 * 16 * 128/130 = 252 Gb/s: a note.
func TestPortsShareAPCIeLink(t *testing.T) {
	tree := func(name string) inventory.Snapshot {
		n, err := realnodes.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		return scan(t, n.Tree)
	}
	snap := tree("hygon_dcu_dual_port_cards")
	r := expect(t, "pcie-link", snap, "pass node", "info mlx5_0:1", "info mlx5_4:1")
	for _, word := range []string{
		"2 compute ports share a PCI Express link of 252 Gb/s (x16 at 16 GT/s), and have 400 Gb/s together: " +
			"mlx5_0:1, mlx5_1:1", "current_link_width = 16", "mlx5_1/ports/1/rate = 200 Gb/sec",
	} {
		if got := text(r.Findings[1]); !strings.Contains(got, word) {
			t.Errorf("pcie-link says %q, want %q in it", got, word)
		}
	}
	checkFinding(t, check(t, "pcie-link"), r.Findings[1])
	second := &snap.Device("mlx5_1").Ports[0]
	second.State = inventory.PortStateDown
	expect(t, "pcie-link", snap, "pass node", "info mlx5_4:1")
	second.State = inventory.PortStateActive
	snap.Device("mlx5_1").PCI.Link, snap.Device("mlx5_0").PCI.Link = &inventory.PCILink{GTPerSecond: 8, Width: 16},
		&inventory.PCILink{GTPerSecond: 8, Width: 16}
	expect(t, "pcie-link", snap, "warn mlx5_0:1", "warn mlx5_1:1", "info mlx5_4:1")
	// 504 Gb/s carry two ports of 200 Gb/s.
	expect(t, "pcie-link", tree("sr675_rtxpro_cx7"), "pass node")
}

// Ports of the compute ports' board with another link layer are a warning, until the owner says
// what they are for.
func TestOtherLinkLayerOfOneBoard(t *testing.T) {
	n, err := realnodes.Load("sr675_rtxpro_cx7")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(n.Right.Warn, "another link layer than the rest (mlx5_2, mlx5_3 Ethernet)") {
		t.Fatalf("the head wants %q", n.Right.Warn)
	}
	snap := scan(t, n.Tree)
	r := expect(t, "role", snap, "info mlx5_0:1", "warn mlx5_2:1", "warn mlx5_3:1", "info mlx5_10:1", "info mlx5_11:1")
	for _, word := range []string{
		"Ethernet on the board of the compute ports, which are InfiniBand", "mstconfig -d 0000:",
		"RDMAKIT_ROLES='mlx5_2:1=storage,mlx5_3:1=storage'", "link_layer = Ethernet",
	} {
		if got := text(r.Findings[1]); !strings.Contains(got, word) {
			t.Errorf("role says %q, want %q in it", got, word)
		}
	}
	site, err := inventory.ParseRoleSettings("mlx5_2:1=storage,mlx5_3:1=storage")
	if err != nil {
		t.Fatal(err)
	}
	inventory.AssignRoles(&snap, site)
	expect(t, "role", snap,
		"pass node", "info mlx5_0:1", "info mlx5_2:1", "info mlx5_3:1", "info mlx5_10:1", "info mlx5_11:1")
}
