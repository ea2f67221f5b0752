//go:build unix

package cluster

import (
	"io"
	"log/slog"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/worker"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/testkit/script"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestPlaceOf checks the facts by which topologies know the ports of recorded nodes.
func TestPlaceOf(t *testing.T) {
	for _, tt := range []struct {
		tree, device string
		want         map[string]string
	}{
		{"01_ib_8hca", "mlx5_0", map[string]string{
			result.FactNodeGUID: "b83f:d203:00a5:1000", result.FactPortGUID: "b83f:d203:00a5:1000",
		}},
		{"02_rocev2_8hca", "mlx5_1", map[string]string{
			result.FactNodeGUID: "b83f:d203:00a5:1001", result.FactNetdev: "ens1np0",
		}},
	} {
		tree, err := testtrees.Load(tt.tree)
		if err != nil {
			t.Fatal(err)
		}
		snap, _ := inventory.Scan(t.Context(), inventory.Sources{Root: tree.FS()})
		d := snap.Device(tt.device)
		if diff := cmp.Diff(tt.want, placeOf(&snap, d, &d.Ports[0])); diff != "" {
			t.Errorf("place of %s of %s (-want +got):\n%s", tt.device, tt.tree, diff)
		}
	}
	bond := &inventory.Bond{Mode: "802.3ad", Slaves: []string{"eth0", "eth1"}}
	snap := inventory.Snapshot{Netdevs: []inventory.Netdev{{Name: "bond0", Bond: bond}}}
	got := placeOf(&snap, &inventory.Device{}, &inventory.Port{LinkLayer: inventory.LinkLayerEthernet, Netdev: "bond0"})
	if want := "eth0, eth1"; got[result.FactNetdev] != want {
		t.Errorf("network devices of a bond = %q, want %q", got[result.FactNetdev], want)
	}
}

// TestSubnetOf checks the subnets of addresses; one that is known without its length has none.
func TestSubnetOf(t *testing.T) {
	n := &inventory.Netdev{Addresses: []netip.Prefix{
		netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("198.51.100.130/25"),
		netip.MustParsePrefix("2001:db8::7/64"),
	}}
	for addr, want := range map[string]string{
		"192.0.2.7": "", "198.51.100.130": "198.51.100.128/25", "2001:db8::7": "2001:db8::/64", "192.0.2.9": "",
	} {
		if got := subnetOf(n, netip.MustParseAddr(addr)); got != want {
			t.Errorf("subnetOf(%s) = %q, want %q", addr, got, want)
		}
	}
	if got := subnetOf(nil, netip.Addr{}); got != "" {
		t.Errorf("subnetOf(nil) = %q", got)
	}
}

// TestHardwareSubnet checks that a RoCE card has the subnet of its GID's address.
func TestHardwareSubnet(t *testing.T) {
	tree, err := testtrees.Load("02_rocev2_8hca")
	if err != nil {
		t.Fatal(err)
	}
	snap, _ := inventory.Scan(t.Context(), inventory.Sources{Root: tree.FS()})
	p, err := launch.Derive(snap, launch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range snap.Netdevs { // the tree has no lengths of prefixes
		for j, a := range snap.Netdevs[i].Addresses {
			snap.Netdevs[i].Addresses[j] = netip.PrefixFrom(a.Addr(), 24)
		}
	}
	card, ok := hardwareCard(&snap, &p.Ports[0], 0)
	gid, err := ib.ParseGID(card.Facts[result.FactGID])
	if !ok || err != nil {
		t.Fatalf("card %v: %v", card.Facts, err)
	}
	if want := netip.PrefixFrom(gid.Addr(), 24).Masked().String(); card.Facts[result.FactSubnet] != want {
		t.Errorf("the subnet of %v is %q, want %q", gid.Addr(), card.Facts[result.FactSubnet], want)
	}
}

// TestEngineCard checks the facts of an engine.
func TestEngineCard(t *testing.T) {
	got := engineCard(1, "roce@lo").Facts
	want := map[string]string{
		result.FactGIDType: "RoCE v2", result.FactNetdev: "lo", result.FactSubnet: "127.0.0.0/8",
	}
	delete(got, result.FactNetdevRate)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

// TestAddSwitches asks a daemon whose client is a script, one that refuses, and one with nonsense.
func TestAddSwitches(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	app := &cli.App{Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	const neighbour = `{"lldp": {"interface": {"eth0": {"via": "LLDP", "chassis": {"leaf-1": {"id": {"type": "mac",
"value": "1c:34:da:00:00:01"}}}, "port": {"id": {"type": "ifname", "value": "swp7"}}}}}}`
	for _, tt := range []struct {
		script string
		want   map[string]string
	}{
		{"echo '" + neighbour + "'", map[string]string{
			result.FactNetdev: "eth0", result.FactSwitchID: "mac 1c:34:da:00:00:01", result.FactSwitch: "leaf-1",
			result.FactSwitchPort: "swp7",
		}},
		{"echo refused >&2; exit 1", map[string]string{result.FactNetdev: "eth0"}},
		{"echo nonsense", map[string]string{result.FactNetdev: "eth0"}},
	} {
		script.Write(t, filepath.Join(dir, "lldpctl"), tt.script)
		cards := []worker.Card{
			{Facts: map[string]string{result.FactNetdev: "eth0"}},
			{Facts: map[string]string{result.FactNetdev: "eth1"}},
			{},
		}
		addSwitches(t.Context(), app, cards)
		if diff := cmp.Diff(tt.want, cards[0].Facts); diff != "" {
			t.Errorf("%s: facts (-want +got):\n%s", tt.script, diff)
		}
		if len(cards[1].Facts) != 1 || cards[2].Facts != nil {
			t.Errorf("%s: facts of other cards: %v, %v", tt.script, cards[1].Facts, cards[2].Facts)
		}
	}
}
