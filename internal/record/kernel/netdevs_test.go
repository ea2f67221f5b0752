package kernel

import (
	"context"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// scan reads a test tree with the recorded answers of netlink.
func scan(t *testing.T, name string) *inventory.Snapshot {
	t.Helper()
	tree, err := testtrees.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	src := inventory.Sources{Root: tree.FS()}
	if data, err := fs.ReadFile(tree.FS(), "live.json"); err == nil {
		src.Live = &inventory.Live{}
		if err := json.Unmarshal(data, src.Live); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := inventory.Scan(t.Context(), src)
	return &s
}

func TestCardNetdevs(t *testing.T) {
	for _, tt := range []struct {
		tree, want, physical string
	}{
		{
			"02_rocev2_8hca", "ens0np0 ens1np0 ens2np0 ens3np0 ens4np0 ens5np0 ens6np0 ens7np0",
			"ens0np0 ens1np0 ens2np0 ens3np0 ens4np0 ens5np0 ens6np0 ens7np0",
		},
		{"06_none", "eth0", "eth0"}, // a card without RDMA
		{"40_pf_vfs", "eno1np0 ens1np0 ens2np0", "eno1np0 ens1np0 ens2np0"},
		{"07_sriov_vf_pod", "net1 net2 net3 net4", ""},
		{"49_bond", "bond0 ens1np0 ens2np0 ens9f0np0 ens9f1np1", "bond0 ens1np0 ens2np0 ens9f0np0 ens9f1np1"},
		{"51_rxe_siw", "eth0", "eth0"},
	} {
		s := scan(t, tt.tree)
		for physical, want := range map[bool]string{false: tt.want, true: tt.physical} {
			if got := strings.Join(cardNetdevs(s, physical), " "); got != want {
				t.Errorf("cardNetdevs(%s, %v) = %q, want %q", tt.tree, physical, got, want)
			}
		}
	}
}

func TestEach(t *testing.T) {
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	ask := func(ctx context.Context, name string) string {
		if name == "stuck" {
			<-stuck
		}
		if _, ok := ctx.Deadline(); !ok {
			t.Error("no deadline")
		}
		return strings.ToUpper(name)
	}
	late := func(name string) string { return "late " + name }
	got, complete := each(t.Context(), 50*time.Millisecond, []string{"a", "stuck", "c"}, ask, late)
	if diff := cmp.Diff([]string{"A", "late stuck", "C"}, got); diff != "" || complete {
		t.Errorf("each() with one that doesn't return, complete %v, -want +got:\n%s", complete, diff)
	}
	got, complete = each(t.Context(), time.Minute, []string{"a", "b"}, ask, late)
	if diff := cmp.Diff([]string{"A", "B"}, got); diff != "" || !complete {
		t.Errorf("each(), complete %v, -want +got:\n%s", complete, diff)
	}
}

// scanRoot returns the root of this machine.
func scanRoot(t *testing.T) fs.FS {
	t.Helper()
	root, err := sysfs.OpenRoot("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}
