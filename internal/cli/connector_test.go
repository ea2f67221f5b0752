package cli

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
)

// TestDeviceAt finds the device of the kernel with an address: in a GID table, or on the IPoIB
// device of a port.
func TestDeviceAt(t *testing.T) {
	for _, tt := range []struct{ tree, addr, want string }{
		{"51_rxe_siw", "192.0.2.1", "rxe0"},
		{"51_rxe_siw", "192.0.2.77", ""},
		{"51_rxe_siw", "127.0.0.1", ""},
	} {
		if got := deviceAt(scanTree(t, tt.tree), netip.MustParseAddr(tt.addr)); got != tt.want {
			t.Errorf("deviceAt(%s, %s) = %q, want %q", tt.tree, tt.addr, got, tt.want)
		}
	}
	ipoib := &inventory.Snapshot{Netdevs: []inventory.Netdev{
		{Name: "eth0", Addresses: []netip.Prefix{netip.MustParsePrefix("10.1.0.1/16")}},
		{Name: "ib0", RDMADevice: "mlx5_0", Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/16")}},
	}}
	for addr, want := range map[string]string{"10.0.0.1": "mlx5_0", "10.1.0.1": "", "10.0.0.2": ""} {
		if got := deviceAt(ipoib, netip.MustParseAddr(addr)); got != want {
			t.Errorf("deviceAt(%s) with IPoIB = %q, want %q", addr, got, want)
		}
	}
	twins := &inventory.Snapshot{Netdevs: []inventory.Netdev{
		{Name: "eth0", RDMADevice: "rxe0", Addresses: []netip.Prefix{netip.MustParsePrefix("fe80::1/64")}},
		{Name: "eth1", RDMADevice: "rxe1", Addresses: []netip.Prefix{netip.MustParsePrefix("fe80::1/64")}},
	}}
	for addr, want := range map[string]string{"fe80::1%eth0": "rxe0", "fe80::1%eth1": "rxe1", "fe80::1%eth2": ""} {
		if got := deviceAt(twins, netip.MustParseAddr(addr)); got != want {
			t.Errorf("deviceAt(%s) = %q, want %q", addr, got, want)
		}
	}
}

func TestPeerError(t *testing.T) {
	for peer, want := range map[string]string{
		"192.0.2.1": "", "fe80::1": "", "gpu-00": "", "192.0.2.1:7174": "has a port",
		"[fe80::1%eth0]:7174": "has a port", "roce@eth0": "is a device",
	} {
		if err := PeerError(peer); want == "" && err != nil || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want) || len(Hints(err)) != 1) {
			t.Errorf("PeerError(%q) = %v with %q, want %q", peer, err, Hints(err), want)
		}
	}
}

func TestZoneHints(t *testing.T) {
	for host, want := range map[string]int{
		"fe80::1": 2, "fe80::1%eth0": 0, "2001:db8::1": 0, "169.254.0.1": 0, "x": 0,
	} {
		if got := ZoneHints(host); len(got) != want || want > 0 && !strings.Contains(got[0], host+"%NETDEV") {
			t.Errorf("ZoneHints(%q) = %q, want %d hints", host, got, want)
		}
	}
}

// connectorDevice is a device with or without a connection manager.
type connectorDevice struct {
	fakeDevice
	connects bool
	closed   *int // how many devices were closed
}

func (d connectorDevice) Close() error {
	if d.closed != nil {
		*d.closed++
	}
	return d.fakeDevice.Close()
}

func (d connectorDevice) Capabilities() provider.Capabilities {
	if d.connects {
		return provider.CapRC | provider.CapConnector
	}
	return provider.CapRC
}

type connectorProvider struct {
	fakeProvider
	connects bool
	closed   *int
}

// connectorOf returns the provider of one device.
func connectorOf(name string, connects bool) connectorProvider {
	return connectorProvider{fakeProvider: fakeProvider{names: []string{name}}, connects: connects}
}

func (p connectorProvider) Open(ctx context.Context, name string) (provider.Device, error) {
	d, err := p.fakeProvider.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	f, _ := d.(fakeDevice)
	return connectorDevice{f, p.connects, p.closed}, nil
}

// TestOpenAt prefers the kernel's device with an address, if it can connect, to the engine there.
func TestOpenAt(t *testing.T) {
	engine := connectorOf("roce@192.0.2.1", true)
	for _, tt := range []struct {
		name   string
		kernel connectorProvider
		loads  bool
		addr   string
		want   string
		why    string
	}{
		{"kernel", connectorOf("rxe0", true), true, "192.0.2.1", "rxe0", ""},
		{
			"no connector",
			connectorProvider{fakeProvider: fakeProvider{names: []string{"rxe0"}}, connects: false},
			true, "192.0.2.1",
			"roce@192.0.2.1", "; skipped rxe0 (" + noConnector + ")",
		},
		{
			"denied",
			connectorProvider{fakeProvider: fakeProvider{
				names: []string{"rxe0"}, deny: map[string]error{"rxe0": fs.ErrPermission},
			}, connects: true},
			true, "192.0.2.1", "roce@192.0.2.1",
			"; skipped rxe0 (open device rxe0: permission denied)",
		},
		{
			"static",
			connectorProvider{},
			false, "192.0.2.1", "roce@192.0.2.1",
			"; skipped rxe0 (rdmactl-static has no libibverbs)",
		},
		{"other address", connectorOf("rxe0", true), true, "192.0.2.9", "", ""},
	} {
		closed := 0
		tt.kernel.closed = &closed
		o := &opener{
			loads: tt.loads, node: scanTree(t, "51_rxe_siw"), connector: true, kernel: []provider.Provider{tt.kernel},
			engines: []provider.Provider{engine},
		}
		d, skipped, err := o.at(t.Context(), netip.MustParseAddr(tt.addr))
		if tt.want == "" {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v, %v, want no device", tt.name, d, err)
			}
			continue
		}
		if err != nil || d.Name() != tt.want || !strings.HasSuffix(skipped.String(), tt.why) {
			t.Errorf("%s: %v, %q, %v, want %s, %q", tt.name, d, skipped, err, tt.want, tt.why)
		}
		if want := tt.name == "no connector"; closed > 0 != want {
			t.Errorf("%s: %d devices of the kernel were closed, want one: %t", tt.name, closed, want)
		}
	}
}

// TestFirstConnector skips devices without a connection manager, and doesn't skip iWARP.
func TestFirstConnector(t *testing.T) {
	for _, connects := range []bool{true, false} {
		o := &opener{
			loads: true, node: scanTree(t, "51_rxe_siw"), connector: true,
			kernel:  []provider.Provider{connectorOf("siw0", connects)},
			engines: []provider.Provider{connectorOf("roce@eth0", true)},
		}
		d, why, err := o.first(t.Context())
		want := map[bool]string{true: "siw0", false: "roce@eth0"}[connects]
		if err != nil || d.Name() != want || !connects && !strings.Contains(why, "skipped siw0 ("+noConnector+")") {
			t.Errorf("first with connects %t = %v, %q, %v, want %s", connects, d, why, err, want)
		}
	}
}

// TestOpenConnector opens engines of this machine.
func TestOpenConnector(t *testing.T) {
	parse := netip.MustParseAddr
	want := ConnectorRequest{Local: parse("127.0.62.100"), Remote: parse("127.0.62.101")}
	d, why, err := OpenConnector(t.Context(), want)
	if err != nil || d.Name() != "roce@127.0.62.100" || !strings.Contains(why, "which has the address 127.0.62.100") {
		t.Fatalf("OpenConnector = %v, %q, %v", d, why, err)
	}
	defer d.Close()
	_, _, err = OpenConnector(t.Context(), want)
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second engine at the address: %v", err)
	}
	_, _, err = OpenConnector(t.Context(), ConnectorRequest{Local: parse("203.0.113.7")})
	if ExitCode(err) != ExitNotFound || len(Hints(err)) == 0 {
		t.Errorf("an address of another machine: %v, hints %q", err, Hints(err))
	}
	if _, _, err := OpenConnector(t.Context(), ConnectorRequest{Name: "nosuch0"}); ExitCode(err) != ExitNotFound {
		t.Errorf("no such device: %v", err)
	}
	near, err := verbs.Open(t.Context(), "roce@127.0.62.102", newOpener().engines...)
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	if d := newOpener().loopback(t.Context(), parse("127.0.0.1")); d != nil {
		if d.Name() == "roce@127.0.0.1" {
			t.Error("loopback opens the peer's address")
		}
		_ = d.Close()
	}
	other := newOpener().loopback(t.Context(), parse("127.0.62.102"))
	if other == nil || other.Name() == near.Name() {
		t.Fatalf("loopback = %v", other)
	}
	_ = other.Close()
	if d := newOpener().loopback(t.Context(), parse("::1")); d != nil {
		t.Errorf("loopback to an IPv6 address = %v", d.Name())
	}
}
