package rocev2

import (
	"testing"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestSourcePort checks values that were computed by hand from the kernel's definition.
func TestSourcePort(t *testing.T) {
	for label, want := range map[uint32]uint16{
		0: 0xc000, 1: 0xc001, 0x3fff: 0xffff, 0x4000: 0xc001, 0xfc000: 0xc03f, 0xfffff: 0xffc0, 1 << 20: 0xc000,
	} {
		if got := SourcePort(label); got != want {
			t.Errorf("SourcePort(%#x) = %#x, want %#x", label, got, want)
		}
	}
	for _, tt := range []struct {
		local, remote ib.QPN
		want          uint32
	}{
		{0, 5, 0}, {1, 1, 1}, {0x1000, 0x1000, 0x10}, {0xffffff, 0xffffff, 0xfff1e}, {0x123456, 0xabcdef, 0xac3e3},
	} {
		if got := FlowLabel(tt.local, tt.remote); got != tt.want {
			t.Errorf("FlowLabel(%v, %v) = %#x, want %#x", tt.local, tt.remote, got, tt.want)
		}
		if FlowLabel(tt.local, tt.remote) != FlowLabel(tt.remote, tt.local) {
			t.Errorf("FlowLabel(%v, %v) depends on the direction", tt.local, tt.remote)
		}
	}
}

// TestSourcePortsSpread checks that switches with 8 paths and receivers with 16 queues, which take
// bits of a hash of the ports, spread connections of consecutive queue pairs evenly.
func TestSourcePortsSpread(t *testing.T) {
	const connections = 4096
	for _, ways := range []int{8, 16} {
		counts := make([]int, ways)
		ports := map[uint16]bool{}
		for i := range connections {
			port := SourcePort(FlowLabel(ib.QPN(0x100+i), ib.QPN(0x20b+i)))
			ports[port] = true
			counts[uint32(port)*2654435761>>16%uint32(ways)]++ // Knuth's multiplicative hash
		}
		mean := connections / ways
		for way, n := range counts {
			if n < mean*7/10 || n > mean*13/10 {
				t.Errorf("%d ways: way %d has %d of %d connections, want about %d", ways, way, n, connections, mean)
			}
		}
		if len(ports) < connections*6/10 {
			t.Errorf("%d connections have only %d ports", connections, len(ports))
		}
	}
}
