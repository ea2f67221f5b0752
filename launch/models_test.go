package launch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/inventory"
)

func TestHCAList(t *testing.T) {
	tests := []struct {
		list string
		// want are the ports that match among those below.
		want string
	}{
		{"", "mlx5_0:1 mlx5_1:1 mlx5_1:2 mlx5_10:1 ibp1:1"},
		{"=", "mlx5_0:1 mlx5_1:1 mlx5_1:2 mlx5_10:1 ibp1:1"},
		{"^", ""},
		{"mlx5_1", "mlx5_1:1 mlx5_1:2 mlx5_10:1"},
		{"=mlx5_1", "mlx5_1:1 mlx5_1:2"},
		{"=mlx5_1:2", "mlx5_1:2"},
		{"mlx5_1:1", "mlx5_1:1 mlx5_10:1"},
		{"^mlx5_1", "mlx5_0:1 ibp1:1"},
		{"^=mlx5_1", "mlx5_0:1 mlx5_10:1 ibp1:1"},
		{"=^mlx5_1", ""}, // a device called ^mlx5_1
		{"^=mlx5_1:1,mlx5_0", "mlx5_1:2 mlx5_10:1 ibp1:1"},
		{"mlx5", "mlx5_0:1 mlx5_1:1 mlx5_1:2 mlx5_10:1"},
		{"=mlx5", ""},
		{"=mlx5_0:1:0:1,,ibp1:x", "mlx5_0:1"}, // ibp1:x is port 0
		{"=mlx5_0:", "mlx5_0:1"},
		{strings.Repeat("none,", 32) + "mlx5_0", ""},
		{strings.Repeat("none,", 31) + "mlx5_0", "mlx5_0:1"},
		{"=mlx5_0: +1", "mlx5_0:1"},
	}
	ports := []struct {
		device string
		port   int
	}{{"mlx5_0", 1}, {"mlx5_1", 1}, {"mlx5_1", 2}, {"mlx5_10", 1}, {"ibp1", 1}}
	for _, tt := range tests {
		var got []string
		list := ParseHCAList(tt.list)
		for _, p := range ports {
			if list.Match(p.device, p.port) {
				got = append(got, portName(p.device, p.port))
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("ParseHCAList(%q) matches %v, want %s", tt.list, got, tt.want)
		}
	}
}

func FuzzParseHCAList(f *testing.F) {
	f.Add("^=mlx5_0:1:2:3,,x:99999999999999999999")
	f.Fuzz(func(t *testing.T, s string) {
		l := ParseHCAList(s)
		if len(l.Entries) > ncclMaxDevices {
			t.Errorf("%d entries", len(l.Entries))
		}
		for _, e := range l.Entries {
			if e.Port >= 0 && l.Match(e.Device, e.Port) == l.Not {
				t.Errorf("ParseHCAList(%q) does not match its own entry %+v", s, e)
			}
		}
	})
}

func TestAutoChoices(t *testing.T) {
	with := func(change func(s *ncclSettings)) ncclSettings {
		s := ncclDefaults()
		change(&s)
		return s
	}
	inet6 := func(s *ncclSettings) { s.ipv6 = true }
	tests := []struct {
		name      string
		table     string // entries, separated by semicolons
		settings  ncclSettings
		nccl, ucx int
	}{
		{"usual", "v1 fe80::1;v2 fe80::1;v1 10.0.0.1;v2 10.0.0.1", ncclDefaults(), 3, 3},
		{"gaps of another namespace", "-;-;v1 fe80::1;v2 fe80::1;v1 10.0.0.1;v2 10.0.0.1", ncclDefaults(), 5, 5},
		{"VLAN later", "v1 fe80::1;v2 fe80::1;v1 10.0.0.1;v2 10.0.0.1;v1 10.9.0.1;v2 10.9.0.1", ncclDefaults(), 3, 3},
		{
			"VLAN by range", "v1 fe80::1;v2 fe80::1;v1 10.0.0.1;v2 10.0.0.1;v1 10.9.0.1;v2 10.9.0.1",
			with(func(s *ncclSettings) { s.within = netip.MustParsePrefix("10.9.0.0/16") }), 5, 3,
		},
		{"only IPv6", "v1 fe80::1;v2 fe80::1;v1 2001:db8::1;v2 2001:db8::1", ncclDefaults(), 0, 3},
		{"only IPv6, configured", "v1 fe80::1;v2 fe80::1;v1 2001:db8::1;v2 2001:db8::1", with(inet6), 3, 3},
		{"IPv4 v1 only", "v1 fe80::1;v1 10.0.0.1", ncclDefaults(), 1, 1},
		{"v1 configured", "v1 fe80::1;v2 10.0.0.1;v1 10.0.0.1", with(func(s *ncclSettings) { s.version = 1 }), 2, 1},
		{
			"v1 over IPv6 configured", "v1 fe80::1;v1 2001:db8::1",
			with(func(s *ncclSettings) { s.version = 1; s.ipv6 = true }), 1, 1,
		},
		{"link-local only", "v1 fe80::1;v2 fe80::1", ncclDefaults(), 0, 1},
		{"link-local only, IPv6 configured", "v1 fe80::1;v2 fe80::1", with(inet6), 0, 1},
		{"type unreadable", "? fe80::1;? 10.0.0.1;v2 10.0.0.1", ncclDefaults(), 2, 2},
		{"IPv4 first", "v2 10.0.0.1;v2 10.0.1.1", ncclDefaults(), 0, 0},
		{"upgrade of version", "v1 10.0.0.1;v2 10.0.0.1", ncclDefaults(), 1, 1},
		{"the first pair of two", "v1 fe80::1;v1 10.0.0.1;v2 10.0.1.1;v1 10.0.2.1;v2 10.0.2.1", ncclDefaults(), 2, 2},
		{"pinned", "v1 fe80::1;v2 fe80::1", with(func(s *ncclSettings) { s.index = 7 }), 7, 1},
		{"empty", "-;-", ncclDefaults(), 0, -1},
	}
	for _, tt := range tests {
		p := rocePort("r0", strings.Split(tt.table, ";")...)
		if got := ncclGID(&p, tt.settings); got != tt.nccl {
			t.Errorf("%s: NCCL uses %d, want %d", tt.name, got, tt.nccl)
		}
		if got := ucxChoice(&p).Index; got != tt.ucx {
			t.Errorf("%s: UCX takes %d, want %d", tt.name, got, tt.ucx)
		}
	}
}

func TestAutoChoicesInfiniBand(t *testing.T) {
	p := ibPort()
	if got, ucx := ncclGID(&p, ncclSettings{index: 3}), ucxChoice(&p).Index; got != 0 || ucx != 0 {
		t.Errorf("InfiniBand: NCCL uses %d, UCX %d, want 0", got, ucx)
	}
	p.GIDs, p.GIDTableSize = entries("", "ib fe80::1", "ib fec0:0:5::1")
	if got, ucx := ncclGID(&p, ncclDefaults()), ucxChoice(&p).Index; got != 1 || ucx != 1 {
		t.Errorf("InfiniBand with a FLID: NCCL uses %d, UCX %d, want 1", got, ucx)
	}
	p.State = inventory.PortStateArmed
	if ucxChoice(&p).Used || ncclChoice(&inventory.Device{Name: "x"}, &p, nil).Used {
		t.Error("a port that is ARMED is used")
	}
	iwarp := inventory.Port{
		State: inventory.PortStateActive, LinkLayer: inventory.LinkLayerEthernet, Transport: inventory.TransportIWARP,
	}
	if c := ncclChoice(&inventory.Device{Name: "x"}, &iwarp, nil); !c.Used || !strings.Contains(c.Note, "iWARP") {
		t.Errorf("NCCL and iWARP = %+v, want used, with a note", c)
	}
}

func TestSettingsFrom(t *testing.T) {
	env := map[string]string{
		"NCCL_IB_GID_INDEX": "x", "NCCL_IB_ADDR_RANGE": "10.0.0.0/8", "NCCL_IB_ADDR_FAMILY": "AF_INET6",
		"NCCL_IB_ROCE_VERSION_NUM": "1",
	}
	want := ncclSettings{index: -1, ipv6: true, version: 1}
	opt := cmp.AllowUnexported(ncclSettings{})
	prefixes := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	if diff := cmp.Diff(want, ncclSettingsFrom(env), opt, prefixes); diff != "" {
		t.Errorf("settings with a range of the other family (-want +got):\n%s", diff)
	}
	delete(env, "NCCL_IB_ADDR_FAMILY")
	want = ncclSettings{index: -1, version: 1, within: netip.MustParsePrefix("10.0.0.0/8")}
	if diff := cmp.Diff(want, ncclSettingsFrom(env), opt, prefixes); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestSelectors(t *testing.T) {
	names := []string{"mlx5_10", "mlx5_10:1", "0000:18:00.0", "18:00.0", "ens0np0"}
	tests := map[string]bool{
		"mlx5_10": true, "mlx5_1": false, "mlx5_1?": true, "mlx5_*": true, "mlx5_10:1": true, "mlx5_10:2": false,
		"mlx5_*:1": true, "0000:18:00.0": true, "18:00.0": true, "18:00.1": false, "*:18:*": true, "ens0np0": true,
		"ens[0-3]*": true, "ens[1-3]*": false, "/^mlx5_1[0-9]$/": true, "/np/": true, "/^np/": false, "/": false,
	}
	for text, want := range tests {
		s, err := parseSelector(text)
		if err != nil {
			t.Errorf("parseSelector(%q): %v", text, err)
		} else if got := s.matches(names); got != want {
			t.Errorf("selector %q matches %v: %v, want %v", text, names, got, want)
		}
	}
	// Letter by letter comes first: a device's name may look like a pattern.
	if s, err := parseSelector("mlx5_[0-9]"); err != nil || !s.matches([]string{"mlx5_[0-9]"}) {
		t.Errorf("selector mlx5_[0-9] does not match the device of that name: %v", err)
	}
}

func FuzzSelector(f *testing.F) {
	f.Add("/a(b/", "x")
	f.Add("mlx5_[^0-9]*:1", "mlx5_0:1")
	f.Fuzz(func(t *testing.T, text, name string) {
		s, err := parseSelector(text)
		if err == nil && s.regex == nil && !s.matches([]string{text}) {
			t.Errorf("selector %q does not match itself", text)
		}
		if err == nil {
			_ = s.matches([]string{name})
		}
	})
}

func TestCoveringPrefix(t *testing.T) {
	tests := []struct{ in, want string }{
		{"10.0.0.1/32", "10.0.0.1/32"},
		{"10.0.0.1/32 10.0.7.1/32", "10.0.0.0/21"},
		{"10.0.7.0/24 10.0.0.0/24 10.0.3.0/24", "10.0.0.0/21"},
		{"10.0.0.0/8 10.1.1.0/24", "10.0.0.0/8"},
		{"10.1.1.0/24 10.0.0.0/8", "10.0.0.0/8"},
		{"10.0.0.1/32 192.168.0.1/32", "0.0.0.0/0"},
		{"2001:db8::1/128 2001:db8:0:3::1/128", "2001:db8::/62"},
		{"", "invalid Prefix"},
	}
	for _, tt := range tests {
		var list []netip.Prefix
		for s := range strings.FieldsSeq(tt.in) {
			list = append(list, netip.MustParsePrefix(s))
		}
		if got := coveringPrefix(list).String(); got != tt.want {
			t.Errorf("coveringPrefix(%s) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestRoutesOf(t *testing.T) {
	s := withDefault(node(roce("mlx5_0", "r0", "10.0.0.1")), "eno1")
	s.Netdev("r0").Addresses = []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24"), netip.MustParsePrefix("fd00::1/64")}
	routes := RoutesOf(s)
	tests := []struct{ dst, src, want string }{
		{"10.0.0.9", "", "r0"},
		{"10.0.1.9", "", "eno1 via 192.168.1.1"},
		{"192.168.1.77", "", "eno1"},
		{"fd00::5", "", "r0"},
		{"2001:db8::1", "", "find route to 2001:db8::1: no route"},
		{"10.0.0.9", "10.0.0.1", "r0"},
		{"10.0.1.9", "10.0.0.1", "find route from 10.0.0.1 to 10.0.1.9: not known from addresses and default routes"},
		{"10.0.1.9", "192.168.1.5", "eno1 via 192.168.1.1"},
	}
	for _, tt := range tests {
		var src netip.Addr
		if tt.src != "" {
			src = netip.MustParseAddr(tt.src)
		}
		r, err := routes(netip.MustParseAddr(tt.dst), src)
		got := r.Netdev
		if r.Gateway.IsValid() {
			got += " via " + r.Gateway.String()
		}
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("route from %q to %s = %q, want %q", tt.src, tt.dst, got, tt.want)
		}
	}
}

func TestDecides(t *testing.T) {
	const class = "/sys/class/infiniband"
	yes := []string{
		"", "/mlx5_0", "/mlx5_0/node_type", "/mlx5_0/ports", "/mlx5_0/ports/1", "/mlx5_0/ports/1/state",
		"/mlx5_0/ports/1/gids/3", "/mlx5_0/ports/1/gid_attrs/types/3", "/mlx5_0/ports/2/rate",
	}
	no := []string{
		"_verbs/uverbs0", "/mlx5_0/fw_ver", "/mlx5_0/ports/1/counters/x", "/mlx5_0/ports/1/pkeys/0",
		"/mlx5_0/ports/1/lid", "/mlx5_0/hw_counters/x/y",
	}
	for _, name := range yes {
		if !decides(class + name) {
			t.Errorf("decides(%s) = false, want true", class+name)
		}
	}
	for _, name := range append(no, "x") {
		if decides(class + name) {
			t.Errorf("decides(%s) = true, want false", class+name)
		}
	}
	if !decides("/proc/net/route") {
		t.Error("decides(/proc/net/route) = false, want true")
	}
	if decides("/proc/self/limits") {
		t.Error("decides(/proc/self/limits) = true, want false")
	}
}

func TestSharedText(t *testing.T) {
	for in, want := range map[string]string{
		"rocep1s0 rocep2s0": "rocep", "ibp1s0 rocep2s0": "s0", "a b": "", "bnxt_re0": "bnxt_re0",
	} {
		names := strings.Fields(in)
		if got := sharedText(names); got != want ||
			slices.ContainsFunc(names, func(n string) bool { return !strings.Contains(n, got) }) {
			t.Errorf("sharedText(%v) = %q, want %q", names, got, want)
		}
	}
}

func ExampleParseHCAList() {
	fmt.Println(ParseHCAList("mlx5_1").Match("mlx5_10", 1), ParseHCAList("=mlx5_1").Match("mlx5_10", 1))
	// Output: true false
}
