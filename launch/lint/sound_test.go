package lint

import (
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
