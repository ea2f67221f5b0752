package ipam

import (
	"math"
	"math/big"
	"net/netip"
	"slices"
)

// Span is a parsed address range.
type Span struct {
	Prefix      netip.Prefix   // the whole range
	First, Last netip.Addr     // bounds of the addresses for pods
	Exclude     []netip.Prefix // addresses that pods don't get
}

// Size returns the number of addresses for pods.
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

// nested reports whether an exclusion is within another one, or equal to an earlier one.
func (s Span) nested(i int) bool {
	x := s.Exclude[i]
	for j, y := range s.Exclude {
		if j != i && y.Overlaps(x) && (y.Bits() < x.Bits() || y.Bits() == x.Bits() && j < i) {
			return true
		}
	}
	return false
}

// Excluded reports whether an address is excluded.
func (s Span) Excluded(a netip.Addr) bool {
	return slices.ContainsFunc(s.Exclude, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Contains reports whether pods may get an address.
func (s Span) Contains(a netip.Addr) bool {
	return a.BitLen() == s.First.BitLen() && s.First.Compare(a) <= 0 && a.Compare(s.Last) <= 0 && !s.Excluded(a)
}

// Hosts returns the first and the last address of a prefix, without network and broadcast address.
// They are invalid for /31 and /32 (IPv6: /127 and /128).
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

// Count returns the number of addresses from a to b, inclusive. It returns 0 if b is before a or
// has another address family.
func Count(a, b netip.Addr) int { return narrow(wide(a, b)) }

// wide returns the same as Count without a limit, to subtract exclusions from IPv6 ranges exactly.
func wide(a, b netip.Addr) *big.Int {
	if !a.IsValid() || !b.IsValid() || a.BitLen() != b.BitLen() || a.Compare(b) > 0 {
		return new(big.Int)
	}
	n := new(big.Int).SetBytes(b.AsSlice())
	n.Sub(n, new(big.Int).SetBytes(a.AsSlice()))
	return n.Add(n, big.NewInt(1))
}

// narrow limits a count to 2^31-1.
func narrow(n *big.Int) int {
	if !n.IsInt64() {
		return math.MaxInt32
	}
	return int(min(max(n.Int64(), 0), math.MaxInt32))
}

// Bits returns the length of the longest prefix with at least n host addresses, false if there is
// none. bitLen is 32 or 128.
func Bits(n, bitLen int) (int, bool) {
	for host := 2; host <= bitLen && host < 32; host++ {
		if 1<<host-2 >= n {
			return bitLen - host, true
		}
	}
	return 0, false
}

// Free returns the first subnet of pool with a prefix length that overlaps with none of taken,
// false if there is none.
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
		// Continue after the taken range, which may be larger than a subnet.
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
