package consensus

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// addEntry adds an address with its GID at an index.
func addEntry(s *inventory.Snapshot, device string, index int, prefix string) {
	p := port(s, device)
	n := s.Netdev(p.Netdev)
	a := netip.MustParsePrefix(prefix)
	n.Addresses = append(n.Addresses, a)
	entry := inventory.GIDEntry{
		Index: index, GID: ib.GIDFromAddr(a.Addr()), Type: inventory.GIDTypeRoCEv2, Netdev: n.Name,
	}
	at := 0
	for at < len(p.GIDs) && p.GIDs[at].Index < index {
		at++
	}
	p.GIDs = append(p.GIDs[:at:at], append([]inventory.GIDEntry{entry}, p.GIDs[at:]...)...)
}

func TestGIDReport(t *testing.T) {
	tests := []struct {
		name    string
		change  func(int, *inventory.Snapshot)
		opts    Options
		common  string
		pin     int // -1: none
		partial string
		ranged  string
		trouble int
	}{
		{"the same index", nil, Options{}, "3", 3, "", "10.100.0.0/14", 0},
		// multus-cni#1100: 4 and 5 in one pod, 6 and 7 in the other
		{"pods", func(i int, s *inventory.Snapshot) {
			for r := range 4 {
				shiftGIDs(s, fmt.Sprintf("mlx5_%d", r), 2*i)
			}
		}, Options{}, "", -1, "3 4/8, 5 4/8", "10.100.0.0/14", 0},
		// nccl#890: one card differs
		{"one card", func(i int, s *inventory.Snapshot) {
			if i == 1 {
				shiftGIDs(s, "mlx5_2", 2)
			}
		}, Options{}, "", -1, "3 7/8, 5 1/8", "10.100.0.0/14", 0},
		{"a second address in the subnet does not harm", func(i int, s *inventory.Snapshot) {
			addEntry(s, "mlx5_0", 5, fmt.Sprintf("10.100.9.%d/16", i))
		}, Options{}, "3", 3, "5 2/8", "10.100.0.0/14", 0},
		{"a foreign network at the index", func(i int, s *inventory.Snapshot) {
			if i == 1 { // the VLAN came first on this node
				shiftGIDs(s, "mlx5_0", 2)
				addEntry(s, "mlx5_0", 3, "192.168.0.7/24")
			}
		}, Options{}, "3", -1, "5 1/8", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := Compare(digest(t, tt.opts, cluster(t, 2, roceSpec, tt.change)...), tt.opts).GID
			pin := -1
			if g.Pin != nil {
				pin = *g.Pin
			}
			partial := ""
			for i, p := range g.Partial {
				if i > 0 {
					partial += ", "
				}
				partial += fmt.Sprintf("%d %d/%d", p.Index, p.Ports, p.Of)
			}
			ranged := ""
			for _, s := range g.Instead {
				if s.Name == "NCCL_IB_ADDR_RANGE" {
					ranged = s.Value
				}
			}
			if got := Ranges(g.Common); !g.Applies || got != tt.common || pin != tt.pin || partial != tt.partial ||
				len(g.Problems) != tt.trouble {
				t.Errorf("common %q, pin %d, partial %q, problems %q, want %q, %d, %q, %d",
					got, pin, partial, g.Problems, tt.common, tt.pin, tt.partial, tt.trouble)
			}
			if tt.ranged != "" && ranged != tt.ranged {
				t.Errorf("range %q, want %q", ranged, tt.ranged)
			}
			if (g.Pin != nil) != (len(g.PinSettings) > 0) {
				t.Errorf("pin %v with settings %v", g.Pin, g.PinSettings)
			}
		})
	}
}

// TestNeverPinned: on InfiniBand nothing is pinned, whatever the tables hold.
func TestNeverPinned(t *testing.T) {
	g := Compare(digest(t, Options{}, cluster(t, 2, ibSpec, nil)...), Options{}).GID
	if g.Applies || g.Pin != nil || len(g.PinSettings)+len(g.Instead) > 0 {
		t.Errorf("on InfiniBand: %+v", g)
	}
}

func TestVariables(t *testing.T) {
	snaps := cluster(t, 3, roceSpec, func(i int, s *inventory.Snapshot) {
		if i == 2 {
			shiftGIDs(s, "mlx5_0", 2)
		}
	})
	v := Compare(digest(t, Options{}, snaps...), Options{}).Variables
	var cluster []string
	for _, s := range v.Cluster {
		cluster = append(cluster, s.Name)
	}
	perNode := map[string]string{}
	for _, n := range v.PerNode {
		perNode[n.Name] = n.Cluster
	}
	want := []string{"NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NVSHMEM_HCA_LIST", "UCX_NET_DEVICES", "GLOO_SOCKET_IFNAME"}
	if diff := cmp.Diff(want, cluster); diff != "" {
		t.Errorf("cluster-wide variables, -want +got:\n%s", diff)
	}
	wantNode := map[string]string{
		"NCCL_IB_ADDR_FAMILY": "AF_INET", "NCCL_IB_ADDR_RANGE": "10.100.0.0/14",
		"NVSHMEM_IB_ADDR_FAMILY": "AF_INET", "NVSHMEM_IB_ADDR_RANGE": "10.100.0.0/14",
	}
	if diff := cmp.Diff(wantNode, perNode); diff != "" {
		t.Errorf("variables of nodes with the value that serves all, -want +got:\n%s", diff)
	}
}
