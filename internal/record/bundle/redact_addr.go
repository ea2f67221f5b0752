package bundle

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// scramble replaces the bytes of b from index first on. Each byte is combined with a keyed hash of
// the bytes before it, so that two values share as many leading bits as before, and different
// values stay different.
func (r *Redactor) scramble(domain string, b []byte, first int) {
	was := slices.Clone(b)
	for i := first; i < len(b); i++ {
		b[i] ^= r.prf(domain, was[:i])[0]
	}
}

// mac redacts the six bytes of a MAC address. It keeps the vendor part, or only the first byte of a
// locally administered address.
func (r *Redactor) mac(m [6]byte) [6]byte {
	switch {
	case m == [6]byte{}, m == [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, m[0]&1 != 0: // multicast identifies no node
		return m
	case m[0]&2 != 0:
		r.scramble("mac", m[:], 1)
	default:
		r.scramble("mac", m[:], 3)
	}
	return m
}

// plainMiddles are the two middle bytes of an EUI-64 between the vendor part and the number of a
// MAC address.
var plainMiddles = []uint16{0xfffe, 0x0300, 0x0000, 0xffff}

// guid redacts the eight bytes of a GUID, EUI-64 or interface identifier. If it is derived from a
// MAC address, the result is derived from the redacted MAC address.
func (r *Redactor) guid(g [8]byte) [8]byte {
	if binary.BigEndian.Uint64(g[:]) < 1<<16 { // zero, or a number that an administrator assigned
		return g
	}
	m := [6]byte{g[0], g[1], g[2], g[5], g[6], g[7]}
	if mac := [6]byte(g[:6]); g[6] == 0 && g[7] == 0 && r.node.macs[mac] { // siw: the MAC address followed by zeros
		mac = r.mac(mac)
		return [8]byte{mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]}
	}
	middle := binary.BigEndian.Uint16(g[3:5])
	flip := byte(0)
	if middle == 0xfffe && !r.node.macs[m] {
		flip = 2 // modified EUI-64 (RFC 4291, appendix A)
	}
	m[0] ^= flip
	wasMAC := m
	if m[0]&1 == 0 {
		m = r.mac(m)
	} else { // not from a MAC address: random identifiers may have that bit
		r.scramble("mac", m[:], 1)
	}
	if !slices.Contains(plainMiddles, middle) {
		mask := r.prf("middle", wasMAC[:3])
		middle ^= binary.BigEndian.Uint16(mask)
	}
	return [8]byte{m[0] ^ flip, m[1], m[2], byte(middle >> 8), byte(middle), m[3], m[4], m[5]}
}

// prefix6 redacts the upper half of an IPv6 address or GID.
func (r *Redactor) prefix6(p [8]byte) [8]byte {
	first := 1
	switch {
	case p == [8]byte{}, p == [8]byte{0xfe, 0x80}:
		return p
	case p[0] == 0xfe && p[1]&0xc0 == 0x80, p[0] == 0x20 && p[1] == 0x02:
		first = 2
	}
	r.scramble("prefix", p[:], first)
	return p
}

// gid redacts the 16 bytes of a GID or IPv6 address.
func (r *Redactor) gid(g [16]byte) [16]byte {
	a := netip.AddrFrom16(g)
	switch {
	case a.IsUnspecified(), a.IsLoopback():
		return g
	case a.Is4In6():
		v4 := r.addr4(a.As4())
		copy(g[12:], v4[:])
		return g
	case a.IsMulticast():
		if g[11] == 1 && g[12] == 0xff { // solicited-node: the end of an address
			r.scramble("solicited", g[:], 13)
		}
		return g
	}
	if mac := [6]byte(g[:6]); [10]byte(g[6:]) == [10]byte{} && r.node.macs[mac] { // iWARP: MAC address and zeros
		mac = r.mac(mac)
		copy(g[:6], mac[:])
		return g
	}
	prefix, id := r.prefix6([8]byte(g[:8])), r.guid([8]byte(g[8:]))
	copy(g[:8], prefix[:])
	copy(g[8:], id[:])
	return g
}

// addr4 redacts an IPv4 address; its kind (private, link-local and so on) stays the same.
func (r *Redactor) addr4(a [4]byte) [4]byte {
	switch first := a[0]; {
	case first == 0, first == 127, first >= 224: // this host, loopback, multicast, reserved, netmasks, broadcast
		return a
	case first == 10:
		r.scramble("ipv4", a[:], 1)
	case first == 172 && a[1]&0xf0 == 16:
		second := a[1]
		r.scramble("ipv4", a[:], 1)
		a[1] = second&0xf0 | a[1]&0x0f
	case first == 100 && a[1]&0xc0 == 64:
		second := a[1]
		r.scramble("ipv4", a[:], 1)
		a[1] = second&0xc0 | a[1]&0x3f
	case first == 192 && a[1] == 168, first == 169 && a[1] == 254:
		r.scramble("ipv4", a[:], 2)
	case slices.Contains(mixedOctets, first):
		was := a
		a[1] = r.permute("second octet", first, a[1], mixedSeconds(first))
		r.tail4(was, &a)
	default:
		was := a
		a[0] = r.permute("first octet", 0, first, publicOctets())
		r.scramble("public", was[:], 1)
		copy(a[1:], was[1:])
	}
	return a
}

// tail4 scrambles the last two bytes of was into a.
func (r *Redactor) tail4(was [4]byte, a *[4]byte) {
	r.scramble("public", was[:], 2)
	copy(a[2:], was[2:])
}

// mixedOctets are the first octets of both public and other networks.
var mixedOctets = []byte{100, 169, 172, 192}

// publicOctets returns the first octets of public networks only.
func publicOctets() []byte {
	var out []byte
	for b := byte(1); b < 224; b++ {
		if b != 10 && b != 127 && !slices.Contains(mixedOctets, b) {
			out = append(out, b)
		}
	}
	return out
}

// mixedSeconds returns the second octets of the public networks with a mixed first octet.
func mixedSeconds(first byte) []byte {
	var out []byte
	for i := range 256 {
		b := byte(i)
		private := first == 172 && b&0xf0 == 16 || first == 100 && b&0xc0 == 64 || first == 192 && b == 168 ||
			first == 169 && b == 254
		if !private {
			out = append(out, b)
		}
	}
	return out
}

// permute is a permutation of a set, in the order of a keyed hash.
func (r *Redactor) permute(domain string, of, member byte, set []byte) byte {
	rank := slices.Clone(set)
	slices.SortFunc(rank, func(x, y byte) int {
		return slices.Compare(r.prf(domain, []byte{of, x}), r.prf(domain, []byte{of, y}))
	})
	return rank[slices.Index(set, member)]
}

// addr redacts an address of either family. The address of a network (all bits after the first bits
// are zero) stays the address of a network.
func (r *Redactor) addr(a netip.Addr, bits int) netip.Addr {
	network := bits >= 0 && bits < a.BitLen() && netip.PrefixFrom(a, bits).Masked().Addr() == a
	var out netip.Addr
	if a.Is4() {
		out = netip.AddrFrom4(r.addr4(a.As4()))
	} else {
		out = netip.AddrFrom16(r.gid(a.As16()))
	}
	if network {
		out = netip.PrefixFrom(out, bits).Masked().Addr()
	}
	return out
}
