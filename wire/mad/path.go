package mad

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxHops is the maximum number of hops of a directed route: the path field has 64
// bytes, and the first one is not used (specification section 14.2.1.2).
const MaxHops = 63

// ErrPathTooLong is the error for a route of more than [MaxHops] hops.
var ErrPathTooLong = errors.New("directed route has more than 63 hops")

// Path is a directed route: the output port for each hop, starting with that of the
// local node. The zero value has no hops and leads to the local port. A Path is
// comparable and can be used as a map key.
type Path struct {
	hops  uint8
	ports [MaxHops + 1]byte // from index 1, as on the wire; zero after the last hop
}

// NewPath returns the route with the given output ports, or [ErrPathTooLong].
func NewPath(ports ...uint8) (Path, error) {
	var p Path
	if len(ports) > MaxHops {
		return p, ErrPathTooLong
	}
	p.hops = uint8(len(ports))
	copy(p.ports[1:], ports)
	return p, nil
}

// ParsePath reads the form of infiniband-diags' -D option: comma-separated port
// numbers with a leading 0 for the local node, such as "0,1,7". The 0 may be omitted.
func ParsePath(s string) (Path, error) {
	var ports []uint8
	for i, word := range strings.Split(strings.TrimSpace(s), ",") {
		v, err := strconv.ParseUint(strings.TrimSpace(word), 10, 8)
		if err != nil {
			return Path{}, fmt.Errorf("parse directed route %q: hop %d is not a port number from 0 to 255", s, i)
		}
		if i > 0 || v != 0 {
			ports = append(ports, uint8(v))
		}
	}
	p, err := NewPath(ports...)
	if err != nil {
		return Path{}, fmt.Errorf("parse directed route: %w", err)
	}
	return p, nil
}

// Extend returns the route with one more hop through the given port, or [ErrPathTooLong].
func (p *Path) Extend(port uint8) (Path, error) {
	if p.hops >= MaxHops {
		return Path{}, ErrPathTooLong
	}
	next := *p
	next.hops++
	next.ports[next.hops] = port
	return next, nil
}

// Len returns the number of hops.
func (p *Path) Len() int { return int(p.hops) }

// Ports returns the port of each hop. The slice refers to memory of the path: don't
// write to it.
func (p *Path) Ports() []uint8 { return p.ports[1 : 1+p.hops] }

// String returns the form that [ParsePath] reads: "0" for the local port, otherwise for
// example "0,1,7".
func (p Path) String() string {
	b := make([]byte, 0, 4+4*int(p.hops))
	b = append(b, '0')
	for _, port := range p.ports[1 : 1+p.hops] {
		b = append(b, ',')
		b = strconv.AppendUint(b, uint64(port), 10)
	}
	return string(b)
}
