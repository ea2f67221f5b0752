package roce_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/providertest"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// announced are the capabilities that every engine must have.
const announced = provider.CapRC | provider.CapImmediate | provider.CapInline | provider.CapMemoryAddress |
	provider.CapWatch | provider.CapChannel | provider.CapEvents

// TestConformance runs the conformance suite of the interface on engines: over sockets of the
// loopback device, over one socket with itself, and over the simulated network.
func TestConformance(t *testing.T) {
	clean := packetnet.Faults{Delay: 5 * time.Microsecond}
	// A packet is lost at most three times, so that no request that is to succeed exhausts its
	// retries.
	lossy := packetnet.Faults{
		Seed: 7, Loss: 0.005, Duplicate: 0.01, Delay: 5 * time.Microsecond, Jitter: 10 * time.Microsecond, MaxDrops: 3,
	}
	for _, tt := range []struct {
		name    string
		open    func(t testing.TB) providertest.Pair
		lossy   bool
		timeout uint8 // 33 ms where losses take that long, otherwise the default
	}{
		{"loopback", openLoopback, false, 0},
		{"itself", openItself, false, 0},
		{"network", func(t testing.TB) providertest.Pair { return openNetwork(t, clean) }, false, 0},
		{"lossy", func(t testing.TB) providertest.Pair { return openNetwork(t, lossy) }, true, 13},
	} {
		t.Run(tt.name, func(t *testing.T) {
			providertest.Run(t, tt.open, providertest.Options{
				Capabilities: announced, Lossy: tt.lossy, Quiet: 10 * time.Millisecond, AckTimeout: tt.timeout,
			})
		})
	}
}

func openAddress(t testing.TB, addr string) provider.Device {
	t.Helper()
	d, err := roce.Provider{}.Open(t.Context(), roce.Prefix+addr)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func openLoopback(t testing.TB) providertest.Pair {
	t.Helper()
	pair := providertest.Connect(t, openAddress(t, "127.0.60.1"), openAddress(t, "127.0.60.2"))
	pair.Absent = pair.A.Path
	pair.Absent.DGID = ib.GIDFromAddr(netip.MustParseAddr("127.0.60.3"))
	return pair
}

func openItself(t testing.TB) providertest.Pair {
	t.Helper()
	d := openAddress(t, "127.0.60.4")
	return providertest.Connect(t, d, d)
}

func openNetwork(t testing.TB, faults packetnet.Faults) providertest.Pair {
	t.Helper()
	network := packetnet.New(faults)
	engine := func(addr string) provider.Device {
		ip := netip.MustParseAddr(addr)
		conn, err := network.Listen(netip.AddrPortFrom(ip, rocev2.Port))
		if err != nil {
			t.Fatal(err)
		}
		e, err := roce.New(roce.Config{Name: roce.Prefix + addr, Conn: conn, Addr: ip, MTU: ib.MTU4096})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	pair := providertest.Connect(t, engine("10.0.0.1"), engine("10.0.0.2"))
	pair.Absent = pair.A.Path
	pair.Absent.DGID = ib.GIDFromAddr(netip.MustParseAddr("10.0.0.3"))
	return pair
}
