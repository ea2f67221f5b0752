package conformance

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
	"github.com/rdmakit/rdmakit/verbs/provider/providertest"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// announced are the capabilities that rxe must have.
const announced = provider.CapRC | provider.CapUC | provider.CapUD | provider.CapImmediate | provider.CapInline |
	provider.CapSRQ | provider.CapAtomics | provider.CapMemoryAddress | provider.CapChannel | provider.CapEvents |
	provider.CapWindow2 | provider.CapSendInvalidate | provider.CapLocalInvalidate | provider.CapDrain |
	provider.CapConnector

// announcedIWARP are those that siw must have.
const announcedIWARP = provider.CapRC | provider.CapInline | provider.CapSRQ | provider.CapChannel |
	provider.CapEvents | provider.CapSendInvalidate | provider.CapLocalInvalidate | provider.CapConnector

// The devices and their addresses, and an address of rxe's network that nothing has.
const (
	device       = "rxe0"
	address      = "192.0.2.1"
	absent       = "192.0.2.77"
	deviceIWARP  = "siw0"
	addressIWARP = "198.51.100.1"
)

// TestItself runs the suite on a device that is connected with itself.
func TestItself(t *testing.T) {
	d := open(t, device)
	// Once only: libibverbs asks the kernel for each of the table's 1,024 entries.
	pair := providertest.Connect(t, d, d)
	pair.Absent = pair.A.Path
	pair.Absent.DGID = ib.GIDFromAddr(netip.MustParseAddr(absent))
	pair.A.Addr = netip.MustParseAddr(address)
	pair.B.Addr = pair.A.Addr
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	providertest.Run(t, func(t testing.TB) providertest.Pair {
		p, d := pair, open(t, device)
		p.A.Device, p.B.Device = d, d
		return p
	}, providertest.Options{
		Capabilities: announced, Kernel: release(t), Faults: faults(),
		AckTimeout: 17, Quiet: 40 * time.Millisecond, Limit: time.Minute,
	})
}

// TestIWARP runs the suite on siw, which connects by the connection manager only.
func TestIWARP(t *testing.T) {
	providertest.Run(t, func(t testing.TB) providertest.Pair {
		d := open(t, deviceIWARP)
		e := providertest.Endpoint{Device: d, Port: 1, Addr: netip.MustParseAddr(addressIWARP)}
		return providertest.Pair{A: e, B: e}
	}, providertest.Options{
		Capabilities: announcedIWARP, Kernel: release(t), Faults: faultsIWARP(), ByConnector: true,
		Quiet: 40 * time.Millisecond, Limit: time.Minute,
	})
}

func open(t testing.TB, name string) provider.Device {
	t.Helper()
	d, err := ibverbs.Provider{}.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// release returns the version of the kernel.
func release(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
