package inventory_test

import (
	"errors"
	"testing"

	"github.com/rdmakit/rdmakit/inventory"
)

func TestSnapshotFind(t *testing.T) {
	snap := inventory.Snapshot{
		Devices: []inventory.Device{
			{
				Name: "mlx5_0", PCI: &inventory.PCI{Address: "0000:18:00.0"},
				Ports: []inventory.Port{{Number: 1, Netdev: "ens0"}, {Number: 2}},
			},
			{
				Name:  "mlx5_bond_0",
				Ports: []inventory.Port{{Number: 1, Netdev: "bond0", GIDs: []inventory.GIDEntry{{Netdev: "vlan7"}}}},
			},
		},
		Netdevs: []inventory.Netdev{
			{Name: "ens0", RDMADevice: "mlx5_0", RDMAPort: 1},
			{Name: "bond0", RDMADevice: "mlx5_bond_0", RDMAPort: 1},
			{Name: "ens1", Master: "bond0"},
			{Name: "eth0"},
		},
	}
	tests := []struct {
		name, device string
		port         int
		err          string
	}{
		{"mlx5_0", "mlx5_0", 0, ""},
		{"mlx5_0:2", "mlx5_0", 2, ""},
		{"ens0", "mlx5_0", 1, ""},
		{"ens1", "mlx5_bond_0", 1, ""},
		{"0000:18:00.0", "mlx5_0", 0, ""},
		{"18:00.0", "mlx5_0", 0, ""},
		{"mlx5_0:3", "", 0, `device mlx5_0 has no port "3"`},
		{"mlx5_0:", "", 0, `device mlx5_0 has no port ""`},
		{"eth0", "", 0, "network device eth0 has no RDMA device"},
		{"mlx9", "", 0, `no RDMA device "mlx9"`},
	}
	for _, tt := range tests {
		d, port, err := snap.Find(tt.name)
		device, text := "", ""
		if d != nil {
			device = d.Name
		}
		if err != nil {
			text = err.Error()
		}
		if device != tt.device || port != tt.port || text != tt.err {
			t.Errorf("Find(%q) = %q, %d, %q, want %q, %d, %q", tt.name, device, port, text, tt.device, tt.port, tt.err)
		}
	}
	_, _, err := snap.Find("eth0")
	if e, ok := errors.AsType[*inventory.FindError](err); !ok || !e.Netdev {
		t.Errorf("Find(eth0) = %#v, want one about a network device", err)
	}
	if p := &snap.Devices[1].Ports[0]; !p.Uses("bond0") || !p.Uses("vlan7") || p.Uses("ens0") {
		t.Error("Uses doesn't check the network device and the GID table")
	}
}
