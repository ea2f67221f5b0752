package fabric

import (
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Limits of the patience with a destination.
const (
	// leastPatience is the shortest time after which a node is given up, and tryPatience its part
	// for each try: libibnetdisc waits 1 s for each of 1 + 3 tries.
	leastPatience = 4 * time.Second
	tryPatience   = time.Second
	// mostPatience bounds what slow answers and reported times can add. A reported time above it is
	// ignored: ports that no subnet manager has configured may report 31, which is 2.4 hours.
	mostPatience = time.Minute
	// leastTimeout is the shortest wait before a request is sent again.
	leastTimeout = 50 * time.Millisecond
)

// Peer is what an [Engine] knows about one destination. The zero value is a destination that has
// not answered yet.
type Peer struct {
	trips    trips
	overdue  bool          // a request is overdue, and nothing was answered since
	subnet   time.Duration // PortInfo.SubnetTimeout: on the way back, at most
	response time.Duration // RespTimeValue: for the answer, at most
}

// Overdue reports whether a request to the destination had to be sent again and no answer has
// arrived since.
func (p *Peer) Overdue() bool { return p.overdue }

func (p *Peer) answered(roundTrip time.Duration) {
	p.overdue = false
	p.trips.add(roundTrip)
}

// trips estimates round-trip times (RFC 6298).
type trips struct {
	smoothed, spread time.Duration
	samples          int
}

func (t *trips) add(roundTrip time.Duration) {
	t.samples++
	if t.samples == 1 {
		t.smoothed, t.spread = roundTrip, roundTrip/2
		return
	}
	t.spread += ((roundTrip - t.smoothed).Abs() - t.spread) / 4
	t.smoothed += (roundTrip - t.smoothed) / 8
}

// estimate is the time after which an answer is overdue by the measurements.
func (t *trips) estimate() time.Duration { return t.smoothed + 4*t.spread }

// timeout returns how long an answer of the destination should take at most, by its round trips or,
// before the first, by those of all destinations.
func (e *Engine) timeout(p *Peer) time.Duration {
	if p.trips.samples == 0 {
		return max(e.pace.estimate(), leastTimeout)
	}
	return max(p.trips.estimate(), leastTimeout)
}

// patience returns how long after its first try, or its last answer, a request is given up.
func (e *Engine) patience(q *slot) time.Duration {
	if q.begun > 0 {
		return q.begun
	}
	each := q.Timeout
	if each == 0 {
		each = max(tryPatience, e.timeout(q.Peer))
	}
	all := time.Duration((int64(q.Retries) + 1) * int64(each))
	if q.Timeout > 0 {
		return all
	}
	back := q.Peer.subnet
	if back == 0 {
		back = e.subnet
	}
	longest := max(leastPatience, all, e.subnet+back+q.Peer.response)
	return min(longest, mostPatience)
}

// Offsets in PortInfo and ClassPortInfo, of fields of 5 bits: the time is 4.096 µs << value
// (specification sections 14.2.5.6 and 13.4.8.1).
const (
	subnetTimeoutOffset = 51
	responseTimeOffset  = 52
	classResponseOffset = 7

	timeUnit = 4096 * time.Nanosecond
	timeMask = 31
)

// learn takes the times that a destination reports from an answer. The whole time from a request to
// its answer is the time through the subnet, there and back, and that for the answer (specification
// section 13.4.6.2).
func (e *Engine) learn(q *slot, h *mad.Header, d *Datagram) {
	value := func(offset int) time.Duration {
		if t := timeUnit << (d.MAD[offset] & timeMask); t <= mostPatience {
			return t
		}
		return 0
	}
	p := q.Peer
	switch class, attribute := h.MgmtClass, h.AttributeID; {
	case (class == mad.ClassSubnet || class == mad.ClassSubnetDirected) && attribute == mad.AttributePortInfo:
		p.subnet = max(p.subnet, value(attributeOffset+subnetTimeoutOffset))
		p.response = max(p.response, value(attributeOffset+responseTimeOffset))
		const hopCountOffset = 7
		if class == mad.ClassSubnetDirected && q.MAD[hopCountOffset] == 0 { // the local port
			e.subnet = max(e.subnet, p.subnet)
		}
	case class == mad.ClassPerformance && attribute == mad.AttributeClassPortInfo:
		p.response = max(p.response, value(attributeOffset+classResponseOffset))
	case class == mad.ClassSA && attribute == mad.AttributeClassPortInfo:
		p.response = max(p.response, value(saRecordOffset+classResponseOffset))
	}
}

// destination is the key of a destination.
type destination struct {
	lid   ib.LID
	qpn   ib.QPN
	gid   ib.GID
	hops  uint8
	route [mad.MaxHops + 1]byte
}

// peerOf returns the peer of a request that has none.
func (e *Engine) peerOf(r *Request) *Peer {
	key := destination{lid: r.Address.LID, qpn: r.Address.QPN, gid: r.Address.GID}
	if mad.Class(r.MAD[1]) == mad.ClassSubnetDirected {
		var smp mad.DirectedSMP
		smp.Decode(r.MAD[:]) //nolint:errcheck // a MAD is long enough
		if path, ok := smp.Path(); ok {
			key.hops = uint8(path.Len())
			copy(key.route[:], path.Ports())
		}
	}
	p := e.peers[key]
	if p == nil {
		p = new(Peer)
		e.peers[key] = p
	}
	return p
}
