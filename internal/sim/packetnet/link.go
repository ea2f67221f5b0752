package packetnet

import (
	"net/netip"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
)

// Link is the link of each address to the network's one switch. Datagrams wait at their sender for
// its link, and at the switch for that of their receiver: where several senders meet, as in an
// incast, that queue grows. The zero value has no limits.
type Link struct {
	Bandwidth int64 // bits per second in each direction; 0 is no limit, and no queues
	// Queue is how many bytes wait at the switch for one receiver; further datagrams are dropped. 0
	// is no limit.
	Queue int
	// Mark is the length of that queue, in bytes, from which datagrams that are ECN-capable are
	// marked (CE); 0 is never.
	Mark int
}

// frameOverhead are the bytes of a datagram on Ethernet with IPv4 and UDP: preamble and gap 20,
// header and checksum 18, IP 20, UDP 8.
const frameOverhead = 66

// The values of the ECN field, the two low bits of a traffic class (RFC 3168).
const (
	ecnMask = 3
	notECT  = 0
)

// transmission returns how long a link carries a datagram.
func (l Link) transmission(d datagram) time.Duration {
	return time.Duration(int64(len(d.data)+frameOverhead) * 8 * int64(time.Second) / l.Bandwidth)
}

// depart sends a datagram over the link of its sender. n.mu is held.
func (n *Network) depart(to netip.AddrPort, d datagram) {
	at := later(n.clock.Now(), n.up[d.from.Addr()]).Add(n.link.transmission(d))
	n.up[d.from.Addr()] = at
	n.fly(flight{at: at, to: to, d: d, toSwitch: true})
}

// queue puts a datagram that has arrived at the switch into the queue of its receiver. n.mu is
// held.
func (n *Network) queue(f flight) {
	end := later(f.at, n.down[f.to.Addr()])
	waiting := int(end.Sub(f.at).Seconds() * float64(n.link.Bandwidth) / 8)
	if n.link.Queue > 0 && waiting+len(f.d.data)+frameOverhead > n.link.Queue {
		n.stats.Dropped++
		return
	}
	if n.link.Mark > 0 && waiting >= n.link.Mark && f.d.trafficClass&ecnMask != notECT {
		f.d.trafficClass |= ecnMask
		n.stats.Marked++
	}
	end = end.Add(n.link.transmission(f.d))
	n.down[f.to.Addr()] = end
	f.at, f.toSwitch = end.Add(n.delay()), false
	n.fly(f)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// merging merges datagrams to one entry, as the kernel's receive offload does.
type merging struct {
	entry udpio.Inbound
	first uint16 // identification of the first datagram
	step  uint16 // 0 for equal identifications, 1 for ascending ones
	count int
	ended bool // a shorter datagram was the last
}

// begin begins an entry with a datagram.
func (m *merging) begin(d *datagram) {
	*m = merging{
		entry: udpio.Inbound{
			Data: slices.Clone(d.data), Segment: len(d.data), From: d.from, TrafficClass: d.trafficClass,
		},
		first: d.id, count: 1,
	}
}

// add adds a datagram to the entry, or reports false.
func (m *merging) add(d *datagram) bool {
	e := &m.entry
	step := d.id - m.first
	if m.count > 1 {
		step = m.step
	}
	switch {
	case m.count == 0, m.ended, m.count == udpio.MaxSegments, len(e.Data)+len(d.data) > udpio.MaxBytes,
		len(d.data) > e.Segment, d.from != e.From, d.trafficClass != e.TrafficClass,
		step > 1, d.id != m.first+uint16(m.count)*step:
		return false
	}
	e.Data = append(e.Data, d.data...)
	m.step, m.ended = step, len(d.data) < e.Segment
	m.count++
	return true
}
