package ibverbs

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// The layout of struct sockaddr_in and sockaddr_in6 on Linux: the family in the machine's byte
// order, port and address in network order.
const (
	sockaddrMax = 128 // struct sockaddr_storage
	familyIPv4  = 2   // AF_INET
	familyIPv6  = 10  // AF_INET6
)

// sockaddr is a struct sockaddr_storage.
type sockaddr [sockaddrMax]byte

// sockaddrOf converts an address. An IPv4 address in IPv6 form is IPv4.
func sockaddrOf(a netip.AddrPort) (*sockaddr, error) {
	s := new(sockaddr)
	addr := a.Addr().Unmap()
	binary.BigEndian.PutUint16(s[2:], a.Port())
	if addr.Is4() {
		binary.NativeEndian.PutUint16(s[:], familyIPv4)
		copy(s[4:], addr.AsSlice())
		return s, nil
	}
	if !addr.Is6() {
		return nil, fmt.Errorf("%v: no IP address", a)
	}
	binary.NativeEndian.PutUint16(s[:], familyIPv6)
	copy(s[8:], addr.AsSlice())
	if addr.IsLinkLocalUnicast() && addr.Zone() == "" {
		return nil, fmt.Errorf("link-local address %v without its network interface, such as %v%%eth0", addr, addr)
	}
	scope, err := scopeOf(addr.Zone())
	if err != nil {
		return nil, err
	}
	binary.NativeEndian.PutUint32(s[24:], scope)
	return s, nil
}

// scopeOf returns the interface index that a zone names.
func scopeOf(zone string) (uint32, error) {
	if zone == "" {
		return 0, nil
	}
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n), nil
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return 0, fmt.Errorf("zone %s of the address: %w", zone, err)
	}
	return uint32(i.Index), nil
}

// address converts back; the zero AddrPort for another family. The zone is the interface index.
func (s *sockaddr) address() netip.AddrPort {
	port := binary.BigEndian.Uint16(s[2:])
	switch binary.NativeEndian.Uint16(s[:]) {
	case familyIPv4:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(s[4:8])), port)
	case familyIPv6:
		addr := netip.AddrFrom16([16]byte(s[8:24]))
		if scope := binary.NativeEndian.Uint32(s[24:]); scope != 0 && addr.IsLinkLocalUnicast() {
			addr = addr.WithZone(strconv.FormatUint(uint64(scope), 10))
		}
		return netip.AddrPortFrom(addr, port)
	}
	return netip.AddrPort{}
}
