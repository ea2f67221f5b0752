package lint

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
	"github.com/rdmakit/rdmakit/inventory"
)

// TestFixesOfListsAreSound demands that no value that a finding proposes for a list would be
// reported again, on machines that people have.
func TestFixesOfListsAreSound(t *testing.T) {
	fixes := 0
	for _, name := range realnodes.Names() {
		n := realNode(t, name)
		devices := n.snap.Devices
		for _, device := range devices[max(0, len(devices)-2):] {
			d := device.Name
			for _, value := range []string{d, d + ":2", d + ":9," + d + "x", d + "0," + d} {
				fixes += soundFixesOf(t, n, name, "NCCL_IB_HCA="+value)
				fixes += soundFixesOf(t, n, name, "UCX_NET_DEVICES="+value)
			}
		}
	}
	if fixes < 500 {
		t.Errorf("%d fixes on all nodes: too few to tell anything", fixes)
	}
}

// soundFixesOf lints a setting, then every value that a finding about lists proposes for it.
func soundFixesOf(t *testing.T, n treeNode, node, pair string) int {
	t.Helper()
	variable, _, _ := strings.Cut(pair, "=")
	count := 0
	for _, f := range runPairs(n, pair).Findings {
		for _, fix := range f.Fixes {
			if fix.Name != variable || fix.Unset {
				continue
			}
			count++
			for _, again := range runPairs(n, fix.Name+"="+fix.Value).Findings {
				ofLists := strings.HasPrefix(again.Rule, "hca-")
				if again.Variable == variable && again.Severity != SeverityNote && ofLists {
					t.Errorf("%s: %s: %s proposes %s=%s: %s %s: %s",
						node, pair, f.Rule, fix.Name, fix.Value, again.Severity, again.Rule, again.Summary)
				}
			}
		}
	}
	return count
}

// realNode scans a machine of realnodes.
func realNode(t *testing.T, name string) treeNode {
	t.Helper()
	node, err := realnodes.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	root := node.Tree.FS()
	src, err := sources.FromFS(root, nil, "machine")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	snap, _ := inventory.Scan(t.Context(), src.Sources) // what can't be read is in its problems
	return treeNode{snap: snap, root: root}
}

// TestManagementPortAlone has a node whose rails are down: the list with its management port is
// reported although there is no better one.
func TestManagementPortAlone(t *testing.T) {
	n := realNode(t, "h20_ib_rails_down_bf3_up")
	found := findingsOf(runPairs(n, "NCCL_IB_HCA=mlx5_bond_0"), "hca-role")
	if len(found) != 1 || len(found[0].Fixes) > 0 {
		t.Errorf("findings = %+v, want one, without a value", found)
	}
}

// TestPodNetwork lints the environment of a pod on a node: device names of the node are judged,
// those of network devices are not, unless the pod uses the host's.
func TestPodNetwork(t *testing.T) {
	n := realNode(t, "xe9680_h200_bf3")
	for _, tt := range []struct {
		pod, container bool
		want           []string
	}{
		{false, false, []string{"hca-unknown", "socket-unknown", "host-address"}},
		{true, false, []string{"hca-unknown"}},
		{true, true, []string{"hca-unknown", "socket-unknown", "host-address"}}, // the scan is of a pod
	} {
		env := FromPairs("test", FormKubernetes, []string{
			"NCCL_IB_HCA=mlx5_99", "GLOO_SOCKET_IFNAME=net1", "UCX_NET_DEVICES=net2", "VLLM_HOST_IP=10.9.9.9",
		})
		env.PodNetwork = tt.pod
		snap := n.snap
		if tt.container {
			snap.Host.Container = &inventory.Container{Kubernetes: true}
		}
		r := Run(Input{Snapshot: &snap, Root: n.root, Environments: []Environment{env}})
		for _, rule := range []string{"hca-unknown", "socket-unknown", "host-address"} {
			if got := len(findingsOf(r, rule)) > 0; got != slices.Contains(tt.want, rule) {
				t.Errorf("pod %t in a container %t: %s reported: %t", tt.pod, tt.container, rule, got)
			}
		}
		if got := r.Environments[0].PodNetwork; got != (tt.pod && !tt.container) {
			t.Errorf("pod %t in a container %t: PodNetwork = %t", tt.pod, tt.container, got)
		}
		for _, f := range r.Findings {
			if tt.pod && !tt.container && f.Variable == "UCX_NET_DEVICES" {
				t.Errorf("a network device of the pod is reported: %s", f.Summary)
			}
		}
	}
}

// TestElsewhere lints the environment of a pod on a machine without RDMA devices, such as a laptop:
// only what is wrong by itself is reported. A recorded node without devices is judged.
func TestElsewhere(t *testing.T) {
	pairs := []string{
		"NCCL_IB_HCA=mlx5_0", "NCCL_IB_GID_INDEX=3", "NCCL_IB_TIMEOUT=99", "NCCL_IB_HCAS=mlx5_0", "NCCL_IB_TC=106",
	}
	for _, tt := range []struct {
		form Form
		here bool
		want []string
	}{
		{FormKubernetes, true, []string{"name-misspelt", "value-range"}},
		{FormKubernetes, false, []string{"hca-unknown", "name-misspelt", "value-range"}},
		{FormEnv, true, []string{"hca-unknown", "name-misspelt", "value-range"}},
	} {
		r := Run(Input{
			Snapshot: &inventory.Snapshot{}, Here: tt.here,
			Environments: []Environment{FromPairs("test", tt.form, pairs)},
		})
		var got []string
		for _, f := range r.Findings {
			if !slices.Contains(got, f.Rule) {
				got = append(got, f.Rule)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s, here %t: %v, want %v", tt.form, tt.here, got, tt.want)
		}
		if r.Environments[0].Elsewhere != (tt.here && tt.form == FormKubernetes) {
			t.Errorf("%s, here %t: elsewhere %t", tt.form, tt.here, r.Environments[0].Elsewhere)
		}
	}
}
