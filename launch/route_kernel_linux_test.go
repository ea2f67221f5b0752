package launch_test

import (
	"net/netip"
	"testing"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

// TestKernelRoutes asks this machine's kernel for the way to itself.
func TestKernelRoutes(t *testing.T) {
	snap := inventory.Snapshot{Netdevs: []inventory.Netdev{{Name: "lo", Index: 1, Type: inventory.ARPHRDLoopback}}}
	r, err := launch.KernelRoutes(t.Context(), snap)(netip.MustParseAddr("127.0.0.1"), netip.Addr{})
	if err != nil || r.Netdev != "lo" {
		t.Errorf("route to 127.0.0.1 = %+v, %v, want lo", r, err)
	}
}
