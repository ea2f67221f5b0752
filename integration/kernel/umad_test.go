//go:build kernel

package kernel

import (
	"strings"
	"testing"
)

// TestUMADPing has the transport of package fabric ping itself through the kernel's user MAD device of rxe0: agents, P_Key layout,
// global route header, time-outs.
func TestUMADPing(t *testing.T) {
	const target = "/root/umadping"
	g := withProgram(t, "github.com/rdmakit/rdmakit/integration/umadping", target)
	// An IPv6 GID: with the IPv4 one, Linux 6.1 receives the answer (rcvd_pkts counts it) but doesn't match it with the request.
	gid := strings.TrimSpace(output(t, g, "cat /sys/class/infiniband/rxe0/ports/1/gids/0"))
	got := output(t, g, target+" rxe0 0 "+gid+" 2>&1")
	if want := "100 of 100 pings answered, one without a server lost\n"; got != want {
		t.Errorf("umadping = %q, want %q", got, want)
	}
	if got := output(t, g, target+" rxe9 0 "+gid+" 2>&1 || true"); !strings.Contains(got, "choose a port of rxe9: no such port with a user MAD device: there are rxe0 port 1") {
		t.Errorf("umadping of an unknown device = %q", got)
	}
}
