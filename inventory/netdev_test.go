package inventory_test

import (
	"testing"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/inventory"
)

// TestAdminState tells a device that is switched off from one whose flags were not recorded.
func TestAdminState(t *testing.T) {
	tests := []struct {
		flags, carrier, operState string
		up, unknown               bool
	}{
		{"0x1002", "", "down", false, false},
		{"0x1003", "0", "down", true, false},
		{"", "0", "down", true, false}, // the file can be read only while the device is up
		{"", "", "up", true, false},
		{"", "", "down", false, true},
	}
	for _, tt := range tests {
		text := "[sys/class/net/eth9]\ntype = 1\noperstate = " + tt.operState + "\n"
		if tt.flags != "" {
			text += "flags = " + tt.flags + "\n"
		}
		if tt.carrier != "" {
			text += "carrier = " + tt.carrier + "\n"
		}
		tree, err := nodetree.Parse("eth9", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		snap, err := inventory.Scan(t.Context(), inventory.Sources{Root: tree.FS()})
		if err != nil {
			t.Fatal(err)
		}
		n := snap.Netdev("eth9")
		if n.AdminUp != tt.up || n.AdminUnknown != tt.unknown {
			t.Errorf("%+v: up %v, unknown %v", tt, n.AdminUp, n.AdminUnknown)
		}
	}
}
