package ib

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// GID is a global identifier: 16 bytes in network order, of which the first 8
// are the subnet prefix and the last 8 the interface identifier (InfiniBand
// Architecture Specification volume 1, section 4.1; C twin: union ibv_gid).
// A RoCE v2 GID is the IPv6 address, or the IPv4-mapped IPv6 address, of its
// network device.
type GID [16]byte

// ParseGID reads the eight colon-separated groups of four hexadecimal digits
// that sysfs prints, and any other text form of an IPv6 address.
func ParseGID(s string) (GID, error) {
	a, err := netip.ParseAddr(strings.TrimSpace(s))
	if err != nil || !a.Is6() || a.Zone() != "" {
		return GID{}, fmt.Errorf("parse gid %q: not eight groups of four hexadecimal digits", s)
	}
	return GID(a.As16()), nil
}

// GIDFromAddr returns the GID that RoCE v2 derives from an IP address: IPv4 as
// IPv4-mapped IPv6, IPv6 as it is.
func GIDFromAddr(a netip.Addr) GID { return GID(a.As16()) }

// String returns the form of sysfs: eight groups of four hexadecimal digits.
func (g GID) String() string { return hexGroups(g[:]) }

// Addr returns the GID as an IP address; an IPv4-mapped GID as IPv4.
func (g GID) Addr() netip.Addr { return netip.AddrFrom16(g).Unmap() }

// IPv4 returns the IPv4 address of an IPv4-mapped GID (::ffff:0:0/96).
func (g GID) IPv4() (netip.Addr, bool) {
	a := g.Addr()
	return a, a.Is4()
}

// IsZero reports whether all 16 bytes are zero, as in an empty table entry.
func (g GID) IsZero() bool { return g == GID{} }

// HasZeroInterfaceID reports whether the low 8 bytes are zero. NCCL and UCX treat
// such an entry as unusable.
func (g GID) HasZeroInterfaceID() bool { return g.InterfaceID() == 0 }

// IsLinkLocal reports whether the GID is in fe80::/10. Such a GID can't be
// routed, and on RoCE it isn't derived from a configured IP address.
func (g GID) IsLinkLocal() bool { return g[0] == 0xfe && g[1]&0xc0 == 0x80 }

// SubnetPrefix returns the high 8 bytes.
func (g GID) SubnetPrefix() SubnetPrefix {
	return SubnetPrefix(binary.BigEndian.Uint64(g[:8]))
}

// InterfaceID returns the low 8 bytes; on InfiniBand they are the port's GUID.
func (g GID) InterfaceID() uint64 { return binary.BigEndian.Uint64(g[8:]) }

// PortGUID returns the low 8 bytes as the GUID that they are on InfiniBand, in the first GID of a
// port (IBTA, 4.1.1).
func (g GID) PortGUID() GUID { return GUID(g[8:]) }

// MarshalText implements [encoding.TextMarshaler] with the form of [GID.String].
func (g GID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]; see [ParseGID].
func (g *GID) UnmarshalText(b []byte) error {
	v, err := ParseGID(string(b))
	if err == nil {
		*g = v
	}
	return err
}

// SubnetPrefix is the high half of a GID. The default prefix is fe80::/64.
type SubnetPrefix uint64

// SubnetPrefixDefault is the prefix of a subnet without a configured one.
const SubnetPrefixDefault SubnetPrefix = 0xfe80 << 48

// String returns four groups of four hexadecimal digits.
func (p SubnetPrefix) String() string {
	return hexGroups(binary.BigEndian.AppendUint64(nil, uint64(p)))
}

// MarshalText implements [encoding.TextMarshaler] with the form of [SubnetPrefix.String].
func (p SubnetPrefix) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *SubnetPrefix) UnmarshalText(b []byte) error {
	g, err := ParseGUID(string(b))
	if err == nil {
		*p = SubnetPrefix(binary.BigEndian.Uint64(g[:]))
	}
	return err
}

// GUID is an EUI-64 that identifies a node, a port or a system image, in network
// order (specification volume 1, section 4.1).
type GUID [8]byte

// ParseGUID reads "xxxx:xxxx:xxxx:xxxx" (sysfs), eight colon-separated bytes
// (netlink tools), or 0x followed by up to 16 hexadecimal digits (infiniband-diags).
func ParseGUID(s string) (GUID, error) {
	t := strings.TrimSpace(s)
	bad := fmt.Errorf("parse guid %q: not 16 hexadecimal digits", s)
	switch {
	case strings.HasPrefix(t, "0x"):
		t = t[2:]
		if len(t) == 0 || len(t) > 16 {
			return GUID{}, bad
		}
	case len(t) == 19 || len(t) == 23:
		group := 4 // digits between colons
		if len(t) == 23 {
			group = 2
		}
		for i := group; i < len(t); i += group + 1 {
			if t[i] != ':' {
				return GUID{}, bad
			}
		}
		t = strings.ReplaceAll(t, ":", "")
		if len(t) != 16 {
			return GUID{}, bad
		}
	default:
		return GUID{}, bad
	}
	v, err := strconv.ParseUint(t, 16, 64)
	if err != nil {
		return GUID{}, bad
	}
	var g GUID
	binary.BigEndian.PutUint64(g[:], v)
	return g, nil
}

// String returns the form of sysfs: four groups of four hexadecimal digits.
func (g GUID) String() string { return hexGroups(g[:]) }

// IsZero reports whether all 8 bytes are zero: the GUID isn't set.
func (g GUID) IsZero() bool { return g == GUID{} }

// MarshalText implements [encoding.TextMarshaler] with the form of [GUID.String].
func (g GUID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]; see [ParseGUID].
func (g *GUID) UnmarshalText(b []byte) error {
	v, err := ParseGUID(string(b))
	if err == nil {
		*g = v
	}
	return err
}

// hexGroups prints bytes as colon-separated groups of four digits.
func hexGroups(b []byte) string {
	const digits = "0123456789abcdef"
	out := make([]byte, 0, len(b)*5/2)
	for i, c := range b {
		if i > 0 && i%2 == 0 {
			out = append(out, ':')
		}
		out = append(out, digits[c>>4], digits[c&15])
	}
	return string(out)
}
