package doctor_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// gidNode is a node whose RoCE port has an IPv4 address at an index of its GID table.
func gidNode(index int, addr string) *inventory.Snapshot {
	return &inventory.Snapshot{
		Host: inventory.Host{Name: "n"},
		Devices: []inventory.Device{{Name: "mlx5_0", Ports: []inventory.Port{{
			Number: 1, Path: "/sys/class/infiniband/mlx5_0/ports/1", LinkLayer: inventory.LinkLayerEthernet,
			Transport: inventory.TransportRoCEv2, GIDs: []inventory.GIDEntry{
				{Index: 0, GID: ib.GIDFromAddr(netip.MustParseAddr("fe80::1")), Type: inventory.GIDTypeRoCEv2},
				{Index: index, GID: ib.GIDFromAddr(netip.MustParseAddr(addr)), Type: inventory.GIDTypeRoCEv2},
			},
		}}}},
	}
}

// gidReport runs a check of the given ID on the node.
func gidReport(t *testing.T, s *inventory.Snapshot, id string, opts doctor.Options) doctor.Report {
	t.Helper()
	c := doctor.Check{
		ID: id, Title: "t", Severity: doctor.OutcomeFail, Explanation: "e", Remedy: "r", Sources: []string{"s"},
		Run: func(context.Context, *doctor.Input) []doctor.Finding {
			return []doctor.Finding{{Outcome: doctor.OutcomeInfo, Object: "mlx5_0:1", Summary: "pinned"}}
		},
	}
	r, err := doctor.Run(t.Context(), []doctor.Check{c}, doctor.Input{Snapshot: s}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return saved(t, r)
}

// TestMovedGID has the entry of NVIDIA/nccl 1333 and 2157: after the link was down, the address is
// at another index.
func TestMovedGID(t *testing.T) {
	const id = "gid-index"
	accepted := doctor.Options{Suppressions: []doctor.Suppression{{CheckID: id, Object: "mlx5_0:1", Reason: "x"}}}
	renamed := gidNode(5, "10.0.0.1")
	renamed.Devices[0].Name = "mlx5_9"
	for _, tt := range []struct {
		name, id string
		now      *inventory.Snapshot
		opts     doctor.Options
		want     string // of the new finding, "" for none
	}{
		{"of another device", id, renamed, doctor.Options{}, ""},
		{"moved", id, gidNode(5, "10.0.0.1"), doctor.Options{}, "moved from index 3 to 5 since"},
		{"as before", id, gidNode(3, "10.0.0.1"), doctor.Options{}, ""},
		{"another address", id, gidNode(5, "10.0.0.2"), doctor.Options{}, ""},
		{"accepted", id, gidNode(5, "10.0.0.1"), accepted, ""},
		{"without the check", "other", gidNode(5, "10.0.0.1"), doctor.Options{}, ""},
	} {
		before := gidReport(t, gidNode(3, "10.0.0.1"), id, doctor.Options{})
		if !slices.Equal(before.GIDs, []doctor.GIDEntry{{
			Port: "mlx5_0:1", Index: 3, GID: "0000:0000:0000:0000:0000:ffff:0a00:0001",
			Path: "/sys/class/infiniband/mlx5_0/ports/1/gids/3",
		}}) {
			t.Fatalf("the report has the entries %+v", before.GIDs)
		}
		r := gidReport(t, tt.now, tt.id, tt.opts)
		if err := r.Compare(before); err != nil {
			t.Fatal(err)
		}
		moved := func(f doctor.Finding) bool { return strings.Contains(f.Summary, "has moved") }
		found := slices.ContainsFunc(r.Since.Worse(), func(f doctor.Finding) bool {
			return f.Outcome == doctor.OutcomeWarn && f.Object == "mlx5_0:1" && strings.Contains(f.Summary, tt.want) &&
				len(f.Evidence) == 2 && len(f.Remedy) == 2
		})
		if tt.want == "" && slices.ContainsFunc(r.Since.New, moved) || tt.want != "" && !found {
			t.Errorf("%s: new findings %+v, want %q", tt.name, r.Since.New, tt.want)
		}
	}
}

// TestMovedGIDWithoutCheck compares with a report that does not have the check of indices.
func TestMovedGIDWithoutCheck(t *testing.T) {
	r := gidReport(t, gidNode(5, "10.0.0.1"), "gid-index", doctor.Options{})
	if err := r.Compare(gidReport(t, gidNode(3, "10.0.0.1"), "other", doctor.Options{})); err != nil {
		t.Fatal(err)
	}
	if len(r.Since.New) > 0 {
		t.Errorf("new findings %+v, want none", r.Since.New)
	}
}

// TestPortIdentities has the forms by which the fabric and the cluster name ports.
func TestPortIdentities(t *testing.T) {
	guid := func(last byte) *ib.GUID { return &ib.GUID{0xb8, 0x3f, 0xd2, 3, 0, 0xa5, 0x10, last} }
	s := &inventory.Snapshot{Devices: []inventory.Device{
		{
			Name: "mlx5_0", NodeGUID: guid(1),
			Ports: []inventory.Port{{
				Number: 1, LinkLayer: inventory.LinkLayerInfiniBand, Rail: new(2), GIDs: []inventory.GIDEntry{
					{GID: ib.GIDFromAddr(netip.MustParseAddr("fe80::b83f:d203:a5:1002"))},
				},
			}},
		},
		{Name: "mlx5_2", Ports: []inventory.Port{{
			Number: 1, LinkLayer: inventory.LinkLayerInfiniBand, GIDs: make([]inventory.GIDEntry, 1),
		}}},
		{Name: "mlx5_1", NodeGUID: &ib.GUID{}, Ports: []inventory.Port{{
			Number: 2, LinkLayer: inventory.LinkLayerEthernet, GIDs: []inventory.GIDEntry{
				{GID: ib.GIDFromAddr(netip.MustParseAddr("fe80::1"))},
			},
		}}},
	}}
	got := gidReport(t, s, "x", doctor.Options{}).Ports
	want := []doctor.PortIdentity{
		{Port: "mlx5_0:1", Rail: new(2), NodeGUID: guid(1), PortGUID: guid(2)},
		{Port: "mlx5_2:1"}, // the table's first entry is empty
		{Port: "mlx5_1:2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Ports (-want +got):\n%s", diff)
	}
}
