package mad

import (
	"fmt"
	"net/netip"
)

// ServiceID names a service of the communication manager.
type ServiceID uint64

// cmaServices is the prefix of the IDs of IP services; 16 bits of the port space's low byte and the
// port follow (annex A11; kernel: IB_CMA_SERVICE_ID, cma_get_service_id).
const cmaServices = 1 << 24

// IPService returns the ID of a port of an IP service. space is the number of the port space, with
// the prefix of IP services: 0x0106 for TCP.
func IPService(space, port uint16) ServiceID { return ServiceID(space)<<16 | ServiceID(port) }

// IP returns the port space and the port of an IP service.
func (s ServiceID) IP() (space, port uint16, ok bool) {
	return uint16(s >> 16), uint16(s), s>>24 == cmaServices>>24
}

// String returns 0x and 16 hexadecimal digits, as the kernel prints it.
func (s ServiceID) String() string { return fmt.Sprintf("0x%016x", uint64(s)) }

// CMAHeaderLen is the length of a CMAHeader in bytes.
const CMAHeaderLen = 36

// CMAHeader begins the private data of a [REQ] or [SIDRREQ] for an IP service: the addresses of its
// socket (annex A11.4.4; kernel: struct cma_hdr). An IPv4 address is in the last four bytes.
type CMAHeader struct {
	Version   uint8 // major and minor, 4 bits each: 0
	IPVersion uint8 // 4 bits: 4 or 6
	Reserved1 uint8 // 4 bits
	Port      uint16
	SourceIP  [16]byte
	DestIP    [16]byte
}

func (h *CMAHeader) walk(c *cursor) {
	number(c, 8, &h.Version)
	number(c, 4, &h.IPVersion)
	number(c, 4, &h.Reserved1)
	number(c, 16, &h.Port)
	c.bytes(h.SourceIP[:])
	c.bytes(h.DestIP[:])
}

// Decode reads a header from the start of b.
func (h *CMAHeader) Decode(b []byte) (n int, err error) {
	if len(b) < CMAHeaderLen {
		return 0, ErrShort
	}
	h.walk(&cursor{in: b[:CMAHeaderLen]})
	return CMAHeaderLen, nil
}

// Append appends the header to b.
func (h *CMAHeader) Append(b []byte) []byte {
	c := cursor{out: b, writing: true}
	h.walk(&c)
	return c.out
}

// NewCMAHeader returns the header for a connection from one socket address to another one, which
// must be of the same family.
func NewCMAHeader(from netip.AddrPort, to netip.Addr) CMAHeader {
	h := CMAHeader{IPVersion: 6, Port: from.Port(), SourceIP: from.Addr().As16(), DestIP: to.As16()}
	if from.Addr().Unmap().Is4() {
		h.IPVersion = 4
		clear(h.SourceIP[:12])
		clear(h.DestIP[:12])
	}
	return h
}

// Addresses returns the addresses of both sockets, without the destination's port, or false for
// another version.
func (h *CMAHeader) Addresses() (from netip.AddrPort, to netip.Addr, ok bool) {
	source, dest := netip.AddrFrom16(h.SourceIP), netip.AddrFrom16(h.DestIP)
	switch {
	case h.Version>>4 != 0:
		return from, to, false
	case h.IPVersion == 4:
		source, dest = netip.AddrFrom4([4]byte(h.SourceIP[12:])), netip.AddrFrom4([4]byte(h.DestIP[12:]))
	case h.IPVersion != 6:
		return from, to, false
	}
	return netip.AddrPortFrom(source, h.Port), dest, true
}
