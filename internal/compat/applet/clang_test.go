package applet

import (
	"io/fs"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/rdmakit/rdmakit/wire/ib"
)

func TestTreeText(t *testing.T) {
	tree := &sysTree{root: fstest.MapFS{
		"a": {Data: []byte("one\ntwo\n")}, "long": {Data: []byte("0123456789")}, "zero": {Data: []byte("ab\x00cd\n")},
		"raw": {Data: []byte("\xff\x1b[2J\n")},
		"dir": {Mode: fs.ModeDir},
	}}
	for _, tt := range []struct {
		name string
		size int
		want string
	}{{"a", 32, "one\ntwo"}, {"long", 5, "0123"}, {"zero", 32, "ab"}, {"raw", 32, "\xff\x1b[2J"}} {
		if got, ok := tree.text(tt.name, tt.size); got != tt.want || !ok {
			t.Errorf("text(%s, %d) = %q, %t, want %q", tt.name, tt.size, got, ok, tt.want)
		}
	}
	if _, ok := tree.text("none", 32); ok || tree.errno != syscall.ENOENT {
		t.Errorf("text of a file that isn't there: %t, errno %v, want ENOENT", ok, tree.errno)
	}
}

func TestInet6(t *testing.T) {
	mapped := ib.GID{10: 0xff, 11: 0xff, 12: 192, 14: 2, 15: 1}
	for gid, want := range map[ib.GID]string{
		mapped:                       "::ffff:192.0.2.1",
		{0: 0xfe, 1: 0x80, 15: 1}:    "fe80::1",
		{12: 1, 13: 2, 14: 3, 15: 4}: "::1.2.3.4",
		{15: 1}:                      "::1",
		{0: 0x20, 1: 1, 3: 1, 7: 1, 11: 1, 15: 1}: "2001:1:0:1:0:1:0:1",
	} {
		if got := inet6(gid); got != want {
			t.Errorf("inet6(%x) = %s, want %s", gid[:], got, want)
		}
	}
}

func TestParseVPD(t *testing.T) {
	const name = "ConnectX-6 VPI adapter card, HDR IB (200Gb/s) and 200GbE, single-port QSFP56"
	vpd := append([]byte{0x82, byte(len(name)), 0}, name...)
	vpd = append(vpd, 0x90, 27, 0)
	vpd = append(vpd, "PN\x15MCX653105A-HDAT      EC\x00\x78"...)
	for _, tt := range []struct {
		b          []byte
		name, part string
	}{
		{vpd, name, "MCX653105A-HDAT"},
		{vpd[:len(name)+3], name, ""},
		{vpd[:10], "Connect", ""},
		{nil, "", ""},
		{[]byte{0x82, 0xff}, "", ""},
		{[]byte{0x90, 4, 0, 'P', 'N', 200, 'x'}, "", "x"},
	} {
		if name, part := parseVPD(tt.b); name != tt.name || part != tt.part {
			t.Errorf("parseVPD(%q) = %q, %q, want %q, %q", tt.b, name, part, tt.name, tt.part)
		}
	}
}

func FuzzParseVPD(f *testing.F) {
	f.Add([]byte{0x82, 3, 0, 'a', 'b', 'c', 0x90, 5, 0, 'P', 'N', 2, 'x', 'y'})
	f.Fuzz(func(t *testing.T, b []byte) {
		if name, part := parseVPD(b); len(name)+len(part) > len(b) {
			t.Errorf("parseVPD of %d bytes gives %d", len(b), len(name)+len(part))
		}
	})
}
