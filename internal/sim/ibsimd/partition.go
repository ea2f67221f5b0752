package ibsimd

import (
	"encoding/binary"
	"math"

	"github.com/rdmakit/rdmakit/internal/edge/ibsim"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// maxPKeys is the length of the partition table that a client can read with one control message.
const maxPKeys = mad.PKeyBlockLen

// setPKeys replaces the partition table, unless the new one is nil.
func (p *port) setPKeys(keys []ib.PKey) {
	if keys == nil {
		return
	}
	clear(p.pkeys)
	for i, k := range keys {
		for len(p.pkeys) < 2*(i+1) {
			p.pkeys = append(p.pkeys, 0)
		}
		binary.BigEndian.PutUint16(p.pkeys[2*i:], uint16(k))
	}
}

// endPort returns the port whose partition table counts for packets to or from a node: of a switch
// that is port 0.
func (p *port) endPort() *port {
	if p.node.isSwitch() {
		return p.node.ports[0]
	}
	return p
}

// pkey returns an entry of the partition table; 0 beyond it.
func (p *port) pkey(index int) ib.PKey {
	if 2*index+2 > len(p.pkeys) {
		return 0
	}
	return ib.PKey(binary.BigEndian.Uint16(p.pkeys[2*index:]))
}

// member reports whether the port accepts packets with a key: one of its own names the same
// partition, which isn't 0, and the two aren't both those of limited members (specification
// section 10.9.3).
func (p *port) member(k ib.PKey) bool {
	for i := range len(p.pkeys) / 2 {
		if own := p.pkey(i); own<<1 == k<<1 && k<<1 != 0 && (own.Full() || k.Full()) {
			return true
		}
	}
	return false
}

// admitted reports whether a request gets to the queue pair at the end of its way. SMPs are in no
// partition and have no service level. The port counts violations, as hardware does.
func (s *Simulator) admitted(from, to *port, h *mad.Header, p *ibsim.Packet) bool {
	if h.MgmtClass == mad.ClassSubnet || h.MgmtClass == mad.ClassSubnetDirected {
		return true
	}
	to = to.endPort()
	if s.net.partitions && !to.member(from.endPort().pkey(int(p.Local.PKeyIndex))) {
		if to.info.PKeyViolations < math.MaxUint16 {
			to.info.PKeyViolations++
		}
		return false
	}
	return to.node.sl == 0 || p.Local.SL == to.node.sl
}
