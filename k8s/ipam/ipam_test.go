package ipam

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSize(t *testing.T) {
	tests := []struct {
		in   Range
		want int
	}{
		{Range{Range: "192.168.0.0/24"}, 254},
		{Range{Range: "192.168.0.0/30"}, 2},
		{Range{Range: "192.168.0.7/24"}, 254},
		{Range{Range: "192.168.0.10-192.168.0.19/24"}, 10},
		{Range{Range: "192.168.0.0/24", RangeStart: "192.168.0.100"}, 155},
		{Range{Range: "192.168.0.0/24", RangeStart: "192.168.0.200", RangeEnd: "192.168.0.100"}, 254}, // ignored
		{Range{Range: "192.168.0.0/24", RangeStart: "10.0.0.1"}, 254},
		{Range{Range: "192.168.0.0/24", Exclude: []string{"192.168.0.0/25"}}, 127},
		{Range{Range: "192.168.0.0/24", Exclude: []string{"192.168.0.0/25", "192.168.0.4/32", "10.0.0.0/8"}}, 127},
		{Range{Range: "192.168.0.0/24", Exclude: []string{"192.168.0.4/32", "192.168.0.0/25", "192.168.0.0/25"}}, 127},
		{Range{Range: "192.168.0.0/24", Exclude: []string{"192.168.0.9"}}, 253},
		{Range{Range: "10.0.0.0/8"}, 1<<24 - 2},
		{Range{Range: "fd00::/64"}, 1<<31 - 1},
		{Range{Range: "fd00::/120"}, 254},
		{Range{Range: "fd00::/64", Exclude: []string{"fd00::/96"}}, 1<<31 - 1},
		{Range{Range: "fd00::/64", Exclude: []string{"fd00::/65", "fd00:0:0:0:8000::/66", "fd00:0:0:0:c000::/66"}}, 0},
		{Range{Range: "192.168.7.10-192.168.7.200/24", RangeStart: "192.168.7.199", RangeEnd: "192.168.7.199"}, 191},
	}
	for _, tt := range tests {
		s, err := Parse(tt.in)
		if err != nil || s.Size() != tt.want {
			t.Errorf("Parse(%+v) has %d addresses, %v, want %d", tt.in, s.Size(), err, tt.want)
		}
	}
	for _, in := range []string{"192.168.0.0/31", "192.168.0.1/32", "192.168.0.0", "x", ""} {
		s, err := Parse(Range{Range: in})
		if err == nil || errors.Is(err, ErrUnusable) != s.Prefix.IsValid() {
			t.Errorf("Parse(%q) = %+v, %v, want an error", in, s, err)
		}
	}
}

func TestContains(t *testing.T) {
	s, err := Parse(
		Range{Range: "10.0.0.0/24", RangeStart: "10.0.0.10", RangeEnd: "10.0.0.20", Exclude: []string{"10.0.0.12/31"}})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]bool{
		"10.0.0.9": false, "10.0.0.10": true, "10.0.0.12": false, "10.0.0.13": false, "10.0.0.14": true,
		"10.0.0.21": false, "fd00::1": false,
	} {
		if got := s.Contains(netip.MustParseAddr(in)); got != want {
			t.Errorf("Contains(%s) = %t, want %t", in, got, want)
		}
	}
}

func TestRanges(t *testing.T) {
	c := Config{
		Range: "10.0.0.0/24", RangeStart: "10.0.0.5", Subnet: "10.0.1.0/24", LocalEnd: "10.0.1.9",
		IPRanges: []Range{{Range: "fd00::/64"}},
	}
	want := []Range{
		{Range: "10.0.0.0/24", RangeStart: "10.0.0.5", Of: TypeWhereabouts},
		{Range: "10.0.1.0/24", RangeEnd: "10.0.1.9", Of: TypeHostLocal},
		{Range: "fd00::/64", Of: TypeWhereabouts},
	}
	if diff := cmp.Diff(want, c.Ranges()); diff != "" {
		t.Errorf("Ranges differ (-want +got):\n%s", diff)
	}
	var local Config
	if err := json.Unmarshal([]byte(`{"type": "host-local", "ranges": [[{"subnet": "10.0.0.0/24", "gateway": "10.0.0.1"}, {"subnet": "10.0.1.0/24"}], [{"subnet": "fd00::/64"}]],
		"addresses": [{"address": "10.0.2.7/24", "gateway": "10.0.2.1"}]}`), &local); err != nil {
		t.Fatal(err)
	}
	sets := [][]Range{
		{{Range: "10.0.0.0/24", Gateway: "10.0.0.1", Of: TypeHostLocal}, {Range: "10.0.1.0/24", Of: TypeHostLocal}},
		{{Range: "fd00::/64", Of: TypeHostLocal}},
		{{Range: "10.0.2.7/24", RangeStart: "10.0.2.7", RangeEnd: "10.0.2.7", Gateway: "10.0.2.1", Of: TypeStatic}},
	}
	if diff := cmp.Diff(sets, local.Sets()); diff != "" {
		t.Errorf("Sets differ (-want +got):\n%s", diff)
	}
	text, err := Config{Type: TypeWhereabouts, Range: "10.0.0.0/24", NetworkName: "a<b"}.JSON()
	if want := `{"type":"whereabouts","range":"10.0.0.0/24","network_name":"a<b"}`; text != want || err != nil {
		t.Errorf("JSON = %s, %v, want %s", text, err, want)
	}
}

func TestBits(t *testing.T) {
	tests := []struct {
		n, bitLen, want int
		ok              bool
	}{
		{0, 32, 30, true},
		{1, 32, 30, true},
		{2, 32, 30, true},
		{3, 32, 29, true},
		{6, 32, 29, true},
		{7, 32, 28, true},
		{254, 32, 24, true},
		{255, 32, 23, true},
		{254, 128, 120, true},
		{1 << 30, 32, 1, true},
		{1 << 31, 32, 0, false},
	}
	for _, tt := range tests {
		if got, ok := Bits(tt.n, tt.bitLen); got != tt.want || ok != tt.ok {
			t.Errorf("Bits(%d, %d) = %d, %t, want %d, %t", tt.n, tt.bitLen, got, ok, tt.want, tt.ok)
		}
	}
}

func TestFree(t *testing.T) {
	prefixes := func(in ...string) (out []netip.Prefix) {
		for _, s := range in {
			out = append(out, netip.MustParsePrefix(s))
		}
		return out
	}
	tests := []struct {
		pool  string
		bits  int
		taken []netip.Prefix
		want  string
	}{
		{"192.168.0.0/16", 24, nil, "192.168.0.0/24"},
		{"192.168.0.0/16", 24, prefixes("192.168.0.0/24"), "192.168.1.0/24"},
		{"192.168.0.0/16", 24, prefixes("192.168.0.0/20", "192.168.16.9/32"), "192.168.17.0/24"},
		{"192.168.0.0/16", 20, prefixes("192.168.3.0/24"), "192.168.16.0/20"},
		{"192.168.0.0/16", 24, prefixes("192.0.0.0/8"), ""},
		{"192.168.0.0/16", 24, prefixes("10.0.0.0/8", "fd00::/8"), "192.168.0.0/24"},
		{"192.168.0.0/24", 25, prefixes("192.168.0.0/25", "192.168.0.200/32"), ""},
		{"192.168.0.0/24", 23, nil, ""},
		{"192.168.0.0/24", 33, nil, ""},
		{"255.255.255.0/24", 25, prefixes("255.255.255.0/24"), ""},
		{"fd00::/48", 64, prefixes("fd00::/64"), "fd00:0:0:1::/64"},
	}
	for _, tt := range tests {
		got, ok := Free(netip.MustParsePrefix(tt.pool), tt.bits, tt.taken)
		if want, _ := netip.ParsePrefix(tt.want); got != want || ok != want.IsValid() {
			t.Errorf("Free(%s, %d, %v) = %s, %t, want %q", tt.pool, tt.bits, tt.taken, got, ok, tt.want)
		}
	}
}

// TestFreeDisjoint fills a pool with subnets of many sizes: none may overlap with another, and all
// must lie in the pool.
func TestFreeDisjoint(t *testing.T) {
	pool := netip.MustParsePrefix("10.40.0.0/16")
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a fixed sequence
	var taken []netip.Prefix
	for range 200 {
		next, ok := Free(pool, 20+rng.IntN(9), taken)
		if !ok {
			continue
		}
		for _, other := range taken {
			if other.Overlaps(next) {
				t.Fatalf("Free gave %s, which overlaps with %s", next, other)
			}
		}
		if !pool.Contains(next.Addr()) || !pool.Contains(Last(next)) {
			t.Fatalf("Free gave %s, which is not within %s", next, pool)
		}
		taken = append(taken, next)
	}
	if len(taken) < 16 {
		t.Errorf("%d subnets found room, want 16 at least", len(taken))
	}
}
