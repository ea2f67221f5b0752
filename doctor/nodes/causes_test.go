package nodes_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/nodes"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/sim/host"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch/consensus"
)

// TestUnequalMTU has the two servers of NVIDIA/nccl 1524: "My 2 servers were misconfigured with
// different MTU".
func TestUnequalMTU(t *testing.T) {
	r := run(t, cluster(t, change{}, set(map[string]string{
		"sys/class/net/rail1/mtu": "1500", "sys/class/net/rail2/mtu": "1500",
	})))
	d := difference(r, "mtu")
	if d == nil || !slices.Equal(d.Rails, []int{0, 1}) || len(d.Groups) != 2 {
		t.Fatalf("difference %+v, want the MTU of both rails of two nodes", d)
	}
	if !strings.Contains(d.Text, "4096") || !strings.Contains(d.Text, "1024") {
		t.Errorf("%q, want both active MTUs", d.Text)
	}
	if d.Severity != consensus.SeverityBreaks {
		t.Errorf("severity %s: their jobs ended with a work queue error", d.Severity)
	}
	own := func(f doctor.Finding) bool { return f.CheckID == "mtu" && f.Outcome == doctor.OutcomeWarn }
	if !slices.ContainsFunc(r.Nodes[1].Report.Findings, own) || slices.ContainsFunc(r.Nodes[0].Report.Findings, own) {
		t.Error("want a warning of the MTU of the second node alone")
	}
}

// TestStrayCard has the two nodes of NVIDIA/nccl 1363: eight rails of 400 Gb/s each, and on one an
// interface of another kind that is mlx5_3, so that the rails behind it have other names; on the
// other the further cards come last.
func TestStrayCard(t *testing.T) {
	var list []nodes.Node
	for i, name := range []string{"csp2", "csp3"} {
		tree, err := host.New(host.Spec{
			Node: i, Name: name, Rails: 8, GPUs: 8, NICs: []host.NIC{{
				Card: host.ConnectX6Dx(), Functions: 1 + i, Netdev: "sto%dnp0",
				Network: netip.MustParsePrefix("10.9.0.10/16"),
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		n, err := sources.FromFS(tree.FS(), nil, "test")
		if err != nil {
			t.Fatal(err)
		}
		snap, _ := inventory.Scan(t.Context(), n.Sources)
		if i == 0 {
			rename(&snap, "mlx5_8", "mlx5_3", "mlx5_3", "mlx5_4", "mlx5_4", "mlx5_5", "mlx5_5", "mlx5_6",
				"mlx5_6", "mlx5_7", "mlx5_7", "mlx5_8")
		}
		list = append(list, nodes.Node{Source: name, Snapshot: &snap, Facts: n.Facts()})
	}
	r := run(t, list)
	d := difference(r, "device-name")
	if d == nil || !slices.Equal(d.Rails, []int{3, 4, 5, 6, 7}) || d.Severity != consensus.SeverityNote {
		t.Errorf("difference %+v, want the names of rails 3 to 7", d)
	}
	for i, object := range []string{"mlx5_3:1", "mlx5_8:1"} {
		named := func(f doctor.Finding) bool {
			return f.CheckID == "role" && f.Object == object &&
				strings.Contains(f.Summary, "unlike the compute ports") &&
				strings.Contains(strings.Join(f.Remedy, "\n"), "NCCL_IB_HCA='=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_")
		}
		if !slices.ContainsFunc(r.Nodes[i].Report.Findings, named) {
			t.Errorf("%s: want %s named as no compute port, with the list for NCCL_IB_HCA", r.Nodes[i].Source, object)
		}
	}
}

// rename gives devices other names, as pairs of old and new ones.
func rename(s *inventory.Snapshot, pairs ...string) {
	to := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		to[pairs[i]] = pairs[i+1]
	}
	for i := range s.Devices {
		if name, ok := to[s.Devices[i].Name]; ok {
			s.Devices[i].Name = name
		}
	}
}
