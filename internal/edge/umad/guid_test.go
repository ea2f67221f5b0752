package umad

import (
	"testing"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestPortGUID: the GUID of an InfiniBand port is in its first GID. Here it is that of the node;
// the SMI devices have no GIDs.
func TestPortGUID(t *testing.T) {
	ports, err := Ports(t.Context(), tree(t, "52_xdr").FS())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]ib.GUID{
		"mlx5_0": {0xb8, 0x3f, 0xd2, 0x03, 0x00, 0xa5, 0x10, 0x00},
		"mlx5_1": {0xb8, 0x3f, 0xd2, 0x03, 0x00, 0xa5, 0x10, 0x01},
	}
	for _, p := range ports {
		if p.GUID != want[p.Device] {
			t.Errorf("GUID of %s is %v, want %v", p, p.GUID, want[p.Device])
		}
	}
}
