package source

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
	"github.com/rdmakit/rdmakit/inventory"
)

// TestRailsOfRealNodes compares the rails that plans are made of with the compute ports that are
// right for machines that people have. Ports of virtual functions and second ports of a function
// belong to no physical function of a plan.
func TestRailsOfRealNodes(t *testing.T) {
	compared := 0
	for _, name := range realnodes.Names() {
		n, err := realnodes.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		snap, _ := inventory.Scan(t.Context(), inventory.Sources{Root: n.Tree.FS()})
		want, or := pfsOf(&snap, n.Right.Compute), pfsOf(&snap, n.Right.OrCompute)
		var got []string
		pfs := FromSnapshot(snap, name).PFs
		pfs = slices.DeleteFunc(pfs, func(p PF) bool { return p.Role != "compute" || p.Rail == nil })
		slices.SortFunc(pfs, func(a, b PF) int { return *a.Rail - *b.Rail })
		for _, p := range pfs {
			got = append(got, p.RDMADevice)
		}
		if diff := cmp.Diff(want, got); diff != "" && (or == nil || !slices.Equal(or, got)) {
			t.Errorf("%s: rails (-right +got):\n%s", name, diff)
		}
		compared += len(want)
	}
	t.Logf("%d rails", compared)
}

// pfsOf returns the devices of ports that are first ports of physical functions that plans know.
func pfsOf(snap *inventory.Snapshot, ports []string) []string {
	var out []string
	for _, port := range ports {
		for d, p := range snap.Ports() {
			known := d.PCI != nil && slices.ContainsFunc(snap.Cards, func(c inventory.Card) bool {
				return c.PCI.Address == d.PCI.Address
			})
			if fmt.Sprintf("%s:%d", d.Name, p.Number) == port && p.Number == 1 && d.VF == nil && known {
				out = append(out, d.Name)
			}
		}
	}
	return out
}
