package kernel

import (
	"context"
	"net/netip"
	"os"
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

const (
	railMAC0, railMAC1  = "02:00:00:00:00:01", "02:00:00:00:00:02"
	peerMAC, anotherMAC = "02:00:00:00:00:09", "02:00:00:00:00:0a"
)

// twoRails makes two rails of 10.0.0.0/24 with an MTU of 9000 on one switch, on which a peer has
// 10.0.0.9, and 10.0.0.8 on two of its devices.
func twoRails(t *testing.T) *inventory.Snapshot {
	t.Helper()
	namespace(t)
	peerNamespace(t, []string{
		"link set lo up",
		"link add rail0 address " + railMAC0 + " mtu 9000 type veth peer name peer0",
		"link add rail1 address " + railMAC1 + " mtu 9000 type veth peer name peer1",
		"link set peer0 netns %d", "link set peer1 netns %d", "link set rail0 up", "link set rail1 up",
		"addr add 10.0.0.1/24 dev rail0", "addr add 10.0.0.2/24 dev rail1",
	}, func() error {
		return ipHere(t.Context(), "link set lo up", "link add br0 address "+peerMAC+" type bridge",
			"link add twin0 address "+anotherMAC+" type veth peer name twin1",
			"link set peer0 mtu 9000", "link set peer1 mtu 4200", "link set peer0 master br0", "link set peer1 "+
				"master br0",
			"link set twin1 master br0", "link set peer0 up", "link set peer1 up", "link set twin1 up",
			"link set br0 mtu 9000", "link set br0 up", "addr add 10.0.0.9/24 dev br0", "link set twin0 up")
	})
	netdev := func(name, mac, address string) inventory.Netdev {
		return inventory.Netdev{
			Name: name, AdminUp: true, OperState: "up", MTU: 9000, Address: mac, Type: inventory.ARPHRDEther,
			Addresses: []netip.Prefix{netip.MustParsePrefix(address)},
		}
	}
	device := func(name, netdev string) inventory.Device {
		return inventory.Device{Name: name, Ports: []inventory.Port{{
			Number: 1, LinkLayer: inventory.LinkLayerEthernet, Netdev: netdev,
		}}}
	}
	return &inventory.Snapshot{
		Devices: []inventory.Device{device("mlx5_0", "rail0"), device("mlx5_1", "rail1")},
		Netdevs: []inventory.Netdev{
			netdev("rail0", railMAC0, "10.0.0.1/24"), netdev("rail1", railMAC1, "10.0.0.2/24"),
		},
	}
}

// silent is the connection manager of a node whose peers don't answer it.
func silent(context.Context, string, netip.Addr, netip.Addr) (bool, error) {
	return false, context.DeadlineExceeded
}

func probe(t *testing.T, s *inventory.Snapshot, peers ...string) []facts.Probe {
	t.Helper()
	addrs := make([]netip.Addr, 0, len(peers))
	for _, p := range peers {
		addrs = append(addrs, netip.MustParseAddr(p))
	}
	probes := planProbes(s, addrs)
	for i := range probes { // on this thread, which is in the namespace
		(ProbeSource{Ask: silent}).one(t.Context(), s, &probes[i])
	}
	return probes
}

func find(t *testing.T, probes []facts.Probe, peer, netdev string) facts.Probe {
	t.Helper()
	i := slices.IndexFunc(probes, func(p facts.Probe) bool { return p.Peer.String() == peer && p.Netdev == netdev })
	if i < 0 {
		t.Fatalf("no probe of %s by %s: %+v", peer, netdev, probes)
	}
	if p := probes[i]; p.Error != "" || p.ARPError != "" {
		t.Fatalf("probe of %s by %s: %s%s", peer, netdev, p.Error, p.ARPError)
	}
	return probes[i]
}

// TestProbePathMTU probes two ways to a peer, of which one has a link with a smaller MTU.
func TestProbePathMTU(t *testing.T) {
	s := twoRails(t)
	ip(t, "route add 10.0.0.9/32 dev rail0 table 9", "rule add from 10.0.0.2 table 9") // doesn't matter: bound to rail1
	probes := probe(t, s, "10.0.0.9", "10.0.0.77")
	if p := find(t, probes, "10.0.0.9", "rail0"); p.PathMTU != 9000 || p.Tried != 9000 {
		t.Errorf("by rail0: %+v, want 9000", p)
	}
	// A veth takes frames with a VLAN tag more than its MTU.
	if p := find(t, probes, "10.0.0.9", "rail1"); p.PathMTU < 4200 || p.PathMTU > 4204 || p.Tried != 9000 {
		t.Errorf("by rail1: %+v, want 4200 of 9000", p)
	}
	if p := find(t, probes, "10.0.0.77", "rail0"); p.PathMTU != 0 || len(p.Owners) != 0 || !p.Asked {
		t.Errorf("an address that nobody has: %+v", p)
	}
}

// TestProbeOwners shows ARP flux between two rails of one subnet, at the peer and here, and that
// arp_ignore ends it.
func TestProbeOwners(t *testing.T) {
	s := twoRails(t)
	probes := probe(t, s, "10.0.0.9")
	owners := find(t, probes, "10.0.0.9", "rail0").Owners
	slices.Sort(owners)
	if !slices.Equal(owners, []string{peerMAC, anotherMAC}) {
		t.Errorf("owners of 10.0.0.9 = %v, want both devices of the peer", owners)
	}
	if got := find(t, probes, "10.0.0.1", "rail0"); !got.Own || !slices.Equal(got.Owners, []string{railMAC1}) {
		t.Errorf("owners of rail0's address = %+v, want rail1, which answers for it", got)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/conf/all/arp_ignore", []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := find(t, probe(t, s), "10.0.0.1", "rail0"); len(got.Owners) != 0 {
		t.Errorf("owners of rail0's address with arp_ignore=1: %v", got.Owners)
	}
}
