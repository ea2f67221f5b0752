package plan

import (
	"flag"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s/lint"
	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// clusterTest is a cluster with the options to plan with; its golden file is
// testdata/golden/NAME.yaml.
type clusterTest struct {
	name  string
	files []string // of testdata/clusters, or with .tree of internal/testkit/testtrees
	opts  Options
	warns []string // rules of lint that warn of what the plan can't help, and its notes say
}

func clusterTests() []clusterTest {
	prefix := netip.MustParsePrefix
	return []clusterTest{
		{
			"ib-labelled",
			[]string{"ib-labelled.yaml"},
			Options{CheckPods: 2, TestPods: 2, Reserved: []Reserved{{Use: "services", Prefix: prefix("10.96.0.0/12")}}},
			nil,
		},
		{"roce-slots", []string{"roce-slots.yaml"}, Options{
			MaxUnavailable: "25%", Isolation: true, Pools: []netip.Prefix{prefix("10.0.0.0/8")},
			Reserved: []Reserved{{Use: "pods", Prefix: prefix("10.0.0.0/9")}},
		}, nil},
		{"ib-uneven", []string{"ib-uneven.yaml"}, Options{CheckPods: 3, MaxUnavailable: "2"}, nil},
		{"ib-uneven-8", []string{"ib-uneven.yaml"}, Options{VFs: 8, Nodes: 16, SelectBy: ByName}, nil},
		{
			"roce-external",
			[]string{"roce-external.yaml"},
			Options{MTU: 9000, CheckPods: 2, Select: Selection{Names: []string{"ens*"}}},
			nil,
		},
		{
			"roce-makers",
			[]string{"roce-makers.yaml"},
			Options{Pools: []netip.Prefix{prefix("fd00:10::/48")}, TestPods: 1},
			nil,
		},
		{"ib-off", []string{"ib-off.yaml"}, Options{Labels: LabelsNFD, RDMAMode: "shared"}, []string{"sriov-disabled"}},
		{"ib-invisible", []string{"ib-invisible.yaml"}, Options{
			ResourcePrefix: "rdma.example.com", Namespace: "training", NodeSelector: map[string]string{"pool": "gpu"},
		}, nil},
		{
			"two-fabrics",
			[]string{"58_two_ib_fabrics.tree"},
			Options{Select: Selection{Fabrics: []string{"fec0::b2@42"}}, Isolation: true, CheckPods: 2},
			nil,
		},
		{
			"four-and-two",
			[]string{"58_two_ib_fabrics.tree"},
			Options{Select: Selection{Rails: []int{0, 1, 2, 3, 4, 5}}},
			nil,
		},
		{
			"ib-vfs-host",
			[]string{"61_ib_vfs_host.tree"},
			Options{OperatorNamespace: "nvidia-network-operator", TestPods: 1},
			nil,
		},
		{"roce-vfs-reboot", []string{"40_pf_vfs.tree"}, Options{VFs: 4}, nil},
		{"dgx", []string{"47_gpu_switches.tree"}, Options{Namespace: "default", Omit: []string{"ConfigMap"}}, nil},
		{
			"mixed-roles",
			[]string{"10_mixed_ib_storage_roce.tree"},
			Options{Select: Selection{Roles: []string{"compute", "storage"}}, VFs: 4},
			[]string{"sriov-disabled"},
		},
		{"several-fabrics", []string{"47_gpu_switches.tree", "58_two_ib_fabrics.tree"}, Options{CheckPods: 2}, nil},
		{"consensus", []string{
			"consensus/gpu-00.tree", "consensus/gpu-01.tree", "consensus/gpu-02.tree", "consensus/gpu-03.tree",
		}, Options{}, nil},
	}
}

func (c clusterTest) cluster(t testing.TB) source.Cluster {
	t.Helper()
	var names []string
	for _, f := range c.files {
		dir := filepath.Join("testdata", "clusters")
		if strings.HasSuffix(f, ".tree") {
			dir = filepath.Join("..", "..", "internal", "testkit", "testtrees")
		}
		names = append(names, filepath.Join(dir, f))
	}
	cluster, err := source.Files{Names: names}.Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// TestGolden plans for each cluster. The plan must equal the golden file, pass our own lint,
// be accepted by an API server, and be the same for another order of the input.
func TestGolden(t *testing.T) {
	server := newAPIServer(t)
	for _, tt := range clusterTests() {
		t.Run(tt.name, func(t *testing.T) {
			cluster := tt.cluster(t)
			p, err := Make(cluster, tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "golden", tt.name+".yaml")
			if *update {
				if err := os.WriteFile(golden, p.YAML(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(p.YAML())); diff != "" {
				t.Errorf("plan differs; -update rewrites the file (-want +got):\n%s", diff)
			}
			lints(t, cluster, p, tt)
			for _, f := range p.Files {
				if f.Object == "" {
					continue
				}
				if err := server.admit([]byte(f.Text)); err != nil {
					t.Errorf("an API server refuses %s: %v", f.Object, err)
				}
			}
		})
	}
}

// lints runs our own lint on a plan: no errors, and no warnings except those that the test names.
func lints(t *testing.T, cluster source.Cluster, p Plan, tt clusterTest) {
	t.Helper()
	in := lint.Input{
		Manifests: manifest.Parse("plan.yaml", p.YAML()), Cluster: labelled(cluster, p.Label),
		Options: lint.Options{
			OperatorNamespace: p.OperatorNamespace, OperatorVersion: "v1.6.0", ResourcePrefix: p.ResourcePrefix,
		},
	}
	in.Options.Reserved = tt.opts.Reserved
	seen := map[string]bool{}
	for _, f := range lint.Run(in).Findings {
		switch {
		case f.Severity == lint.SeverityNote:
		case f.Severity == lint.SeverityWarn && slices.Contains(tt.warns, f.Rule):
			seen[f.Rule] = true
		default:
			t.Errorf("lint: %s line %d, %s: %s: %s", f.Severity, f.Line, f.Object, f.Rule, f.Summary)
		}
	}
	for _, rule := range tt.warns {
		if !seen[rule] {
			t.Errorf("lint doesn't warn of %s", rule)
		}
	}
}

// labelled puts the labels on nodes that the plan asks for.
func labelled(cluster source.Cluster, labels []Label) source.Cluster {
	nodes := slices.Clone(cluster.Nodes)
	for i := range nodes {
		for _, l := range labels {
			if slices.Contains(l.Nodes, nodes[i].Name) {
				labels := map[string]string{labelHost: nodes[i].Name}
				maps.Copy(labels, nodes[i].Labels)
				labels[l.Key] = l.Value
				nodes[i].Labels = labels
			}
		}
	}
	cluster.Nodes = nodes
	return cluster
}
