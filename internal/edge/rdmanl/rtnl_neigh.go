package rdmanl

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
)

// Neighbour is an entry of the neighbour table: the link-layer address of an IP address on a link
// (neigh_fill_info in net/core/neighbour.c).
type Neighbour struct {
	LinkIndex int          `json:"linkIndex"` // ifindex of the device
	Family    string       `json:"family"`    // ipv4 or ipv6
	IP        netip.Addr   `json:"ip"`
	Address   HardwareAddr `json:"address,omitempty"` // nil until it is resolved
	State     string       `json:"state"`             // reachable, stale, failed, permanent, …, or a number
}

const ndmsgLen = 12 // struct ndmsg

// neighbourStates are the NUD_ values of linux/neighbour.h, of which an entry has one.
var neighbourStates = map[uint64]string{
	0x00: "none", 0x01: "incomplete", 0x02: "reachable", 0x04: "stale", 0x08: "delay", 0x10: "probe",
	0x20: "failed", 0x40: "noarp", 0x80: "permanent",
}

// Neighbours lists the neighbour tables of IPv4 and IPv6.
func (c Client) Neighbours(ctx context.Context) ([]Neighbour, error) {
	var out []Neighbour
	var errs []error
	for _, f := range families {
		body := make([]byte, ndmsgLen)
		body[0] = f.number
		q := rtnlRequest("neighbour dump", f.name, RTM_GETNEIGH, body)
		msgs, err := c.dump(ctx, q)
		neighbours, err := collect(q, msgs, err, decodeNeighbour)
		errs = append(errs, err)
		for _, n := range neighbours {
			if n.Family == f.name {
				out = append(out, n)
			}
		}
	}
	return out, errors.Join(errs...)
}

// decodeNeighbour decodes the body of RTM_NEWNEIGH.
func decodeNeighbour(b []byte) (Neighbour, error) {
	if len(b) < ndmsgLen {
		return Neighbour{}, missing(nil, "struct ndmsg")
	}
	f, err := familyOf(b[0])
	if err != nil {
		return Neighbour{}, err // such as an entry of a bridge
	}
	n := Neighbour{
		Family: f.name, LinkIndex: int(int32(binary.NativeEndian.Uint32(b[4:]))),
		State: nameOf(neighbourStates, uint64(binary.NativeEndian.Uint16(b[8:]))),
	}
	err = fields{
		NDA_DST: addr(&n.IP, f),
		NDA_LLADDR: func(v []byte) error {
			if len(v) <= maxHardwareAddr {
				n.Address = append(HardwareAddr(nil), v...)
			}
			return nil
		},
	}.decode(b[ndmsgLen:])
	if !n.IP.IsValid() {
		return Neighbour{}, missing(err, "address")
	}
	return n, err
}
