package rdmanl

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// readVector reads testdata/NAME.hex: lines of hexadecimal, each the body of a message, after
// comments with their origin.
func readVector(tb testing.TB, name string) [][]byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".hex"))
	if err != nil {
		tb.Fatal(err)
	}
	var out [][]byte
	for line := range bytes.Lines(b) {
		if line[0] == '#' {
			continue
		}
		msg, err := hex.DecodeString(string(bytes.TrimSpace(line)))
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		out = append(out, msg)
	}
	return out
}

// decodeAll decodes a vector without errors.
func decodeAll[T any](t *testing.T, name string, decode func([]byte) (T, error)) []T {
	t.Helper()
	var out []T
	for i, b := range readVector(t, name) {
		v, err := decode(b)
		if err != nil {
			t.Errorf("%s: message %d: %v", name, i, err)
		}
		out = append(out, v)
	}
	return out
}

// checkJSON checks that v survives encoding and decoding as JSON, which bundles need.
func checkJSON[T any](t *testing.T, v T) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatalf("unmarshal %s: %v", b, err)
	}
	if diff := cmp.Diff(v, back, cmpValues); diff != "" {
		t.Errorf("through JSON: -before +after:\n%s", diff)
	}
}

// cmpValues compares addresses by value, and routes without their raw flags.
var cmpValues = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".flags" }, cmp.Ignore()),
}

func check[T any](t *testing.T, name string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpValues); diff != "" {
		t.Errorf("%s: -want +got:\n%s", name, diff)
	}
	checkJSON(t, got)
}

var rxeGUID = &ib.GUID{0x50, 0x54, 0x00, 0xff, 0xfe, 0x99, 0x00, 0x01}

func TestDecodeDevice(t *testing.T) {
	check(t, "devices", decodeAll(t, "devices", decodeDevice), []Device{
		{
			Index: 0, Name: "rxe0", Ports: new(uint32(1)), CapFlags: new(uint64(0x1223c76)),
			NodeGUID: rxeGUID, SysImageGUID: rxeGUID, NodeType: new(uint8(1)), Protocol: "roce",
		},
		{
			Index: 1, Name: "siw0", Ports: new(uint32(1)), CapFlags: new(uint64(0x200000)),
			NodeGUID: rxeGUID, SysImageGUID: rxeGUID, NodeType: new(uint8(4)), Protocol: "iw",
		},
	})
}

func TestDecodePort(t *testing.T) {
	port := Port{
		DeviceIndex: 0, DeviceName: "rxe0", Number: 1, State: new(uint8(4)), PhysState: new(uint8(5)),
		NetdevIndex: new(2), NetdevName: "eth0",
	}
	check(t, "ports-rxe0", decodeAll(t, "ports-rxe0", decodePort), []Port{port})
	siw := port
	siw.DeviceIndex, siw.DeviceName = 1, "siw0"
	check(t, "ports-siw0", decodeAll(t, "ports-siw0", decodePort), []Port{siw})
	port.NetdevIndex, port.NetdevName = nil, ""
	check(t, "ports-rxe0-other-netns", decodeAll(t, "ports-rxe0-other-netns", decodePort), []Port{port})
}

// ibPort is built like fill_port_info in drivers/infiniband/core/nldev.c of Linux 6.1, not
// recorded: an InfiniBand port requires hardware.
func ibPort() []byte {
	b := appendAttrU32(nil, RDMA_NLDEV_ATTR_DEV_INDEX, 3)
	b = appendAttr(b, RDMA_NLDEV_ATTR_DEV_NAME, []byte("mlx5_3\x00"))
	b = appendAttrU32(b, RDMA_NLDEV_ATTR_PORT_INDEX, 1)
	b = appendAttr(b, RDMA_NLDEV_ATTR_CAP_FLAGS, []byte{0x48, 0xec, 0x51, 0xa7, 0x0f, 0, 0, 0})
	b = appendAttr(b, RDMA_NLDEV_ATTR_SUBNET_PREFIX, []byte{1, 0, 0, 0, 0, 0, 0x80, 0xfe})
	b = appendAttrU32(b, RDMA_NLDEV_ATTR_LID, 49)
	b = appendAttrU32(b, RDMA_NLDEV_ATTR_SM_LID, 1)
	b = appendAttr(b, RDMA_NLDEV_ATTR_LMC, []byte{0})
	b = appendAttr(b, RDMA_NLDEV_ATTR_PORT_STATE, []byte{4})
	return appendAttr(b, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, []byte{5})
}

func TestDecodePortInfiniBand(t *testing.T) {
	got, err := decodePort(ibPort())
	if err != nil {
		t.Fatal(err)
	}
	check(t, "InfiniBand port", got, Port{
		DeviceIndex: 3, DeviceName: "mlx5_3", Number: 1, State: new(uint8(4)), PhysState: new(uint8(5)),
		CapFlags: new(uint64(0xfa751ec48)), SubnetPrefix: new(ib.SubnetPrefix(0xfe80000000000001)),
		LID: new(uint32(49)), SMLID: new(uint32(1)), LMC: new(uint8(0)),
	})
}

func TestDecodeSystem(t *testing.T) {
	want := System{SharedNetns: new(true), CopyOnFork: new(true), PrivilegedQKey: new(false)}
	check(t, "system", decodeAll(t, "system", decodeSystem), []System{want})
	want.SharedNetns = new(false)
	check(t, "system-exclusive", decodeAll(t, "system-exclusive", decodeSystem), []System{want})
}

func TestDecodeCharDevice(t *testing.T) {
	for name, want := range map[string]CharDevice{
		"char-uverbs-rxe0": {Name: "uverbs0", ABI: new(uint64(2)), Major: 231, Minor: 192, DriverID: new(uint32(14))},
		"char-uverbs-siw0": {Name: "uverbs1", ABI: new(uint64(1)), Major: 231, Minor: 193, DriverID: new(uint32(18))},
		"char-umad-rxe0":   {Name: "umad0", ABI: new(uint64(5)), Major: 231, Minor: 0},
		"char-cm":          {Name: "rdma_cm", ABI: new(uint64(4)), Major: 10, Minor: 124},
	} {
		check(t, name, decodeAll(t, name, decodeCharDevice), []CharDevice{want})
	}
	// Not recorded: above 256 minors the number of a device is split (kdev_t.h).
	b := appendAttr(nil, RDMA_NLDEV_ATTR_CHARDEV_NAME, []byte("uverbs300\x00"))
	b = appendAttr(b, RDMA_NLDEV_ATTR_CHARDEV, []byte{0x2c, 0xfa, 0x10, 0, 0, 0, 0, 0})
	got, err := decodeCharDevice(b)
	if want := (CharDevice{Name: "uverbs300", Major: 250, Minor: 300}); err != nil || got != want {
		t.Errorf("decodeCharDevice(minor 300) = %+v, %v, want %+v", got, err, want)
	}
}

func TestDecodeAddress(t *testing.T) {
	type row struct {
		link                       int
		prefix, peer, scope, label string
		flags                      uint32
	}
	var want []Address
	for _, r := range []row{
		{1, "127.0.0.1/8", "", "host", "lo", AddrPermanent},
		{2, "192.0.2.1/24", "", "global", "eth0", AddrPermanent},
		{2, "192.0.2.9/24", "", "global", "eth0:1", AddrPermanent | AddrSecondary},
		{3, "198.51.100.1/24", "", "global", "eth0.100", AddrPermanent},
		{5, "10.9.0.1/32", "10.9.0.2", "global", "dummy0", AddrPermanent},
		{1, "::1/128", "", "host", "", AddrPermanent},
		{2, "2001:db8::1/64", "", "global", "", AddrPermanent | 0x02},
		{2, "fe80::5054:ff:fe99:1/64", "", "link", "", AddrPermanent},
		{3, "2001:db8:100::1/64", "", "global", "", AddrPermanent | 0x02},
		{3, "fe80::5054:ff:fe99:1/64", "", "link", "", AddrPermanent},
		{5, "fe80::ff:fe00:7/64", "", "link", "", AddrPermanent},
		{9, "fe80::ff:fe00:b/64", "", "link", "", AddrPermanent},
	} {
		a := Address{
			LinkIndex: r.link, Family: "ipv4", Prefix: netip.MustParsePrefix(r.prefix), Scope: r.scope, Flags: r.flags,
			Label: r.label,
		}
		if a.Prefix.Addr().Is6() {
			a.Family = "ipv6"
		}
		if r.peer != "" {
			a.Peer = netip.MustParseAddr(r.peer)
		}
		want = append(want, a)
	}
	check(t, "addresses", decodeAll(t, "addresses", decodeAddress), want)
}

// routeRow is a Route in short form.
type routeRow struct {
	typ, dst, from, gateway, source string
	link, metric, weight            int
}

func (r routeRow) route() Route {
	out := Route{Family: "ipv4", Type: r.typ, Table: RT_TABLE_MAIN, Destination: netip.MustParsePrefix(r.dst)}
	if out.Destination.Addr().Is6() {
		out.Family = "ipv6"
	}
	if r.from != "" {
		out.From = netip.MustParsePrefix(r.from)
	}
	if r.gateway != "" {
		out.Gateway = netip.MustParseAddr(r.gateway)
	}
	if r.source != "" {
		out.Source = netip.MustParseAddr(r.source)
	}
	if r.link != 0 {
		out.LinkIndex = new(r.link)
	}
	if r.metric != 0 {
		out.Metric = new(uint32(r.metric))
	}
	if r.weight != 0 {
		out.Weight = new(r.weight)
	}
	return out
}

// plain removes the values that TestDecodeRouteDetails checks.
func plain(routes []Route) []Route {
	for i := range routes {
		routes[i].Scope, routes[i].TOS, routes[i].MTU, routes[i].Dead = "", 0, nil, false
	}
	return routes
}

// defaultRoutes are the routes of the two dumps that DefaultRoutes returns.
var defaultRoutes = []routeRow{
	{"unicast", "0.0.0.0/0", "", "192.0.2.254", "", 2, 100, 0},
	{"unicast", "0.0.0.0/0", "", "192.0.2.253", "", 2, 200, 2},
	{"unicast", "0.0.0.0/0", "", "198.51.100.254", "", 3, 200, 1},
	{"unicast", "0.0.0.0/0", "", "fe80::fe", "", 2, 300, 0},
	{"unicast", "::/0", "", "2001:db8::fe", "", 2, 1024, 0},
}

func TestDecodeRoute(t *testing.T) {
	for name, rows := range map[string][]routeRow{
		"routes-ipv4": {
			defaultRoutes[0], defaultRoutes[1], defaultRoutes[2], defaultRoutes[3],
			{"unreachable", "0.0.0.0/0", "", "", "", 0, 4000000, 0},
			{"unicast", "10.9.0.2/32", "", "", "10.9.0.1", 5, 0, 0},
			{"unicast", "192.0.2.0/24", "", "", "192.0.2.1", 2, 0, 0},
			{"unicast", "198.51.100.0/24", "", "", "198.51.100.1", 3, 0, 0},
			{"unicast", "203.0.113.0/24", "", "192.0.2.250", "", 2, 0, 0},
			{"unreachable", "203.0.114.0/24", "", "", "", 0, 0, 0},
		},
		"routes-ipv6": {
			{"unicast", "::/0", "2001:db8:100::/64", "2001:db8:100::fe", "", 3, 1024, 0},
			{"unicast", "2001:db8::/64", "", "", "", 2, 256, 0},
			{"unicast", "2001:db8:100::/64", "", "", "", 3, 256, 0},
			{"unicast", "fe80::/64", "", "", "", 2, 256, 0},
			{"unicast", "fe80::/64", "", "", "", 3, 256, 0},
			{"unicast", "fe80::/64", "", "", "", 5, 256, 0},
			{"unicast", "fe80::/64", "", "", "", 9, 256, 0},
			defaultRoutes[4],
		},
		"route-gateway": {{"unicast", "203.0.113.9/32", "", "192.0.2.250", "192.0.2.1", 2, 0, 0}},
		"route-local":   {{"local", "192.0.2.1/32", "", "", "192.0.2.1", 1, 0, 0}},
		"route-ipv6":    {{"unicast", "2001:db8::5/128", "", "", "2001:db8::1", 2, 256, 0}},
	} {
		var got, want []Route
		for _, hops := range decodeAll(t, name, decodeRoute) {
			got = append(got, plain(hops)...)
		}
		for _, r := range rows {
			want = append(want, r.route())
		}
		check(t, name, got, want)
	}
}
