package inventory_test

import (
	"io/fs"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
	"github.com/rdmakit/rdmakit/inventory"
)

// removeAll removes what is there of the paths, which may have the wildcards of [path.Match] in
// their last part.
func removeAll(t *testing.T, tree *nodetree.Tree, names ...string) {
	t.Helper()
	for _, name := range names {
		dir, pattern := path.Split(name)
		entries, err := fs.ReadDir(tree.FS(), path.Clean("./"+dir))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if ok, err := path.Match(pattern, e.Name()); err != nil || !ok {
				continue
			}
			if err := tree.Remove(path.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestUnseen takes one kind of source after the other from a node that was read as a whole.
func TestUnseen(t *testing.T) {
	const (
		whole, ib = "xe9680_h200_bf3", "h20_ib_rails_down_bf3_up"
		device    = "sys/class/infiniband/rocep26s0f0/"
	)
	for _, tt := range []struct {
		what, node string
		paths      []string
		want       []string
	}{
		{"nothing", whole, nil, nil},
		{"nothing, and InfiniBand", ib, nil, nil},
		{"the PCI bus", whole, []string{"sys/bus/pci"}, []string{"PCI devices and GPUs (no /sys/bus/pci)"}},
		{"modules", whole, []string{"sys/module", "proc/modules"}, []string{"kernel modules (no /sys/module)"}},
		{"character devices", whole, []string{"dev"}, []string{"whether programs can open the devices (no /dev)"}},
		{
			"verbs devices, ib_uverbs being loaded", whole,
			[]string{"sys/class/infiniband_verbs"},
			[]string{"verbs devices (no /sys/class/infiniband_verbs)"},
		},
		{ // then the missing folder is a fault
			"verbs devices, ib_uverbs not being loaded", whole,
			[]string{"sys/class/infiniband_verbs", "sys/module/ib_uverbs", "proc/modules"},
			nil,
		},
		{"a node type", whole, []string{device + "node_type"}, []string{"the types of devices (no node_type)"}},
		{
			"a link layer", ib,
			[]string{"sys/class/infiniband/mlx5_0/ports/1/link_layer"},
			[]string{"link layers (no link_layer; taken from the PCI class)"},
		},
		{"a rate", whole, []string{device + "ports/1/rate"}, []string{"rates (no rate)"}},
		{
			"the rate of a port without a link", ib,
			[]string{"sys/class/infiniband/mlx5_0/ports/1/rate"},
			nil,
		},
		{"limits", whole, []string{"proc/self/limits"}, []string{"the limit of locked memory (no /proc/self/limits)"}},
		{"libraries", whole, []string{"usr", "lib*"}, []string{"libraries (no /usr/lib)"}},
		{"the kernel's answers", whole, []string{"live.json"}, []string{"answers of the kernel (netlink)"}},
		{
			"all but sysfs", whole,
			[]string{"dev", "proc", "usr", "lib*", "live.json", "sys/module"},
			[]string{
				"kernel modules (no /sys/module)", "whether programs can open the devices (no /dev)",
				"the limit of locked memory (no /proc/self/limits)", "answers of the kernel (netlink)",
				"libraries (no /usr/lib)",
			},
		},
		{ // a node without RDMA devices lacks nothing that only devices have
			"all but the PCI bus, and no device", whole,
			[]string{"dev", "proc", "usr", "lib*", "live.json", "sys/module", "sys/class/infiniband"},
			[]string{"the limit of locked memory (no /proc/self/limits)", "libraries (no /usr/lib)"},
		},
	} {
		n, err := realnodes.Load(tt.node)
		if err != nil {
			t.Fatal(err)
		}
		removeAll(t, n.Tree, tt.paths...)
		snap, _ := inventory.Scan(t.Context(), sources(t, n.Tree))
		if diff := cmp.Diff(tt.want, snap.Unseen()); diff != "" {
			t.Errorf("without %s (-want +got):\n%s", tt.what, diff)
		}
	}
}

// TestUnseenAddresses removes the GID tables: of one device they may be empty, of all of them they
// were not recorded.
func TestUnseenAddresses(t *testing.T) {
	n, err := realnodes.Load("xe9680_h200_bf3")
	if err != nil {
		t.Fatal(err)
	}
	devices, err := fs.ReadDir(n.Tree.FS(), "sys/class/infiniband")
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range devices {
		dir := "sys/class/infiniband/" + d.Name() + "/ports/1/"
		removeAll(t, n.Tree, dir+"gids", dir+"gid_attrs")
		var want []string
		if i == len(devices)-1 {
			want = []string{"addresses (no GID tables)"}
		}
		snap, _ := inventory.Scan(t.Context(), sources(t, n.Tree))
		if diff := cmp.Diff(want, snap.Unseen()); diff != "" {
			t.Errorf("GID tables of %d devices removed (-want +got):\n%s", i+1, diff)
		}
	}
}
