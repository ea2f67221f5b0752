package nodes_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/doctor/nodes"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/sim/host"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch/consensus"
)

// change alters node i of a cluster before it is read, and the facts after.
type change struct {
	tree  func(t *testing.T, tree *nodetree.Tree)
	facts func(f *facts.Facts)
	// snapshot alters what was read of the node.
	snapshot func(s *inventory.Snapshot)
}

// cluster reads nodes of two RoCE rails each, with changes by number.
func cluster(t *testing.T, changes ...change) []nodes.Node {
	t.Helper()
	var list []nodes.Node
	for i, c := range changes {
		tree, err := host.New(host.Spec{
			Node: i, Rails: 2, GPUs: 2, GIDs: 4, Netdev: "rail%d",
			NICs: []host.NIC{host.Management()},
		})
		if err != nil {
			t.Fatal(err)
		}
		if c.tree != nil {
			c.tree(t, tree)
		}
		n, err := sources.FromFS(tree.FS(), nil, "test")
		if err != nil {
			t.Fatal(err)
		}
		snap, _ := inventory.Scan(t.Context(), n.Sources)
		if c.facts != nil {
			c.facts(n.Facts())
		}
		if c.snapshot != nil {
			c.snapshot(&snap)
		}
		list = append(list, nodes.Node{Source: fmt.Sprintf("node%d", i), Snapshot: &snap, Facts: n.Facts()})
	}
	return list
}

func set(values map[string]string) change {
	return change{tree: func(t *testing.T, tree *nodetree.Tree) {
		t.Helper()
		for name, v := range values {
			if err := tree.Set(name, v+"\n"); err != nil {
				t.Fatal(err)
			}
		}
	}}
}

func run(t *testing.T, list []nodes.Node) nodes.Report {
	t.Helper()
	r, err := nodes.Run(t.Context(), checks.All(), list, nodes.Options{})
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return r
}

// gathered sets facts about the first rail's network device.
func gathered(f func(netdev string, f *facts.Facts)) change {
	return change{facts: func(all *facts.Facts) { f("rail1", all) }}
}

// TestComparisons shows each comparison with two nodes that agree and a third that differs, with
// three that agree, and with values that one node alone has.
func TestComparisons(t *testing.T) {
	known := func(d facts.DCB) change {
		return gathered(func(name string, f *facts.Facts) {
			d.Netdev = name
			f.DCB = &facts.Datum[[]facts.DCB]{Value: []facts.DCB{d}}
		})
	}
	fec := func(active string) change {
		return gathered(func(name string, f *facts.Facts) {
			f.Ethtool = &facts.Datum[[]facts.Ethtool]{Value: []facts.Ethtool{{
				Netdev: name,
				FEC:    &facts.FEC{Active: active},
			}}}
		})
	}
	part := func(number string) change {
		return gathered(func(name string, f *facts.Facts) {
			f.Modules = &facts.Datum[[]facts.Module]{Value: []facts.Module{{
				Netdev: name, Vendor: "Mellanox",
				PartNumber: number,
			}}}
		})
	}
	dscp := func(priority uint8) facts.DCB {
		return facts.DCB{Apps: []facts.DCBApp{{Selector: 5, Protocol: 26, Priority: priority}, {
			Selector: 1,
			Protocol: 26, Priority: 7,
		}}}
	}
	const dev = "mlx5_0"
	tests := []struct {
		id          string
		like, other change
	}{
		// One card of each node has another version than its neighbour: a finding of the node, not
		// of the cluster.
		{
			"firmware", set(map[string]string{"sys/class/infiniband/mlx5_0/fw_ver": "28.43.2026"}),
			set(map[string]string{"sys/class/infiniband/mlx5_0/fw_ver": "28.39.1002"}),
		},
		{
			"kernel", set(map[string]string{"proc/sys/kernel/osrelease": "6.8.0-45"}),
			set(map[string]string{"proc/sys/kernel/osrelease": "6.8.0-47"}),
		},
		{
			"driver-version", set(map[string]string{"sys/module/mlx5_core/version": "24.10-1.1.4"}),
			set(map[string]string{"sys/module/mlx5_core/version": "24.04-0.7.0"}),
		},
		{"cable", part("MCP1650-V001E30"), part("MFS1S00-H010V")},
		{"fec", fec("RS"), fec("BaseR")},
		{"pfc", known(facts.DCB{PFC: &facts.PFC{Enabled: 8}}), known(facts.DCB{PFC: &facts.PFC{Enabled: 16}})},
		{"dscp-map", known(dscp(3)), known(dscp(4))},
		{
			"trust", set(map[string]string{"sys/class/net/rail1/qos/trust": "dscp"}),
			set(map[string]string{"sys/class/net/rail1/qos/trust": "pcp"}),
		},
		{
			"roce-tos", set(map[string]string{"sys/kernel/config/rdma_cm/" + dev + "/ports/1/default_roce_tos": "106"}),
			set(map[string]string{"sys/kernel/config/rdma_cm/" + dev + "/ports/1/default_roce_tos": "0"}),
		},
		{
			"roce-mode",
			set(map[string]string{"sys/kernel/config/rdma_cm/" + dev + "/ports/1/default_roce_mode": "RoCE v2"}),
			set(map[string]string{"sys/kernel/config/rdma_cm/" + dev + "/ports/1/default_roce_mode": "IB/RoCE v1"}),
		},
		{"gpu-affinity", change{}, change{snapshot: func(s *inventory.Snapshot) {
			s.Devices[1].Ports[0].GPUs[0].Distance = inventory.PCIDistancePHB
		}}},
		{
			"traffic-class",
			set(map[string]string{"sys/class/infiniband/" + dev + "/tc/1/traffic_class": "Global tclass=106"}),
			set(map[string]string{"sys/class/infiniband/" + dev + "/tc/1/traffic_class": "Global tclass=160"}),
		},
		{ // mlx5 prints nothing if no class is forced
			"traffic-class",
			set(map[string]string{"sys/class/infiniband/" + dev + "/tc/1/traffic_class": "Global tclass=106"}),
			set(map[string]string{"sys/class/infiniband/" + dev + "/tc/1/traffic_class": ""}),
		},
		{
			"numa-balancing", set(map[string]string{"proc/sys/kernel/numa_balancing": "0"}),
			set(map[string]string{"proc/sys/kernel/numa_balancing": "1"}),
		},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			r := run(t, cluster(t, tt.like, tt.like, tt.like))
			if d := difference(r, tt.id); d != nil {
				t.Errorf("equal nodes differ: %s", d.Text)
			}
			r = run(t, cluster(t, tt.like, tt.other, tt.like))
			d := difference(r, tt.id)
			if d == nil {
				t.Fatalf("no difference; verdict %s, not compared %v", r.Verdict, r.NotCompared)
			}
			if len(d.Groups) != 2 || len(d.Groups[0].Nodes) != 2 || len(d.Groups[1].Nodes) != 1 || d.Tie {
				t.Errorf("groups %+v, want two nodes against one", d.Groups)
			}
			if e := d.Groups[1].Evidence; len(e) == 0 || e[0].Path == "" || e[0].Value == "" {
				t.Errorf("evidence %+v, want path and value", e)
			}
		})
	}
}

// difference returns the first difference of a check, nil for none.
func difference(r nodes.Report, id string) *consensus.Difference {
	i := slices.IndexFunc(r.Comparison.Differences, func(d consensus.Difference) bool { return d.Check == id })
	if i < 0 {
		return nil
	}
	return &r.Comparison.Differences[i]
}

func TestVerdictAndSilence(t *testing.T) {
	like := set(map[string]string{"sys/class/net/rail1/qos/trust": "dscp"})
	other := set(map[string]string{"sys/class/net/rail1/qos/trust": "pcp"})
	r := run(t, cluster(t, like, other, like))
	if r.Verdict != doctor.OutcomeFail {
		t.Errorf("verdict %s with a difference that breaks jobs, want fail", r.Verdict)
	}
	if len(r.Nodes) != 3 || r.Nodes[1].Source != "node1" || len(r.Nodes[1].Report.Findings) == 0 {
		t.Errorf("reports of nodes: %+v", r.Nodes)
	}
	r = run(t, cluster(t, like, change{}))
	if !slices.Contains(r.NotCompared, "trust") || difference(r, "trust") != nil {
		t.Errorf("a value of one node only: not compared %v, difference %v", r.NotCompared, difference(r, "trust"))
	}
	if slices.Contains(run(t, cluster(t, like, like)).NotCompared, "trust") {
		t.Error("values of two nodes are listed as not compared")
	}
}

func TestRunRefuses(t *testing.T) {
	one := cluster(t, change{})
	if _, err := nodes.Run(t.Context(), checks.All(), one, nodes.Options{}); !errors.Is(err, nodes.ErrTooFew) {
		t.Errorf("one node: %v, want ErrTooFew", err)
	}
	two := cluster(t, change{}, change{})
	_, err := nodes.Run(t.Context(), checks.All(), two, nodes.Options{Node: doctor.Options{Only: []string{"splendid"}}})
	if !errors.Is(err, doctor.ErrUnknownCheck) || !strings.Contains(err.Error(), "node0") {
		t.Errorf("unknown check: %v", err)
	}
}

func TestNumbersAreOfTheCatalogue(t *testing.T) {
	for _, n := range nodes.Numbers() {
		if !slices.ContainsFunc(checks.Catalogue(), func(e checks.Entry) bool { return e.Number == n }) {
			t.Errorf("number %d is not in the catalogue", n)
		}
	}
}

// TestNoRDMA compares nodes without RDMA: that is no pass.
func TestNoRDMA(t *testing.T) {
	var list []nodes.Node
	for i := range 2 {
		snap := inventory.Snapshot{Host: inventory.Host{Name: fmt.Sprintf("n%d", i)}}
		list = append(list, nodes.Node{Source: snap.Host.Name, Snapshot: &snap})
	}
	if r := run(t, list); r.Verdict != doctor.OutcomeNotApplicable || r.Comparison.Verdict != consensus.VerdictNone {
		t.Errorf("verdict %s, of the comparison %s", r.Verdict, r.Comparison.Verdict)
	}
}

// TestSharedSuppressions suppresses a finding of an object that none of the nodes has.
func TestSharedSuppressions(t *testing.T) {
	list := cluster(t, change{}, change{})
	none := doctor.Suppression{CheckID: "mtu", Object: "mlx5_99"}
	some := doctor.Suppression{CheckID: "mtu", Object: "mlx5_0"}
	opts := nodes.Options{Node: doctor.Options{Suppressions: []doctor.Suppression{none, some}}}
	r, err := nodes.Run(t.Context(), checks.All(), list, opts)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Unmatched, []doctor.Suppression{none}) {
		t.Errorf("suppressions that match nothing: %v, want that of %s", r.Unmatched, none.Object)
	}
	for _, n := range r.Nodes {
		for _, f := range n.Report.Findings {
			if f.CheckID == doctor.SuppressionsID {
				t.Errorf("%s: %s: %s, though the suppressions are those of all nodes", n.Source, f.Object, f.Summary)
			}
		}
	}
}
