package consensus

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/rdmakit/rdmakit/internal/sim/host"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// emulate scans an emulated node.
func emulate(t testing.TB, spec host.Spec) inventory.Snapshot {
	t.Helper()
	tree, err := host.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	live, err := liveOf(tree.FS())
	if err != nil {
		t.Fatal(err)
	}
	snap, err := inventory.Scan(t.Context(), inventory.Sources{Root: tree.FS(), Live: live})
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// roceSpec is node n of a cluster with four RoCE rails.
func roceSpec(n int) host.Spec {
	return host.Spec{Node: n, Rails: 4, GPUs: 4, GIDs: 8, NICs: []host.NIC{host.Management()}}
}

// ibSpec is node n of a cluster with four InfiniBand rails.
func ibSpec(n int) host.Spec {
	spec := roceSpec(n)
	spec.LinkLayer, spec.GIDs = host.InfiniBand, 0
	return spec
}

// cluster makes snapshots of nodes 0 to n-1; change may be nil.
func cluster(
	t testing.TB, n int, spec func(int) host.Spec, change func(i int, s *inventory.Snapshot),
) []inventory.Snapshot {
	t.Helper()
	out := make([]inventory.Snapshot, 0, n)
	for i := range n {
		s := emulate(t, spec(i))
		if change != nil {
			change(i, &s)
		}
		out = append(out, s)
	}
	return out
}

// treeSnapshot scans a test tree.
func treeSnapshot(t testing.TB, name string) inventory.Snapshot {
	t.Helper()
	tree, err := testtrees.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	src := inventory.Sources{Root: tree.FS()}
	if live, err := liveOf(tree.FS()); err == nil {
		src.Live = live
	}
	snap, _ := inventory.Scan(t.Context(), src)
	return snap
}

// digest makes nodes of snapshots; their sources are node0.json, node1.json, …
func digest(t testing.TB, opts Options, snaps ...inventory.Snapshot) []*Node {
	t.Helper()
	var out []*Node
	for i, s := range snaps {
		n, err := NewNode(fmt.Sprintf("node%d.json", i), s, opts)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

// port returns port 1 of a device.
func port(s *inventory.Snapshot, device string) *inventory.Port { return &s.Device(device).Ports[0] }

// swap exchanges the networks of two rails: GIDs with their network devices, addresses of those.
func swap(s *inventory.Snapshot, a, b string) {
	x, y := port(s, a), port(s, b)
	nx, ny := s.Netdev(x.Netdev), s.Netdev(y.Netdev)
	nx.Addresses, ny.Addresses = ny.Addresses, nx.Addresses
	x.GIDs, y.GIDs = y.GIDs, x.GIDs
	for _, p := range []*inventory.Port{x, y} {
		for i := range p.GIDs {
			p.GIDs[i].Netdev = p.Netdev
		}
	}
}

// readdress gives a rail another IPv4 address.
func readdress(s *inventory.Snapshot, device, prefix string) {
	p := port(s, device)
	n := s.Netdev(p.Netdev)
	to := netip.MustParsePrefix(prefix)
	for i := range p.GIDs {
		if from, ok := p.GIDs[i].GID.IPv4(); ok {
			p.GIDs[i].GID = ib.GIDFromAddr(to.Addr())
			for j := range n.Addresses {
				if n.Addresses[j].Addr() == from {
					n.Addresses[j] = to
				}
			}
		}
	}
}

// shiftGIDs moves the entries of a port up by some slots.
func shiftGIDs(s *inventory.Snapshot, device string, by int) {
	p := port(s, device)
	for i := range p.GIDs {
		p.GIDs[i].Index += by
	}
	p.GIDTableSize += by
}

// dropDevice takes a card off a node, as after a PCI error: the rails behind it move up.
func dropDevice(s *inventory.Snapshot, device string) {
	var kept []inventory.Device
	rail := port(s, device).Rail
	for _, d := range s.Devices {
		if d.Name == device {
			continue
		}
		if r := d.Ports[0].Rail; r != nil && rail != nil && *r > *rail {
			d.Ports[0].Rail = new(*r - 1)
		}
		kept = append(kept, d)
	}
	s.Devices = kept
}
