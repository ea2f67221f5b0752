package rdmanl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/rdmakit/rdmakit/internal/edge/nl"
)

// Lengths of the fixed headers of rtnetlink messages, before the attributes
// (linux/rtnetlink.h, linux/if_addr.h).
const (
	ifinfomsgLen = 16
	ifaddrmsgLen = 8
	rtmsgLen     = 12
	rtnexthopLen = 8
)

// maxHardwareAddr is MAX_ADDR_LEN of linux/netdevice.h.
const maxHardwareAddr = 32

type family struct {
	number uint8 // AF_INET, AF_INET6 of Linux
	name   string
	zero   netip.Addr
}

var families = [...]family{
	{2, "ipv4", netip.IPv4Unspecified()},
	{10, "ipv6", netip.IPv6Unspecified()},
}

func familyOf(number uint8) (family, error) {
	for _, f := range families {
		if f.number == number {
			return f, nil
		}
	}
	return family{}, fmt.Errorf("%w: address family %d", errIncomplete, number)
}

var (
	operStates = map[uint64]string{
		0: "unknown", 1: "notpresent", 2: "down", 3: "lowerlayerdown", 4: "testing", 5: "dormant", 6: "up",
	}
	vfLinkStates = map[uint64]string{0: "auto", 1: "enable", 2: "disable"}
	scopes       = map[uint64]string{0: "global", 200: "site", 253: "link", 254: "host", 255: "nowhere"}
	routeTypes   = map[uint64]string{
		1: "unicast", 2: "local", 3: "broadcast", 4: "anycast", 5: "multicast",
		6: "blackhole", 7: "unreachable", 8: "prohibit", 9: "throw",
	}
)

// nameOf returns the name of a number, or the number in decimal.
func nameOf(names map[uint64]string, n uint64) string {
	if s, ok := names[n]; ok {
		return s
	}
	return strconv.FormatUint(n, 10)
}

// name stores the name of a number.
func name(field *string, names map[uint64]string) func([]byte) error {
	return func(v []byte) error {
		n, err := nl.Uint(v)
		if err == nil {
			*field = nameOf(names, n)
		}
		return err
	}
}

// addr stores an address of the family f.
func addr(field *netip.Addr, f family) func([]byte) error {
	return func(v []byte) error {
		a, ok := netip.AddrFromSlice(v)
		if !ok || a.BitLen() != f.zero.BitLen() {
			return fmt.Errorf("an %s address of %d bytes", f.name, len(v))
		}
		*field = a
		return nil
	}
}

// decodeAddress decodes the body of RTM_NEWADDR.
func decodeAddress(b []byte) (Address, error) {
	if len(b) < ifaddrmsgLen {
		return Address{}, missing(nil, "struct ifaddrmsg")
	}
	f, err := familyOf(b[0])
	if err != nil {
		return Address{}, err
	}
	a := Address{
		Family: f.name, Flags: uint32(b[2]), Scope: nameOf(scopes, uint64(b[3])),
		LinkIndex: int(int32(binary.NativeEndian.Uint32(b[4:]))),
	}
	var address, local netip.Addr
	var flags *uint32
	err = fields{
		IFA_ADDRESS: addr(&address, f),
		IFA_LOCAL:   addr(&local, f),
		IFA_LABEL:   nl.Text(&a.Label),
		IFA_FLAGS:   number(&flags), // the wider form of the header's flags
	}.decode(b[ifaddrmsgLen:])
	if flags != nil {
		a.Flags = *flags
	}
	// IFA_ADDRESS is the other end of a point-to-point link, otherwise the same as
	// IFA_LOCAL, which IPv6 then omits.
	own := local
	if !own.IsValid() {
		own = address
	} else if address.IsValid() && address != local {
		a.Peer = address
	}
	a.Prefix = netip.PrefixFrom(own, int(b[1]))
	if !a.Prefix.IsValid() {
		return Address{}, missing(err, "address, or a wrong prefix length")
	}
	return a, err
}

// decodeRoute decodes the body of RTM_NEWROUTE into one Route per next hop.
func decodeRoute(b []byte) ([]Route, error) {
	if len(b) < rtmsgLen {
		return nil, missing(nil, "struct rtmsg")
	}
	f, err := familyOf(b[0])
	if err != nil {
		return nil, err
	}
	r := Route{
		Family: f.name, Table: uint32(b[4]), Type: nameOf(routeTypes, uint64(b[7])),
		TOS: b[3], Scope: nameOf(scopes, uint64(b[6])), flags: binary.NativeEndian.Uint32(b[8:]),
	}
	r.Dead = r.flags&RTNH_F_DEAD != 0
	dst, src := f.zero, f.zero
	var table *uint32
	var multipath []byte
	attrs := r.hopFields(f)
	attrs[RTA_DST] = addr(&dst, f)
	attrs[RTA_SRC] = addr(&src, f)
	attrs[RTA_PREFSRC] = addr(&r.Source, f)
	attrs[RTA_PRIORITY] = number(&r.Metric)
	attrs[RTA_TABLE] = number(&table) // the wider form of the header's table
	attrs[RTA_METRICS] = fields{RTAX_MTU: number(&r.MTU)}.decode
	attrs[RTA_MULTIPATH] = func(v []byte) error {
		multipath = v
		return nil
	}
	err = attrs.decode(b[rtmsgLen:])
	if table != nil {
		r.Table = *table
	}
	r.Destination = netip.PrefixFrom(dst, int(b[1]))
	if !src.IsUnspecified() { // ::/128 in the response to RouteTo on IPv6
		r.From = netip.PrefixFrom(src, int(b[2]))
	}
	if !r.Destination.IsValid() || r.From != (netip.Prefix{}) && !r.From.IsValid() {
		return nil, missing(err, "right prefix length")
	}
	if multipath == nil {
		return []Route{r}, err
	}
	hops, err2 := decodeHops(r, f, multipath)
	return hops, errors.Join(err, err2)
}

// decodeHops decodes RTA_MULTIPATH, an array of struct rtnexthop with separate
// attributes, into copies of r.
func decodeHops(r Route, f family, b []byte) ([]Route, error) {
	var hops []Route
	var errs []error
	for len(b) >= rtnexthopLen {
		size := int(binary.NativeEndian.Uint16(b))
		if size < rtnexthopLen || size > len(b) {
			errs = append(errs, fmt.Errorf("next hop %d: length %d, but %d bytes are left", len(hops), size, len(b)))
			break
		}
		hop, weight := r, int(b[3])+1 // rtnh_hops
		hop.Weight = &weight
		hop.Dead = b[2]&RTNH_F_DEAD != 0 // rtnh_flags
		errs = append(errs, ifindex(&hop.LinkIndex)(b[4:8]), hop.hopFields(f).decode(b[rtnexthopLen:size]))
		hops = append(hops, hop)
		b = b[min(align4(size), len(b)):]
	}
	return hops, errors.Join(errs...)
}

// hopFields are the attributes that both a route and a next hop can have.
func (r *Route) hopFields(f family) fields {
	return fields{
		RTA_OIF:     ifindex(&r.LinkIndex),
		RTA_GATEWAY: addr(&r.Gateway, f),
		RTA_VIA: func(v []byte) error { // struct rtvia: an IPv4 route through an IPv6 gateway
			if len(v) < 2 {
				return fmt.Errorf("a gateway of %d bytes", len(v))
			}
			if via, err := familyOf(uint8(binary.NativeEndian.Uint16(v))); err == nil {
				return addr(&r.Gateway, via)(v[2:])
			}
			return nil // neither IPv4 nor IPv6, so Gateway can't represent it
		},
	}
}
