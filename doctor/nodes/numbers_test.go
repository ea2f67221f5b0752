package nodes_test

import (
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/doctor/nodes"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch/consensus"
	"github.com/rdmakit/rdmakit/wire/ib"
)

const firstPort = "sys/class/infiniband/mlx5_0/ports/1/"

// unreadable lets files fail.
func unreadable(names ...string) change {
	return change{tree: func(t *testing.T, tree *nodetree.Tree) {
		t.Helper()
		for _, name := range names {
			if err := tree.SetError(name, syscall.EIO); err != nil {
				t.Fatal(err)
			}
		}
	}}
}

// gone removes files.
func gone(names ...string) change {
	return change{tree: func(t *testing.T, tree *nodetree.Tree) {
		t.Helper()
		for _, name := range names {
			if err := tree.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}}
}

// resolved gives a node's name the address of its management network, with another prefix length if
// that is not 16.
func resolved(node, bits int) change {
	return change{facts: func(f *facts.Facts) {
		addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(10 + node)})
		f.Resolver = &facts.Datum[facts.Resolver]{Value: facts.Resolver{
			Name: fmt.Sprintf("gpu-%02d", node), Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1"), addr},
		}}
	}, tree: func(t *testing.T, tree *nodetree.Tree) {
		t.Helper()
		replace(t, tree, "live.json", fmt.Sprintf("10.0.0.%d/16", 10+node), fmt.Sprintf("10.0.0.%d/%d", 10+node, bits))
	}}
}

// TestComparedNumbers shows each number that only a comparison covers, or covers too: on nodes that
// agree, on nodes of which the second differs, and on nodes of whose second it is not known.
func TestComparedNumbers(t *testing.T) {
	modules := func(d *facts.Datum[[]facts.Module]) change {
		return change{facts: func(f *facts.Facts) { f.Modules = d }}
	}
	part := func(number string) change {
		return modules(&facts.Datum[[]facts.Module]{Value: []facts.Module{{Netdev: "rail1", PartNumber: number}}})
	}
	second := func(name, value string) change { return set(map[string]string{name: value}) }
	const guid, release = "sys/class/infiniband/mlx5_0/", "proc/sys/kernel/osrelease"
	var none [3]change
	for _, c := range []struct {
		number int
		id     string    // of the comparison
		like   [3]change // nodes that agree
		other  change    // of the second node, which differs
		// unknown is of the second node, of which the value is not known; says is in the text of a
		// note about that. "" stands for the list of comparisons without the node.
		unknown change
		says    string
	}{
		{3, "hca-set", none, gone("sys/class/infiniband/mlx5_1"), unreadable(firstPort + "state"), "could not be read"},
		{
			6, "rate", none, second(firstPort+"rate", "200 Gb/sec (4X HDR)"), unreadable(firstPort + "rate"),
			"rate of rails is unknown on gpu-01",
		},
		{
			7, "link-layer", none, second(firstPort+"link_layer", "InfiniBand"),
			unreadable(firstPort + "link_layer"), "could not be read",
		},
		{
			9, "firmware", none, second(guid+"fw_ver", "28.39.1002"),
			unreadable(guid+"fw_ver", "sys/class/infiniband/mlx5_1/fw_ver"), "",
		},
		{10, "kernel", none, second(release, "6.8.0-47"), unreadable(release), ""},
		{
			34, "cable",
			[3]change{part("MCP1650-V001E30"), part("MCP1650-V001E30"), part("MCP1650-V001E30")},
			part("MFS1S00-H010V"), modules(&facts.Datum[[]facts.Module]{Error: "busy"}), "",
		},
		{
			72, "host-network",
			[3]change{resolved(0, 16), resolved(1, 16), resolved(2, 16)},
			resolved(1, 24),
			change{},
			"",
		},
	} {
		t.Run(fmt.Sprintf("%02d %s", c.number, c.id), func(t *testing.T) {
			if !slices.Contains(nodes.Numbers(), c.number) {
				t.Fatalf("number %d is not covered", c.number)
			}
			r := run(t, cluster(t, c.like[0], c.like[1], c.like[2]))
			if d := difference(r, c.id); d != nil || len(r.Without) > 0 && r.Without[0].Comparison == c.id {
				t.Errorf("equal nodes: difference %+v, without %v", d, r.Without)
			}
			if difference(run(t, cluster(t, c.like[0], c.other, c.like[2])), c.id) == nil {
				t.Error("no difference")
			}
			r = run(t, cluster(t, c.like[0], c.unknown, c.like[2]))
			// Settings are for the ports that are known, so the sets do differ, with a note why.
			if d := difference(r, c.id); d != nil && c.id != "hca-set" {
				t.Errorf("what is not known differs: %s", d.Text)
			}
			if !tellsUnknown(r, c.id, c.says) {
				t.Errorf("nothing says that it is not known: without %v, differences %+v", r.Without,
					r.Comparison.Differences)
			}
		})
	}
	swapped := change{snapshot: swapNames} // number 16: a name is always known
	if difference(run(t, cluster(t, none[0], swapped, none[0])), "device-name") == nil {
		t.Error("no difference of swapped names")
	}
}

// tellsUnknown reports whether the second node is named as one for which something is not known.
func tellsUnknown(r nodes.Report, id, says string) bool {
	if says == "" {
		return slices.ContainsFunc(r.Without, func(w nodes.Without) bool {
			return w.Comparison == id && slices.Equal(w.Nodes, []string{"node1"})
		})
	}
	return slices.ContainsFunc(r.Comparison.Differences, func(d consensus.Difference) bool {
		return (d.Check == "not-compared" || d.Check == "incomplete") && strings.Contains(d.Text, says)
	})
}

// swapNames gives the two devices each other's names.
func swapNames(s *inventory.Snapshot) { rename(s, "mlx5_0", "mlx5_1", "mlx5_1", "mlx5_0") }

// replace replaces a text of a file, which must have it.
func replace(t *testing.T, tree *nodetree.Tree, name, old, text string) {
	t.Helper()
	data, err := fs.ReadFile(tree.FS(), name)
	if err != nil || !strings.Contains(string(data), old) {
		t.Fatalf("%s: %v, without %q in\n%s", name, err, old, data)
	}
	if err := tree.Set(name, strings.ReplaceAll(string(data), old, text)); err != nil {
		t.Fatal(err)
	}
}

// TestDuplicateSystemGUID has cards of two nodes with one system image GUID: hosts of a multi-host
// card, or a card whose firmware is a copy.
func TestDuplicateSystemGUID(t *testing.T) {
	own := func(number int) change {
		return change{snapshot: func(s *inventory.Snapshot) {
			for i := range s.Devices {
				s.Devices[i].SystemGUID = &ib.GUID{0xb8, 0x3f, 0xd2, 0, 0, byte(number), 0, byte(i)}
			}
		}}
	}
	const id = "duplicate-system-guid"
	if d := difference(run(t, cluster(t, own(1), own(2))), id); d != nil {
		t.Errorf("GUIDs of their own are duplicates: %s", d.Text)
	}
	d := difference(run(t, cluster(t, own(1), own(2), own(1))), id)
	if d == nil || d.Severity != consensus.SeverityNote || len(d.Groups) != 1 ||
		!slices.Equal(d.Groups[0].Nodes, []string{"gpu-00", "gpu-02"}) {
		t.Fatalf("difference %+v, want a note about gpu-00 and gpu-02", d)
	}
	if e := d.Groups[0].Evidence[0]; e.Path != "/sys/class/infiniband/mlx5_0/sys_image_guid" {
		t.Errorf("evidence %+v, want the file of the GUID", e)
	}
	unknown := change{snapshot: func(s *inventory.Snapshot) {
		for i := range s.Devices {
			s.Devices[i].SystemGUID = nil
		}
	}}
	if d := difference(run(t, cluster(t, unknown, unknown)), id); d != nil {
		t.Errorf("unknown GUIDs are duplicates: %s", d.Text)
	}
}

// TestHostNameOnRail has a name that leads to the address of a rail on one node.
func TestHostNameOnRail(t *testing.T) {
	list := cluster(t, resolved(0, 16), resolved(1, 16), resolved(2, 16))
	rail := list[1].Snapshot.Netdev("rail1").Addresses[0]
	list[1].Facts.Resolver.Value.Addresses = []netip.Addr{rail.Addr()}
	d := difference(run(t, list), "host-network")
	if d == nil || len(d.Groups) != 2 || d.Groups[1].Value != rail.Masked().String() ||
		!strings.HasSuffix(d.Groups[1].Evidence[0].Value, " on rail1") {
		t.Errorf("difference %+v, want the network of rail1, %v", d, rail.Masked())
	}
}
