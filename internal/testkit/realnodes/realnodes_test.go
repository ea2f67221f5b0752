package realnodes

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHeads checks that each node says all that a test needs, that each of its ports has one role,
// and that no role names a port that the node doesn't have.
func TestHeads(t *testing.T) {
	names := Names()
	if len(names) < 80 {
		t.Fatalf("%d nodes, want more", len(names))
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			n, err := Load(name)
			if err != nil {
				t.Fatal(err)
			}
			r := n.Right
			if n.Shape == "" || len(n.Sources) == 0 || n.Raw == "" || r.HCA == "" || r.Fail == "" || r.Warn == "" ||
				r.Unknown == "" || len(r.Why) == 0 {
				t.Errorf("the head is incomplete: %+v", n)
			}
			there := portsOf(t, n)
			roles := map[string]int{}
			for _, list := range [][]string{r.Compute, r.Storage, r.Management, r.Unused, r.Uncertain} {
				for _, p := range list {
					roles[p]++
					if !slices.Contains(there, p) {
						t.Errorf("%s has a role, and the tree has no such port", p)
					}
				}
			}
			for _, p := range there {
				if roles[p] != 1 {
					t.Errorf("%s has %d roles, want 1", p, roles[p])
				}
			}
			if list, ok := strings.CutPrefix(r.HCA, "="); ok {
				for p := range strings.SplitSeq(list, ",") {
					if !slices.Contains(r.Compute, p) {
						t.Errorf("%s is in NCCL_IB_HCA and not compute", p)
					}
				}
			}
		})
	}
}

// portsOf lists the ports of a tree by their folders, wherever the device's folder is.
func portsOf(t *testing.T, n *Node) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(n.Tree.FS(), "sys", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder, file := path.Split(name)
		if parts := strings.Split(folder, "/"); file == "state" && len(parts) > 5 {
			last := parts[len(parts)-5:]
			if last[0] == "infiniband" && last[2] == "ports" {
				out = append(out, last[1]+":"+last[3])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestPorts(t *testing.T) {
	for _, tt := range []struct {
		line string
		want []string
	}{
		{"none", nil},
		{"mlx5_0:1 mlx5_1:2", []string{"mlx5_0:1", "mlx5_1:2"}},
		{"mlx5_0:1 (not mlx5_9:1, see (mlx5_8:1)); mlx5_1:1 (down)", []string{"mlx5_0:1", "mlx5_1:1"}},
		{"none (0000:9d:00.1 has no RDMA device)", nil},
	} {
		if diff := cmp.Diff(tt.want, ports(tt.line)); diff != "" {
			t.Errorf("ports(%q) (-want +got):\n%s", tt.line, diff)
		}
	}
}

func TestHeadErrors(t *testing.T) {
	for _, text := range []string{"# SHAPE\n", "# RIGHT colour: red\n"} {
		if err := new(Node).readHead(text); err == nil {
			t.Errorf("readHead(%q) reports no error", text)
		}
	}
}
