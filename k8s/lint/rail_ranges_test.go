package lint

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/rdmakit/rdmakit/k8s/ipam"
)

// TestRailRanges compares the index of ranges with a comparison of all pairs.
func TestRailRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 1))
	for range 200 {
		r := newRailRanges(railOf)
		var all []railRange
		for range 30 {
			var raw [4]byte
			binary.BigEndian.PutUint32(raw[:], 10<<24|rng.Uint32N(1<<12))
			prefix := netip.PrefixFrom(netip.AddrFrom4(raw), 20+rng.IntN(13))
			ref := &ipamRef{resource: string(rune('a' + rng.IntN(3)))}
			var want *railRange
			for i := range all {
				if all[i].rail != railOf(*ref) && all[i].span.Prefix.Overlaps(prefix) {
					want = &all[i]
					break
				}
			}
			got, ok := r.first(prefix, railOf(*ref))
			if ok != (want != nil) || ok && got.position != want.position {
				t.Fatalf("first range that overlaps %s: %v %t, want %v", prefix, got, ok, want)
			}
			s := span{Span: ipam.Span{Prefix: prefix}}
			all = append(all, railRange{railOf(*ref), r.added, ref, s})
			r.add(ref, s)
		}
	}
}
