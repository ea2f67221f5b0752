package inventory_test

import (
	"net/netip"
	"testing"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestPortGUID checks from which entry of the GID table a port's GUID is.
func TestPortGUID(t *testing.T) {
	entry := func(index int, gid string) inventory.GIDEntry {
		return inventory.GIDEntry{Index: index, GID: ib.GIDFromAddr(netip.MustParseAddr(gid))}
	}
	const own, other = "fe80::b83f:d203:a5:1002", "fe80::b83f:d203:a5:9999"
	for _, q := range []struct {
		name  string
		layer inventory.LinkLayer
		gids  []inventory.GIDEntry
		want  string
	}{
		{"first entry", inventory.LinkLayerInfiniBand, []inventory.GIDEntry{entry(0, own), entry(1, other)}, own},
		{"in any order", inventory.LinkLayerInfiniBand, []inventory.GIDEntry{entry(1, other), entry(0, own)}, own},
		{"no entry 0", inventory.LinkLayerInfiniBand, []inventory.GIDEntry{entry(1, other)}, ""},
		{"empty entry 0", inventory.LinkLayerInfiniBand, []inventory.GIDEntry{entry(0, "::"), entry(1, other)}, ""},
		{"no interface", inventory.LinkLayerInfiniBand, []inventory.GIDEntry{entry(0, "fe80::")}, ""},
		{"no GIDs", inventory.LinkLayerInfiniBand, nil, ""},
		{"Ethernet", inventory.LinkLayerEthernet, []inventory.GIDEntry{entry(0, own)}, ""},
	} {
		got := (&inventory.Port{LinkLayer: q.layer, GIDs: q.gids}).PortGUID()
		switch {
		case q.want == "" && got != nil:
			t.Errorf("%s: %v, want none", q.name, got)
		case q.want != "" && (got == nil || got.String() != "b83f:d203:00a5:1002"):
			t.Errorf("%s: %v", q.name, got)
		}
	}
}
