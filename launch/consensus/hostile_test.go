package consensus

import (
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// A document may say an index twice, as no kernel does.
func TestIndexTwice(t *testing.T) {
	snaps := cluster(t, 2, roceSpec, func(i int, s *inventory.Snapshot) {
		if i == 1 {
			shiftGIDs(s, "mlx5_2", 2)
			return
		}
		p := port(s, "mlx5_1")
		at := slices.IndexFunc(p.GIDs, func(g inventory.GIDEntry) bool { return g.Index == 3 })
		p.GIDs = append(p.GIDs, p.GIDs[at])
	})
	if r := Compare(digest(t, Options{}, snaps...), Options{}); r.GID.Pin != nil || slices.Contains(r.GID.Common, 3) {
		t.Errorf("Compare(index 3 missing on one port) pins %v, common %v", r.GID.Pin, r.GID.Common)
	}
}

// LIDs are unique in a subnet only.
func TestLIDsOfTwoSubnets(t *testing.T) {
	for apart, want := range map[bool]int{true: 0, false: 1} {
		snaps := cluster(t, 2, ibSpec, func(i int, s *inventory.Snapshot) {
			for _, p := range s.Ports() {
				fabric := *p.Fabric
				if apart && i == 1 {
					fabric.SubnetPrefix++
				}
				p.Fabric, p.LID = &fabric, new(ib.LID(100))
			}
		})
		got := 0
		for _, d := range Compare(digest(t, Options{}, snaps...), Options{}).Differences {
			if d.Check == checkLID {
				got++
			}
		}
		if got != want {
			t.Errorf("subnets apart = %v: %d differences of %s, want %d", apart, got, checkLID, want)
		}
	}
}
