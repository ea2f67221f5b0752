package packetnet

import (
	"net/netip"
	"time"
)

// Hop is a part of a way through a network: a port with its queue and the link behind it, or
// whatever else passes one datagram after the other. The zero value passes all of them at once. The
// exported fields must not change once the network has the hop.
type Hop struct {
	Bandwidth int64 // bits per second; 0 is no limit, and no queue
	// CutThrough passes a datagram on when its transmission begins, so that it is only waited for
	// where another one follows.
	CutThrough bool
	// Queue is how many bytes wait for the link; further datagrams are dropped. 0 is no limit.
	Queue int
	// Lossless reports whether a datagram is not dropped by a full queue, or while the hop is down,
	// as with priority flow control: its senders would be paused. Here it waits, and nothing behind
	// it in other queues does. nil: none is.
	Lossless func(Datagram) bool
	// Mark is the length of that queue, in bytes, from which datagrams that are ECN-capable are
	// marked (CE); 0 is never.
	Mark int
	// Loss and Corrupt are probabilities: of the loss of a datagram, and of a flipped bit.
	Loss, Corrupt float64
	// Delay is the delay of the link, and Jitter the mean of a random one, of exponential
	// distribution, that JitterShare of the datagrams have. Datagrams don't overtake each other.
	Delay, Jitter time.Duration
	JitterShare   float64
	MTU           int // largest IPv4 packet, in bytes; larger ones are dropped. 0 is no limit.
	Outages       Outages

	free, last time.Time // when the last datagram has been sent, and when it landed
	counts     HopCounts
}

// Outages are times in which a hop is down: For in each Every, from Offset after the start of the
// network. The zero value is none.
type Outages struct {
	Every, For, Offset time.Duration
}

// HopCounts count the datagrams of a hop.
type HopCounts struct {
	Passed, Lost, Corrupted, Marked int
	Dropped                         int // by a full queue
	TooLong, Down                   int // by the MTU, and during an outage
}

// Counts returns the counts of a hop.
func (n *Network) Counts(h *Hop) HopCounts {
	n.mu.Lock()
	defer n.mu.Unlock()
	return h.counts
}

// Downs returns how often a hop has been down since the start of the network.
func (n *Network) Downs(h *Hop) int {
	o := h.Outages
	since := n.clock.Now().Sub(n.start) - o.Offset
	if o.Every <= 0 || since < 0 {
		return 0
	}
	return 1 + int(since/o.Every)
}

// until returns the end of the outage at a time since the start of the network, or reports that
// there is none.
func (o Outages) until(since time.Duration) (time.Duration, bool) {
	if o.Every <= 0 || since < o.Offset {
		return 0, false
	}
	begin := since - (since-o.Offset)%o.Every
	return begin + o.For, since < begin+o.For
}

// Link is the link of each address to the network's one switch. Datagrams wait at their sender for
// its link, and at the switch for that of their receiver: where several senders meet, as in an
// incast, that queue grows. The zero value has no limits.
type Link struct {
	Bandwidth int64 // bits per second in each direction; 0 is no limit, and no queues
	// Queue and Mark are those of the switch, for each receiver; see [Hop].
	Queue, Mark int
}

// route returns the route of a network whose addresses have such links.
func (l Link) route() func(Datagram) []*Hop {
	up, down := map[netip.Addr]*Hop{}, map[netip.Addr]*Hop{}
	return func(d Datagram) []*Hop {
		from, to := d.From.Addr(), d.To.Addr()
		if up[from] == nil {
			up[from] = &Hop{Bandwidth: l.Bandwidth}
		}
		if down[to] == nil {
			down[to] = &Hop{Bandwidth: l.Bandwidth, Queue: l.Queue, Mark: l.Mark}
		}
		return []*Hop{up[from], down[to]}
	}
}

// Bytes of a datagram on Ethernet with IPv4 and UDP: preamble and gap 20, header and checksum 18,
// and the headers of IP and UDP.
const (
	ipOverhead    = 28
	frameOverhead = 38 + ipOverhead
)

// The values of the ECN field, the two low bits of a traffic class (RFC 3168).
const (
	ecnMask = 3
	notECT  = 0
)

// transmission returns how long a hop sends a number of bytes.
func (h *Hop) transmission(bytes int) time.Duration {
	if h.Bandwidth == 0 {
		return 0
	}
	return time.Duration(int64(bytes) * 8 * int64(time.Second) / h.Bandwidth)
}

// pass lets a datagram that has arrived at the first of its hops pass it, or loses it there. n.mu
// is held.
func (n *Network) pass(f flight) {
	h := f.hops[0]
	as := Datagram{From: f.d.from, To: f.to, ID: f.d.id, TrafficClass: f.d.trafficClass, Data: f.d.data}
	lossless := h.Lossless != nil && h.Lossless(as)
	begin := later(f.at, h.free)
	if end, down := h.Outages.until(begin.Sub(n.start)); down {
		if !lossless {
			h.counts.Down++
			n.stats.Lost++
			return
		}
		begin = n.start.Add(end)
	}
	bytes := len(f.d.data) + frameOverhead
	waiting := 0
	if h.Bandwidth > 0 {
		waiting = int(begin.Sub(f.at).Seconds() * float64(h.Bandwidth) / 8)
	}
	switch {
	case h.MTU > 0 && len(f.d.data)+ipOverhead > h.MTU:
		h.counts.TooLong++
		n.stats.Lost++
		return
	case h.Queue > 0 && waiting+bytes > h.Queue && !lossless:
		h.counts.Dropped++
		n.stats.Dropped++
		return
	}
	if h.Mark > 0 && waiting >= h.Mark && f.d.trafficClass&ecnMask != notECT {
		f.d.trafficClass |= ecnMask
		h.counts.Marked++
		n.stats.Marked++
	}
	h.free = begin.Add(h.transmission(bytes))
	if h.Loss > 0 && n.rand.Float64() < h.Loss && n.mayDrop(as) {
		h.counts.Lost++
		n.stats.Lost++
		return
	}
	if h.Corrupt > 0 && n.rand.Float64() < h.Corrupt && n.mayDrop(as) {
		h.counts.Corrupted++
		n.stats.Corrupted++
		f.d.data[n.rand.IntN(len(f.d.data))] ^= 1 << n.rand.IntN(8)
	}
	h.counts.Passed++
	f.hops = f.hops[1:]
	sent := h.free
	if h.CutThrough {
		sent = begin
	}
	f.at = n.landAt(h, sent)
	if len(f.hops) == 0 {
		f.at = f.at.Add(n.delay())
	}
	n.fly(f)
}

// landAt returns when a datagram that a hop has sent at a time arrives behind it.
func (n *Network) landAt(h *Hop, sent time.Time) time.Time {
	at := sent.Add(h.Delay)
	if h.JitterShare > 0 && n.rand.Float64() < h.JitterShare {
		at = at.Add(time.Duration(n.rand.ExpFloat64() * float64(h.Jitter)))
	}
	h.last = later(at, h.last)
	return h.last
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
