package rdmanl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/wire/ib"
)

func mac(s string) HardwareAddr {
	var a HardwareAddr
	if err := a.UnmarshalText([]byte(s)); err != nil {
		panic(err)
	}
	return a
}

func vfGUID(kind, n byte) *ib.GUID { return &ib.GUID{0xb8, 0x3f, 0xd2, 0x03, 0x00, 0xa5, kind, n} }

func TestDecodeLink(t *testing.T) {
	const up, mc = 0x1 | 0x40 | 0x10000, 0x2 | 0x1000 // up running lower-up; broadcast multicast
	eth0 := mac("52:54:00:99:00:01")
	want := []Link{
		{
			Index: 1, Name: "lo", Type: 772, Flags: up | 0x8, MTU: new(uint32(65536)), OperState: "unknown",
			Address: mac("00:00:00:00:00:00"),
		},
		{
			Index: 2, Name: "eth0", Type: 1, Flags: up | mc, MTU: new(uint32(9000)), OperState: "up", Address: eth0,
			NumVFs: new(uint32(0)),
		},
		{
			Index: 3, Name: "eth0.100", Type: 1, Flags: up | mc, Kind: "vlan", VLANID: new(uint16(100)),
			LowerIndex: new(2), MTU: new(uint32(9000)), OperState: "up", Address: eth0,
		},
		{
			Index: 4, Name: "mv0", Type: 1, Flags: mc, Kind: "macvlan", LowerIndex: new(2), MTU: new(uint32(9000)),
			OperState: "down", Address: mac("02:00:00:00:00:06"),
		},
		{
			Index: 5, Name: "dummy0", Type: 1, Flags: up | 0x82, Kind: "dummy", MTU: new(uint32(1500)),
			OperState: "unknown", Address: mac("02:00:00:00:00:07"),
		},
		{
			Index: 6, Name: "bond0", Type: 1, Flags: mc | 0x400, Kind: "bond", MTU: new(uint32(1500)),
			OperState: "down", Address: mac("02:00:00:00:00:09"),
		},
		{
			Index: 7, Name: "dummy1", Type: 1, Flags: up | 0x882, Kind: "dummy", MasterIndex: new(6),
			MTU: new(uint32(1500)), OperState: "unknown", Address: mac("02:00:00:00:00:09"),
		},
		{
			Index: 8, Name: "ve0", Type: 1, Flags: mc, Kind: "veth", LowerIndex: new(2), LowerNetnsID: new(uint32(0)),
			MTU: new(uint32(1500)), OperState: "down", Address: mac("02:00:00:00:00:0a"),
		},
		{
			Index: 9, Name: "eth1", Type: 1, Flags: up | 0x82, MTU: new(uint32(1500)), OperState: "unknown",
			Address: mac("02:00:00:00:00:0b"), NumVFs: new(uint32(2)),
			VFs: []VF{
				{
					Index: 0, MAC: mac("02:11:22:33:44:00"), VLAN: new(uint32(100)), QoS: new(uint32(3)),
					VLANProto: new(uint16(0x8100)), LinkState: "disable", Trust: new(true), SpoofCheck: new(true),
					MinTxRate: new(uint32(10)), MaxTxRate: new(uint32(20)), NodeGUID: vfGUID(0x10, 0),
					PortGUID: vfGUID(0x20, 0),
				},
				{
					Index: 1, MAC: mac("00:00:00:00:00:00"), VLAN: new(uint32(200)), QoS: new(uint32(5)),
					VLANProto: new(uint16(0x88a8)), LinkState: "enable", Trust: new(false), SpoofCheck: new(false),
					MinTxRate: new(uint32(0)), MaxTxRate: new(uint32(0)), NodeGUID: vfGUID(0x10, 1),
					PortGUID: vfGUID(0x20, 1),
				},
			},
		},
	}
	// Of each link: the largest MTU, and how often the carrier came and went.
	for i, n := range [][3]uint32{
		{0, 0, 0},
		{9000, 1, 1},
		{65535, 0, 0},
		{9000, 0, 0},
		{0, 0, 0},
		{65535, 1, 1},
		{0, 0, 0},
		{65535, 0, 1},
		{65535, 0, 0},
	} {
		want[i].MaxMTU, want[i].CarrierUps, want[i].CarrierDowns = &n[0], &n[1], &n[2]
	}
	check(t, "links", decodeAll(t, "links", decodeLink), want)
}

// linkHead is the start of a link message, built like rtnl_fill_ifinfo: type 32
// (InfiniBand), index 7, up.
func linkHead(name string, address []byte) []byte {
	b := []byte{0, 0, 32, 0, 7, 0, 0, 0, 0x43, 0x10, 1, 0, 0, 0, 0, 0}
	b = appendAttr(b, IFLA_IFNAME, append([]byte(name), 0))
	return appendAttr(b, IFLA_ADDRESS, address)
}

func u32s(ns ...uint32) []byte {
	var b []byte
	for _, n := range ns {
		b = binary.NativeEndian.AppendUint32(b, n)
	}
	return b
}

// TestDecodeIPoIB decodes a message that is not recorded, but built from if_link.h and
// rtnl_fill_vfinfo of Linux 6.1: 20-byte addresses, a driver that leaves spoof check and trust at
// the kernel's -1, the older rate, 12-byte GUID structures.
func TestDecodeIPoIB(t *testing.T) {
	address := mac("00:00:10:8b:fe:80:00:00:00:00:00:00:b8:3f:d2:03:00:a5:10:06")
	vfMAC := append(u32s(3), append([]byte(address), make([]byte, 12)...)...)
	vf := appendAttr(nil, IFLA_VF_MAC, vfMAC)
	vf = appendAttr(vf, IFLA_VF_TX_RATE, u32s(3, 25000))
	vf = appendAttr(vf, IFLA_VF_SPOOFCHK, u32s(3, 0xffffffff))
	vf = appendAttr(vf, IFLA_VF_TRUST, u32s(3, 0xffffffff))
	vf = appendAttr(vf, IFLA_VF_LINK_STATE, u32s(3, 9))
	vf = appendAttr(vf, IFLA_VF_IB_NODE_GUID, append(u32s(3), 3, 0x10, 0xa5, 0, 3, 0xd2, 0x3f, 0xb8))
	vf = appendAttr(vf, 777, []byte("a later kernel's"))
	b := appendAttr(linkHead("ib0", address), IFLA_LINKINFO, appendAttr(nil, IFLA_INFO_KIND, []byte("ipoib\x00")))
	b = appendAttrU32(b, IFLA_NUM_VF, 4)
	b = appendAttr(b, IFLA_VFINFO_LIST|1<<15, appendAttr(nil, IFLA_VF_INFO|1<<15, vf)) // NLA_F_NESTED
	got, err := decodeLink(b)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "ib0", got, Link{
		Index: 7, Name: "ib0", Type: 32, Flags: 0x11043, Kind: "ipoib", Address: address, NumVFs: new(uint32(4)),
		VFs: []VF{{Index: 3, MAC: address, LinkState: "9", MaxTxRate: new(uint32(25000)), NodeGUID: vfGUID(0x10, 3)}},
	})
}

// TestDecodeVFsWrapped builds the message of kernel 6.1 for 278 and more VFs (seen with
// netdevsim): a list whose length has lost its upper bits.
func TestDecodeVFsWrapped(t *testing.T) {
	for _, size := range []int{232, 236} { // of one VF; with 232 the wrap can hit a boundary
		for n := 270; n < 600; n++ {
			var list []byte
			for i := range n {
				vf := appendAttr(nil, IFLA_VF_MAC, append(u32s(uint32(i)), make([]byte, 32)...))
				vf = appendAttr(vf, IFLA_VF_TX_RATE, u32s(uint32(i), 7))  // IFLA_IFNAME has the same number
				vf = appendAttr(vf, IFLA_VF_SPOOFCHK, u32s(uint32(i), 0)) // and IFLA_MTU
				vf = appendAttr(vf, 777, make([]byte, size-8-len(vf)))
				list = appendAttr(list, IFLA_VF_INFO, vf)
			}
			b := appendAttrU32(linkHead("eth7", make([]byte, 6)), IFLA_NUM_VF, uint32(n))
			at := len(b)
			b = append(b, u32s(0)...)
			binary.NativeEndian.PutUint16(b[at:], uint16(4+len(list)))
			binary.NativeEndian.PutUint16(b[at+2:], IFLA_VFINFO_LIST)
			b = append(b, list...)
			l, err := decodeLink(b)
			if wrapped := 4+len(list) > 0xffff; wrapped != (err != nil) {
				t.Fatalf("%d VFs of %d bytes: error %v", n, size, err)
			}
			if l.Name != "eth7" || l.Index != 7 || *l.NumVFs != uint32(n) || l.MTU != nil {
				t.Fatalf("%d VFs of %d bytes: link %+v, want eth7 unharmed", n, size, l)
			}
			for i, vf := range l.VFs[:max(0, len(l.VFs)-1)] { // the last one may be truncated
				if vf.Index != uint32(i) {
					t.Fatalf("%d VFs of %d bytes: VF %d has index %d", n, size, i, vf.Index)
				}
			}
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	link := slices.Clip(linkHead("ib0", make([]byte, 6)))
	for _, c := range []struct {
		name   string
		decode func([]byte) (any, error)
		in     []byte
		want   string // in the error
	}{
		{"empty device", anyOf(decodeDevice), nil, "no device index or name"},
		{"empty port", anyOf(decodePort), nil, "no device or port index"},
		{"empty chardev", anyOf(decodeCharDevice), nil, "no device number or name"},
		{"short link", anyOf(decodeLink), make([]byte, 15), "no struct ifinfomsg"},
		{"nameless link", anyOf(decodeLink), make([]byte, 16), "no interface index or name"},
		{"short address", anyOf(decodeAddress), []byte{2}, "no struct ifaddrmsg"},
		{"AppleTalk address", anyOf(decodeAddress), []byte{5, 24, 0, 0, 1, 0, 0, 0}, "address family 5"},
		{"address without address", anyOf(decodeAddress), []byte{2, 24, 0, 0, 1, 0, 0, 0}, "no address"},
		{
			"prefix too long", anyOf(decodeAddress),
			appendAttr([]byte{2, 33, 0, 0, 1, 0, 0, 0}, IFA_LOCAL, []byte{1, 2, 3, 4}), "wrong prefix length",
		},
		{
			"IPv6 bytes in IPv4", anyOf(decodeAddress),
			appendAttr([]byte{2, 24, 0, 0, 1, 0, 0, 0}, IFA_LOCAL, make([]byte, 16)), "an ipv4 address of 16 bytes",
		},
		{"short route", anyOf(decodeRoute), make([]byte, 11), "no struct rtmsg"},
		{"route too long", anyOf(decodeRoute), []byte{2, 40, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0}, "no right prefix length"},
		{"next hop too long", anyOf(decodeRoute), appendAttr([]byte{2, 0, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0},
			RTA_MULTIPATH, []byte{99, 0, 0, 0, 1, 0, 0, 0}), "next hop 0: length 99"},
		{
			"short via", anyOf(decodeRoute),
			appendAttr([]byte{2, 0, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0}, RTA_VIA, []byte{10}), "a gateway of 1 bytes",
		},
		{
			"3-byte number", anyOf(decodeLink), appendAttr(link, IFLA_MTU, []byte{1, 2, 3}),
			"attribute 4: a number of 3 bytes",
		},
		{
			"wide number", anyOf(decodeLink), appendAttr(link, IFLA_MTU, []byte{0, 0, 0, 0, 1, 0, 0, 0}),
			"attribute 4: a number of 33 bits",
		},
		{
			"attribute too long", anyOf(decodeLink), append(link, 9, 0, 4, 0, 1),
			"broken framing: attribute 4 has the length 9",
		},
		{"attribute too short", anyOf(decodeLink), append(link, 3, 0, 4, 0), "attribute 4 has the length 3"},
		{"short VF", anyOf(decodeLink), appendAttr(
			link, IFLA_VFINFO_LIST, appendAttr(nil, IFLA_VF_INFO, appendAttr(nil, IFLA_VF_RATE, u32s(1, 2))),
		), "ib0: attribute 22: attribute 1: attribute 6: 8 bytes instead of 12"},
	} {
		if _, err := c.decode(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.name, err, c.want)
		}
	}
}

func anyOf[T any](decode func([]byte) (T, error)) func([]byte) (any, error) {
	return func(b []byte) (any, error) { return decode(b) }
}

// TestOddAttributeCostsItselfOnly also checks that a wider number is accepted.
func TestOddAttributeCostsItselfOnly(t *testing.T) {
	b := appendAttr(linkHead("ib0", make([]byte, 6)), IFLA_OPERSTATE, []byte{1, 2, 3})
	b = appendAttr(b, IFLA_MTU, []byte{0xdc, 0x05, 0, 0, 0, 0, 0, 0})
	l, err := decodeLink(b)
	if err == nil || errors.Is(err, errIncomplete) {
		t.Errorf("decodeLink error = %v, want one about attribute 16", err)
	}
	if got := fmt.Sprint(l.Name, l.OperState, *l.MTU); got != "ib01500" {
		t.Errorf("decodeLink = %+v, want ib0 with MTU 1500 and no state", l)
	}
}

func TestHardwareAddrText(t *testing.T) {
	for _, s := range []string{"00:00:00:00:00:00", "02:aB:ff:10:20:30", "0a"} {
		if got := mac(s).String(); got != strings.ToLower(s) {
			t.Errorf("HardwareAddr(%q) = %q", s, got)
		}
	}
	for _, s := range []string{"", "0", "0:1", "00:", ":00", "00-11", "00:+1", "00:0x", "zz", "000"} {
		a := HardwareAddr{1}
		if err := a.UnmarshalText([]byte(s)); err == nil || a.String() != "01" {
			t.Errorf("UnmarshalText(%q) = %v, %v, want an error and no change", s, a, err)
		}
	}
}
