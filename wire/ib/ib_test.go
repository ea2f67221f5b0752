package ib

import (
	"net/netip"
	"testing"
)

func TestParseGID(t *testing.T) {
	tests := []struct {
		in, want             string
		linkLocal, zero, ip4 bool
		addr                 string
	}{
		{
			"fe80:0000:0000:0000:b83f:d203:00a5:1000\n", "fe80:0000:0000:0000:b83f:d203:00a5:1000", true, false, false,
			"fe80::b83f:d203:a5:1000",
		},
		{
			"0000:0000:0000:0000:0000:ffff:c000:0201", "0000:0000:0000:0000:0000:ffff:c000:0201", false, false, true,
			"192.0.2.1",
		},
		{"::", "0000:0000:0000:0000:0000:0000:0000:0000", false, true, false, "::"},
		{"2001:db8::1", "2001:0db8:0000:0000:0000:0000:0000:0001", false, false, false, "2001:db8::1"},
		{"febf::1", "febf:0000:0000:0000:0000:0000:0000:0001", true, false, false, "febf::1"},
		{"fec0::1", "fec0:0000:0000:0000:0000:0000:0000:0001", false, false, false, "fec0::1"},
	}
	for _, tt := range tests {
		g, err := ParseGID(tt.in)
		if err != nil {
			t.Errorf("ParseGID(%q): %v", tt.in, err)
			continue
		}
		if g.String() != tt.want || g.IsLinkLocal() != tt.linkLocal || g.IsZero() != tt.zero ||
			g.Addr().String() != tt.addr {
			t.Errorf("ParseGID(%q) = %v linklocal %v zero %v addr %v, want %+v",
				tt.in, g, g.IsLinkLocal(), g.IsZero(), g.Addr(), tt)
		}
		if _, ok := g.IPv4(); ok != tt.ip4 {
			t.Errorf("ParseGID(%q).IPv4 = %v, want %v", tt.in, ok, tt.ip4)
		}
		var back GID
		if err := back.UnmarshalText([]byte(g.String())); err != nil || back != g {
			t.Errorf("UnmarshalText(%v) = %v, %v", g, back, err)
		}
	}
	for _, in := range []string{"", "192.0.2.1", "fe80::1%eth0", "garbage", "fe80:0000"} {
		if g, err := ParseGID(in); err == nil {
			t.Errorf("ParseGID(%q) = %v, want error", in, g)
		}
	}
}

func TestParseGUID(t *testing.T) {
	want := GUID{0xb8, 0x3f, 0xd2, 0x03, 0x00, 0xa5, 0x10, 0x07}
	for _, in := range []string{
		"b83f:d203:00a5:1007", "b8:3f:d2:03:00:a5:10:07", "0xb83fd20300a51007", " b83f:d203:00a5:1007\n",
	} {
		if g, err := ParseGUID(in); err != nil || g != want {
			t.Errorf("ParseGUID(%q) = %v, %v, want %v", in, g, err, want)
		}
	}
	for _, in := range []string{
		"", "0x", "0x11112222333344445", "b83f:d203:00a5:100", "b83fd203:00a5:10077", "b83f:d203:00a5:100g",
		"::::::::::::::::::::::::",
	} {
		if g, err := ParseGUID(in); err == nil {
			t.Errorf("ParseGUID(%q) = %v, want error", in, g)
		}
	}
}

// The boundaries are those of iboe_get_mtu: 96 bytes of headers.
func TestMTUFromNetdev(t *testing.T) {
	for in, want := range map[int]MTU{
		0: 0, 351: 0, 352: 256, 1500: 1024, 2143: 1024, 2144: 2048, 4191: 2048, 4192: 4096, 4200: 4096, 9000: 4096,
	} {
		if got := MTUFromNetdev(in); got != want {
			t.Errorf("MTUFromNetdev(%d) = %d, want %d", in, got, want)
		}
	}
	if got := MTU4096.NetdevMTU(); got != 4192 {
		t.Errorf("MTU4096.NetdevMTU() = %d, want 4192", got)
	}
	for code := -1; code <= 64; code++ {
		want := MTU(0)
		if code >= 1 && code <= 5 {
			want = MTU(128 << code)
		}
		if got := MTUFromCode(code); got != want || want != 0 && got.Code() != code {
			t.Errorf("MTUFromCode(%d) = %d with code %d, want %d", code, got, got.Code(), want)
		}
	}
	if MTU4096.Code() != 5 || MTU(1500).Code() != 0 {
		t.Error("MTU.Code: want 5 for 4096 and 0 for 1500")
	}
}

func TestPKey(t *testing.T) {
	k, err := ParsePKey("0x7fff\n")
	if err != nil || k.Full() || k.String() != "0x7fff" {
		t.Errorf("ParsePKey(0x7fff) = %v full %v, %v", k, k.Full(), err)
	}
	if _, err := ParsePKey("0x10000"); err == nil {
		t.Error("ParsePKey(0x10000): want error")
	}
}

func TestGIDFromAddr(t *testing.T) {
	g := GIDFromAddr(netip.MustParseAddr("192.0.2.1"))
	if want := "0000:0000:0000:0000:0000:ffff:c000:0201"; g.String() != want {
		t.Errorf("GIDFromAddr = %v, want %s", g, want)
	}
	if want := (GUID{0, 0, 0xff, 0xff, 0xc0, 0, 0x02, 0x01}); g.PortGUID() != want {
		t.Errorf("port GUID %v, want %v", g.PortGUID(), want)
	}
	if g.SubnetPrefix() != 0 || g.InterfaceID() != 0x0000ffffc0000201 {
		t.Errorf("prefix %v id %#x", g.SubnetPrefix(), g.InterfaceID())
	}
}

func FuzzParse(f *testing.F) {
	f.Add("fe80:0000:0000:0000:b83f:d203:00a5:1000")
	f.Add("b83f:d203:00a5:1007")
	f.Add("0xffff")
	f.Fuzz(func(t *testing.T, s string) {
		if g, err := ParseGID(s); err == nil {
			if back, err := ParseGID(g.String()); err != nil || back != g {
				t.Errorf("gid %q: %v does not round-trip: %v", s, g, err)
			}
		}
		if g, err := ParseGUID(s); err == nil {
			if back, err := ParseGUID(g.String()); err != nil || back != g {
				t.Errorf("guid %q: %v does not round-trip: %v", s, g, err)
			}
		}
		_, _ = ParsePKey(s)
	})
}
