package ipam

import (
	"math"
	"math/big"
	"net/netip"
	"slices"
)

// Span is a range of addresses as whereabouts understands it.
type Span struct {
	Prefix      netip.Prefix   // the whole range
	First, Last netip.Addr     // that pods may get, exclusions aside
	Exclude     []netip.Prefix // what pods don't get
}

// Size counts the addresses that pods may get.
func (s Span) Size() int {
	n := wide(s.First, s.Last)
	for i, x := range s.Exclude {
		if s.nested(i) {
			continue // counted with the wider one
		}
		lo, hi := x.Masked().Addr(), Last(x)
		if lo.Compare(s.First) < 0 {
			lo = s.First
		}
		if hi.Compare(s.Last) > 0 {
			hi = s.Last
		}
		n.Sub(n, wide(lo, hi))
	}
	return narrow(n)
}

// nested reports an exclusion that lies within another, or is equal to an earlier one.
func (s Span) nested(i int) bool {
	x := s.Exclude[i]
	for j, y := range s.Exclude {
		if j != i && y.Overlaps(x) && (y.Bits() < x.Bits() || y.Bits() == x.Bits() && j < i) {
			return true
		}
	}
	return false
}

// Excluded reports an address that pods don't get though it is within the bounds.
func (s Span) Excluded(a netip.Addr) bool {
	return slices.ContainsFunc(s.Exclude, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Contains reports an address that pods may get.
func (s Span) Contains(a netip.Addr) bool {
	return a.BitLen() == s.First.BitLen() && s.First.Compare(a) <= 0 && a.Compare(s.Last) <= 0 && !s.Excluded(a)
}

// Hosts returns the first and the last address that are neither the network nor its broadcast; none
// from /31 on.
func Hosts(p netip.Prefix) (first, last netip.Addr) {
	if p.Addr().BitLen()-p.Bits() < 2 {
		return first, last
	}
	return p.Masked().Addr().Next(), Last(p).Prev()
}

// Last returns the last address of a prefix.
func Last(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().As16()
	offset := 128 - p.Addr().BitLen()
	for bit := offset + p.Bits(); bit < 128; bit++ {
		b[bit/8] |= 1 << (7 - bit%8)
	}
	addr := netip.AddrFrom16(b)
	if p.Addr().Is4() {
		return addr.Unmap()
	}
	return addr
}

// Count counts the addresses from a to b, both included; 0 where b is before a, or of
// another family.
func Count(a, b netip.Addr) int { return narrow(wide(a, b)) }

// wide is Count without its bound: what exclusions take from an IPv6 range shows in none of the
// bounded counts.
func wide(a, b netip.Addr) *big.Int {
	if !a.IsValid() || !b.IsValid() || a.BitLen() != b.BitLen() || a.Compare(b) > 0 {
		return new(big.Int)
	}
	n := new(big.Int).SetBytes(b.AsSlice())
	n.Sub(n, new(big.Int).SetBytes(a.AsSlice()))
	return n.Add(n, big.NewInt(1))
}

// narrow bounds a count.
func narrow(n *big.Int) int {
	if !n.IsInt64() {
		return math.MaxInt32
	}
	return int(min(max(n.Int64(), 0), math.MaxInt32))
}

// Bits returns the length of the longest prefix that has room for n hosts; false where the family
// has none. bitLen is 32 or 128.
func Bits(n, bitLen int) (int, bool) {
	for host := 2; host <= bitLen && host < 32; host++ {
		if 1<<host-2 >= n {
			return bitLen - host, true
		}
	}
	return 0, false
}

// Free returns the first subnet of a length within pool that meets none of taken; false where there
// is none.
func Free(pool netip.Prefix, bits int, taken []netip.Prefix) (netip.Prefix, bool) {
	if !pool.IsValid() || bits < pool.Bits() || bits > pool.Addr().BitLen() {
		return netip.Prefix{}, false
	}
	end := Last(pool)
	for next := netip.PrefixFrom(pool.Masked().Addr(), bits); ; {
		i := slices.IndexFunc(taken, func(t netip.Prefix) bool { return t.Overlaps(next) })
		if i < 0 {
			return next, true
		}
		// What is taken may be wider than a subnet: go on behind it.
		behind := Last(next)
		if t := Last(taken[i]); t.Compare(behind) > 0 {
			behind = t
		}
		if behind.Compare(end) >= 0 {
			return netip.Prefix{}, false
		}
		next = netip.PrefixFrom(behind.Next(), bits).Masked()
	}
}
