package administration

import (
	"encoding/binary"
	"math"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Fields of the paths, as OpenSM sets them.
const (
	exactly  = 2  // a selector
	lifeTime = 18 // 4.096 µs << 18: OpenSM's subnet_timeout
	maxHops  = 64
	fullPKey = 0xffff
	rate10   = 3 // 10 Gb/s
)

// paths calls add for the path between each pair of ports that a query selects by LIDs or GIDs,
// until add returns false.
func (s *Server) paths(q *mad.SA, add func(record []byte) bool) {
	var want mad.PathRecord
	want.Decode(q.Data[:]) //nolint:errcheck // long enough
	selects := func(e end, lidMask, gidMask uint64, lid ib.LID, gid ib.GID) bool {
		return (q.ComponentMask&lidMask == 0 || e.lid == lid) && (q.ComponentMask&gidMask == 0 || e.gid() == gid)
	}
	var to []end
	for e := range s.ends() {
		if selects(e, mad.PathRecordMaskDLID, mad.PathRecordMaskDGID, want.DLID, want.DGID) {
			to = append(to, e)
		}
	}
	for from := range s.ends() {
		if !selects(from, mad.PathRecordMaskSLID, mad.PathRecordMaskSGID, want.SLID, want.SGID) {
			continue
		}
		for _, far := range to {
			if r, found := path(from, far); found && !add(r.Append(nil)) {
				return
			}
		}
	}
}

// gid returns the GID of a port.
func (e end) gid() (g ib.GID) {
	info, guid := e.node.PortInfo(e.port), guidOf(e)
	binary.BigEndian.PutUint64(g[:], uint64(info.GIDPrefix))
	copy(g[8:], guid[:])
	return g
}

// sharedPKey returns a partition in which two ports can communicate, the default one if possible;
// false: there is none. Two limited members can't (specification section 10.9.3).
func sharedPKey(from, to end) (key ib.PKey, ok bool) {
	const full = 0x8000
	for _, own := range from.node.PKeys(from.port) {
		for _, far := range to.node.PKeys(to.port) {
			if own<<1 != 0 && own<<1 == far<<1 && own|far >= full && (!ok || own|full == fullPKey) {
				key, ok = own|full, true
			}
		}
	}
	return key, ok
}

// path returns the path between two ports, by the partition and forwarding tables; false: there is
// none.
func path(from, to end) (r mad.PathRecord, found bool) {
	key, shared := sharedPKey(from, to)
	if !shared {
		return r, false
	}
	r = mad.PathRecord{
		SGID: from.gid(), DGID: to.gid(), SLID: from.lid, DLID: to.lid, Reversible: true, PKey: key, SL: to.node.SL(),
		MTUSelector: exactly, RateSelector: exactly, PacketLifeTimeSelector: exactly, PacketLifeTime: lifeTime,
	}
	if from.lid == to.lid {
		r.PacketLifeTime = 0
	}
	least := width{math.MaxUint8, math.Inf(1)}
	found = walk(from, to, func(n Node, port uint8) { least = least.narrowed(n, port) })
	r.MTU, r.Rate = least.mtu, rateCode(least.gbps)
	return r, found
}

// walk calls visit for each port on the way between two ports, the two included, and reports
// whether the way leads there.
func walk(from, to end, visit func(n Node, port uint8)) bool {
	at, in := from.node, from.port
	visit(at, in)
	for range maxHops {
		if lidOf(at, in) == to.lid {
			if isSwitch(at) {
				visit(at, 0)
			}
			return true
		}
		out := in
		if isSwitch(at) {
			_, table := at.Switch()
			if int(to.lid) >= len(table) || table[to.lid] == 0 || table[to.lid] == mad.LFTPortNone {
				return false
			}
			out = table[to.lid]
			visit(at, out)
		} else if at != from.node {
			return false
		}
		if at, in = at.Peer(out); at == nil {
			return false
		}
		visit(at, in)
	}
	return false
}

// width is the narrowest part of a path: the code of the MTU, and the rate in Gb/s.
type width struct {
	mtu  uint8
	gbps float64
}

// narrowed returns the width after another port. That of port 0 of a switch is the MTU that it is
// capable of, as in OpenSM; the neighbour MTU of other ports is what a manager has configured.
func (w width) narrowed(n Node, port uint8) width {
	info := n.PortInfo(port)
	mtu := info.NeighborMTU
	if port == 0 {
		mtu = info.MTUCap
	}
	lane := map[mad.LinkSpeed]float64{
		mad.LinkSpeedSDR: 2.5, mad.LinkSpeedDDR: 5, mad.LinkSpeedQDR: 10, mad.LinkSpeedFDR10: 10, mad.LinkSpeedFDR: 14,
		mad.LinkSpeedEDR: 25, mad.LinkSpeedHDR: 50, mad.LinkSpeedNDR: 100, mad.LinkSpeedXDR: 200,
	}[info.ActiveSpeed(nil)]
	return width{min(w.mtu, mtu), min(w.gbps, lane*float64(info.LinkWidthActive.Lanes()))}
}

// rateCode returns the code of the highest rate that isn't above the given one, in Gb/s (enum
// ibv_rate); 2.5 Gb/s if there is none.
func rateCode(gbps float64) uint8 {
	rates := [...]struct {
		gbps float64
		code uint8
	}{
		{1200, 24},
		{800, 23},
		{600, 22},
		{400, 21},
		{300, 18},
		{200, 17},
		{168, 14},
		{120, 10},
		{112, 13},
		{100, 16},
		{80, 9},
		{60, 8},
		{56, 12},
		{50, 20},
		{40, 7},
		{30, 4},
		{28, 19},
		{25, 15},
		{20, 6},
		{14, 11},
		{10, 3},
		{5, 5},
	}
	for _, r := range rates {
		if gbps >= r.gbps {
			return r.code
		}
	}
	return 2
}
