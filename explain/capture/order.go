package capture

import "github.com/rdmakit/rdmakit/wire/ib"

// What makes the identifications of IPv4 headers an order of sending.
const (
	maxIDStep = 1 << 10 // from one packet to the next: other flows take numbers too
	minRising = 4       // packets
)

// sendOrder is the order in which a requester has sent its packets, by the identifications of their
// IPv4 headers. Linux counts them for each destination, also those of its rxe; other senders use
// zero or random ones, which are not trusted.
type sendOrder struct {
	last         uint16 // of the packet that was sent last
	seen, rising int
}

// turn is a packet's place in the order of sending.
type turn uint8

const (
	turnUnknown turn = iota
	turnNewer        // sent after all packets before
	turnLate         // sent before one of them
)

// add returns the place of a packet.
func (o *sendOrder) add(p *packet) turn {
	if !p.ip4 {
		return turnUnknown
	}
	trusted := o.rising >= minRising && 2*o.rising >= o.seen
	step := int16(p.id - o.last)
	o.seen++
	switch {
	case o.seen > 1 && trusted && step <= 0 && step > -maxIDStep:
		return turnLate
	case o.seen > 1 && step > 0 && step < maxIDStep:
		o.rising++
		o.last = p.id
		if trusted {
			return turnNewer
		}
		return turnUnknown
	}
	o.last = p.id
	return turnUnknown
}

// before reports whether the packet with one identification was sent before that with another one.
func before(id, other uint16) bool { return int16(id-other) < 0 }

// refilled is a number that the requester sent again because its first packet was missing. openedBy
// is the identification of the packet that passed it over.
type refilled struct {
	valid    bool
	psn      ib.PSN
	openedBy uint16
}

// noteRefilled keeps a number whose first packet may still arrive.
func (s *sequence) noteRefilled(psn ib.PSN, openedBy uint16) {
	s.refilled[s.refills%len(s.refilled)] = refilled{true, psn, openedBy}
	s.refills++
}

// lateCopy counts a packet that was sent before others and whose number was seen before: a copy,
// the first packet of a number that was sent again meanwhile, or one that was sent again late.
func (f *flow) lateCopy(p *packet) {
	s, r, psn := &f.seq, &f.Requests, p.BTH.PSN
	for i := max(0, s.n-historyLen); i < s.n; i++ {
		if h := s.history[i%historyLen]; h.psn == psn && h.id == p.id {
			r.Duplicates.add(p)
			return
		}
	}
	for i := range s.refilled {
		if l := &s.refilled[i]; l.valid && l.psn == psn && before(p.id, l.openedBy) {
			l.valid = false
			r.Lost--
			r.Reordered.add(p)
			return
		}
	}
	r.Repeated.add(p)
}

// expectation is the number that the responder expects, by what passed the capture and by what it
// has answered. It discards packets with later numbers.
type expectation struct {
	valid bool
	psn   ib.PSN
}

// add notes a request of span numbers.
func (e *expectation) add(psn ib.PSN, span int) {
	if !e.valid {
		e.valid, e.psn = true, psn
	}
	if psn == e.psn {
		e.psn = psn.Add(span)
	}
}

// answered notes a response: everything before psn has arrived.
func (e *expectation) answered(psn ib.PSN, refused bool) {
	if e.valid && (refused || e.psn.Before(psn)) {
		e.psn = psn
	}
}

// requestOf returns the number of the request that a number belongs to: the highest one up to it of
// the recent packets.
func (s *sequence) requestOf(psn ib.PSN) (best ib.PSN, ok bool) {
	for i := max(0, s.n-historyLen); i < s.n; i++ {
		if h := s.history[i%historyLen]; !psn.Before(h.psn) && (!ok || best.Before(h.psn)) {
			best, ok = h.psn, true
		}
	}
	return best, ok
}
