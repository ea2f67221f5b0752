package consensus

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// TestRails numbers the rails of two nodes, one without RDMA, as Compare does.
func TestRails(t *testing.T) {
	var nodes []*Node
	for _, name := range []string{"06_none", "10_mixed_ib_storage_roce"} {
		tree, err := testtrees.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		snap, _ := inventory.Scan(t.Context(), inventory.Sources{Root: tree.FS()}) // lists what the tree lacks
		n, err := NewNode(name, snap, Options{})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	pairing, ports := Rails(nodes)
	var want []NumberedPort
	for i, r := range nodes[1].rails {
		want = append(want, NumberedPort{Node: 1, Device: r.device, Port: 1, Rail: i})
	}
	if diff := cmp.Diff(want, ports); diff != "" || len(ports) == 0 || pairing.Method != PairedByNumber {
		t.Errorf("Rails = %+v, %d ports, want them by number (-want +got):\n%s", pairing, len(ports), diff)
	}
}
