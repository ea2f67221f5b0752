package connect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestPKeys compares partition keys by the rules of the specification, volume 1, section 10.9.3.
func TestPKeys(t *testing.T) {
	for _, tt := range []struct {
		client, listener ib.PKey
		ok               bool
	}{
		{0xffff, 0xffff, true},
		{0x8001, 0x0001, true},
		{0x0001, 0x8001, true},
		{0x0001, 0x0001, false},
		{0x8001, 0x8002, false},
		{0x8001, 0x0002, false},
	} {
		end := func(key ib.PKey) *Endpoint {
			return &Endpoint{
				LinkLayer: "Ethernet", MTU: 1024, ActiveMTU: 1024, PKey: key,
				GIDs: []GIDChoice{{GID: ib.GID{15: 1}, Kind: KindV2IPv4}},
			}
		}
		_, f := agree(end(tt.client), end(tt.listener))
		if ok := f == nil; ok != tt.ok || f != nil && f.Code != CodePKey {
			t.Errorf("agree of %v and %v = %v, want success: %t", tt.client, tt.listener, f, tt.ok)
		}
	}
}

// TestChoices orders the entries of a port.
func TestChoices(t *testing.T) {
	entry := func(index int, gid string, kind verbs.GIDType) verbs.GIDEntry {
		g, err := ib.ParseGID(gid)
		if err != nil {
			t.Fatal(err)
		}
		return verbs.GIDEntry{Index: index, GID: g, Type: kind}
	}
	table := []verbs.GIDEntry{
		entry(0, "fe80::1", verbs.GIDTypeRoCEv2),
		entry(1, "::ffff:192.0.2.1", verbs.GIDTypeRoCEv1),
		entry(2, "::ffff:169.254.0.1", verbs.GIDTypeRoCEv2),
		entry(3, "::ffff:192.0.2.1", verbs.GIDTypeRoCEv2),
		entry(4, "::", verbs.GIDTypeRoCEv2),
		entry(5, "2001:db8::1", verbs.GIDTypeRoCEv2),
		entry(6, "::ffff:192.0.2.2", verbs.GIDTypeRoCEv2),
	}
	index := func(i int) *int { return &i }
	for _, tt := range []struct {
		name           string
		pin, preferred *int
		want           []int
	}{
		{"all", nil, nil, []int{3, 6, 2, 5, 1}},
		{"preferred", nil, index(6), []int{6, 3, 2, 5, 1}},
		{"preferred of a worse kind", nil, index(5), []int{3, 6, 2, 5, 1}},
		{"pinned", index(0), nil, []int{0}},
		{"pinned to an empty entry", index(4), nil, nil},
	} {
		var got []int
		for _, g := range choices(table, verbs.LinkLayerEthernet, tt.pin, tt.preferred) {
			got = append(got, g.Index)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: indexes (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestNoGID names what is wrong with a table from which no entry can be chosen.
func TestNoGID(t *testing.T) {
	empty, local := verbs.GIDEntry{Index: 1}, verbs.GIDEntry{Index: 0, GID: ib.GID{0: 0xfe, 1: 0x80, 15: 1}}
	usable := verbs.GIDEntry{Index: 3, GID: ib.GID{15: 1}}
	one := 1
	for _, tt := range []struct {
		entries []verbs.GIDEntry
		pin     *int
		want    string
	}{
		{nil, nil, "the GID table is empty"},
		{[]verbs.GIDEntry{empty}, nil, "the GID table is empty"},
		{[]verbs.GIDEntry{empty}, &one, "the GID table is empty"},
		{[]verbs.GIDEntry{local, empty}, nil, "the GID table has only link-local addresses, which jobs can't use"},
		{[]verbs.GIDEntry{local, empty, usable}, &one, "the GID table has no entry at index 1, but at 0, 3"},
	} {
		if got := noGIDError(tt.entries, tt.pin).Error(); got != tt.want {
			t.Errorf("noGIDError(%v, %v) = %s, want %s", tt.entries, tt.pin, got, tt.want)
		}
	}
}

// TestMTUReason names the port or the limit that the path MTU comes from.
func TestMTUReason(t *testing.T) {
	for _, tt := range []struct {
		client, listener [2]ib.MTU // limit and active MTU
		mtu              ib.MTU
		want             string
	}{
		{[2]ib.MTU{4096, 4096}, [2]ib.MTU{4096, 4096}, 4096, "the active MTU of both ports"},
		{[2]ib.MTU{1024, 1024}, [2]ib.MTU{4096, 4096}, 1024, "the smaller one: a p has 1024, b q has 4096"},
		// the listener takes over the client's limit
		{[2]ib.MTU{512, 4096}, [2]ib.MTU{512, 1024}, 512, "as --mtu says; the ports have 4096 and 1024"},
		{[2]ib.MTU{1024, 1024}, [2]ib.MTU{1024, 4096}, 1024, "the smaller one: a p has 1024, b q has 4096"},
		// only the listener has one
		{[2]ib.MTU{4096, 4096}, [2]ib.MTU{1024, 4096}, 1024, "as --mtu of b q says; the ports have 4096 and 4096"},
		{[2]ib.MTU{512, 4096}, [2]ib.MTU{1024, 1024}, 512, "as --mtu of a p says; the ports have 4096 and 1024"},
	} {
		var a agreement
		a.agreeMTU(&Endpoint{Host: "a", Port: "p", MTU: tt.client[0], ActiveMTU: tt.client[1]},
			&Endpoint{Host: "b", Port: "q", MTU: tt.listener[0], ActiveMTU: tt.listener[1]})
		if a.mtu != tt.mtu || a.mtuReason != tt.want {
			t.Errorf("%v with %v: %d, %s, want %d, %s", tt.client, tt.listener, a.mtu, a.mtuReason, tt.mtu, tt.want)
		}
	}
}

// TestNameOf names ends of which host or port is not known.
func TestNameOf(t *testing.T) {
	for _, tt := range [][3]string{{"a", "p", "a p"}, {"a", "", "a"}, {"", "p", "p"}, {"", "", ""}} {
		if got := nameOf(tt[0], tt[1]); got != tt[2] {
			t.Errorf("nameOf(%q, %q) = %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}

// TestCompareData finds any byte that differs, and data of another round or direction.
func TestCompareData(t *testing.T) {
	b := make([]byte, 64)
	fill(b, seedOf(true, 3))
	if err := compare(b, seedOf(true, 3)); err != nil {
		t.Error(err)
	}
	for _, seed := range []uint64{seedOf(false, 3), seedOf(true, 2), seedOf(true, 4), seedOf(false, 4)} {
		if compare(b, seed) == nil {
			t.Errorf("data of another round or direction is equal (seed %d)", seed)
		}
	}
	for i := range b {
		b[i] ^= 0x10
		if compare(b, seedOf(true, 3)) == nil {
			t.Errorf("byte %d differs unnoticed", i)
		}
		b[i] ^= 0x10
	}
}
